// RUN: redfuse-opt %s -split-input-file -redfuse-attach-target=chip=sm_90a -redfuse-align-rows | FileCheck %s

#row = affine_map<(i, t) -> (i, t)>
#column = affine_map<(i, t) -> (t, i)>
#one = affine_map<(i, t) -> (i)>

// What multiplies the prefixes, and the result, lie across the rows: a map takes what the scan made, and reads
// what it needs of what lies across. Positions are those of the map.
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[ONE:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @gated
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6144x2048xf32>, %[[G:[a-z0-9]+]]: tensor<2048x6144xbf16>, %[[S:[a-z0-9]+]]: tensor<6144xf32>, %[[E:[a-z0-9]+]]: tensor<2048x6144xbf16>
// CHECK: %[[H:.*]] = tensor.empty() : tensor<6144x2048xf32>
// CHECK: %[[P:.*]] = redfuse.cascade {indexing_maps = [#[[ROW]], #[[ONE]], #[[ROW]]]} ins(%[[X]], %[[S]] : {{.*}}) outs(%[[H]] :
// CHECK: %[[SCAN:.*]] = redfuse.scan add
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[SCAN]],
// CHECK-NEXT: redfuse.yield %[[SCALED]]
// CHECK: %[[R:.*]] = redfuse.cascade {indexing_maps = [#[[COLUMN]], #[[ROW]], #[[COLUMN]]]} ins(%[[G]], %[[P]] : {{.*}}) outs(%[[E]] :
// CHECK-NEXT: ^bb0(%[[GATE:.*]]: bf16, %[[PREFIX:.*]]: f32):
// CHECK: %[[W:.*]] = arith.extf %[[GATE]]
// CHECK: %[[M:.*]] = arith.mulf %[[PREFIX]], %[[W]]
// CHECK: redfuse.index 1
// CHECK: arith.truncf
// CHECK: return %[[R]]
func.func @gated(%x: tensor<6144x2048xf32>, %gate: tensor<2048x6144xbf16>, %s: tensor<6144xf32>, %e: tensor<2048x6144xbf16>) -> tensor<2048x6144xbf16> {
  %r = redfuse.cascade {indexing_maps = [#row, #column, #one, #column]} ins(%x, %gate, %s : tensor<6144x2048xf32>, tensor<2048x6144xbf16>, tensor<6144xf32>) outs(%e : tensor<2048x6144xbf16>) {
  ^bb0(%a: f32, %g: bf16, %scale: f32):
    %p = redfuse.scan add %a along 1 : f32
    %w = arith.extf %g : bf16 to f32
    %q = arith.mulf %p, %scale : f32
    %m = arith.mulf %q, %w : f32
    %t = redfuse.index 1
    %ti = arith.index_cast %t : index to i32
    %tf = arith.sitofp %ti : i32 to f32
    %o = arith.mulf %m, %tf : f32
    %n = arith.truncf %o : f32 to bf16
    redfuse.yield %n : bf16
  } -> tensor<2048x6144xbf16>
  return %r : tensor<2048x6144xbf16>
}

// -----

#row = affine_map<(i, t) -> (i, t)>
#column = affine_map<(i, t) -> (t, i)>

// A result along the rows stays; what is narrower before it is extended is handed on as it is.
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @both
// CHECK: %[[P:.*]]:2 = redfuse.cascade {indexing_maps = [#[[ROW]], #[[ROW]], #[[ROW]]]} {{.*}} outs({{.*}} : tensor<6144x2048xf32>, tensor<6144x2048xbf16>)
// CHECK: redfuse.cascade {indexing_maps = [#[[ROW]], #[[COLUMN]]]} ins(%[[P]]#1 :
// CHECK: arith.extf
// CHECK: return %[[P]]#0
func.func @both(%x: tensor<6144x2048xf32>, %e: tensor<6144x2048xf32>, %f: tensor<2048x6144xf32>) -> (tensor<6144x2048xf32>, tensor<2048x6144xf32>) {
  %r:2 = redfuse.cascade {indexing_maps = [#row, #row, #column]} ins(%x : tensor<6144x2048xf32>) outs(%e, %f : tensor<6144x2048xf32>, tensor<2048x6144xf32>) {
  ^bb0(%a: f32):
    %p = redfuse.scan add %a along 1 : f32
    %n = arith.truncf %p : f32 to bf16
    %w = arith.extf %n : bf16 to f32
    redfuse.yield %p, %w : f32, f32
  } -> tensor<6144x2048xf32>, tensor<2048x6144xf32>
  return %r#0, %r#1 : tensor<6144x2048xf32>, tensor<2048x6144xf32>
}

// -----

#row = affine_map<(i, t) -> (i, t)>
#part = affine_map<(i, t) -> (t, i + 6144)>

// What the scan itself needs is read from a copy, of the part that it needs.
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @scaled
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6144x2048xf32>, %[[Y:[a-z0-9]+]]: tensor<2048x12288xf32>
// CHECK: %[[P:.*]] = tensor.extract_slice %[[Y]][0, 6144] [2048, 6144] [1, 1]
// CHECK: %[[C:.*]] = redfuse.cascade {indexing_maps = [#[[ROW]], #[[COLUMN]]]} ins(%[[P]] : tensor<2048x6144xf32>) {{.*}}
// CHECK: redfuse.cascade {indexing_maps = [#[[ROW]], #[[ROW]], #[[ROW]]]} ins(%[[X]], %[[C]] :
func.func @scaled(%x: tensor<6144x2048xf32>, %y: tensor<2048x12288xf32>, %e: tensor<6144x2048xf32>) -> tensor<6144x2048xf32> {
  %r = redfuse.cascade {indexing_maps = [#row, #part, #row]} ins(%x, %y : tensor<6144x2048xf32>, tensor<2048x12288xf32>) outs(%e : tensor<6144x2048xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    %p = redfuse.scan add %m along 1 : f32
    redfuse.yield %p : f32
  } -> tensor<6144x2048xf32>
  return %r : tensor<6144x2048xf32>
}

// -----

#window = affine_map<(b, c, t, k) -> (b, t + k, c)>
#taps = affine_map<(b, c, t, k) -> (c, k)>
#out = affine_map<(b, c, t, k) -> (b, c, t)>

// So are windows.
// CHECK-DAG: #[[COPY:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-DAG: #[[WINDOW:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 + d3)>
// CHECK-LABEL: func.func @windows
// CHECK: %[[C:.*]] = redfuse.cascade {indexing_maps = [#{{.*}}, #[[COPY]]]} {{.*}} outs({{.*}} : tensor<4x1536x2051xbf16>)
// CHECK: redfuse.cascade {indexing_maps = [#[[WINDOW]], #{{.*}}, #{{.*}}]} ins(%[[C]],
func.func @windows(%x: tensor<4x2051x1536xbf16>, %w: tensor<1536x4xbf16>, %e: tensor<4x1536x2048xf32>) -> tensor<4x1536x2048xf32> {
  %r = redfuse.cascade {indexing_maps = [#window, #taps, #out]} ins(%x, %w : tensor<4x2051x1536xbf16>, tensor<1536x4xbf16>) outs(%e : tensor<4x1536x2048xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %m = arith.mulf %aw, %bw : f32
    %s = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<4x1536x2048xf32>
  return %r : tensor<4x1536x2048xf32>
}
