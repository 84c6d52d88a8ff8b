// RUN: redfuse-opt %s -redfuse-host-to-gpu -split-input-file | FileCheck %s

// A loop that no kernel contains is a kernel of one thread; a copy has a thread for
// 16 bytes. Shapes functions stay with the host.

// CHECK-LABEL: func.func @main(
// CHECK: memref.alloc
// CHECK-NOT: scf.for
// CHECK: gpu.launch_func @redfuse_gpu::@host_0 blocks in
// CHECK-NOT: memref.copy
// CHECK: gpu.launch_func @redfuse_gpu::@host_1 blocks in
// CHECK: memref.dealloc
func.func @main(%x: memref<16x16xf32>, %out: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<16x16xf32>
  scf.for %i = %c0 to %c16 step %c1 {
    memref.store %zero, %a[%i, %c0] : memref<16x16xf32>
  }
  memref.copy %x, %out : memref<16x16xf32> to memref<16x16xf32>
  memref.dealloc %a : memref<16x16xf32>
  return
}

// CHECK-LABEL: func.func @main__shapes
// CHECK: memref.store
func.func @main__shapes(%x: memref<16x16xf32>, %extents: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  memref.store %c16, %extents[%c0] : memref<?xindex>
  return
}

// CHECK: gpu.module @redfuse_gpu
// CHECK: gpu.func @host_0
// CHECK: scf.for
// CHECK: gpu.func @host_1
// CHECK: gpu.block_id
// CHECK: scf.if
// CHECK: vector.load
// CHECK: vector.store

// -----

// A constant tensor is the runtime's copy of it.

// CHECK-LABEL: func.func @table
// CHECK: %[[COPY:.+]] = memref.alloc() {redfuse.constant = @values} : memref<3xf32>
// CHECK-NOT: memref.get_global
// CHECK: memref.reinterpret_cast %[[COPY]]
// CHECK: gpu.launch_func
memref.global "private" constant @values : memref<3xf32> = dense<[1.0, 2.0, 3.0]>
func.func @table(%out: memref<3xf32>) {
  %0 = memref.get_global @values : memref<3xf32>
  memref.copy %0, %out : memref<3xf32> to memref<3xf32>
  return
}

// -----

// An i1 in memory is a byte.

// CHECK: gpu.func @host_0
// CHECK: %[[BYTE:.*]] = memref.load {{.*}} : memref<3xi8>
// CHECK: %[[BIT:.*]] = arith.cmpi ne, %[[BYTE]]
// CHECK: %[[WIDE:.*]] = arith.extui %[[BIT]] : i1 to i8
// CHECK: memref.store %[[WIDE]], {{.*}} : memref<3xi8>
func.func @main(%x: memref<3xi1>, %out: memref<3xi1>) {
  memref.copy %x, %out : memref<3xi1> to memref<3xi1>
  return
}

// -----

// A thread whose assertion fails tells the host and goes on without what follows.

// CHECK: llvm.mlir.global external @redfuse_report(0 : i64)
// CHECK: llvm.mlir.global external constant @redfuse_messages("too large\00")
// CHECK: gpu.func @host_0
// CHECK: %[[SMALL:.*]] = arith.cmpi slt
// CHECK: %[[FAILED:.*]] = arith.xori %[[SMALL]]
// CHECK: scf.if %[[FAILED]]
// CHECK: llvm.store volatile
// CHECK: scf.if %[[SMALL]]
// CHECK-NEXT: memref.store
// CHECK-NOT: cf.assert
func.func @main(%x: memref<3xi64>, %out: memref<3xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %most = arith.constant 9 : i64
  scf.for %i = %c0 to %c3 step %c1 {
    %v = memref.load %x[%i] : memref<3xi64>
    %small = arith.cmpi slt, %v, %most : i64
    cf.assert %small, "too large"
    memref.store %v, %out[%i] : memref<3xi64>
  }
  return
}

// -----

// What the rest of a round would have yielded is 0.

