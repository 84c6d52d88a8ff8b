// RUN: redfuse-opt -redfuse-narrow-results %s | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Codes of 8 bits and their scale: the codes are stored, and extended where they are summed.
// CHECK-LABEL: func.func @codes
// CHECK: %[[Q:.*]] = redfuse.cascade {{.*}} ins(%{{.*}} : tensor<6x20xf32>) outs(%{{.*}} : tensor<6x20xf8E4M3FN>)
// CHECK: %[[C:.*]] = arith.truncf %{{.*}} : f32 to f8E4M3FN
// CHECK-NEXT: redfuse.yield %[[C]] : f8E4M3FN
// CHECK: redfuse.cascade {{.*}} ins(%[[Q]], %[[Q]] : tensor<6x20xf8E4M3FN>, tensor<6x20xf8E4M3FN>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: f8E4M3FN, %[[B:.*]]: f8E4M3FN):
// CHECK-DAG: %[[AF:.*]] = arith.extf %[[A]] : f8E4M3FN to f32
// CHECK-DAG: %[[BF:.*]] = arith.extf %[[B]] : f8E4M3FN to f32
// CHECK: arith.mulf %[[AF]], %[[BF]] : f32
func.func @codes(%x: tensor<6x20xf32>, %e: tensor<6xf32>) -> tensor<6xf32> {
  %0 = tensor.empty() : tensor<6x20xf32>
  %q = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<6x20xf32>) outs(%0 : tensor<6x20xf32>) {
  ^bb0(%a: f32):
    %c = arith.truncf %a : f32 to f8E4M3FN
    %w = arith.extf %c : f8E4M3FN to f32
    redfuse.yield %w : f32
  } -> tensor<6x20xf32>
  %r = redfuse.cascade {indexing_maps = [#x, #x, #r]} ins(%q, %q : tensor<6x20xf32>, tensor<6x20xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %m over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// One of two results; the value is used in the body as well.
// CHECK-LABEL: func.func @one_of_two
// CHECK: %[[Q:.*]]:2 = redfuse.cascade {{.*}} outs(%{{.*}}, %{{.*}} : tensor<6x20xi8>, tensor<6x20xf32>)
// CHECK: redfuse.cascade {{.*}} ins(%[[Q]]#0 : tensor<6x20xi8>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: i8):
// CHECK-NEXT: arith.sitofp %[[A]] : i8 to f32
func.func @one_of_two(%x: tensor<6x20xi8>, %e: tensor<6x20xf32>) -> (tensor<6x20xf32>, tensor<6x20xf32>) {
  %0 = tensor.empty() : tensor<6x20xf32>
  %q:2 = redfuse.cascade {indexing_maps = [#x, #x, #x]} ins(%x : tensor<6x20xi8>) outs(%0, %e : tensor<6x20xf32>, tensor<6x20xf32>) {
  ^bb0(%a: i8):
    %n = arith.addi %a, %a : i8
    %w = arith.sitofp %n : i8 to f32
    %t = arith.mulf %w, %w : f32
    redfuse.yield %w, %t : f32, f32
  } -> tensor<6x20xf32>, tensor<6x20xf32>
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%q#0 : tensor<6x20xf32>) outs(%e : tensor<6x20xf32>) {
  ^bb0(%a: f32):
    %m = math.exp %a : f32
    redfuse.yield %m : f32
  } -> tensor<6x20xf32>
  return %r, %q#1 : tensor<6x20xf32>, tensor<6x20xf32>
}
