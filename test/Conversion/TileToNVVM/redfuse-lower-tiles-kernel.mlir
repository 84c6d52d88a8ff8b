// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-to-nvvm -gpu-module-to-binary=format=isa | FileCheck %s

// A whole small kernel: 64 rows of one matrix times 64 columns of another, a sum of
// 64 a step, through a ring of two stages; one thread loads, a warpgroup multiplies.
// What comes of it is PTX.

// CHECK: .visible .entry product(
// CHECK-SAME: .param .align 64 .b8 product_param_1[128]
// CHECK: mbarrier.init.shared::cta.b64
// CHECK: fence.mbarrier_init.release.cluster;
// CHECK: bar.sync
// The loader.
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64
// CHECK-COUNT-2: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// Who multiplies: four instructions of 16 a step, one product behind the next one.
// CHECK: wgmma.fence.sync.aligned;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: wgmma.fence.sync.aligned;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: st.global
module attributes {gpu.container_module} {
gpu.module @redfuse_gpu {
  gpu.func @product(%n: index, %a: vector<16xi64>, %b: vector<16xi64>, %out: memref<128xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c5 = arith.constant 5 : i32
    %c31 = arith.constant 31 : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : index
    %c1023 = arith.constant 1023 : i32
    %mask = arith.constant -1024 : i32
    %full32 = arith.constant -1 : i32
    %size = arith.constant 32768 : i32
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %pointer = memref.extract_aligned_pointer_as_index %shared : memref<?xi8, #gpu.address_space<workgroup>> -> index
    %raw = arith.index_cast %pointer : index to i32
    %up = arith.addi %raw, %c1023 : i32
    %base = arith.andi %up, %mask : i32
    %barriers = arith.addi %base, %size : i32
    %ring = tile.ring stages %base barriers %barriers : !tile.ring<2 x 16384>
    %x = gpu.thread_id x
    %thread = arith.index_cast %x : index to i32
    %lane = arith.andi %thread, %c31 : i32
    %own = arith.shrui %thread, %c5 : i32
    %warp = nvvm.shfl.sync idx %full32, %own, %zero, %c31 : i32 -> i32
    %isFirst = arith.cmpi eq, %thread, %zero : i32
    scf.if %isFirst {
      %full0 = tile.full %ring[%zero] : !tile.ring<2 x 16384>
      tile.init_barrier %full0 arrivals 1
      %full1 = tile.full %ring[%one] : !tile.ring<2 x 16384>
      tile.init_barrier %full1 arrivals 1
      %empty0 = tile.empty %ring[%zero] : !tile.ring<2 x 16384>
      tile.init_barrier %empty0 arrivals 4
      %empty1 = tile.empty %ring[%one] : !tile.ring<2 x 16384>
      tile.init_barrier %empty1 arrivals 4
      tile.fence_barriers
    }
    gpu.barrier
    tile.roles of %warp
      role warps 4 {
        scf.if %isFirst {
          %last:3 = scf.for %i = %c0 to %n step %c1 iter_args(%stage = %zero, %phase = %zero, %at = %zero) -> (i32, i32, i32) {
            %free = arith.xori %phase, %one : i32
            %empty = tile.empty %ring[%stage] : !tile.ring<2 x 16384>
            tile.wait_barrier %empty phase %free
            %full = tile.full %ring[%stage] : !tile.ring<2 x 16384>
            tile.expect %full bytes 16384
            %left = tile.stage %ring[%stage] : !tile.ring<2 x 16384>, !tile.shared<64x64xbf16>
            tile.copy %a[%at, %zero] to %left signal %full : !tile.shared<64x64xbf16>
            %right = tile.stage %ring[%stage] at 8192 : !tile.ring<2 x 16384>, !tile.shared<64x64xbf16>
            tile.copy %b[%at, %zero] to %right signal %full : !tile.shared<64x64xbf16>
            %next, %flip = tile.advance %ring[%stage], %phase : !tile.ring<2 x 16384>
            %beyond = arith.addi %at, %c64 : i32
            scf.yield %next, %flip, %beyond : i32, i32, i32
          }
        }
      }
      role warps 4 {
        %full = tile.full %ring[%zero] : !tile.ring<2 x 16384>
        tile.wait_barrier %full phase %zero
        %left = tile.stage %ring[%zero] : !tile.ring<2 x 16384>, !tile.shared<64x64xbf16>
        %right = tile.stage %ring[%zero] at 8192 : !tile.ring<2 x 16384>, !tile.shared<64x64xbf16>
        %first = tile.multiply %left, %right over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x64xf32>
        %second, %turn = tile.advance %ring[%zero], %zero : !tile.ring<2 x 16384>
        %end:4 = scf.for %i = %c1 to %n step %c1 iter_args(%sum = %first, %before = %zero, %stage = %second, %phase = %turn) -> (!tile.accumulators<64x64xf32>, i32, i32, i32) {
          %ready = tile.full %ring[%stage] : !tile.ring<2 x 16384>
          tile.wait_barrier %ready phase %phase
          %l = tile.stage %ring[%stage] : !tile.ring<2 x 16384>, !tile.shared<64x64xbf16>
          %r = tile.stage %ring[%stage] at 8192 : !tile.ring<2 x 16384>, !tile.shared<64x64xbf16>
          %more = tile.multiply %l, %r over 64 plus %sum : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> plus !tile.accumulators<64x64xf32> -> !tile.accumulators<64x64xf32>
          tile.wait_products 1
          %done = tile.empty %ring[%before] : !tile.ring<2 x 16384>
          tile.arrive %done lane %lane
          %next, %flip = tile.advance %ring[%stage], %phase : !tile.ring<2 x 16384>
          scf.yield %more, %stage, %next, %flip : !tile.accumulators<64x64xf32>, i32, i32, i32
        }
        %e:32 = tile.wait_products 0 of %end#0 : !tile.accumulators<64x64xf32>
        %place = arith.subi %x, %c128 : index
        memref.store %e#0, %out[%place] : memref<128xf32>
      }
    gpu.return
  }
}
}
