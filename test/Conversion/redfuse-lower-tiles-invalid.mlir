// RUN: redfuse-opt %s -split-input-file -verify-diagnostics -redfuse-lower-tiles=chip=sm_80
// RUN: redfuse-opt %s -split-input-file -redfuse-lower-tiles -o /dev/null

func.func @old(%at: i32) {
  // expected-error@+1 {{'tile.barrier' op needs sm_90 or later; the target is 'sm_80'}}
  %b = tile.barrier at %at
  tile.init_barrier %b arrivals 8
  return
}
