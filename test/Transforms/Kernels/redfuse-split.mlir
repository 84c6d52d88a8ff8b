// RUN: redfuse-opt %s -redfuse-split | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Every block of the first kernel folds a segment; the second merges four states as a tree, (0 1)
// and (2 3) first, and finalises.
// CHECK-LABEL: redfuse.kernel @k_splits
// CHECK-SAME:    schedule = #redfuse.schedule<split, grid = [0, 2], tiles = [8, 16, 1], stream = [1], splits = 4
// CHECK:       ^bb0(%[[X:.*]]: tensor<64x80xf32>, %[[P:.*]]: tensor<4x64xf32>):
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<64xf32>
// CHECK:         %[[S:.*]] = redfuse.fold {{.*}} ins(%[[X]] : {{.*}}) outs(%[[E]] :
// CHECK:         %[[R:.*]] = redfuse.finalize {{.*}} ins(%[[S]] : {{.*}}) outs(%[[P]] :
// CHECK:           redfuse.yield %{{.*}} : f32
// CHECK:         redfuse.yield %[[R]] : tensor<4x64xf32>
// CHECK-LABEL: redfuse.kernel @k_merge
// CHECK-SAME:    schedule = #redfuse.schedule<{{map|resident}}, grid = [0]
// CHECK:       ^bb0(%[[P:.*]]: tensor<4x64xf32>, %[[O:.*]]: tensor<64xf32>):
// CHECK:         redfuse.cascade {{.*}} ins(%[[P]], %[[P]], %[[P]], %[[P]] :
// CHECK:         ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[C:.*]]: f32, %[[D:.*]]: f32):
// CHECK-NEXT:      %[[L:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT:      %[[R:.*]] = arith.addf %[[C]], %[[D]]
// CHECK-NEXT:      %[[T:.*]] = arith.addf %[[L]], %[[R]]
// CHECK-NEXT:      %[[Q:.*]] = math.sqrt %[[T]]
// CHECK-NEXT:      redfuse.yield %[[Q]]
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [8, 16], stream = [1], splits = 4>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<64xf32>):
  %e = tensor.empty() : tensor<64xf32>
  %s = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<64x80xf32>) outs(%e : tensor<64xf32>)
  step {
  ^bb0(%v: f32, %t: f32):
    %a = redfuse.reduce add %v over [1] into [0] : f32
    %n = arith.addf %t, %a : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<64xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%s : tensor<64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%t: f32):
    %q = math.sqrt %t : f32
    redfuse.yield %q : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// CHECK-LABEL: func.func @one
