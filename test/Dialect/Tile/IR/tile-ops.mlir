// RUN: redfuse-opt %s | redfuse-opt | FileCheck %s
// RUN: redfuse-opt %s -mlir-print-op-generic | redfuse-opt | FileCheck %s

// CHECK-LABEL: func @barriers(
func.func @barriers(%at: i32, %lane: i32, %phase: i32) {
  // CHECK: %[[B:.*]] = tile.barrier at %{{.*}}
  %b = tile.barrier at %at
  // CHECK: tile.init_barrier %[[B]] arrivals 8
  tile.init_barrier %b arrivals 8
  // CHECK: tile.fence_barriers
  tile.fence_barriers
  // CHECK: tile.expect %[[B]] bytes 1024
  tile.expect %b bytes 1024
  // CHECK: tile.wait_barrier %[[B]] phase %{{.*}}
  tile.wait_barrier %b phase %phase
  // CHECK: tile.arrive %[[B]] lane %{{.*}}
  tile.arrive %b lane %lane
  // CHECK: tile.arrive %[[B]] lane %{{.*}} rank %{{.*}} blocks 3
  tile.arrive %b lane %lane rank %phase blocks 3
  return
}

// CHECK-LABEL: func @rings(
func.func @rings(%tiles: i32, %barriers: i32, %stage: i32, %phase: i32) {
  // CHECK: %[[R:.*]] = tile.ring stages %{{.*}} barriers %{{.*}} : !tile.ring<4 x 32768>
  %r = tile.ring stages %tiles barriers %barriers : !tile.ring<4 x 32768>
  // CHECK: tile.full %[[R]][%{{.*}}] : !tile.ring<4 x 32768>
  %full = tile.full %r[%stage] : !tile.ring<4 x 32768>
  // CHECK: tile.empty %[[R]][%{{.*}}] : !tile.ring<4 x 32768>
  %empty = tile.empty %r[%stage] : !tile.ring<4 x 32768>
  // CHECK: tile.stage %[[R]][%{{.*}}] : !tile.ring<4 x 32768>, !tile.shared<64x128xbf16>
  %first = tile.stage %r[%stage] : !tile.ring<4 x 32768>, !tile.shared<64x128xbf16>
  // CHECK: tile.stage %[[R]][%{{.*}}] at 16384 : !tile.ring<4 x 32768>, !tile.shared<128x128xf8E4M3FN>
  %second = tile.stage %r[%stage] at 16384 : !tile.ring<4 x 32768>, !tile.shared<128x128xf8E4M3FN>
  // CHECK: %{{.*}}, %{{.*}} = tile.advance %[[R]][%{{.*}}], %{{.*}} : !tile.ring<4 x 32768>
  %next, %nextPhase = tile.advance %r[%stage], %phase : !tile.ring<4 x 32768>
  return
}

// CHECK-LABEL: func @threads(
func.func @threads(%warp: i32, %address: i32) {
  // CHECK: tile.synchronize barrier 1 threads 256
  tile.synchronize barrier 1 threads 256
  // CHECK: tile.notify barrier 15 threads 1024
  tile.notify barrier 15 threads 1024
  // CHECK: tile.synchronize_cluster
  tile.synchronize_cluster
  // CHECK: tile.address_in %{{.*}} block 3
  %there = tile.address_in %address block 3
  // CHECK: tile.address_in %{{.*}} block %{{.*}}
  %here = tile.address_in %address block %warp
  // CHECK: tile.roles of %{{.*}} registers 168
  // CHECK-NEXT: role warps 4 registers 24 {
  // CHECK-NEXT: }
  // CHECK-NEXT: role warps 8 registers 240 {
  // CHECK-NEXT: tile.synchronize barrier 2 threads 256
  // CHECK-NEXT: }
  tile.roles of %warp registers 168
    role warps 4 registers 24 {
    }
    role warps 8 registers 240 {
      tile.synchronize barrier 2 threads 256
    }
  // CHECK: tile.roles of %{{.*}} attributes {name = "plain"}
  // CHECK-NEXT: role warps 1 {
  tile.roles of %warp attributes {name = "plain"}
    role warps 1 {
      tile.fence_copies
    }
  return
}

// CHECK-LABEL: func @words(
func.func @words(%address: i32, %x: f32, %n: i32) {
  // CHECK: tile.store %{{.*}} at 8, %{{.*}}, %{{.*}} : f32, f32
  tile.store %address at 8, %x, %x : f32, f32
  // CHECK: tile.store %{{.*}}, %{{.*}} : i32
  tile.store %address, %n : i32
  // CHECK: %{{.*}}:4 = tile.load cluster %{{.*}} at 16 : f32, f32, f32, f32
  %four:4 = tile.load cluster %address at 16 : f32, f32, f32, f32
  // CHECK: %{{.*}} = tile.load %{{.*}} : i32
  %one = tile.load %address : i32
  return
}

