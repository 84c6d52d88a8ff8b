// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(gpu.func(redfuse-version-edges)))" | FileCheck %s

// Six compares are too few; threads wait for each other; a place is data.

// CHECK-NOT: scf.if
gpu.module @m {
  gpu.func @few(%x: memref<4096xf32>, %y: memref<4100xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c4092 = arith.constant 4092 : index
    %c4093 = arith.constant 4093 : index
    %c4094 = arith.constant 4094 : index
    %c4095 = arith.constant 4095 : index
    %c4096 = arith.constant 4096 : index
    %c4100 = arith.constant 4100 : index
    %zero = arith.constant 0.0 : f32
    %i = gpu.thread_id x
    %at0 = arith.addi %i, %c4092 : index
    %wrapped0 = arith.remsi %at0, %c4096 : index
    %negative0 = arith.cmpi slt, %wrapped0, %c0 : index
    %up0 = arith.addi %wrapped0, %c4096 : index
    %place0 = arith.select %negative0, %up0, %wrapped0 : index
    %x0 = memref.load %x[%place0] : memref<4096xf32>
    %begun0 = arith.cmpi sge, %i, %c4 : index
    %open0 = arith.cmpi slt, %i, %c4100 : index
    %is0 = arith.andi %begun0, %open0 : i1
    %v0 = arith.select %is0, %x0, %zero : f32
    %i1 = arith.addi %i, %c1 : index
    %at1 = arith.addi %i, %c4093 : index
    %wrapped1 = arith.remsi %at1, %c4096 : index
    %negative1 = arith.cmpi slt, %wrapped1, %c0 : index
    %up1 = arith.addi %wrapped1, %c4096 : index
    %place1 = arith.select %negative1, %up1, %wrapped1 : index
    %x1 = memref.load %x[%place1] : memref<4096xf32>
    %begun1 = arith.cmpi sge, %i1, %c4 : index
    %open1 = arith.cmpi slt, %i1, %c4100 : index
    %is1 = arith.andi %begun1, %open1 : i1
    %v1 = arith.select %is1, %x1, %zero : f32
    %i2 = arith.addi %i, %c2 : index
    %at2 = arith.addi %i, %c4094 : index
    %wrapped2 = arith.remsi %at2, %c4096 : index
    %negative2 = arith.cmpi slt, %wrapped2, %c0 : index
    %up2 = arith.addi %wrapped2, %c4096 : index
    %place2 = arith.select %negative2, %up2, %wrapped2 : index
    %x2 = memref.load %x[%place2] : memref<4096xf32>
    %begun2 = arith.cmpi sge, %i2, %c4 : index
    %open2 = arith.cmpi slt, %i2, %c4100 : index
    %is2 = arith.andi %begun2, %open2 : i1
    %v2 = arith.select %is2, %x2, %zero : f32
    %s1 = arith.addf %v0, %v1 : f32
    %s2 = arith.addf %s1, %v2 : f32
    memref.store %s2, %y[%i] : memref<4100xf32>
    gpu.return
  }

  gpu.func @barrier(%x: memref<4096xf32>, %y: memref<4100xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c4092 = arith.constant 4092 : index
    %c4093 = arith.constant 4093 : index
    %c4094 = arith.constant 4094 : index
    %c4095 = arith.constant 4095 : index
    %c4096 = arith.constant 4096 : index
    %c4100 = arith.constant 4100 : index
    %zero = arith.constant 0.0 : f32
    %i = gpu.thread_id x
    %at0 = arith.addi %i, %c4092 : index
    %wrapped0 = arith.remsi %at0, %c4096 : index
    %negative0 = arith.cmpi slt, %wrapped0, %c0 : index
    %up0 = arith.addi %wrapped0, %c4096 : index
    %place0 = arith.select %negative0, %up0, %wrapped0 : index
    %x0 = memref.load %x[%place0] : memref<4096xf32>
    %begun0 = arith.cmpi sge, %i, %c4 : index
    %open0 = arith.cmpi slt, %i, %c4100 : index
    %is0 = arith.andi %begun0, %open0 : i1
    %v0 = arith.select %is0, %x0, %zero : f32
    %i1 = arith.addi %i, %c1 : index
    %at1 = arith.addi %i, %c4093 : index
    %wrapped1 = arith.remsi %at1, %c4096 : index
    %negative1 = arith.cmpi slt, %wrapped1, %c0 : index
    %up1 = arith.addi %wrapped1, %c4096 : index
    %place1 = arith.select %negative1, %up1, %wrapped1 : index
    %x1 = memref.load %x[%place1] : memref<4096xf32>
    %begun1 = arith.cmpi sge, %i1, %c4 : index
    %open1 = arith.cmpi slt, %i1, %c4100 : index
    %is1 = arith.andi %begun1, %open1 : i1
    %v1 = arith.select %is1, %x1, %zero : f32
    %i2 = arith.addi %i, %c2 : index
    %at2 = arith.addi %i, %c4094 : index
    %wrapped2 = arith.remsi %at2, %c4096 : index
    %negative2 = arith.cmpi slt, %wrapped2, %c0 : index
    %up2 = arith.addi %wrapped2, %c4096 : index
    %place2 = arith.select %negative2, %up2, %wrapped2 : index
    %x2 = memref.load %x[%place2] : memref<4096xf32>
    %begun2 = arith.cmpi sge, %i2, %c4 : index
    %open2 = arith.cmpi slt, %i2, %c4100 : index
    %is2 = arith.andi %begun2, %open2 : i1
    %v2 = arith.select %is2, %x2, %zero : f32
    %i3 = arith.addi %i, %c3 : index
    %at3 = arith.addi %i, %c4095 : index
    %wrapped3 = arith.remsi %at3, %c4096 : index
    %negative3 = arith.cmpi slt, %wrapped3, %c0 : index
    %up3 = arith.addi %wrapped3, %c4096 : index
    %place3 = arith.select %negative3, %up3, %wrapped3 : index
    %x3 = memref.load %x[%place3] : memref<4096xf32>
    %begun3 = arith.cmpi sge, %i3, %c4 : index
    %open3 = arith.cmpi slt, %i3, %c4100 : index
    %is3 = arith.andi %begun3, %open3 : i1
    %v3 = arith.select %is3, %x3, %zero : f32
    %s1 = arith.addf %v0, %v1 : f32
    %s2 = arith.addf %s1, %v2 : f32
    %s3 = arith.addf %s2, %v3 : f32
    gpu.barrier
    memref.store %s3, %y[%i] : memref<4100xf32>
    gpu.return
  }

  // Two warps have a row.
  gpu.func @short(%x: memref<64xf32>, %y: memref<68xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c60 = arith.constant 60 : index
    %c61 = arith.constant 61 : index
    %c62 = arith.constant 62 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %c68 = arith.constant 68 : index
    %zero = arith.constant 0.0 : f32
    %i = gpu.thread_id x
    %at0 = arith.addi %i, %c60 : index
    %wrapped0 = arith.remsi %at0, %c64 : index
    %negative0 = arith.cmpi slt, %wrapped0, %c0 : index
    %up0 = arith.addi %wrapped0, %c64 : index
    %place0 = arith.select %negative0, %up0, %wrapped0 : index
    %x0 = memref.load %x[%place0] : memref<64xf32>
    %begun0 = arith.cmpi sge, %i, %c4 : index
    %open0 = arith.cmpi slt, %i, %c68 : index
    %is0 = arith.andi %begun0, %open0 : i1
    %v0 = arith.select %is0, %x0, %zero : f32
    %i1 = arith.addi %i, %c1 : index
    %at1 = arith.addi %i, %c61 : index
    %wrapped1 = arith.remsi %at1, %c64 : index
    %negative1 = arith.cmpi slt, %wrapped1, %c0 : index
    %up1 = arith.addi %wrapped1, %c64 : index
    %place1 = arith.select %negative1, %up1, %wrapped1 : index
    %x1 = memref.load %x[%place1] : memref<64xf32>
    %begun1 = arith.cmpi sge, %i1, %c4 : index
    %open1 = arith.cmpi slt, %i1, %c68 : index
    %is1 = arith.andi %begun1, %open1 : i1
    %v1 = arith.select %is1, %x1, %zero : f32
    %i2 = arith.addi %i, %c2 : index
    %at2 = arith.addi %i, %c62 : index
    %wrapped2 = arith.remsi %at2, %c64 : index
    %negative2 = arith.cmpi slt, %wrapped2, %c0 : index
    %up2 = arith.addi %wrapped2, %c64 : index
    %place2 = arith.select %negative2, %up2, %wrapped2 : index
    %x2 = memref.load %x[%place2] : memref<64xf32>
    %begun2 = arith.cmpi sge, %i2, %c4 : index
    %open2 = arith.cmpi slt, %i2, %c68 : index
    %is2 = arith.andi %begun2, %open2 : i1
    %v2 = arith.select %is2, %x2, %zero : f32
    %i3 = arith.addi %i, %c3 : index
    %at3 = arith.addi %i, %c63 : index
    %wrapped3 = arith.remsi %at3, %c64 : index
    %negative3 = arith.cmpi slt, %wrapped3, %c0 : index
    %up3 = arith.addi %wrapped3, %c64 : index
    %place3 = arith.select %negative3, %up3, %wrapped3 : index
    %x3 = memref.load %x[%place3] : memref<64xf32>
    %begun3 = arith.cmpi sge, %i3, %c4 : index
    %open3 = arith.cmpi slt, %i3, %c68 : index
    %is3 = arith.andi %begun3, %open3 : i1
    %v3 = arith.select %is3, %x3, %zero : f32
    %s1 = arith.addf %v0, %v1 : f32
    %s2 = arith.addf %s1, %v2 : f32
    %s3 = arith.addf %s2, %v3 : f32
    memref.store %s3, %y[%i] : memref<68xf32>
    gpu.return
  }

  gpu.func @data(%p: memref<64xindex>, %x: memref<4096xf32>, %y: memref<4100xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c4092 = arith.constant 4092 : index
    %c4093 = arith.constant 4093 : index
    %c4094 = arith.constant 4094 : index
    %c4095 = arith.constant 4095 : index
    %c4096 = arith.constant 4096 : index
    %c4100 = arith.constant 4100 : index
    %zero = arith.constant 0.0 : f32
    %i = memref.load %p[%c0] : memref<64xindex>
    %at0 = arith.addi %i, %c4092 : index
    %wrapped0 = arith.remsi %at0, %c4096 : index
    %negative0 = arith.cmpi slt, %wrapped0, %c0 : index
    %up0 = arith.addi %wrapped0, %c4096 : index
    %place0 = arith.select %negative0, %up0, %wrapped0 : index
    %x0 = memref.load %x[%place0] : memref<4096xf32>
    %begun0 = arith.cmpi sge, %i, %c4 : index
    %open0 = arith.cmpi slt, %i, %c4100 : index
    %is0 = arith.andi %begun0, %open0 : i1
    %v0 = arith.select %is0, %x0, %zero : f32
    %i1 = arith.addi %i, %c1 : index
    %at1 = arith.addi %i, %c4093 : index
    %wrapped1 = arith.remsi %at1, %c4096 : index
    %negative1 = arith.cmpi slt, %wrapped1, %c0 : index
    %up1 = arith.addi %wrapped1, %c4096 : index
    %place1 = arith.select %negative1, %up1, %wrapped1 : index
    %x1 = memref.load %x[%place1] : memref<4096xf32>
    %begun1 = arith.cmpi sge, %i1, %c4 : index
    %open1 = arith.cmpi slt, %i1, %c4100 : index
    %is1 = arith.andi %begun1, %open1 : i1
    %v1 = arith.select %is1, %x1, %zero : f32
    %i2 = arith.addi %i, %c2 : index
    %at2 = arith.addi %i, %c4094 : index
    %wrapped2 = arith.remsi %at2, %c4096 : index
    %negative2 = arith.cmpi slt, %wrapped2, %c0 : index
    %up2 = arith.addi %wrapped2, %c4096 : index
    %place2 = arith.select %negative2, %up2, %wrapped2 : index
    %x2 = memref.load %x[%place2] : memref<4096xf32>
    %begun2 = arith.cmpi sge, %i2, %c4 : index
    %open2 = arith.cmpi slt, %i2, %c4100 : index
    %is2 = arith.andi %begun2, %open2 : i1
    %v2 = arith.select %is2, %x2, %zero : f32
    %i3 = arith.addi %i, %c3 : index
    %at3 = arith.addi %i, %c4095 : index
    %wrapped3 = arith.remsi %at3, %c4096 : index
    %negative3 = arith.cmpi slt, %wrapped3, %c0 : index
    %up3 = arith.addi %wrapped3, %c4096 : index
    %place3 = arith.select %negative3, %up3, %wrapped3 : index
    %x3 = memref.load %x[%place3] : memref<4096xf32>
    %begun3 = arith.cmpi sge, %i3, %c4 : index
    %open3 = arith.cmpi slt, %i3, %c4100 : index
    %is3 = arith.andi %begun3, %open3 : i1
    %v3 = arith.select %is3, %x3, %zero : f32
    %s1 = arith.addf %v0, %v1 : f32
    %s2 = arith.addf %s1, %v2 : f32
    %s3 = arith.addf %s2, %v3 : f32
    memref.store %s3, %y[%i] : memref<4100xf32>
    gpu.return
  }
}
