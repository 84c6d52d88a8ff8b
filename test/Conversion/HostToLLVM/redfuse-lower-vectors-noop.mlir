// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-lower-vectors | diff %t.before -

// Vectors of one dim whose ops LLVM has a good form of.
func.func @others(%x: vector<8xf32>, %y: vector<8xf32>, %m: memref<8xf32>, %i: index) -> f32 {
  %s = arith.mulf %x, %y : vector<8xf32>
  vector.store %s, %m[%i] : memref<8xf32>, vector<8xf32>
  %r = vector.reduction <add>, %s : vector<8xf32> into f32
  return %r : f32
}
