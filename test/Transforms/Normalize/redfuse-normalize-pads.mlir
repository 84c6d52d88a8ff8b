// RUN: redfuse-opt %s -redfuse-normalize-pads | FileCheck %s

// CHECK-DAG: #[[IN:.+]] = affine_map<(d0, d1, d2) -> (d0, (d1 + 3) mod 5, d2 mod 6)>
// CHECK-DAG: #[[MOVED:.+]] = affine_map<(d0) -> ((d0 + 3) mod 4)>
// CHECK-DAG: #[[ONE:.+]] = affine_map<(d0, d1) -> (0, d1)>

// The second dim from both sides, the third behind its end.
// CHECK-LABEL: func.func @f
// CHECK-SAME: %[[X:.+]]: tensor<4x5x6xf32>
// CHECK-DAG: %[[SIX:.+]] = arith.constant 6 : index
// CHECK-DAG: %[[SEVEN:.+]] = arith.constant 7 : index
// CHECK-DAG: %[[LOW:.+]] = arith.constant 2 : index
// CHECK-DAG: %[[V:.+]] = arith.constant 1.500000e+00
// CHECK: linalg.generic {indexing_maps = [#[[IN]], #{{.+}}], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[X]]
// CHECK: ^bb0(%[[E:.+]]: f32, %{{.+}}: f32):
// CHECK: %[[I:.+]] = linalg.index 1
// CHECK: %[[BEHIND:.+]] = arith.cmpi sge, %[[I]], %[[LOW]]
// CHECK: %[[BEFORE:.+]] = arith.cmpi slt, %{{.+}}, %[[SEVEN]]
// CHECK: %[[SECOND:.+]] = arith.andi %[[BEHIND]], %[[BEFORE]]
// CHECK: %[[THIRD:.+]] = arith.cmpi slt, %{{.+}}, %[[SIX]]
// CHECK: %[[INSIDE:.+]] = arith.andi %[[SECOND]], %[[THIRD]]
// CHECK: %[[R:.+]] = arith.select %[[INSIDE]], %[[E]], %[[V]]
// CHECK: linalg.yield %[[R]]
func.func @f(%x: tensor<4x5x6xf32>) -> tensor<4x8x7xf32> {
  %r = tensor.pad %x low[0, 2, 0] high[0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    %v = arith.constant 1.5 : f32
    tensor.yield %v : f32
  } : tensor<4x5x6xf32> to tensor<4x8x7xf32>
  return %r : tensor<4x8x7xf32>
}

// A value that is computed outside; of one element all reads are at its place.
// CHECK-LABEL: func.func @one
// CHECK-SAME: %[[X:.+]]: tensor<1x4xf32>, %[[V:.+]]: f32
// CHECK: linalg.generic {indexing_maps = [#[[ONE]]
// CHECK: arith.select %{{.+}}, %{{.+}}, %[[V]]
func.func @one(%x: tensor<1x4xf32>, %v: f32) -> tensor<3x4xf32> {
  %r = tensor.pad %x low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<1x4xf32> to tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// What is padded in front and cut behind has the source's extent, but not its places.
// CHECK-LABEL: func.func @moved
// CHECK: linalg.generic {indexing_maps = [#[[MOVED]], #{{.+}}], iterator_types = ["parallel"]}
func.func @moved(%x: tensor<4xf32>, %v: f32) -> tensor<4xf32> {
  %r = tensor.pad %x nofold low[1] high[-1] {
  ^bb0(%i: index):
    tensor.yield %v : f32
  } : tensor<4xf32> to tensor<4xf32>
  return %r : tensor<4xf32>
}
