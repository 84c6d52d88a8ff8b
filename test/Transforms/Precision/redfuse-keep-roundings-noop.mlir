// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-keep-roundings > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A rounding in the body of a linalg op, which no later pass leaves out, though an integer is made of it.
func.func @host(%x: tensor<6x80xf32>) -> tensor<6x80xi32> {
  %e = tensor.empty() : tensor<6x80xi32>
  %r = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x80xf32>) outs(%e : tensor<6x80xi32>) {
  ^bb0(%a: f32, %o: i32):
    %h = arith.truncf %a : f32 to bf16
    %q = arith.fptosi %h : bf16 to i32
    linalg.yield %q : i32
  } -> tensor<6x80xi32>
  return %r : tensor<6x80xi32>
}

// A result that is computed with a rounded value, and so is none itself.
func.func @computed(%x: tensor<6x80xf32>, %e: tensor<6x80xf32>) -> tensor<6x80xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<6x80xf32>) outs(%e : tensor<6x80xf32>) {
  ^bb0(%a: f32):
    %h = arith.truncf %a : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %y = arith.addf %w, %a : f32
    redfuse.yield %y : f32
  } -> tensor<6x80xf32>
  return %r : tensor<6x80xf32>
}

// What is made of a sum is of the sum's own rounding, be it an integer.
func.func @summed(%x: tensor<6x80xf32>, %e: tensor<6xi32>) -> tensor<6xi32> {
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<6x80xf32>) outs(%e : tensor<6xi32>) {
  ^bb0(%a: f32):
    %h = arith.truncf %a : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %s = redfuse.reduce add %w over [1] into [0] : f32
    %q = arith.fptosi %s : f32 to i32
    redfuse.yield %q : i32
  } -> tensor<6xi32>
  return %r : tensor<6xi32>
}

// A quotient that is the key of a selection: those of one divisor are in the order of what is divided.
func.func @quotient(%x: tensor<6x80xf32>, %e: tensor<6xindex>) -> tensor<6xindex> {
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<6x80xf32>) outs(%e : tensor<6xindex>) {
  ^bb0(%a: f32):
    %three = arith.constant 3.0 : f32
    %d = arith.divf %a, %three : f32
    %j = redfuse.index 1
    %b:2 = redfuse.reduce argmax %d, %j over [1] into [0] : f32, index
    redfuse.yield %b#1 : index
  } -> tensor<6xindex>
  return %r : tensor<6xindex>
}
