// RUN: redfuse-opt %s -redfuse-raise -split-input-file | FileCheck %s

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>

// A contraction: the fill of the identity is dropped.
// CHECK-LABEL: func @contraction
// CHECK-NOT:   linalg.generic
// CHECK:       %[[E:.*]] = tensor.empty() : tensor<5x7xf32>
// CHECK:       redfuse.cascade
// CHECK-SAME:  ins(%{{.*}}, %{{.*}} : tensor<5x11xf32>, tensor<11x7xf32>) outs(%[[E]]
// CHECK:       %[[P:.*]] = arith.mulf
// CHECK-NEXT:  %[[S:.*]] = redfuse.reduce add %[[P]] over [2] into [0, 1] : f32
// CHECK-NEXT:  redfuse.yield %[[S]] : f32
func.func @contraction(%a: tensor<5x11xf32>, %b: tensor<11x7xf32>) -> tensor<5x7xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<5x7xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<5x7xf32>) -> tensor<5x7xf32>
  %r = linalg.generic {indexing_maps = [#ik, #kj, #ij], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<5x11xf32>, tensor<11x7xf32>) outs(%init : tensor<5x7xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<5x7xf32>
  return %r : tensor<5x7xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// An initial tensor becomes an input, combined after the reduction; the
// destination is fresh.
// CHECK-LABEL: func @initial_tensor
// CHECK-SAME:  (%[[A:.*]]: tensor<5x?xf32>, %[[B:.*]]: tensor<5xf32>)
// CHECK:       %[[E:.*]] = tensor.empty() : tensor<5xf32>
// CHECK:       redfuse.cascade
// CHECK-SAME:  ins(%[[A]], %[[B]] : {{.*}}) outs(%[[E]]
// CHECK-NEXT:  ^bb0(%[[X:.*]]: f32, %[[I:.*]]: f32):
// CHECK-NEXT:  %[[S:.*]] = redfuse.reduce add %[[X]] over [1] into [0]
// CHECK-NEXT:  arith.addf %[[I]], %[[S]]
func.func @initial_tensor(%a: tensor<5x?xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.generic {indexing_maps = [#v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x?xf32>) outs(%b : tensor<5xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = arith.addf %out, %x : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Another constant than the identity: combined after the reduction.
// CHECK-LABEL: func @initial_constant
// CHECK:       %[[C:.*]] = arith.constant 1.5
// CHECK:       redfuse.cascade
// CHECK:       %[[M:.*]] = redfuse.reduce maximumf
// CHECK-NEXT:  arith.maximumf %[[C]], %[[M]]
func.func @initial_constant(%a: tensor<5x3xf32>) -> tensor<5xf32> {
  %c = arith.constant 1.5 : f32
  %empty = tensor.empty() : tensor<5xf32>
  %init = linalg.fill ins(%c : f32) outs(%empty : tensor<5xf32>) -> tensor<5xf32>
  %r = linalg.generic {indexing_maps = [#v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x3xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%x: f32, %out: f32):
    %s = arith.maximumf %x, %out : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

#v = affine_map<(i, j, k) -> (i, j, k)>
#r = affine_map<(i, j, k) -> (i)>
#at = affine_map<()[k, j] -> (j * 7 + k)>

// The row-major position over two dims, the outer one of any extent. Where nothing
// beats the initial value the index stays what it was.
// CHECK-LABEL: func @argmax_of_two_dims
// CHECK:       redfuse.cascade
// CHECK:       %[[A:.*]] = affine.apply
// CHECK:       %[[K:.*]] = arith.index_cast %[[A]]
// CHECK:       %[[M:.*]]:2 = redfuse.reduce argmax %{{.*}}, %[[K]] over [1, 2] into [0] : f32, i64
// CHECK-NEXT:  %[[B:.*]] = arith.cmpf ogt, %[[M]]#0, %[[LOW:.*]] : f32
// CHECK-NEXT:  %[[I:.*]] = arith.select %[[B]], %[[M]]#1, %{{.*}} : i64
// CHECK-NEXT:  %[[V:.*]] = arith.select %[[B]], %[[M]]#0, %[[LOW]] : f32
// CHECK-NEXT:  redfuse.yield %[[V]], %[[I]] : f32, i64
// CHECK:       redfuse.cascade
// CHECK:       redfuse.reduce argmax
func.func @argmax_of_two_dims(%a: tensor<5x?x7xf32>) -> (tensor<5xi64>, tensor<5xi64>) {
  %ninf = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : i64
  %e = tensor.empty() : tensor<5xf32>
  %ei = tensor.empty() : tensor<5xi64>
  %low = linalg.fill ins(%ninf : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %i0 = linalg.fill ins(%c0 : i64) outs(%ei : tensor<5xi64>) -> tensor<5xi64>
  %r:2 = linalg.generic {indexing_maps = [#v, #r, #r], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%a : tensor<5x?x7xf32>) outs(%low, %i0 : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%x: f32, %out: f32, %before: i64):
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %p = affine.apply #at()[%k, %j]
    %q = arith.index_cast %p : index to i64
    %m = arith.maximumf %x, %out : f32
    %c = arith.cmpf ogt, %x, %out : f32
    %n = arith.select %c, %q, %before : i64
    linalg.yield %m, %n : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)
  %s:2 = linalg.generic {indexing_maps = [#v, #r, #r], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%a : tensor<5x?x7xf32>) outs(%low, %i0 : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%x: f32, %out: f32, %before: i64):
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %p = affine.apply #at()[%k, %j]
    %q = arith.index_cast %p : index to i64
    %t = arith.addi %q, %c3 : i64
    %m = arith.maximumf %x, %out : f32
    %c = arith.cmpf ogt, %x, %out : f32
    %n = arith.select %c, %t, %before : i64
    linalg.yield %m, %n : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)
  return %r#1, %s#1 : tensor<5xi64>, tensor<5xi64>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Value and index selected together, from any initial values. The index is that of a
// number; an extremum that hands a NaN on is a reduction of its own.
// CHECK-LABEL: func @argmax(
// CHECK:       redfuse.cascade
// CHECK:       %[[J:.*]] = redfuse.index 1
// CHECK:       %[[K:.*]] = arith.index_cast %[[J]]
// CHECK:       %[[M:.*]]:2 = redfuse.reduce argmax %[[X:.*]], %[[K]] over [1] into [0] : f32, i64
// CHECK-NEXT:  %[[B:.*]] = arith.cmpf ogt, %[[M]]#0, %{{.*}} : f32
// CHECK-NEXT:  %[[I:.*]] = arith.select %[[B]], %[[M]]#1, %{{.*}} : i64
// CHECK-NEXT:  %[[V:.*]] = redfuse.reduce maximumf %[[X]] over [1] into [0] : f32
// CHECK-NEXT:  redfuse.yield %[[V]], %[[I]] : f32, i64
// CHECK:       redfuse.cascade
// CHECK:       %[[N:.*]]:2 = redfuse.reduce argmin
// CHECK:       %[[C:.*]] = arith.cmpf olt, %[[N]]#0
// CHECK:       arith.select %[[C]], %[[N]]#1
func.func @argmax(%a: tensor<5x3xf32>) -> (tensor<5xf32>, tensor<5xi64>, tensor<5xf32>, tensor<5xi64>) {
  %ninf = arith.constant 0xFF800000 : f32
  %inf = arith.constant 0x7F800000 : f32
  %c0 = arith.constant 0 : i64
  %cm1 = arith.constant -1 : i64
  %e = tensor.empty() : tensor<5xf32>
  %ei = tensor.empty() : tensor<5xi64>
  %low = linalg.fill ins(%ninf : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %high = linalg.fill ins(%inf : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %i0 = linalg.fill ins(%c0 : i64) outs(%ei : tensor<5xi64>) -> tensor<5xi64>
  %i1 = linalg.fill ins(%cm1 : i64) outs(%ei : tensor<5xi64>) -> tensor<5xi64>
  %r:2 = linalg.generic {indexing_maps = [#v, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x3xf32>) outs(%low, %i0 : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%x: f32, %out: f32, %at: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %m = arith.maximumf %x, %out : f32
    %c = arith.cmpf ogt, %x, %out : f32
    %n = arith.select %c, %k, %at : i64
    linalg.yield %m, %n : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)
  %s:2 = linalg.generic {indexing_maps = [#v, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x3xf32>) outs(%high, %i1 : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%x: f32, %out: f32, %at: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %c = arith.cmpf ogt, %out, %x : f32
    %m = arith.select %c, %x, %out : f32
    %n = arith.select %c, %k, %at : i64
    linalg.yield %m, %n : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)
  return %r#0, %r#1, %s#0, %s#1 : tensor<5xf32>, tensor<5xi64>, tensor<5xf32>, tensor<5xi64>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// The index of the first NaN, if there is one: a reduction of its own.
// CHECK-LABEL: func @argmax_with_nan
// CHECK:       %[[M:.*]]:2 = redfuse.reduce argmax %[[X:.*]], %[[K:.*]] over [1] into [0] : f32, i64
// CHECK:       %[[B:.*]] = arith.cmpf ogt, %[[M]]#0
// CHECK:       %[[I:.*]] = arith.select %[[B]], %[[M]]#1, %{{.*}} : i64
// CHECK:       %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]] : f32
// CHECK:       %[[AT:.*]] = arith.select %[[NAN]], %[[K]], %[[NONE:.*]] : i64
// CHECK:       %[[F:.*]] = redfuse.reduce minsi %[[AT]] over [1] into [0] : i64
// CHECK:       %[[E:.*]] = arith.cmpi ne, %[[F]], %{{.*}} : i64
// CHECK:       arith.select %[[E]], %[[F]], %[[I]] : i64
func.func @argmax_with_nan(%a: tensor<5x3xf32>) -> tensor<5xi64> {
  %ninf = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<5xf32>
  %ei = tensor.empty() : tensor<5xi64>
  %low = linalg.fill ins(%ninf : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %i0 = linalg.fill ins(%c0 : i64) outs(%ei : tensor<5xi64>) -> tensor<5xi64>
  %r:2 = linalg.generic {indexing_maps = [#v, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<5x3xf32>) outs(%low, %i0 : tensor<5xf32>, tensor<5xi64>) {
  ^bb0(%x: f32, %out: f32, %at: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %m = arith.maximumf %x, %out : f32
    %c = arith.cmpf ogt, %x, %out : f32
    %is = arith.cmpf uno, %x, %x : f32
    %isnot = arith.cmpf ord, %out, %out : f32
    %first = arith.andi %is, %isnot : i1
    %d = arith.ori %c, %first : i1
    %n = arith.select %d, %k, %at : i64
    linalg.yield %m, %n : f32, i64
  } -> (tensor<5xf32>, tensor<5xi64>)
  return %r#1 : tensor<5xi64>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Several independent results, each with its reducer; a chain of combiners;
// subtraction; a fused multiply-add; a maximum by compare and select.
// CHECK-LABEL: func @several
// CHECK:       redfuse.cascade
// CHECK-DAG:   redfuse.reduce mul
// CHECK-DAG:   %[[N:.*]] = arith.negf
// CHECK-DAG:   redfuse.reduce add %[[N]]
// CHECK-DAG:   %[[P:.*]] = arith.mulf
// CHECK-DAG:   redfuse.reduce add %[[P]]
// CHECK-DAG:   redfuse.reduce maxnumf
// CHECK-DAG:   %[[T:.*]] = arith.addf
// CHECK-DAG:   redfuse.reduce add %[[T]]
func.func @several(%a: tensor<5x3xf32>, %b: tensor<5x3xf32>)
    -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<5xf32>
  %i1 = linalg.fill ins(%one : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %il = linalg.fill ins(%ninf : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %r:5 = linalg.generic {indexing_maps = [#v, #v, #r, #r, #r, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : tensor<5x3xf32>, tensor<5x3xf32>)
      outs(%i1, %i0, %i0, %il, %i0 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%x: f32, %y: f32, %o0: f32, %o1: f32, %o2: f32, %o3: f32, %o4: f32):
    %0 = arith.mulf %o0, %x : f32
    %1 = arith.subf %o1, %y : f32
    %2 = math.fma %x, %y, %o2 : f32
    %c = arith.cmpf olt, %o3, %x : f32
    %3 = arith.select %c, %x, %o3 : f32
    %4 = arith.addf %o4, %x : f32
    %5 = arith.addf %4, %y : f32
    linalg.yield %0, %1, %2, %3, %5 : f32, f32, f32, f32, f32
  } -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>)
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// No reduction: a map; indices; a captured tensor; an `outs` that is read.
// CHECK-LABEL: func @map
// CHECK-SAME:  (%[[A:.*]]: tensor<5x3xf32>, %[[T:.*]]: tensor<8xf32>)
// CHECK:       redfuse.cascade
// CHECK-SAME:  ins(%[[A]] : tensor<5x3xf32>) outs(%{{.*}} : tensor<5x3xf32>)
// CHECK-NEXT:  ^bb0(%[[X:.*]]: f32):
// CHECK:       %[[I:.*]] = redfuse.index 0
// CHECK:       tensor.extract %[[T]][%[[I]]]
// CHECK-NOT:   redfuse.reduce
// CHECK:       redfuse.yield
func.func @map(%a: tensor<5x3xf32>, %t: tensor<8xf32>) -> tensor<5x3xf32> {
  %r = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel", "parallel"]}
      outs(%a : tensor<5x3xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 0 : index
    %y = tensor.extract %t[%i] : tensor<8xf32>
    %z = arith.mulf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<5x3xf32>
  return %r : tensor<5x3xf32>
}

// An op that may be approximated says so in the body.
// CHECK-LABEL: func @approximate
// CHECK: math.roundeven %{{.*}} {redfuse.approximate}
func.func @approximate(%x: tensor<4x8xf32>, %init: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%init : tensor<4x8xf32>) attrs = {redfuse.approximate} {
  ^bb0(%a: f32, %o: f32):
    %r = math.roundeven %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// An assertion that does not depend on the dim is made once: it holds where there is
// no point at which the source would make it.
// CHECK-LABEL: func @asserted_at_each_point
// CHECK:       %[[C0:.*]] = arith.constant 0 : index
// CHECK:       %[[N:.*]] = tensor.dim %{{.*}}, %{{.*}} : tensor<?xi64>
// CHECK:       %[[NONE:.*]] = arith.cmpi sle, %[[N]], %{{.*}} : index
// CHECK:       redfuse.cascade
// CHECK:       %[[OR:.*]] = arith.ori %{{.*}}, %[[NONE]] : i1
// CHECK-NEXT:  cf.assert %[[OR]], "once"
// CHECK:       cf.assert %{{.*}}, "each"
func.func @asserted_at_each_point(%x: tensor<?xi64>, %o: tensor<i64>, %holds: i1) -> tensor<i64> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]}
      ins(%x : tensor<?xi64>) outs(%o : tensor<i64>) {
  ^bb0(%a: i64, %sum: i64):
    %zero = arith.constant 0 : i64
    %positive = arith.cmpi sgt, %a, %zero : i64
    cf.assert %holds, "once"
    cf.assert %positive, "each"
    %s = arith.addi %sum, %a : i64
    linalg.yield %s : i64
  } -> tensor<i64>
  return %0 : tensor<i64>
}
