// RUN: redfuse-opt %s -redfuse-expose-state=only=first -canonicalize -cse | FileCheck %s --check-prefix=FIRST
// RUN: redfuse-opt %s -redfuse-expose-state=only=last -canonicalize -cse | FileCheck %s --check-prefix=LAST
// RUN: not redfuse-opt %s -redfuse-expose-state=only=middle 2>&1 | FileCheck %s --check-prefix=OTHER

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// OTHER: only: expected first or last

// The ends of a chain of chunks: the first has no state before it, the last one's is not stored.
// FIRST-NOT: func.func @{{.*}}__init
// FIRST-LABEL: func.func @sums__first(
// FIRST-SAME:      %[[X:[^:]*]]: tensor<8x?xf32>, %[[AT:[^:]*]]: index) -> (tensor<8xf32>, tensor<8xf32>)
// FIRST:         %[[S:.*]]:2 = redfuse.fold {{.*}} ins(%[[X]] :
// FIRST:         %[[N:.*]]:2 = redfuse.finalize {{.*}} ins(%[[S]]#0, %[[S]]#1 :
// FIRST:         return %[[N]]#0, %[[N]]#1
// LAST-LABEL: func.func @sums__last(
// LAST-SAME:      %[[X:[^:]*]]: tensor<8x?xf32>, %[[M:[^:]*]]: tensor<8xf32>, %[[L:[^:]*]]: tensor<8xf32>, %{{.*}}: index, %{{.*}}: index) -> tensor<8xf32>
// LAST:         %[[S:.*]]:2 = redfuse.fold {{.*}} ins(%[[X]] :
// LAST:         %[[R:.*]] = redfuse.finalize {{.*}} ins(%[[M]], %[[L]], %[[S]]#0, %[[S]]#1 :
// LAST:           arith.maximumf
// LAST:           math.log
// LAST-NOT:     redfuse.finalize
// LAST:         return %[[R]]
func.func @sums(%x: tensor<8x80xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x80xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %d = arith.subf %a, %m : f32
    %p = math.exp %d : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    %l = math.log %s : f32
    %z = arith.addf %l, %m : f32
    redfuse.yield %z : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