// CHECK-LABEL: func @copies(
func.func @copies(%map: vector<16xi64>, %x: i32, %row: i32, %t: !tile.shared<128x128xbf16>, %b: !tile.barrier, %tap: i16) {
  // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}} signal %{{.*}} : !tile.shared<128x128xbf16>
  tile.copy %map[%x, %row] to %t signal %b : !tile.shared<128x128xbf16>
  // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] window[%{{.*}}, %{{.*}}] to %{{.*}} signal
  tile.copy %map[%x, %row, %row, %x] window [%tap, %tap] to %t signal %b : !tile.shared<128x128xbf16>
  // CHECK: tile.prefetch %{{.*}}[%{{.*}}, %{{.*}}] : !tile.shared<128x128xbf16>
  tile.prefetch %map[%x, %row] : !tile.shared<128x128xbf16>
  // CHECK: tile.store_block %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} to %{{.*}}[%{{.*}}] column 112 : !tile.shared<128x128xbf16>
  tile.store_block %x, %x, %x, %x to %t[%row] column 112 : !tile.shared<128x128xbf16>
  // CHECK: tile.fence_copies
  tile.fence_copies
  // CHECK: tile.copy_out %{{.*}} to %{{.*}}[%{{.*}}] : !tile.shared<128x128xbf16>
  tile.copy_out %t to %map[%x] : !tile.shared<128x128xbf16>
  // CHECK: tile.commit_copies
  tile.commit_copies
  // CHECK: tile.wait_copies 0
  tile.wait_copies 0
  // CHECK: tile.view at %{{.*}} : !tile.shared<8x64xf16>
  %v = tile.view at %x : !tile.shared<8x64xf16>
  return
}

// CHECK-LABEL: func @products(
func.func @products(%a: !tile.shared<128x64xf16>, %b: !tile.shared<64x64xf16>, %row: i32, %x: f32, %word: i32) -> f32 {
  // CHECK: %[[SUM:.*]] = tile.multiply %{{.*}}[%{{.*}}], %{{.*}} rows over 64 : !tile.shared<128x64xf16>, !tile.shared<64x64xf16> -> !tile.accumulators<64x8xf32>
  %sum = tile.multiply %a[%row], %b rows over 64 : !tile.shared<128x64xf16>, !tile.shared<64x64xf16> -> !tile.accumulators<64x8xf32>
  // CHECK: %[[OPERAND:.*]] = tile.read_operand %{{.*}}[%{{.*}}] : !tile.shared<128x64xf16> -> !tile.operand<64x32xf16>
  %read = tile.read_operand %a[%row] : !tile.shared<128x64xf16> -> !tile.operand<64x32xf16>
  // CHECK: tile.settle %{{.*}}, %{{.*}} : !tile.operand<64x32xf16>, i32
  %there, %now = tile.settle %read, %word : !tile.operand<64x32xf16>, i32
  // CHECK: tile.multiply %{{.*}}, %{{.*}} over 32 plus %[[SUM]] : !tile.operand<64x32xf16>, !tile.shared<64x64xf16> plus !tile.accumulators<64x8xf32> -> !tile.accumulators<64x8xf32>
  %more = tile.multiply %there, %b over 32 plus %sum : !tile.operand<64x32xf16>, !tile.shared<64x64xf16> plus !tile.accumulators<64x8xf32> -> !tile.accumulators<64x8xf32>
  // CHECK: tile.multiply %{{.*}} rows, %{{.*}} over 64
  %by = tile.multiply %a rows, %b over 64 : !tile.shared<128x64xf16>, !tile.shared<64x64xf16> -> !tile.accumulators<64x8xf32>
  // CHECK: tile.wait_products 1{{$}}
  tile.wait_products 1
  // CHECK: %[[E:.*]]:8 = tile.wait_products 0 of %{{.*}}, %{{.*}} alive %{{.*}} : !tile.accumulators<64x8xf32>, !tile.accumulators<64x8xf32> alive !tile.operand<64x32xf16>
  %e:8 = tile.wait_products 0 of %more, %by alive %there : !tile.accumulators<64x8xf32>, !tile.accumulators<64x8xf32> alive !tile.operand<64x32xf16>
  // CHECK: tile.accumulators %[[E]]#0, %[[E]]#1, %[[E]]#2, %[[E]]#3 : !tile.accumulators<64x8xf32>
  %c = tile.accumulators %e#0, %e#1, %e#2, %e#3 : !tile.accumulators<64x8xf32>
  %count = arith.constant 1 : i32
  // CHECK: tile.accumulators %{{.*}} : !tile.accumulators<64x8xi32>
  %counts = tile.accumulators %count, %count, %count, %count : !tile.accumulators<64x8xi32>
  // CHECK: tile.pack %[[E]]#0, {{.*}} : !tile.operand<64x16xbf16>
  %p = tile.pack %e#0, %e#1, %e#2, %e#3, %e#4, %e#5, %e#6, %e#7 : !tile.operand<64x16xbf16>
  return %e#0 : f32
}

// CHECK-LABEL: func @warp(
func.func @warp(%a: i32, %x: f32, %v: vector<4xi32>, %d: f64) {
  // CHECK: %{{.*}}:4 = tile.mma bf16(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) by bf16(%{{.*}}, %{{.*}}) plus %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (i32, i32, i32, i32), (i32, i32) -> f32, f32, f32, f32
  %m:4 = tile.mma bf16(%a, %a, %a, %a) by bf16(%a, %a) plus %x, %x, %x, %x : (i32, i32, i32, i32), (i32, i32) -> f32, f32, f32, f32
  // CHECK: %{{.*}} = tile.mma si8(%{{.*}}) by ui8(%{{.*}}) plus %{{.*}} : (i32), (i32) -> vector<4xi32>
  %n = tile.mma si8(%a) by ui8(%a) plus %v : (i32), (i32) -> vector<4xi32>
  // CHECK: %{{.*}}:2 = tile.mma f64(%{{.*}}) by f64(%{{.*}}) plus %{{.*}}, %{{.*}} : (f64), (f64) -> f64, f64
  %e:2 = tile.mma f64(%d) by f64(%d) plus %d, %d : (f64), (f64) -> f64, f64
  return
}
