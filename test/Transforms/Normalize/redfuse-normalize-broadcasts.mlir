// RUN: redfuse-opt %s -redfuse-normalize-broadcasts | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// CHECK-DAG: #[[ID:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[OFF:.+]] = affine_map<(d0, d1) -> (d1 + 2, 1)>
// CHECK-DAG: #[[PART:.+]] = affine_map<(d0, d1) -> (d0 mod 4)>

// The extent that decides is the loop's own: a plain operand.
// CHECK-LABEL: func.func @same
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x5xf32>
// CHECK-NOT: scf.if
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ID]]]
// CHECK-SAME: ins(%[[X]] : tensor<?x5xf32>)
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @same(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x5xf32>
  %e = tensor.empty(%n) : tensor<?x5xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x5xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %one = arith.cmpi eq, %n, %c1 : index
    %k = arith.select %one, %c0, %i : index
    %v = tensor.extract %x[%k, %j] : tensor<?x5xf32>
    linalg.yield %v : f32
  } -> tensor<?x5xf32>
  return %r : tensor<?x5xf32>
}

// Another extent: the broadcast is made in front, if it is one.
// CHECK-LABEL: func.func @other
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x5xf32>, %[[N:[^:]+]]: index
// CHECK: %[[D:.+]] = tensor.dim %[[X]]
// CHECK: %[[SAME:.+]] = arith.cmpi eq, %[[D]], %[[N]]
// CHECK: cf.assert
// CHECK: %[[B:.+]] = scf.if %[[SAME]]
// CHECK: scf.yield %[[X]]
// CHECK: else
// CHECK: linalg.generic
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ID]]]
// CHECK-SAME: ins(%[[B]] :
func.func @other(%x: tensor<?x5xf32>, %n: index) -> tensor<?x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?x5xf32>
  %e = tensor.empty(%n) : tensor<?x5xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x5xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %one = arith.cmpi eq, %d, %c1 : index
    %k = arith.select %one, %c0, %i : index
    %v = tensor.extract %x[%k, %j] : tensor<?x5xf32>
    linalg.yield %v : f32
  } -> tensor<?x5xf32>
  return %r : tensor<?x5xf32>
}

// The same of what is computed: its operand is broadcast, so that nothing stands between it and
// its reader. What is read elsewhere, too, or counts along the dim, is broadcast itself.
// CHECK-LABEL: func.func @computed
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x5xf32>, %[[N:[^:]+]]: index
// CHECK: %[[B:.+]] = scf.if
// CHECK: scf.yield %[[X]]
// CHECK: %[[E:.+]] = tensor.expand_shape %[[B]]
// CHECK: %[[Y:.+]] = linalg.generic
// CHECK-SAME: ins(%[[E]] :
// CHECK: math.exp
// CHECK-NOT: scf.if
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[Y]] :
func.func @computed(%x: tensor<?x5xf32>, %n: index) -> tensor<1x?x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?x5xf32>
  %t = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, %d, 5] : tensor<?x5xf32> into tensor<1x?x5xf32>
  %s = tensor.empty(%d) : tensor<1x?x5xf32>
  %y = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t : tensor<1x?x5xf32>) outs(%s : tensor<1x?x5xf32>) {
  ^bb0(%a: f32, %out: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<1x?x5xf32>
  %e = tensor.empty(%n) : tensor<1x?x5xf32>
  %r = linalg.generic {indexing_maps = [#id3], iterator_types = ["parallel", "parallel", "parallel"]} outs(%e : tensor<1x?x5xf32>) {
  ^bb0(%out: f32):
    %h = linalg.index 0 : index
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %one = arith.cmpi eq, %d, %c1 : index
    %k = arith.select %one, %c0, %i : index
    %v = tensor.extract %y[%h, %k, %j] : tensor<1x?x5xf32>
    linalg.yield %v : f32
  } -> tensor<1x?x5xf32>
  return %r : tensor<1x?x5xf32>
}

// A tensor that is read along the dim and along another one is broadcast for the first alone.
// CHECK-LABEL: func.func @outer
// CHECK-SAME: %[[X:[^:]+]]: tensor<?xf32>, %[[N:[^:]+]]: index
// CHECK: %[[B:.+]] = scf.if
// CHECK: else
// CHECK: scf.yield
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[B]], %[[X]] :
// CHECK: arith.mulf
func.func @outer(%x: tensor<?xf32>, %n: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %s = tensor.empty(%d, %d) : tensor<?x?xf32>
  %y = linalg.generic {indexing_maps = [#first, #second, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%s : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %v = arith.mulf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<?x?xf32>
  %e = tensor.empty(%n, %d) : tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x?xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %one = arith.cmpi eq, %d, %c1 : index
    %k = arith.select %one, %c0, %i : index
    %v = tensor.extract %y[%k, %j] : tensor<?x?xf32>
    linalg.yield %v : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @counted
// CHECK: %[[Y:.+]] = linalg.generic
// CHECK: linalg.index 0
// CHECK: scf.if
// CHECK: scf.yield %[[Y]]
func.func @counted(%x: tensor<?x5xf32>, %n: index) -> tensor<?x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?x5xf32>
  %s = tensor.empty(%d) : tensor<?x5xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x5xf32>) outs(%s : tensor<?x5xf32>) {
  ^bb0(%a: f32, %out: f32):
    %i = linalg.index 0 : index
    %w = arith.index_cast %i : index to i32
    %f = arith.sitofp %w : i32 to f32
    %v = arith.addf %a, %f : f32
    linalg.yield %v : f32
  } -> tensor<?x5xf32>
  %e = tensor.empty(%n) : tensor<?x5xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x5xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %one = arith.cmpi eq, %d, %c1 : index
    %k = arith.select %one, %c0, %i : index
    %v = tensor.extract %y[%k, %j] : tensor<?x5xf32>
    linalg.yield %v : f32
  } -> tensor<?x5xf32>
  return %r : tensor<?x5xf32>
}

// Offsets and parts of an operand that are known to be inside it.
// CHECK-LABEL: func.func @inside
// CHECK: linalg.generic {indexing_maps = [#[[PART]], #[[OFF]], #[[ID]]]
func.func @inside(%x: tensor<5x3xf32>, %y: tensor<9xf32>) -> tensor<4x3xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<4x3xf32>
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x3xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.addi %j, %c2 : index
    %v = tensor.extract %x[%k, %c1] : tensor<5x3xf32>
    %w = tensor.extract %y[%i] : tensor<9xf32>
    %s = arith.addf %v, %w : f32
    linalg.yield %s : f32
  } -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// A tensor that is at least as long as the loop: the part that is read.
