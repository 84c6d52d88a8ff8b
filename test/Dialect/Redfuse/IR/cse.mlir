// Bodies are plain SSA: equal lines are one, equal ops are one.
// RUN: redfuse-opt %s -cse | FileCheck %s

// CHECK-LABEL: func @body
// CHECK-COUNT-1: redfuse.index
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK-COUNT-2: redfuse.reduce
// CHECK-NOT: redfuse.reduce
// CHECK: return %[[R:.*]], %[[R]]
func.func @body(%x: tensor<6x8xf32>, %a: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
    ins(%x : tensor<6x8xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %j = redfuse.index 1
    %k = redfuse.index 1
    %d = arith.subi %j, %k : index
    %n = arith.index_cast %d : index to i32
    %f = arith.sitofp %n : i32 to f32
    %e0 = math.exp %u : f32
    %e1 = math.exp %u : f32
    %s0 = redfuse.reduce add %e0 over [1] into [0] : f32
    %s1 = redfuse.reduce add %e1 over [1] into [0] : f32
    %p = arith.mulf %s0, %s1 : f32
    %q = redfuse.reduce maximumf %f over [1] into [0] : f32
    %z = arith.addf %p, %q : f32
    redfuse.yield %z : f32
  } -> tensor<6xf32>
  %t = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
    ins(%x : tensor<6x8xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %j = redfuse.index 1
    %k = redfuse.index 1
    %d = arith.subi %j, %k : index
    %n = arith.index_cast %d : index to i32
    %f = arith.sitofp %n : i32 to f32
    %e0 = math.exp %u : f32
    %e1 = math.exp %u : f32
    %s0 = redfuse.reduce add %e0 over [1] into [0] : f32
    %s1 = redfuse.reduce add %e1 over [1] into [0] : f32
    %p = arith.mulf %s0, %s1 : f32
    %q = redfuse.reduce maximumf %f over [1] into [0] : f32
    %z = arith.addf %p, %q : f32
    redfuse.yield %z : f32
  } -> tensor<6xf32>
  return %r, %t : tensor<6xf32>, tensor<6xf32>
}

// Declared reducers are equal where their regions, identities and order are.
// CHECK-LABEL: func @regions
// CHECK-COUNT-3: redfuse.reduce declared
// CHECK-NOT: redfuse.reduce declared
func.func @regions(%x: tensor<6x8xf32>, %a: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %r:2 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]}
    ins(%x : tensor<6x8xf32>) outs(%a, %a : tensor<6xf32>, tensor<6xf32>) {
  ^bb0(%u: f32):
    %s0 = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r: f32):
      %t = arith.addf %l, %r : f32
      redfuse.yield %t : f32
    }
    %s1 = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r: f32):
      %t = arith.addf %l, %r : f32
      redfuse.yield %t : f32
    }
    %s2 = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32], ordered} : f32 combine {
    ^bb0(%l: f32, %r: f32):
      %t = arith.addf %l, %r : f32
      redfuse.yield %t : f32
    }
    %s3 = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r: f32):
      %t = arith.subf %l, %r : f32
      redfuse.yield %t : f32
    }
    %p = arith.mulf %s0, %s1 : f32
    %q = arith.mulf %s2, %s3 : f32
    redfuse.yield %p, %q : f32, f32
  } -> tensor<6xf32>, tensor<6xf32>
  return %r#0, %r#1 : tensor<6xf32>, tensor<6xf32>
}
