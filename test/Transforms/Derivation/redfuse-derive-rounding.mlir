// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s

#q = affine_map<(i, j, d) -> (i, d)>
#k = affine_map<(i, j, d) -> (j, d)>
#o = affine_map<(i, j, d) -> (i)>
#w = affine_map<(i, j, d) -> (i, j)>

// The largest of products that are rounded to 16 bits and extended again: the fold
// takes the sums as they are.
// CHECK-LABEL: @rounded
// CHECK: redfuse.fold
// CHECK: %[[S:.+]] = redfuse.reduce add %{{.+}} over [2] into [0, 1] : f32
// CHECK-NOT: arith.truncf
// CHECK: redfuse.reduce maximumf %[[S]] over [1] into [0] : f32
func.func @rounded(%q: tensor<64x32xbf16>, %k: tensor<80x32xbf16>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.cascade {indexing_maps = [#q, #k, #o]}
      ins(%q, %k : tensor<64x32xbf16>, tensor<80x32xbf16>) outs(%o : tensor<64xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %h = arith.truncf %s : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %m = redfuse.reduce maximumf %w over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// So does the finalisation, which makes the same sums once more.
// CHECK-LABEL: @rounded_twice
// CHECK: redfuse.fold
// CHECK-NOT: arith.truncf
// CHECK: redfuse.finalize
// CHECK: %[[S:.+]] = redfuse.reduce add %{{.+}} over [2] into [0, 1] : f32
// CHECK-NOT: arith.truncf
// CHECK: arith.subf %[[S]],
func.func @rounded_twice(%q: tensor<64x32xbf16>, %k: tensor<80x32xbf16>, %o: tensor<64x80xf32>) -> tensor<64x80xf32> {
  %r = redfuse.cascade {indexing_maps = [#q, #k, #w]}
      ins(%q, %k : tensor<64x32xbf16>, tensor<80x32xbf16>) outs(%o : tensor<64x80xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %h = arith.truncf %s : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %m = redfuse.reduce maximumf %w over [1] into [0] : f32
    %d = arith.subf %w, %m : f32
    redfuse.yield %d : f32
  } -> tensor<64x80xf32>
  return %r : tensor<64x80xf32>
}

// Where the rounded sums are a result, they are what the maximum is of.
// CHECK-LABEL: @written
// CHECK: redfuse.fold
// CHECK: %[[S:.+]] = redfuse.reduce add %{{.+}} over [2] into [0, 1] : f32
// CHECK: %[[H:.+]] = arith.truncf %[[S]] : f32 to bf16
// CHECK: %[[W:.+]] = arith.extf %[[H]] : bf16 to f32
// CHECK: redfuse.reduce maximumf %[[W]] over [1] into [0] : f32
func.func @written(%q: tensor<64x32xbf16>, %k: tensor<80x32xbf16>, %o: tensor<64x80xf32>, %z: tensor<64x80xbf16>)
    -> (tensor<64x80xf32>, tensor<64x80xbf16>) {
  %r:2 = redfuse.cascade {indexing_maps = [#q, #k, #w, #w]}
      ins(%q, %k : tensor<64x32xbf16>, tensor<80x32xbf16>) outs(%o, %z : tensor<64x80xf32>, tensor<64x80xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %h = arith.truncf %s : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %m = redfuse.reduce maximumf %w over [1] into [0] : f32
    %d = arith.subf %w, %m : f32
    redfuse.yield %d, %h : f32, bf16
  } -> tensor<64x80xf32>, tensor<64x80xbf16>
  return %r#0, %r#1 : tensor<64x80xf32>, tensor<64x80xbf16>
}

// One of 8 bits is a quantisation, which stays.
// CHECK-LABEL: @quantised
// CHECK: redfuse.fold
// CHECK: arith.truncf %{{.+}} : f32 to f8E4M3FN
func.func @quantised(%q: tensor<64x32xbf16>, %k: tensor<80x32xbf16>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.cascade {indexing_maps = [#q, #k, #o]}
      ins(%q, %k : tensor<64x32xbf16>, tensor<80x32xbf16>) outs(%o : tensor<64xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %h = arith.truncf %s : f32 to f8E4M3FN
    %w = arith.extf %h : f8E4M3FN to f32
    %m = redfuse.reduce maximumf %w over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
