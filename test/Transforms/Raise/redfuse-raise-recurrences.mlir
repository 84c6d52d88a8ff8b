// Recurrences, prefixes and declared reducers.
// RUN: redfuse-opt %s -redfuse-raise | FileCheck %s

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// h = a*h + b, from 0. The operands of a and b are in the order of the source.
// CHECK-LABEL: func @affine
func.func @affine(%a: tensor<5x7xf32>, %b: tensor<5x7xf32>) -> tensor<5xf32> {
  // CHECK: redfuse.cascade
  // CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
  // The initial value goes into the first element.
  // CHECK: %[[MOVED:.*]] = arith.mulf %[[A]], %{{.*}} : f32
  // CHECK: %[[FIRST:.*]] = arith.addf %[[MOVED]], %[[B]] : f32
  // CHECK: %[[J:.*]] = redfuse.index 1
  // CHECK: %[[IS:.*]] = arith.cmpi eq, %[[J]], %{{.*}} : index
  // CHECK: %[[OFFSET:.*]] = arith.select %[[IS]], %[[FIRST]], %[[B]] : f32
  // Its own factor is 0, for nothing comes before it: (1, 0) is the identity.
  // CHECK: %[[SCALE:.*]] = arith.select %[[IS]], %{{.*}}, %[[A]] : f32
  // CHECK: %[[H:.*]]:2 = redfuse.reduce declared %[[SCALE]], %[[OFFSET]] over [1] into [0] {identities = [1.000000e+00 : f32, 0.000000e+00 : f32], ordered} : f32, f32 combine {
  // CHECK: ^bb0(%[[A0:.*]]: f32, %[[B0:.*]]: f32, %[[A1:.*]]: f32, %[[B1:.*]]: f32):
  // CHECK: %[[AA:.*]] = arith.mulf %[[A0]], %[[A1]] : f32
  // CHECK: %[[T:.*]] = arith.mulf %[[A1]], %[[B0]] : f32
  // CHECK: %[[S:.*]] = arith.addf %[[T]], %[[B1]] : f32
    // CHECK: %[[BB:.*]] = arith.select %{{.*}}, %[[B1]], %[[S]] {redfuse.identity} : f32
  // CHECK: redfuse.yield %[[AA]], %[[BB]] : f32, f32
  // CHECK: redfuse.yield %[[H]]#1 : f32
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %o = linalg.generic {indexing_maps = [#m, #m, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : tensor<5x7xf32>, tensor<5x7xf32>) outs(%i : tensor<5xf32>) {
  ^bb0(%x: f32, %y: f32, %h: f32):
    %t = arith.mulf %x, %h : f32
    %n = arith.addf %t, %y : f32
    linalg.yield %n : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// A constant decay, in other words: (h - y) * 0.5 is 0.5*h - y*0.5. Nothing special at the identity.
// CHECK-LABEL: func @spelled
func.func @spelled(%b: tensor<5x7xf32>) -> tensor<5xf32> {
  // CHECK: redfuse.cascade
  // CHECK: ^bb0(%[[B:.*]]: f32):
  // CHECK: %[[N:.*]] = arith.negf %[[B]] : f32
  // CHECK: %[[OFFSET:.*]] = arith.mulf %[[N]], %[[C:.*]] : f32
  // CHECK-NOT: redfuse.index
  // CHECK: redfuse.reduce declared %[[C]], %[[OFFSET]] over [1]
  // CHECK-NOT: arith.select
  // CHECK: redfuse.yield
  %z = arith.constant 0.0 : f32
  %c = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<5xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %o = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]}
      ins(%b : tensor<5x7xf32>) outs(%i : tensor<5xf32>) {
  ^bb0(%y: f32, %h: f32):
    %t = arith.subf %h, %y : f32
    %n = arith.mulf %t, %c : f32
    linalg.yield %n : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// A result that has the reduction dim holds every prefix: the square of the running sum.
// CHECK-LABEL: func @prefixes
func.func @prefixes(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> (tensor<5xf32>, tensor<5x7xf32>) {
  // CHECK: redfuse.cascade
  // CHECK: ^bb0(%[[X:.*]]: f32, %[[I:.*]]: f32):
  // CHECK: %[[T:.*]] = redfuse.reduce add %[[X]] over [1] into [0] : f32
  // CHECK: %[[S:.*]] = arith.addf %[[I]], %[[T]] : f32
  // CHECK: %[[P:.*]] = redfuse.scan add %[[X]] along 1 : f32
  // CHECK: %[[R:.*]] = arith.addf %[[I]], %[[P]] : f32
  // CHECK: %[[E:.*]] = redfuse.scan add %[[X]] along 1 {exclusive} : f32
  // CHECK: %[[B:.*]] = arith.addf %[[I]], %[[E]] : f32
  // CHECK: %[[Q:.*]] = arith.mulf %[[R]], %[[B]] : f32
  // CHECK: redfuse.yield %[[S]], %[[Q]] : f32, f32
  %p = tensor.empty() : tensor<5x7xf32>
  %o:2 = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x7xf32>) outs(%init, %p : tensor<5xf32>, tensor<5x7xf32>) {
  ^bb0(%y: f32, %s: f32, %u: f32):
    %n = arith.addf %s, %y : f32
    %q = arith.mulf %n, %s : f32
    linalg.yield %n, %q : f32, f32
  } -> (tensor<5xf32>, tensor<5x7xf32>)
  return %o#0, %o#1 : tensor<5xf32>, tensor<5x7xf32>
}

// A declared reducer, with an initial value that is not its identity.
// CHECK-LABEL: func @declared
func.func @declared(%x: tensor<5x7xf32>, %y: tensor<5x7xf32>, %init: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  // CHECK: redfuse.cascade
  // CHECK: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[I:.*]]: f32):
  // CHECK: %[[D:.*]] = arith.addf %[[X]], %[[Y]] : f32
  // CHECK: %[[R:.*]]:2 = redfuse.reduce declared %[[X]], %[[D]] over [1] into [0] {identities = [0.000000e+00 : f32, 0.000000e+00 : f32]} : f32, f32 combine {
  // CHECK: }
  // CHECK: %[[S:.*]] = arith.addf %[[I]], %[[R]]#0 : f32
  // CHECK: %[[T:.*]] = arith.addf %{{.*}}, %[[R]]#1 : f32
  // CHECK: redfuse.yield %[[S]], %[[T]] : f32, f32
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %o:2 = linalg.generic {indexing_maps = [#m, #m, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : tensor<5x7xf32>, tensor<5x7xf32>) outs(%init, %i : tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%u: f32, %v: f32, %s: f32, %t: f32):
    %d = arith.addf %u, %v : f32
    %c:2 = redfuse.combine %s, %t, %u, %d {identities = [0.0 : f32, 0.0 : f32]} : (f32, f32, f32, f32) -> (f32, f32) {
    ^bb0(%l0: f32, %l1: f32, %r0: f32, %r1: f32):
      %a0 = arith.addf %l0, %r0 : f32
      %a1 = arith.addf %l1, %r1 : f32
      redfuse.yield %a0, %a1 : f32, f32
    }
    linalg.yield %c#0, %c#1 : f32, f32
  } -> (tensor<5xf32>, tensor<5xf32>)
  return %o#0, %o#1 : tensor<5xf32>, tensor<5xf32>
}
