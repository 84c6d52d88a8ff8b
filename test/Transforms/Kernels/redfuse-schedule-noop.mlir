// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-schedule="kind=stream tiles=4,8" > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A cascade that has a schedule keeps it, whatever is asked for.
func.func @scheduled(%x: tensor<64x1000xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #r],
        schedule = #redfuse.schedule<resident, grid = [0], tiles = [2, 0]>}
      ins(%x : tensor<64x1000xf32>) outs(%o : tensor<64xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// A fold walks the way it was derived for: it gets no other schedule, nor one if it has none.
func.func @derived(%x: tensor<64x1000xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %m = linalg.fill ins(%zero : f32) outs(%o : tensor<64xf32>) -> tensor<64xf32>
  %r = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<64x1000xf32>) outs(%m : tensor<64xf32>)
  step {
  ^bb0(%a: f32, %acc: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %t = arith.addf %acc, %s : f32
    redfuse.yield %t : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %t = arith.addf %a, %b : f32
    redfuse.yield %t : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// A reduction that was not raised is walked as upstream's loops do.
func.func @linalg(%x: tensor<64x1000xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = linalg.reduce ins(%x : tensor<64x1000xf32>) outs(%o : tensor<64xf32>) dimensions = [1]
    (%a: f32, %acc: f32) {
      %s = arith.addf %acc, %a : f32
      linalg.yield %s : f32
    }
  return %r : tensor<64xf32>
}
