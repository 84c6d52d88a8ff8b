// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-drop-roundings > %t.after
// RUN: diff %t.before %t.after

#ij = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A factor of a sum of products, what is marked, another type, and eight bits.
func.func @as_they_are(%x: tensor<6x80xbf16>, %y: tensor<6x80xbf16>, %d: tensor<6x80xf64>, %o: tensor<6xf32>, %p: tensor<6x80xf32>) -> (tensor<6xf32>, tensor<6x80xf32>) {
  %0 = redfuse.cascade {indexing_maps = [#ij, #ij, #r]} ins(%x, %y : tensor<6x80xbf16>, tensor<6x80xbf16>) outs(%o : tensor<6xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %1 = arith.extf %a : bf16 to f32
    %2 = math.exp %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    %4 = arith.extf %3 : bf16 to f32
    %5 = arith.extf %b : bf16 to f32
    %6 = arith.mulf %4, %5 : f32
    %7 = redfuse.reduce add %6 over [1] into [0] : f32
    redfuse.yield %7 : f32
  } -> tensor<6xf32>
  %8 = redfuse.cascade {indexing_maps = [#ij, #ij, #ij]} ins(%x, %d : tensor<6x80xbf16>, tensor<6x80xf64>) outs(%p : tensor<6x80xf32>) {
  ^bb0(%a: bf16, %b: f64):
    %1 = arith.extf %a : bf16 to f32
    %2 = math.exp %1 : f32
    %3 = arith.truncf %2 {redfuse.rounds} : f32 to bf16
    %4 = arith.extf %3 : bf16 to f32
    %5 = arith.truncf %b : f64 to bf16
    %6 = arith.extf %5 : bf16 to f32
    %7 = arith.truncf %2 : f32 to f8E4M3FN
    %9 = arith.extf %7 : f8E4M3FN to f32
    %10 = arith.addf %4, %6 : f32
    %11 = arith.addf %10, %9 : f32
    redfuse.yield %11 : f32
  } -> tensor<6x80xf32>
  return %0, %8 : tensor<6xf32>, tensor<6x80xf32>
}
