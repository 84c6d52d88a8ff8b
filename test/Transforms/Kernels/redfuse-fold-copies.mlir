// RUN: redfuse-opt %s -redfuse-fold-copies | FileCheck %s

#t = affine_map<(c, o) -> (o, c)>
#id = affine_map<(c, o) -> (c, o)>
#wrapped = affine_map<(o, c) -> (o, c mod 3)>

// A permutation: 1, 3, 5, 2, 4, 6 in f16.
// CHECK-LABEL: func.func @permuted
// CHECK-NOT: redfuse.cascade
// CHECK: %[[P:.+]] = arith.constant dense_resource<[[PERMUTED:.+]]> : tensor<2x3xf16>
// CHECK: return %[[P]]
func.func @permuted() -> tensor<2x3xf16> {
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf16>
  %e = tensor.empty() : tensor<2x3xf16>
  %p = redfuse.cascade {indexing_maps = [#t, #id]} ins(%w : tensor<3x2xf16>) outs(%e : tensor<2x3xf16>) {
  ^bb0(%a: f16):
    redfuse.yield %a : f16
  } -> tensor<2x3xf16>
  return %p : tensor<2x3xf16>
}

// Zeros behind a dim: 1, 2, 3, 0 and 4, 5, 6, 0 in bytes. Their number stands in front.
// CHECK-LABEL: func.func @padded
// CHECK-NOT: redfuse.cascade
// CHECK: arith.constant dense_resource<[[PADDED:.+]]> : tensor<2x4xi8>
func.func @padded() -> tensor<2x4xi8> {
  %w = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %e = tensor.empty() : tensor<2x4xi8>
  %zero = arith.constant 0 : i8
  %p = redfuse.cascade {indexing_maps = [#wrapped, #id]} ins(%w : tensor<2x3xi8>) outs(%e : tensor<2x4xi8>) {
  ^bb0(%a: i8):
    %end = arith.constant 3 : index
    %i = redfuse.index 1
    %in = arith.cmpi slt, %i, %end : index
    %b = arith.select %in, %a, %zero : i8
    redfuse.yield %b : i8
  } -> tensor<2x4xi8>
  return %p : tensor<2x4xi8>
}

// Rounded to TF32, to even: 1 + 2^-11 is 1, 1 + 3 * 2^-11 is 1 + 2^-9; infinities stay; behind a reshape.
// CHECK-LABEL: func.func @rounded
// CHECK-NOT: redfuse.cascade
// CHECK: arith.constant dense_resource<[[ROUNDED:.+]]> : tensor<2x2xf32>
func.func @rounded() -> tensor<2x2xf32> {
  %w = arith.constant dense<[0x3F801000, 0x3F803000, 0x7F800000, 0xBF800001]> : tensor<4xf32>
  %v = tensor.expand_shape %w [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %e = tensor.empty() : tensor<2x2xf32>
  %p = redfuse.cascade {indexing_maps = [#id, #id]} ins(%v : tensor<2x2xf32>) outs(%e : tensor<2x2xf32>) {
  ^bb0(%a: f32):
    %r = arith.truncf %a : f32 to tf32
    %x = arith.extf %r : tf32 to f32
    redfuse.yield %x : f32
  } -> tensor<2x2xf32>
  return %p : tensor<2x2xf32>
}

// CHECK: {-#
// CHECK-DAG: [[PERMUTED]]: "0x40000000003C00420045004000440046"
// CHECK-DAG: [[PADDED]]: "0x400000000102030004050600"
// CHECK-DAG: [[ROUNDED]]: "0x400000000000803F0040803F0000807F000080BF"