// CHECK:         %[[P:.*]] = tensor.empty() : tensor<4x64xf32>
// CHECK:         %[[S:.*]] = redfuse.launch @k_splits ins(%{{.*}} : tensor<64x80xf32>) outs(%[[P]] :
// CHECK:         %[[R:.*]] = redfuse.launch @k_merge ins(%[[S]] : tensor<4x64xf32>) outs(%{{.*}} : tensor<64xf32>)
// CHECK:         return %[[R]]
func.func @one(%x: tensor<64x80xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.launch @k ins(%x : tensor<64x80xf32>) outs(%o : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// A result with the folded dim: the merged state goes to memory, and a map follows.
// CHECK-LABEL: redfuse.kernel @m_splits
// CHECK-LABEL: redfuse.kernel @m_merge
// CHECK:         outs(%{{.*}} : tensor<64xf32>)
// CHECK-LABEL: redfuse.kernel @m_map
// CHECK-SAME:    schedule = #redfuse.schedule<map, grid = [0, 1]
// CHECK:       ^bb0(%[[X:.*]]: tensor<64x80xf32>, %[[S:.*]]: tensor<64xf32>, %[[O:.*]]: tensor<64x80xf32>):
// CHECK:         redfuse.cascade {{.*}} ins(%[[X]], %[[S]] :
redfuse.kernel @m attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [8, 16], stream = [1], splits = 2>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<64x80xf32>):
  %e = tensor.empty() : tensor<64xf32>
  %s = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<64x80xf32>) outs(%e : tensor<64xf32>)
  step {
  ^bb0(%v: f32, %t: f32):
    %a = redfuse.reduce add %v over [1] into [0] : f32
    %n = arith.addf %t, %a : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<64xf32>
  %r = redfuse.finalize {indexing_maps = [#x, #r, #x]}
      ins(%x, %s : tensor<64x80xf32>, tensor<64xf32>) outs(%init : tensor<64x80xf32>) {
  ^bb0(%v: f32, %t: f32):
    %q = arith.divf %v, %t : f32
    redfuse.yield %q : f32
  } -> tensor<64x80xf32>
  redfuse.yield %r : tensor<64x80xf32>
}

// CHECK-LABEL: func.func @two
// CHECK:         redfuse.launch @m_splits
// CHECK:         %[[S:.*]] = redfuse.launch @m_merge
// CHECK:         %[[R:.*]] = redfuse.launch @m_map ins(%{{.*}}, %[[S]] :
// CHECK:         return %[[R]]
func.func @two(%x: tensor<64x80xf32>, %o: tensor<64x80xf32>) -> tensor<64x80xf32> {
  %r = redfuse.launch @m ins(%x : tensor<64x80xf32>) outs(%o : tensor<64x80xf32>) -> tensor<64x80xf32>
  return %r : tensor<64x80xf32>
}

// More states than one straight line merges, 4095 ops: those of neighbours become one
// in a kernel in front, 64 of them at a time. A scalar state has no dims but the
// number.
// CHECK-LABEL: redfuse.kernel @g_splits
// CHECK-LABEL: redfuse.kernel @g_neighbours
// CHECK:       ^bb0(%[[P:.*]]: tensor<4096x6xf32>, %[[O:.*]]: tensor<64x6xf32>):
// CHECK:         redfuse.cascade
// CHECK-COUNT-62: arith.addf
// CHECK:         %[[L:.*]] = arith.addf
// CHECK:         redfuse.yield %[[L]] : f32
// CHECK-LABEL: redfuse.kernel @g_merge
// CHECK:       ^bb0(%[[P:.*]]: tensor<64x6xf32>, %[[O:.*]]: tensor<6xf32>):
// CHECK-COUNT-63: arith.addf
// CHECK-NOT:      arith.addf
// CHECK:         math.sqrt
redfuse.kernel @g attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [2, 2], stream = [1], splits = 4096>} {
^bb0(%x: tensor<6x9000xf32>, %init: tensor<6xf32>):
  %e = tensor.empty() : tensor<6xf32>
  %s = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<6x9000xf32>) outs(%e : tensor<6xf32>)
  step {
  ^bb0(%v: f32, %t: f32):
    %a = redfuse.reduce add %v over [1] into [0] : f32
    %n = arith.addf %t, %a : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<6xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%s : tensor<6xf32>) outs(%init : tensor<6xf32>) {
  ^bb0(%t: f32):
    %q = math.sqrt %t : f32
    redfuse.yield %q : f32
  } -> tensor<6xf32>
  redfuse.yield %r : tensor<6xf32>
}

