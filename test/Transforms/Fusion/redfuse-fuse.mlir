// RUN: redfuse-opt %s -redfuse-fuse -split-input-file | FileCheck %s

#qk = affine_map<(i, j, k) -> (i, k)>
#kk = affine_map<(i, j, k) -> (j, k)>
#s3 = affine_map<(i, j, k) -> (i, j)>
#s = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#w = affine_map<(i, d, j) -> (i, j)>
#v = affine_map<(i, d, j) -> (j, d)>
#o = affine_map<(i, d, j) -> (i, d)>

// Two contractions and what is between them, over four dims: both row reductions
// and the second contraction share their reduced dim, because they read the same
// tensor; the first contraction has its own.
// CHECK-LABEL: func @two_contractions
// CHECK:       redfuse.cascade
// CHECK-SAME:  ins(%arg0, %arg1, %arg2 : tensor<65x16xf32>, tensor<77x16xf32>, tensor<77x24xf32>)
// CHECK:       %[[S:.*]] = redfuse.reduce add %{{.*}} over [3] into [0, 2] : f32
// CHECK:       %[[M:.*]] = redfuse.reduce maximumf %[[S]] over [2] into [0] : f32
// CHECK:       %[[C:.*]] = arith.subf %[[S]], %[[M]]
// CHECK:       %[[E:.*]] = math.exp %[[C]]
// CHECK:       %[[L:.*]] = redfuse.reduce add %[[E]] over [2] into [0] : f32
// CHECK:       %[[W:.*]] = arith.divf %[[E]], %[[L]]
// CHECK:       redfuse.reduce add %{{.*}} over [2] into [0, 1] : f32
// CHECK-NOT:   redfuse.cascade
func.func @two_contractions(%q: tensor<65x16xf32>, %k: tensor<77x16xf32>, %v: tensor<77x24xf32>) -> tensor<65x24xf32> {
  %e = tensor.empty() : tensor<65x77xf32>
  %row = tensor.empty() : tensor<65xf32>
  %out = tensor.empty() : tensor<65x24xf32>
  %0 = redfuse.cascade {indexing_maps = [#qk, #kk, #s3]} ins(%q, %k : tensor<65x16xf32>, tensor<77x16xf32>) outs(%e : tensor<65x77xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %t = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %t : f32
  } -> tensor<65x77xf32>
  %1 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%0 : tensor<65x77xf32>) outs(%row : tensor<65xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<65xf32>
  %2 = redfuse.cascade {indexing_maps = [#s, #r, #s]} ins(%0, %1 : tensor<65x77xf32>, tensor<65xf32>) outs(%e : tensor<65x77xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    %t = math.exp %c : f32
    redfuse.yield %t : f32
  } -> tensor<65x77xf32>
  %3 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%2 : tensor<65x77xf32>) outs(%row : tensor<65xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<65xf32>
  %4 = redfuse.cascade {indexing_maps = [#s, #r, #s]} ins(%2, %3 : tensor<65x77xf32>, tensor<65xf32>) outs(%e : tensor<65x77xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.divf %a, %b : f32
    redfuse.yield %t : f32
  } -> tensor<65x77xf32>
  %5 = redfuse.cascade {indexing_maps = [#w, #v, #o]} ins(%4, %v : tensor<65x77xf32>, tensor<77x24xf32>) outs(%out : tensor<65x24xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %t = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %t : f32
  } -> tensor<65x24xf32>
  return %5 : tensor<65x24xf32>
}

// -----

#s = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#r = affine_map<(i, j) -> (i)>
#c = affine_map<(i, j) -> (j)>

// Row sums and column sums of one square matrix: equal numbers are no reason to
// share a dim. The sums of rows reduce what the sums of columns keep.
// CHECK-LABEL: func @square
// CHECK:       redfuse.cascade
// CHECK-DAG:   %[[R:.*]] = redfuse.reduce add %{{.*}} over [1] into [0]
// CHECK-DAG:   %[[C:.*]] = redfuse.reduce mul %{{.*}} over [0] into [1]
func.func @square(%x: tensor<9x9xf32>) -> tensor<9x9xf32> {
  %e = tensor.empty() : tensor<9xf32>
  %ee = tensor.empty() : tensor<9x9xf32>
  %0 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<9x9xf32>) outs(%e : tensor<9xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<9xf32>
  %1 = redfuse.cascade {indexing_maps = [#t, #r]} ins(%x : tensor<9x9xf32>) outs(%e : tensor<9xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce mul %a over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<9xf32>
  %2 = redfuse.cascade {indexing_maps = [#s, #r, #c, #s]} ins(%x, %0, %1 : tensor<9x9xf32>, tensor<9xf32>, tensor<9xf32>) outs(%ee : tensor<9x9xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %t = arith.addf %a, %b : f32
    %u = arith.mulf %t, %d : f32
    redfuse.yield %u : f32
  } -> tensor<9x9xf32>
  return %2 : tensor<9x9xf32>
}

// -----

#ik = affine_map<(i, n, k) -> (i, k)>
#kn = affine_map<(i, n, k) -> (k, n)>
#in = affine_map<(i, n, k) -> (i, n)>
#s = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// The row sums of x share the contraction's reduced dim, not the columns of the
// result, though x is read there as well.
// CHECK-LABEL: func @residual
// CHECK:       redfuse.cascade
// CHECK-DAG:   redfuse.reduce maximumf %{{.*}} over [2] into [0]
// CHECK-DAG:   redfuse.reduce add %{{.*}} over [2] into [0, 1]
// CHECK-NOT:   redfuse.cascade
func.func @residual(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  %row = tensor.empty() : tensor<64xf32>
  %0 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<64x64xf32>) outs(%row : tensor<64xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<64xf32>
  %1 = redfuse.cascade {indexing_maps = [#ik, #kn, #in]} ins(%x, %y : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %t = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %t : f32
  } -> tensor<64x64xf32>
  %2 = redfuse.cascade {indexing_maps = [#s, #s, #r, #s]} ins(%1, %x, %0 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %t = arith.addf %a, %b : f32
    %u = arith.addf %t, %c : f32
    redfuse.yield %u : f32
  } -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

#s = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>

// A gather from a map: the map is computed at the gathered place alone, and what
// it reads is gathered in its stead. A value used outside is one more output.
// CHECK-LABEL: func @gather
// CHECK-SAME:  (%[[X:.*]]: tensor<24x100xf32>, %[[T:.*]]: tensor<24xi64>)
// CHECK:       redfuse.cascade
// CHECK:       %[[M:.*]] = redfuse.reduce maximumf
// CHECK:       %[[G:.*]] = tensor.extract %[[X]][
// CHECK:       %[[D:.*]] = arith.subf %[[G]], %[[M]]
// CHECK:       redfuse.yield %[[M]], %[[D]]
// CHECK-NOT:   redfuse.cascade
func.func @gather(%x: tensor<24x100xf32>, %t: tensor<24xi64>) -> (tensor<24xf32>, tensor<24xf32>) {
  %row = tensor.empty() : tensor<24xf32>
  %e = tensor.empty() : tensor<24x100xf32>
  %0 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<24x100xf32>) outs(%row : tensor<24xf32>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<24xf32>
  %1 = redfuse.cascade {indexing_maps = [#s, #r, #s]} ins(%x, %0 : tensor<24x100xf32>, tensor<24xf32>) outs(%e : tensor<24x100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    redfuse.yield %c : f32
  } -> tensor<24x100xf32>
  %2 = redfuse.cascade {indexing_maps = [#one, #one]} ins(%t : tensor<24xi64>) outs(%row : tensor<24xf32>) {
  ^bb0(%a: i64):
    %i = redfuse.index 0
    %j = arith.index_cast %a : i64 to index
    %g = tensor.extract %1[%i, %j] : tensor<24x100xf32>
    redfuse.yield %g : f32
  } -> tensor<24xf32>
  return %0, %2 : tensor<24xf32>, tensor<24xf32>
}

// -----

#iota = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// Positions alone are reduced: nothing is left that has the extent but an empty
// tensor.
// CHECK-LABEL: func @positions
// CHECK-SAME:  (%[[N:.*]]: index)
// CHECK:       %[[E:.*]] = tensor.empty(%[[N]]) : tensor<?xi1>
// CHECK:       redfuse.cascade
// CHECK-SAME:  ins(%[[E]] : tensor<?xi1>)
// CHECK:       redfuse.reduce add
func.func @positions(%n: index) -> tensor<index> {
  %e = tensor.empty(%n) : tensor<?xindex>
  %r = tensor.empty() : tensor<index>
  %0 = redfuse.cascade {indexing_maps = [#iota]} outs(%e : tensor<?xindex>) {
    %i = redfuse.index 0
    redfuse.yield %i : index
  } -> tensor<?xindex>
  %1 = redfuse.cascade {indexing_maps = [#iota, #none]} ins(%0 : tensor<?xindex>) outs(%r : tensor<index>) {
  ^bb0(%a: index):
    %t = redfuse.reduce add %a over [0] into [] : index
    redfuse.yield %t : index
  } -> tensor<index>
  return %1 : tensor<index>
}

// -----

#w = affine_map<(x, k) -> (x + k)>
#k = affine_map<(x, k) -> (k)>
#o = affine_map<(x, k) -> (x)>
#one = affine_map<(x) -> (x)>

// A cheap map behind a window moves into the window.
// CHECK-LABEL: func @window
// CHECK:       redfuse.cascade {indexing_maps = [#[[W:.*]], #[[K:.*]], #[[O:.*]]]}
// CHECK:       arith.negf
// CHECK:       redfuse.reduce add
// CHECK-NOT:   redfuse.cascade
func.func @window(%x: tensor<20xf32>, %f: tensor<3xf32>) -> tensor<18xf32> {
  %e = tensor.empty() : tensor<20xf32>
  %r = tensor.empty() : tensor<18xf32>
  %0 = redfuse.cascade {indexing_maps = [#one, #one]} ins(%x : tensor<20xf32>) outs(%e : tensor<20xf32>) {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    redfuse.yield %n : f32
  } -> tensor<20xf32>
  %1 = redfuse.cascade {indexing_maps = [#w, #k, #o]} ins(%0, %f : tensor<20xf32>, tensor<3xf32>) outs(%r : tensor<18xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<18xf32>
  return %1 : tensor<18xf32>
}

// -----

#w = affine_map<(o, k) -> (k)>
#x = affine_map<(o, k) -> (o + k)>
#o = affine_map<(o, k) -> (o)>
#at = affine_map<(p, q) -> (p * 2 + q)>
#p = affine_map<(p, q) -> (p)>

// A window reads each sum once: the sum keeps both dims of the window.
// CHECK-LABEL: func.func @window
// CHECK:       redfuse.cascade {indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}]}
// CHECK:       %[[S:.*]] = redfuse.reduce add %{{.*}} over [2] into [0, 1] : f32
// CHECK:       redfuse.reduce maximumf %[[S]] over [1] into [0] : f32
// CHECK-NOT:   redfuse.cascade
func.func @window(%a: tensor<14xf32>, %b: tensor<3xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<12xf32>
  %f = tensor.empty() : tensor<6xf32>
  %two = tensor.empty() : tensor<2xf32>
  %0 = redfuse.cascade {indexing_maps = [#x, #w, #o]} ins(%a, %b : tensor<14xf32>, tensor<3xf32>) outs(%e : tensor<12xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<12xf32>
  %1 = redfuse.cascade {indexing_maps = [#at, affine_map<(p, q) -> (q)>, #p]} ins(%0, %two : tensor<12xf32>, tensor<2xf32>) outs(%f : tensor<6xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#first = affine_map<(i, j) -> (i, j mod 47)>
#c = affine_map<(i, j) -> (j)>

// A weighted sum over the first 47 of 48 weights runs over all of them, with 0
// for the last, so that all three reductions share the dim.
// CHECK-LABEL: func.func @one_more
// CHECK:       redfuse.reduce maximumf %{{.*}} over [1] into [0]
// CHECK:       %[[E:.*]] = math.exp
// CHECK:       redfuse.reduce add %[[E]] over [1] into [0]
// CHECK:       %[[P:.*]] = arith.mulf
// CHECK:       %[[M:.*]] = arith.select %{{.*}}, %[[P]], %cst
// CHECK:       redfuse.reduce add %[[M]] over [1] into [0]
// CHECK-NOT:   redfuse.cascade
func.func @one_more(%a: tensor<5x48xf32>, %b: tensor<47xf32>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xf32>
  %f = tensor.empty() : tensor<5x48xf32>
  %0 = redfuse.cascade {indexing_maps = [#v, #r]} ins(%a : tensor<5x48xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<5xf32>
  %1 = redfuse.cascade {indexing_maps = [#v, #r, #v]} ins(%a, %0 : tensor<5x48xf32>, tensor<5xf32>) outs(%f : tensor<5x48xf32>) {
  ^bb0(%x: f32, %m: f32):
    %d = arith.subf %x, %m : f32
    %g = math.exp %d : f32
    redfuse.yield %g : f32
  } -> tensor<5x48xf32>
  %2 = redfuse.cascade {indexing_maps = [#v, #r]} ins(%1 : tensor<5x48xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce add %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<5xf32>
  %3 = redfuse.cascade {indexing_maps = [#v, #r, #v]} ins(%1, %2 : tensor<5x48xf32>, tensor<5xf32>) outs(%f : tensor<5x48xf32>) {
  ^bb0(%x: f32, %l: f32):
    %q = arith.divf %x, %l : f32
    redfuse.yield %q : f32
  } -> tensor<5x48xf32>
  %4 = redfuse.cascade {indexing_maps = [#first, #c, #r]} ins(%3, %b : tensor<5x48xf32>, tensor<47xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<5xf32>
  return %4 : tensor<5xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#k = affine_map<(i, j, r) -> (i, r)>
#x = affine_map<(i, j, r) -> (i, j)>
#last = affine_map<(i, j) -> (i, 4)>

// One rank of a top-k: all are read, and that one is chosen.
// CHECK-LABEL: func.func @threshold
// CHECK:       %[[T:.*]]:2 = redfuse.reduce topk %{{.*}}, %{{.*}} over [1] into [0, 2] : f32, i64
// CHECK:       %[[C:.*]] = arith.select %{{.*}}, %[[T]]#0, %cst
// CHECK:       %[[B:.*]] = redfuse.reduce maximumf %[[C]] over [2] into [0]
// CHECK:       arith.cmpf oge, %{{.*}}, %[[B]]
// CHECK-NOT:   redfuse.cascade
func.func @threshold(%a: tensor<5x33xf32>) -> tensor<5x33xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x5xf32>
  %ei = tensor.empty() : tensor<5x5xi64>
  %f = tensor.empty() : tensor<5x33xf32>
  %0:2 = redfuse.cascade {indexing_maps = [#x, #k, #k]} ins(%a : tensor<5x33xf32>) outs(%e, %ei : tensor<5x5xf32>, tensor<5x5xi64>) {
  ^bb0(%x: f32):
    %j = redfuse.index 1
    %n = arith.index_cast %j : index to i64
    %t:2 = redfuse.reduce topk %x, %n over [1] into [0, 2] : f32, i64
    redfuse.yield %t#0, %t#1 : f32, i64
  } -> tensor<5x5xf32>, tensor<5x5xi64>
  %1 = redfuse.cascade {indexing_maps = [#v, #last, #v]} ins(%a, %0#0 : tensor<5x33xf32>, tensor<5x5xf32>) outs(%f : tensor<5x33xf32>) {
  ^bb0(%x: f32, %t: f32):
    %c = arith.cmpf oge, %x, %t : f32
    %s = arith.select %c, %x, %zero : f32
    redfuse.yield %s : f32
  } -> tensor<5x33xf32>
  return %1 : tensor<5x33xf32>
}

// -----

#s = affine_map<(i, j, k) -> (i, j, k)>
#p = affine_map<(i, j, k) -> (i, k)>
#n = affine_map<(i, j, k) -> ()>
#v = affine_map<(i) -> (i)>
#c = affine_map<(i) -> ()>
#q = affine_map<(i, k) -> (i, k)>
#z = affine_map<(i, k) -> ()>

// The first and the last read one tensor and could be one kernel, but then it and
// the kernel between them, which needs the one and feeds the other, would each
// have to come first.
// CHECK-LABEL: func.func @both_ways
// CHECK:       %[[P:.*]] = redfuse.cascade
// CHECK:         redfuse.reduce mul
// CHECK:       %[[M:.*]]:2 = redfuse.cascade {{.*}} %[[P]] :
// CHECK:         redfuse.reduce add
// CHECK:         arith.divf
// CHECK:       %[[D:.*]] = redfuse.cascade {{.*}} %[[M]]#0 :
// CHECK:         arith.subf
// CHECK:       return %[[M]]#1, %[[D]]
func.func @both_ways(%x: tensor<?x?x3xf32>, %y: tensor<?xf32>, %f: tensor<?x?x3xf32>, %e: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<?x?x3xf32>) {
  %g = tensor.empty() : tensor<f32>
  %0 = redfuse.cascade {indexing_maps = [#s, #p]} ins(%x : tensor<?x?x3xf32>) outs(%e : tensor<?x3xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce mul %a over [1] into [0, 2] : f32
    redfuse.yield %t : f32
  } -> tensor<?x3xf32>
  %1 = redfuse.cascade {indexing_maps = [#v, #c]} ins(%y : tensor<?xf32>) outs(%g : tensor<f32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [0] into [] : f32
    redfuse.yield %t : f32
  } -> tensor<f32>
  %2 = redfuse.cascade {indexing_maps = [#z, #q, #q]} ins(%1, %0 : tensor<f32>, tensor<?x3xf32>) outs(%e : tensor<?x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.divf %a, %b : f32
    redfuse.yield %t : f32
  } -> tensor<?x3xf32>
  %3 = redfuse.cascade {indexing_maps = [#s, #n, #s]} ins(%x, %1 : tensor<?x?x3xf32>, tensor<f32>) outs(%f : tensor<?x?x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %t = arith.subf %a, %b : f32
    redfuse.yield %t : f32
  } -> tensor<?x?x3xf32>
  return %2, %3 : tensor<?x3xf32>, tensor<?x?x3xf32>
}
