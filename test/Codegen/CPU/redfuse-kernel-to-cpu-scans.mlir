// RUN: redfuse-opt %s -redfuse-kernel-to-cpu=vector-bits=128 | FileCheck %s
// RUN: redfuse-opt %s "-redfuse-kernel-to-cpu=vector-bits=128 strict" | FileCheck %s --check-prefix=STRICT

#row = affine_map<(i, j) -> (i, j)>

// Neighbours of a row are lanes: each takes what the one before it has, then what the second before
// it has. What comes before the vector is combined with all of them, and what is made of the
// prefixes is made there. The end of a row is masked.
// CHECK-LABEL: func.func private @rows
// CHECK:         %[[ZERO:.*]] = vector.broadcast %{{.*}} : f32 to vector<4xf32>
// CHECK:         %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[RUNNING:.*]] = %[[ZERO]]) -> (vector<4xf32>)
// CHECK:           %[[X:.*]] = vector.load
// CHECK:           %[[S1:.*]] = vector.shuffle %[[ZERO]], %[[X]] [0, 4, 5, 6]
// CHECK:           %[[A1:.*]] = arith.addf %[[S1]], %[[X]]
// CHECK:           %[[S2:.*]] = vector.shuffle %[[ZERO]], %[[A1]] [0, 1, 4, 5]
// CHECK:           %[[A2:.*]] = arith.addf %[[S2]], %[[A1]]
// CHECK:           %[[P:.*]] = arith.addf %[[RUNNING]], %[[A2]]
// CHECK:           %[[N:.*]] = arith.negf %[[P]]
// CHECK:           vector.store %[[N]], %arg3
// CHECK:           %[[LAST:.*]] = vector.shuffle %[[A2]], %[[A2]] [3, 3, 3, 3]
// CHECK:           %[[NEXT:.*]] = arith.addf %[[RUNNING]], %[[LAST]]
// CHECK:           scf.yield %[[NEXT]]
// CHECK:         vector.maskedload
// CHECK:         vector.maskedstore

// Rows are lanes.
// STRICT-LABEL: func.func private @rows
// STRICT-NOT:     vector.shuffle %{{.*}}, %{{.*}} [0, 4, 5, 6]
func.func @f(%x: memref<8x11xf32>, %out: memref<8x11xf32>) {
  redfuse.launch @rows ins(%x : memref<8x11xf32>) outs(%out : memref<8x11xf32>)
  return
}
redfuse.kernel @rows attributes {num_inputs = 1 : i64, schedule = #redfuse.schedule<resident, grid = [0], tiles = [4, 0]>} {
^bb0(%x: tensor<8x11xf32>, %out: tensor<8x11xf32>):
  %r = redfuse.cascade {indexing_maps = [#row, #row]} ins(%x : tensor<8x11xf32>) outs(%out : tensor<8x11xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.scan add %a along 1 : f32
    %n = arith.negf %s : f32
    redfuse.yield %n : f32
  } -> tensor<8x11xf32>
  redfuse.yield %r : tensor<8x11xf32>
}
