// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-tiles -canonicalize -cse | FileCheck %s

// A ring is two addresses; a stage's barriers are 16 bytes.

// CHECK-LABEL: func @ring(
// CHECK-SAME: %[[TILES:[a-z0-9]+]]: i32, %[[BARRIERS:[a-z0-9]+]]: i32, %[[SLOT:[a-z0-9]+]]: i32, %[[PHASE:[a-z0-9]+]]: i32, %[[LANE:[a-z0-9]+]]: i32
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : i32
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : i32
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : i32
// CHECK: %[[OFFSET:.*]] = arith.muli %[[SLOT]], %[[C16]]
// CHECK: %[[FULL:.*]] = arith.addi %[[BARRIERS]], %[[OFFSET]]
// CHECK: llvm.inline_asm has_side_effects {{.*}}mbarrier.try_wait.parity{{.*}} %[[FULL]], %[[PHASE]]
// CHECK: %[[EMPTY:.*]] = arith.addi %[[FULL]], %[[C8]]
// CHECK: llvm.inline_asm has_side_effects {{.*}}mbarrier.arrive.shared{{.*}} %[[EMPTY]], %[[LANE]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[SLOT]], %{{.*}}
// CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[NEXT]], %[[C4]]
// CHECK: %[[FLIP:.*]] = arith.extui %[[WRAPS]]
// CHECK: %[[S:.*]] = arith.select %[[WRAPS]], %{{.*}}, %[[NEXT]]
// CHECK: %[[P:.*]] = arith.xori %[[PHASE]], %[[FLIP]]
// CHECK: return %[[S]], %[[P]]
func.func @ring(%tiles: i32, %barriers: i32, %stage: i32, %phase: i32, %lane: i32) -> (i32, i32) {
  %ring = tile.ring stages %tiles barriers %barriers : !tile.ring<4 x 32768>
  %full = tile.full %ring[%stage] : !tile.ring<4 x 32768>
  tile.wait_barrier %full phase %phase
  %empty = tile.empty %ring[%stage] : !tile.ring<4 x 32768>
  tile.arrive %empty lane %lane
  %next, %nextPhase = tile.advance %ring[%stage], %phase : !tile.ring<4 x 32768>
  return %next, %nextPhase : i32, i32
}

// Lanes arrive at the barriers of the block's neighbours in the cluster.

// CHECK-LABEL: func @neighbours(
// CHECK-SAME: %[[AT:[a-z0-9]+]]: i32, %[[LANE:[a-z0-9]+]]: i32, %[[RANK:[a-z0-9]+]]: i32
// CHECK: setp.lt.u32 p, $1, $3;{{.*}}xor.b32 block, $1, $2;{{.*}}@p mapa.shared::cluster.u32 there, $0, block;{{.*}}@p mbarrier.arrive.shared::cluster.b64 _, [there];{{.*}} %[[AT]], %[[LANE]], %[[RANK]], %c2
func.func @neighbours(%at: i32, %lane: i32, %rank: i32) {
  %b = tile.barrier at %at
  tile.arrive %b lane %lane rank %rank blocks 2
  return
}

// One thread prepares barriers.

// CHECK-LABEL: func @prepare(
// CHECK-SAME: %[[AT:[a-z0-9]+]]: i32
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : i32
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 32768 : i32
// CHECK: mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}" %[[AT]], %[[C8]]
// CHECK: fence.mbarrier_init.release.cluster;
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}" %[[AT]], %[[BYTES]]
func.func @prepare(%at: i32) {
  %b = tile.barrier at %at
  tile.init_barrier %b arrivals 8
  tile.fence_barriers
  tile.expect %b bytes 32768
  return
}

// A loop carries a ring as its addresses.

// CHECK-LABEL: func @carried(
// CHECK: scf.for {{.*}} iter_args(%[[SLOT:[a-z0-9]+]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (i32, i32)
// CHECK-NOT: tile.
func.func @carried(%tiles: i32, %barriers: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %ring = tile.ring stages %tiles barriers %barriers : !tile.ring<2 x 1024>
  %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%r = %ring, %s = %zero, %p = %zero) -> (!tile.ring<2 x 1024>, i32, i32) {
    %full = tile.full %r[%s] : !tile.ring<2 x 1024>
    tile.wait_barrier %full phase %p
    %s1, %p1 = tile.advance %r[%s], %p : !tile.ring<2 x 1024>
    scf.yield %r, %s1, %p1 : !tile.ring<2 x 1024>, i32, i32
  }
  return
}
