// RUN: redfuse-opt %s -split-input-file -verify-diagnostics -redfuse-attach-target=chip=sm_80 -redfuse-lower-tiles
// RUN: redfuse-opt %s -split-input-file -redfuse-attach-target=chip=sm_90a -redfuse-lower-tiles -o /dev/null

func.func @old(%at: i32) {
  // expected-error@+1 {{'tile.barrier' op needs tensor maps and their barriers; the target is 'sm_80'}}
  %b = tile.barrier at %at
  tile.init_barrier %b arrivals 8
  return
}

// -----

func.func @narrow(%a: i32, %b: i32) {
  %left = tile.view at %a : !tile.shared<64x64xf16>
  %right = tile.view at %b : !tile.shared<32x64xf16>
  // expected-error@+1 {{has 8 columns; products of warps have a multiple of 16}}
  %s = tile.multiply %left, %right rows over 32 : !tile.shared<64x64xf16>, !tile.shared<32x64xf16> -> !tile.accumulators<64x8xf32>
  return
}
// -----

func.func @floats(%a: i32, %b: i32) {
  %left = tile.view at %a : !tile.shared<64x32xf32>
  %right = tile.view at %b : !tile.shared<32x32xf32>
  // expected-error@+1 {{multiplies f32, which products of warps do not}}
  %s = tile.multiply %left, %right over 32 : !tile.shared<64x32xf32>, !tile.shared<32x32xf32> -> !tile.accumulators<64x32xf32>
  return
}
