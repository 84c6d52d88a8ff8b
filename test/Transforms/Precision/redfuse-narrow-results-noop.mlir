// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-narrow-results > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>

// A result of the function, a destination that is given, a flag, and what is not extended.
func.func @as_they_are(%x: tensor<6x20xbf16>, %d: tensor<6x20xf32>, %f: tensor<6x20xi1>) -> (tensor<6x20xf32>, tensor<6x20xf32>) {
  %0 = tensor.empty() : tensor<6x20xf32>
  %1 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<6x20xbf16>) outs(%0 : tensor<6x20xf32>) {
  ^bb0(%a: bf16):
    %w = arith.extf %a : bf16 to f32
    redfuse.yield %w : f32
  } -> tensor<6x20xf32>
  %2 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<6x20xbf16>) outs(%d : tensor<6x20xf32>) {
  ^bb0(%a: bf16):
    %w = arith.extf %a : bf16 to f32
    redfuse.yield %w : f32
  } -> tensor<6x20xf32>
  %3 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%f : tensor<6x20xi1>) outs(%0 : tensor<6x20xf32>) {
  ^bb0(%a: i1):
    %w = arith.uitofp %a : i1 to f32
    redfuse.yield %w : f32
  } -> tensor<6x20xf32>
  %4 = redfuse.cascade {indexing_maps = [#x, #x, #x]} ins(%2, %3 : tensor<6x20xf32>, tensor<6x20xf32>) outs(%0 : tensor<6x20xf32>) {
  ^bb0(%a: f32, %b: f32):
    %w = arith.addf %a, %b : f32
    redfuse.yield %w : f32
  } -> tensor<6x20xf32>
  return %1, %4 : tensor<6x20xf32>, tensor<6x20xf32>
}

// What is extended as it lies in memory: a shorter result would be a copy of it.
func.func @copy(%x: tensor<6x20xf8E4M3FN>) -> tensor<6x20xf32> {
  %0 = tensor.empty() : tensor<6x20xbf16>
  %1 = tensor.empty() : tensor<6x20xf32>
  %2 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<6x20xf8E4M3FN>) outs(%0 : tensor<6x20xbf16>) {
  ^bb0(%a: f8E4M3FN):
    %w = arith.extf %a : f8E4M3FN to bf16
    redfuse.yield %w : bf16
  } -> tensor<6x20xbf16>
  %3 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%2 : tensor<6x20xbf16>) outs(%1 : tensor<6x20xf32>) {
  ^bb0(%a: bf16):
    %w = arith.extf %a : bf16 to f32
    %s = arith.mulf %w, %w : f32
    redfuse.yield %s : f32
  } -> tensor<6x20xf32>
  return %3 : tensor<6x20xf32>
}
