// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-check-source > %t.after
// RUN: diff %t.before %t.after

// The widest types that there is code for, and tensors of them.
func.func @widest(%x: tensor<4xi64>, %y: tensor<?xf64>, %z: complex<f64>, %i: index) -> i64 {
  %v = tensor.extract %x[%i] : tensor<4xi64>
  return %v : i64
}

// A scalar in TF32 all of whose uses make it an f32 again.
func.func @tf32(%x: f32) -> f32 {
  %a = arith.truncf %x : f32 to tf32
  %b = arith.extf %a : tf32 to f32
  %c = arith.extf %a : tf32 to f32
  %r = arith.mulf %b, %c : f32
  return %r : f32
}

// What computes the extents of a tensor in type index.
func.func @extents(%x: tensor<?x4xf32>) -> tensor<2xindex> {
  %s = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>
  return %s : tensor<2xindex>
}

// A private function that another one calls, if no public one calls that.
func.func private @barrier() {
  gpu.barrier
  return
}
func.func private @caller(%x: i128) {
  call @barrier() : () -> ()
  return
}
