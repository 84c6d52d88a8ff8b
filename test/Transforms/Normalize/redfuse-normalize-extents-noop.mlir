// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-normalize-extents | diff %t.before -

// Extents that may differ; one that may be 0 or not; a quotient that is no product of extents; and
// a pad by what is not known.
func.func @others(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> (i1, i1, index, tensor<8xf32>) {
  %zero = arith.constant 0 : index
  %c = arith.constant 0.0 : f32
  %dx = tensor.dim %x, %zero : tensor<?xf32>
  %dy = tensor.dim %y, %zero : tensor<?xf32>
  %same = arith.cmpi eq, %dx, %dy : index
  %none = arith.cmpi sgt, %dx, %zero : index
  %quotient = arith.divui %dx, %dy : index
  %padded = tensor.pad %x low[%n] high[0] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<?xf32> to tensor<8xf32>
  return %same, %none, %quotient, %padded : i1, i1, index, tensor<8xf32>
}