// CHECK: gpu.func @host_0
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[SMALL:.*]] = arith.cmpi slt
// CHECK: %[[NEXT:.*]] = scf.if %[[SMALL]] -> (f32) {
// CHECK:   %[[SUM:.*]] = arith.addf
// CHECK:   scf.yield %[[SUM]] : f32
// CHECK: } else {
// CHECK:   scf.yield %{{.*}} : f32
// CHECK: scf.yield %[[NEXT]] : f32
// CHECK-NOT: cf.assert
func.func @main(%x: memref<3xf32>, %at: memref<2x3xindex>, %out: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c2 step %c1 {
    %sum = scf.for %j = %c0 to %c3 step %c1 iter_args(%s = %zero) -> f32 {
      %p = memref.load %at[%i, %j] : memref<2x3xindex>
      %small = arith.cmpi slt, %p, %c3 : index
      cf.assert %small, "too large"
      %v = memref.load %x[%p] : memref<3xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    memref.store %sum, %out[%i] : memref<2xf32>
  }
  return
}

// -----

// A store has what it stores and where in its kernel.

// CHECK-LABEL: func.func @placed
// CHECK-NOT:   memref.load
// CHECK-NOT:   memref.alloc
// CHECK:       gpu.launch_func @redfuse_gpu::@host_0
// CHECK-NOT:   gpu.launch_func
// CHECK:       gpu.func @host_0
// CHECK-COUNT-2: memref.load
// CHECK:         memref.store
func.func @placed(%x: memref<3xf32>, %at: memref<index>, %out: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<3xf32>
  %1 = memref.load %at[] : memref<index>
  memref.store %0, %out[%1] : memref<2xf32>
  return
}

// -----

// What is overwritten before it is stored elsewhere is kept.

// CHECK-LABEL: func.func @swap
// CHECK-SAME:    %[[X:.*]]: memref<2xf32>
// CHECK:         %[[KEPT:.*]] = memref.alloc() : memref<f32>
// CHECK:         gpu.launch_func @redfuse_gpu::@host_0 {{.*}} args(%[[X]] : memref<2xf32>, %[[KEPT]] : memref<f32>)
// CHECK:         gpu.launch_func @redfuse_gpu::@host_1 {{.*}} args(%[[X]] : memref<2xf32>)
// CHECK:         gpu.launch_func @redfuse_gpu::@host_2 {{.*}} args(%[[KEPT]] : memref<f32>, %[[X]] : memref<2xf32>)
// CHECK:         memref.dealloc %[[KEPT]]
func.func @swap(%x: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.load %x[%c0] : memref<2xf32>
  %1 = memref.load %x[%c1] : memref<2xf32>
  memref.store %1, %x[%c0] : memref<2xf32>
  memref.store %0, %x[%c1] : memref<2xf32>
  return
}

// -----

// A loop that stores what was loaded in front of it is one kernel.

// CHECK-LABEL: func.func @filled
// CHECK:         gpu.launch_func @redfuse_gpu::@host_0
// CHECK-NOT:     scf.for
// CHECK:         gpu.launch_func @redfuse_gpu::@host_1
// CHECK:         memref.dealloc
func.func @filled(%x: memref<2xf32>, %out: memref<9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %0 = memref.load %x[%c0] : memref<2xf32>
  scf.for %i = %c0 to %c9 step %c1 {
    memref.store %0, %out[%i] : memref<9xf32>
  }
  return
}

// -----

// What the host decides it does an op at a time: a copy keeps a thread an element.

// CHECK-LABEL: func.func @branch
// CHECK:         scf.if
// CHECK:           gpu.launch_func @redfuse_gpu::@host_0 blocks in (%{{.*}}, %{{.*}}, %{{.*}}) threads in (%[[MANY:.*]], %{{.*}}, %{{.*}}) dynamic
// CHECK:           gpu.launch_func @redfuse_gpu::@host_1
// CHECK:       gpu.func @host_0
// CHECK:         gpu.thread_id
func.func @branch(%c: i1, %x: memref<300xf32>, %y: memref<300xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  scf.if %c {
    memref.copy %x, %y : memref<300xf32> to memref<300xf32>
    memref.store %zero, %y[%c0] : memref<300xf32>
  }
  return
}

// -----

// In what one thread does, a copy is a loop.

// CHECK-LABEL: func.func @rows
// CHECK:       gpu.func @host_0
// CHECK:         scf.for
// CHECK-NOT:       memref.copy
// CHECK:           scf.for
// CHECK:             memref.load
// CHECK:             memref.store
func.func @rows(%x: memref<?xf32>, %y: memref<8x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %r = memref.subview %y[%i, 0] [1, %n] [1, 1] : memref<8x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    memref.copy %x, %r : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  }
  return
}