// CHECK-LABEL: func.func @part
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x4xf32>, %[[E:[^:]+]]: tensor<?x3xf32>
// CHECK: %[[S:.+]] = tensor.extract_slice %[[X]][2, 0] [%{{.*}}, 4] [1, 1]
// CHECK: ins(%[[S]] : tensor<?x4xf32>)
func.func @part(%x: tensor<?x4xf32>, %e: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x3xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %k = arith.addi %i, %c2 : index
    %v = tensor.extract %x[%k, %c1] : tensor<?x4xf32>
    linalg.yield %v : f32
  } -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}

// A computed index, and reads that may fall outside, stay.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-3: tensor.extract
func.func @kept(%x: tensor<4xf32>, %t: tensor<4x3xi64>) -> tensor<4x3xf32> {
  %c7 = arith.constant 7 : index
  %e = tensor.empty() : tensor<4x3xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : tensor<4x3xi64>) outs(%e : tensor<4x3xf32>) {
  ^bb0(%a: i64, %out: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %a : i64 to index
    %k = arith.addi %i, %c7 : index
    %v = tensor.extract %x[%j] : tensor<4xf32>
    %w = tensor.extract %x[%k] : tensor<4xf32>
    %u = tensor.extract %x[%c7] : tensor<4xf32>
    %s = arith.addf %v, %w : f32
    %q = arith.addf %s, %u : f32
    linalg.yield %q : f32
  } -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// Where an assertion tells that every point may be read, it is read behind it.
// CHECK-LABEL: func.func @behind_assertion
// CHECK: linalg.generic
// CHECK: cf.assert
// CHECK: tensor.extract
func.func @behind_assertion(%x: tensor<?xf32>, %n: index) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) {
  ^bb0(%in: f32):
    %c3 = arith.constant 3 : index
    %i = linalg.index 0 : index
    %at = arith.addi %i, %c3 : index
    %inside = arith.cmpi ult, %at, %n : index
    cf.assert %inside, "outside"
    %v = tensor.extract %x[%at] : tensor<?xf32>
    %positive = arith.cmpf ogt, %v, %in : f32
    cf.assert %positive, "less"
    linalg.yield
  }
  return
}
