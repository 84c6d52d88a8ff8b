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
  return
}

// CHECK-LABEL: func @rings(
func.func @rings(%tiles: i32, %barriers: i32, %slot: i32, %phase: i32) {
  // CHECK: %[[R:.*]] = tile.ring slots %{{.*}} barriers %{{.*}} : !tile.ring<4 x 32768>
  %r = tile.ring slots %tiles barriers %barriers : !tile.ring<4 x 32768>
  // CHECK: tile.full %[[R]][%{{.*}}] : !tile.ring<4 x 32768>
  %full = tile.full %r[%slot] : !tile.ring<4 x 32768>
  // CHECK: tile.empty %[[R]][%{{.*}}] : !tile.ring<4 x 32768>
  %empty = tile.empty %r[%slot] : !tile.ring<4 x 32768>
  // CHECK: tile.slot %[[R]][%{{.*}}] : !tile.ring<4 x 32768>, !tile.shared<64x128xbf16>
  %first = tile.slot %r[%slot] : !tile.ring<4 x 32768>, !tile.shared<64x128xbf16>
  // CHECK: tile.slot %[[R]][%{{.*}}] at 16384 : !tile.ring<4 x 32768>, !tile.shared<128x128xf8E4M3FN>
  %second = tile.slot %r[%slot] at 16384 : !tile.ring<4 x 32768>, !tile.shared<128x128xf8E4M3FN>
  // CHECK: %{{.*}}, %{{.*}} = tile.advance %[[R]][%{{.*}}], %{{.*}} : !tile.ring<4 x 32768>
  %next, %nextPhase = tile.advance %r[%slot], %phase : !tile.ring<4 x 32768>
  return
}