// -----

// Structured ops have a thread for each point of their parallel dims: what is filled
// (the rim of what is padded), and sums of rows.

// CHECK-LABEL: func.func @structured
// CHECK:       gpu.launch_func @redfuse_gpu::@host_0 blocks in
// CHECK:       gpu.launch_func @redfuse_gpu::@host_1 blocks in
// CHECK:       gpu.func @host_0
// CHECK-NOT:     scf.for
// CHECK:         gpu.block_id x
// CHECK:         memref.store
// CHECK:       gpu.func @host_1
// CHECK:         gpu.block_id x
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:           memref.store
func.func @structured(%x: memref<64x?xf32>, %padded: memref<64x228x228xf32>, %sums: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%padded : memref<64x228x228xf32>)
  linalg.reduce ins(%x : memref<64x?xf32>) outs(%sums : memref<64xf32>) dimensions = [1]
    (%in: f32, %total: f32) {
      %next = arith.addf %total, %in : f32
      linalg.yield %next : f32
    }
  return
}

// -----

// Rows of a KiB and more, each in one piece on both sides, have one kernel, whatever their number,
// length and pitch: a block has a part of a row, and a thread 16 bytes of it.

// CHECK-LABEL: func.func @parts
// CHECK:         memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [8, 256], strides: [896, 1]
// CHECK-DAG:     %[[SHORT:.*]] = arith.constant 256 : i32
// CHECK-DAG:     %[[ROWS:.*]] = arith.constant 8 : index
// CHECK:         gpu.launch_func @redfuse_gpu::@host_0 blocks in (%[[ROWS]], {{.*}} %[[SHORT]] : i32
// CHECK:         memref.reinterpret_cast %{{.*}} to offset: [256], sizes: [8, 640], strides: [896, 1]
// CHECK-DAG:     %[[LONG:.*]] = arith.constant 640 : i32
// CHECK-DAG:     %[[MORE:.*]] = arith.constant 16 : index
// CHECK:         gpu.launch_func @redfuse_gpu::@host_0 blocks in (%[[MORE]], {{.*}} %[[LONG]] : i32
// CHECK-NOT:     gpu.launch_func
// CHECK:       gpu.func @host_0(%[[FROM:.*]]: memref<?x?xf32, strided<[?, 1], offset: ?>>, %[[TO:.*]]: memref<?x?xf32, strided<[?, 1], offset: ?>>, %[[COLUMNS:.*]]: i32, %[[BLOCKS:.*]]: i32)
// CHECK-DAG:     arith.divui %{{.*}}, %[[BLOCKS]]
// CHECK-DAG:     arith.remui %{{.*}}, %[[BLOCKS]]
// CHECK-DAG:     %[[EXISTS:.*]] = arith.cmpi ult, %{{.*}}, %[[COLUMNS]]
// CHECK:         scf.if %[[EXISTS]] -> (vector<4xf32>)
// CHECK:           vector.load %[[FROM]][{{.*}}] {alignment = 16 : i64}
// CHECK:         scf.if %[[EXISTS]]
// CHECK:           vector.store %{{.*}}, %[[TO]][{{.*}}] {alignment = 16 : i64}
// CHECK-NOT:   gpu.func
func.func @parts(%x: memref<2x4x256xf32>, %y: memref<8x5x128xf32>, %out: memref<8x896xf32>) {
  %split = memref.expand_shape %out [[0, 1], [2]] output_shape [2, 4, 896] : memref<8x896xf32> into memref<2x4x896xf32>
  %left = memref.subview %split[0, 0, 0] [2, 4, 256] [1, 1, 1] : memref<2x4x896xf32> to memref<2x4x256xf32, strided<[3584, 896, 1]>>
  memref.copy %x, %left : memref<2x4x256xf32> to memref<2x4x256xf32, strided<[3584, 896, 1]>>
  %fine = memref.expand_shape %out [[0], [1, 2]] output_shape [8, 7, 128] : memref<8x896xf32> into memref<8x7x128xf32>
  %right = memref.subview %fine[0, 2, 0] [8, 5, 128] [1, 1, 1] : memref<8x7x128xf32> to memref<8x5x128xf32, strided<[896, 128, 1], offset: 256>>
  memref.copy %y, %right : memref<8x5x128xf32> to memref<8x5x128xf32, strided<[896, 128, 1], offset: 256>>
  return
}

