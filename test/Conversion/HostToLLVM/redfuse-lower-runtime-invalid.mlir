// RUN: redfuse-opt %s --redfuse-lower-runtime --split-input-file --verify-diagnostics

func.func @nested(%ok: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @+1 {{expected it directly in a block of the function; run convert-scf-to-cf first}}
    cf.assert %ok, "no"
  }
  return
}

// -----

func.func @strided() {
  // expected-error @+1 {{an allocation must be contiguous and row-major}}
  %0 = memref.alloc() : memref<4xf32, strided<[2]>>
  return
}

// -----

func.func @aligned() {
  // expected-error @+1 {{allocations are aligned to 64 bytes, got alignment 4096}}
  %0 = memref.alloc() {alignment = 4096 : i64} : memref<4xf32>
  return
}

// -----

func.func private @redfuse_rt_scratch_view(index) -> memref<?xf32>
func.func @scratch(%n: index) {
  // expected-error @+1 {{expected (index) -> memref<?xi8>}}
  %0 = call @redfuse_rt_scratch_view(%n) : (index) -> memref<?xf32>
  return
}
