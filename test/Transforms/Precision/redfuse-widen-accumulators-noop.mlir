// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-widen-accumulators | diff %t.before -

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Sums that are wide already, those of integers, and what loses nothing.
func.func @others(%x: tensor<4x8xf32>, %n: tensor<4x8xi8>, %h: tensor<4x8xbf16>,
                  %o: tensor<4xf32>, %p: tensor<4xi8>, %q: tensor<4xbf16>)
    -> (tensor<4xf32>, tensor<4xi8>, tensor<4xbf16>) {
  %r:3 = redfuse.cascade {indexing_maps = [#x, #x, #x, #r, #r, #r]}
      ins(%x, %n, %h : tensor<4x8xf32>, tensor<4x8xi8>, tensor<4x8xbf16>)
      outs(%o, %p, %q : tensor<4xf32>, tensor<4xi8>, tensor<4xbf16>) {
  ^bb0(%a: f32, %b: i8, %c: bf16):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %t = redfuse.reduce add %b over [1] into [0] : i8
    %m = redfuse.reduce maximumf %c over [1] into [0] : bf16
    redfuse.yield %s, %t, %m : f32, i8, bf16
  } -> tensor<4xf32>, tensor<4xi8>, tensor<4xbf16>
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xi8>, tensor<4xbf16>
}
