// RUN: redfuse-opt %s -redfuse-expose-state -canonicalize -cse | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#v = affine_map<(i, j) -> (j)>

// Sums of exponentials, less an argument that is not streamed; weights that are.
// CHECK-LABEL: func.func @sums__init(
// CHECK-SAME:      %{{.*}}: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK:         redfuse.yield %{{.*}} : f32
// CHECK:         redfuse.yield %{{.*}} : f32
// CHECK-LABEL: func.func @sums__update(
// CHECK-SAME:      %[[B:.*]]: tensor<8xf32>, %[[X:.*]]: tensor<8x?xf32>, %[[W:.*]]: tensor<?xf32>,
// CHECK-SAME:      %[[M:.*]]: tensor<8xf32>, %[[L:.*]]: tensor<8xf32>, %[[AT:.*]]: index)
// The chunk's state from the identities, and a merge with the one so far.
// CHECK:         %[[S:.*]]:2 = redfuse.fold {{.*}}schedule = #redfuse.schedule<stream,
// CHECK-SAME:        ins(%[[X]], %[[W]] : tensor<8x?xf32>, tensor<?xf32>)
// Positions count from the chunk's first element.
// CHECK:           %[[J:.*]] = redfuse.index 1
// CHECK:           arith.addi %[[J]], %[[AT]] : index
// CHECK:         %[[N:.*]]:2 = redfuse.finalize {{.*}} ins(%[[M]], %[[L]], %[[S]]#0, %[[S]]#1 :
// CHECK:           arith.maximumf
// CHECK:         return %[[N]]#0, %[[N]]#1
// CHECK-LABEL: func.func @sums__merge(
// CHECK-SAME:      %[[A0:[^:]*]]: tensor<8xf32>, %[[A1:[^:]*]]: tensor<8xf32>, %[[B0:[^:]*]]: tensor<8xf32>, %[[B1:[^:]*]]: tensor<8xf32>)
// CHECK:         %[[N:.*]]:2 = redfuse.cascade {{.*}} ins(%[[A0]], %[[A1]], %[[B0]], %[[B1]] :
// CHECK:         return %[[N]]#0, %[[N]]#1
// CHECK-LABEL: func.func @sums__finalize(
// CHECK-SAME:      %[[B:.*]]: tensor<8xf32>, %[[M:.*]]: tensor<8xf32>, %[[L:.*]]: tensor<8xf32>, %{{.*}}: index, %{{.*}}: index) -> tensor<8xf32>
// CHECK-SAME:      redfuse.state = {components = ["t0 = {{.*}}", "t1 = {{.*}}"], extents = [], length = 80 : i64, mapped = array<i64: -1>, ordered = false, positional = true, prefixes = false, streamed = [array<i64: 0, 1>, array<i64: 2, 0>]}
func.func @sums(%x: tensor<8x80xf32>, %b: tensor<8xf32>, %w: tensor<80xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = redfuse.cascade {indexing_maps = [#x, #r, #v, #r]}
      ins(%x, %b, %w : tensor<8x80xf32>, tensor<8xf32>, tensor<80xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %c: f32, %g: f32):
    %ten = arith.constant 10 : index
    %low = arith.constant 0xFF800000 : f32
    %j = redfuse.index 1
    %is = arith.cmpi ult, %j, %ten : index
    %y = arith.select %is, %a, %low : f32
    %m = redfuse.reduce maximumf %y over [1] into [0] : f32
    %d = arith.subf %y, %m : f32
    %p = math.exp %d : f32
    %q = arith.mulf %p, %g : f32
    %s = redfuse.reduce add %q over [1] into [0] : f32
    %z = arith.subf %s, %c : f32
    redfuse.yield %z : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A result with the streamed dim needs the chunk again. The rows are collapsed with it: an element
// of the dim is 4 of the cascade's.
#y = affine_map<(i) -> (i)>
#0 = affine_map<(i) -> ()>
// CHECK-LABEL: func.func @mapped__update(
// CHECK-SAME:      %[[X:.*]]: tensor<?x4xf32>, %{{.*}}: tensor<f32>, %{{.*}}: index) -> tensor<f32>
// CHECK:         tensor.collapse_shape %[[X]] {{\[}}[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
// CHECK-LABEL: func.func @mapped__finalize(
// CHECK-SAME:      %[[X:.*]]: tensor<?x4xf32>, %[[S:.*]]: tensor<f32>, %{{.*}}: index, %{{.*}}: index) -> tensor<?x4xf32>
// CHECK-SAME:      mapped = array<i64: 0>
// CHECK:         %[[N:.*]] = tensor.dim %[[X]]
// CHECK:         %[[Y:.*]] = redfuse.cascade {{.*}} ins(%{{.*}}, %[[S]] : tensor<?xf32>, tensor<f32>)
// CHECK:         tensor.expand_shape %[[Y]] {{\[}}[0, 1]] output_shape [%[[N]], 4]
func.func @mapped(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<6x4xf32> into tensor<24xf32>
  %e = tensor.empty() : tensor<24xf32>
  %r = redfuse.cascade {indexing_maps = [#y, #y]} ins(%c : tensor<24xf32>) outs(%e : tensor<24xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [0] into [] : f32
    %q = arith.divf %a, %s : f32
    redfuse.yield %q : f32
  } -> tensor<24xf32>
  %o = tensor.expand_shape %r [[0, 1]] output_shape [6, 4] : tensor<24xf32> into tensor<6x4xf32>
  return %o : tensor<6x4xf32>
}

// The cascade walks two arguments, its reduction reads one of them: both come in chunks all the same.
// CHECK-LABEL: func.func @apart__update(
// CHECK-SAME:      %{{.*}}: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>, %{{.*}}: tensor<f32>, %{{.*}}: index) -> tensor<f32>
// CHECK:         redfuse.fold {{.*}} ins(%[[Y]] : tensor<?xf32>)
// CHECK-LABEL: func.func @apart__finalize(
// CHECK-SAME:      streamed = [array<i64: 0, 0>, array<i64: 1, 0>]
func.func @apart(%x: tensor<11xf32>, %y: tensor<11xf32>) -> (tensor<11xf32>, tensor<f32>) {
  %e = tensor.empty() : tensor<11xf32>
  %f = tensor.empty() : tensor<f32>
  %r:2 = redfuse.cascade {indexing_maps = [#y, #y, #y, #0]} ins(%x, %y : tensor<11xf32>, tensor<11xf32>)
      outs(%e, %f : tensor<11xf32>, tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.negf %a : f32
    %s = redfuse.reduce add %b over [0] into [] : f32
    redfuse.yield %n, %s : f32, f32
  } -> tensor<11xf32>, tensor<f32>
  return %r#0, %r#1 : tensor<11xf32>, tensor<f32>
}

// Prefixes of a chunk continue from the state of what comes before it, which finalize takes last.
// CHECK-LABEL: func.func @prefixes__update(
// CHECK-SAME:      %{{.*}}: tensor<8x?xf32>, %{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32>, %{{.*}}: index) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-NOT:     redfuse.scan
// CHECK-LABEL: func.func @prefixes__finalize(
// CHECK-SAME:      %[[X:.*]]: tensor<8x?xf32>, %[[L:[^:]*]]: tensor<8xf32>, %{{[^:]*}}: tensor<8xf32>, %{{.*}}: index, %{{.*}}: index, %{{.*}}: tensor<8xf32>, %[[BEFORE:[^:]*]]: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x?xf32>)
// CHECK-SAME:      prefixes = true
// CHECK:         %[[P:.*]]:2 = redfuse.fold {{.*}} ins(%[[X]], %[[BEFORE]] : tensor<8x?xf32>, tensor<8xf32>)
// CHECK:           redfuse.scan add
// CHECK:         return %{{.*}}, %[[P]]#1
func.func @prefixes(%x: tensor<8x80xf32>) -> (tensor<8xf32>, tensor<8x80xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %w = tensor.empty() : tensor<8x80xf32>
  %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x80xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    %l = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<8xf32>
  %p = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<8x80xf32>) outs(%w : tensor<8x80xf32>) {
  ^bb0(%a: f32):
    %l = redfuse.scan add %a along 1 : f32
    redfuse.yield %l : f32
  } -> tensor<8x80xf32>
  return %s, %p : tensor<8xf32>, tensor<8x80xf32>
}