// CHECK-LABEL: func.func @neighbours
// CHECK:         %[[S:.*]] = redfuse.launch @g_splits
// CHECK:         %[[G:.*]] = redfuse.launch @g_neighbours ins(%[[S]] : tensor<4096x6xf32>)
// CHECK:         %[[R:.*]] = redfuse.launch @g_merge ins(%[[G]] : tensor<64x6xf32>)
// CHECK:         return %[[R]]
func.func @neighbours(%x: tensor<6x9000xf32>, %o: tensor<6xf32>) -> tensor<6xf32> {
  %r = redfuse.launch @g ins(%x : tensor<6x9000xf32>) outs(%o : tensor<6xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// What was to merge in its launch and has no room in registers, on buffers: taken apart, with the
// reason. The launch beside it, which has a layout, keeps the kernel.
// CHECK-LABEL: redfuse.kernel @apart_splits
// CHECK-SAME:    schedule = #redfuse.schedule<split, grid = [0, 2], tiles = [8, 16, 1], stream = [1], splits = 2
// CHECK:       ^bb0(%{{.*}}: tensor<64x80xf32>, %{{.*}}: tensor<2x64xf32>):
// CHECK-LABEL: redfuse.kernel @apart_merge
// CHECK:       ^bb0(%{{.*}}: tensor<2x64xf32>, %{{.*}}: tensor<64xf32>):
// CHECK-LABEL: redfuse.kernel @apart attributes {{.*}}redfuse.merges_in_launch
redfuse.kernel @apart attributes {num_inputs = 1 : i64, redfuse.merges_in_launch,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [8, 16], stream = [1], splits = 2>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<64xf32>):
  %e = tensor.empty() : tensor<64xf32>
  %s = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<64x80xf32>) outs(%e : tensor<64xf32>)
  step {
  ^bb0(%v: f32, %t: f32):
    %a = redfuse.reduce add %v over [1] into [0] : f32
    %n = arith.addf %t, %a : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<64xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%s : tensor<64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%t: f32):
    %q = math.sqrt %t : f32
    redfuse.yield %q : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// CHECK-LABEL: func.func @apart_of
// CHECK:         %[[P:.*]] = memref.alloc() {{.*}} : memref<2x64xf32>
// CHECK:         redfuse.launch @apart_splits ins(%{{.*}} : memref<64x80xf32>) outs(%[[P]] : memref<2x64xf32>) {redfuse.taken_apart = "a reason"}
// CHECK:         redfuse.launch @apart_merge ins(%[[P]] : memref<2x64xf32>) outs(%{{.*}} : memref<64xf32>) {redfuse.taken_apart = "a reason"}
// CHECK:         memref.dealloc %[[P]]
// CHECK:         redfuse.launch @apart ins
func.func @apart_of(%x: memref<64x80xf32>, %o: memref<64xf32>) {
  redfuse.launch @apart ins(%x : memref<64x80xf32>) outs(%o : memref<64xf32>) {redfuse.no_registers = "a reason"}
  redfuse.launch @apart ins(%x : memref<64x80xf32>) outs(%o : memref<64xf32>)
  return
}

// Results of so many elements beside the state's that each would merge too often: a map follows,
// as above.
// CHECK-LABEL: redfuse.kernel @wide_merge
// CHECK:         outs(%{{.*}} : tensor<64xf32>)
// CHECK-LABEL: redfuse.kernel @wide_map
// CHECK-SAME:    schedule = #redfuse.schedule<map, grid = [0, 2]
#row3 = affine_map<(i, j, k) -> (i)>
#data3 = affine_map<(i, j, k) -> (i, j)>
#wide3 = affine_map<(i, j, k) -> (i, k)>
redfuse.kernel @wide attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [8, 16, 0], stream = [1], splits = 2>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<64x20000xf32>):
  %e = tensor.empty() : tensor<64xf32>
  %s = redfuse.fold {indexing_maps = [#data3, #row3], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<64x80xf32>) outs(%e : tensor<64xf32>)
  step {
  ^bb0(%v: f32, %t: f32):
    %a = redfuse.reduce add %v over [1] into [0] : f32
    %n = arith.addf %t, %a : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<64xf32>
  %r = redfuse.finalize {indexing_maps = [#row3, #wide3]} ins(%s : tensor<64xf32>) outs(%init : tensor<64x20000xf32>) {
  ^bb0(%t: f32):
    redfuse.yield %t : f32
  } -> tensor<64x20000xf32>
  redfuse.yield %r : tensor<64x20000xf32>
}

func.func @wide_results(%x: tensor<64x80xf32>, %o: tensor<64x20000xf32>) -> tensor<64x20000xf32> {
  %r = redfuse.launch @wide ins(%x : tensor<64x80xf32>) outs(%o : tensor<64x20000xf32>) -> tensor<64x20000xf32>
  return %r : tensor<64x20000xf32>
}