// -----

// An odd place leaves accesses of one element. Threads count through the moves of all short rows; rows
// that no even steps lead to have a thread an element.

// CHECK-LABEL: func.func @odd
// CHECK:       gpu.func @host_0
// CHECK:         vector.load {{.*}} {alignment = 2 : i64} : memref<?x?xbf16, strided<[?, 1], offset: ?>>, vector<1xbf16>
// CHECK:       gpu.func @host_1({{.*}}, %[[MOVES:.*]]: i32, %[[ALL:.*]]: i32)
// CHECK-DAG:     arith.cmpi ult, %[[AT:.*]], %[[ALL]]
// CHECK-DAG:     arith.divui %[[AT]], %[[MOVES]]
// CHECK-DAG:     arith.remui %[[AT]], %[[MOVES]]
// CHECK:         vector.load {{.*}} {alignment = 2 : i64} : memref<?x?xbf16, strided<[?, 1], offset: ?>>, vector<1xbf16>
// CHECK:       gpu.func @host_2
// CHECK:         memref.load
func.func @odd(%x: memref<5x800xbf16>, %out: memref<5x901xbf16>, %short: memref<5x100xbf16>, %y: memref<3x2x512xf32>, %z: memref<3x3x512xf32>) {
  %a = memref.subview %out[0, 0] [5, 800] [1, 1] : memref<5x901xbf16> to memref<5x800xbf16, strided<[901, 1]>>
  memref.copy %x, %a : memref<5x800xbf16> to memref<5x800xbf16, strided<[901, 1]>>
  %b = memref.subview %out[0, 801] [5, 100] [1, 1] : memref<5x901xbf16> to memref<5x100xbf16, strided<[901, 1], offset: 801>>
  memref.copy %short, %b : memref<5x100xbf16> to memref<5x100xbf16, strided<[901, 1], offset: 801>>
  %c = memref.subview %z[0, 0, 0] [3, 2, 256] [1, 1, 1] : memref<3x3x512xf32> to memref<3x2x256xf32, strided<[1536, 512, 1]>>
  %d = memref.subview %y[0, 0, 0] [3, 2, 256] [1, 1, 1] : memref<3x2x512xf32> to memref<3x2x256xf32, strided<[1024, 512, 1]>>
  memref.copy %d, %c : memref<3x2x256xf32, strided<[1024, 512, 1]>> to memref<3x2x256xf32, strided<[1536, 512, 1]>>
  return
}

// -----

// A kernel that is not generated yet has the name: the loop's has another.
// CHECK-LABEL: func.func @host(
// CHECK: redfuse.launch @host_0
// CHECK: gpu.launch_func @redfuse_gpu::@host_0_0 blocks in
redfuse.kernel @host_0 attributes {num_inputs = 0 : i64} {
^bb0(%o: tensor<16xf32>):
  redfuse.yield %o : tensor<16xf32>
}
func.func @host(%x: memref<16xf32>, %out: memref<16xf32>) {
  redfuse.launch @host_0 outs(%x : memref<16xf32>)
  memref.copy %x, %out : memref<16xf32> to memref<16xf32>
  return
}
