// RUN: redfuse-opt %s -redfuse-fuse | FileCheck %s

// A kernel ends at 64 tensors that it reads.

#v = affine_map<(i) -> (i)>
!t = tensor<65xf32>

// CHECK-LABEL: func @within
// CHECK: redfuse.cascade
// CHECK-NOT: redfuse.cascade
func.func @within(%x0: !t, %x1: !t, %x2: !t, %x3: !t, %x4: !t, %x5: !t, %x6: !t, %x7: !t, %x8: !t, %x9: !t, %x10: !t, %x11: !t, %x12: !t, %x13: !t, %x14: !t, %x15: !t, %x16: !t, %x17: !t, %x18: !t, %x19: !t, %x20: !t, %x21: !t, %x22: !t, %x23: !t, %x24: !t, %x25: !t, %x26: !t, %x27: !t, %x28: !t, %x29: !t, %x30: !t, %x31: !t, %x32: !t, %x33: !t, %x34: !t, %x35: !t, %x36: !t, %x37: !t, %x38: !t, %x39: !t, %x40: !t, %x41: !t, %x42: !t, %x43: !t, %x44: !t, %x45: !t, %x46: !t, %x47: !t, %x48: !t, %x49: !t, %x50: !t, %x51: !t, %x52: !t, %x53: !t, %x54: !t, %x55: !t, %x56: !t, %x57: !t, %x58: !t, %x59: !t, %x60: !t, %x61: !t, %x62: !t, %x63: !t) -> !t {
  %row = tensor.empty() : !t
  %0 = redfuse.cascade {indexing_maps = [#v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v]}
      ins(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12, %x13, %x14, %x15, %x16, %x17, %x18, %x19, %x20, %x21, %x22, %x23, %x24, %x25, %x26, %x27, %x28, %x29, %x30, %x31 : !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t)
      outs(%row : !t) {
  ^bb0(%b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %b8: f32, %b9: f32, %b10: f32, %b11: f32, %b12: f32, %b13: f32, %b14: f32, %b15: f32, %b16: f32, %b17: f32, %b18: f32, %b19: f32, %b20: f32, %b21: f32, %b22: f32, %b23: f32, %b24: f32, %b25: f32, %b26: f32, %b27: f32, %b28: f32, %b29: f32, %b30: f32, %b31: f32):
    %a1 = arith.addf %b0, %b1 : f32
    %a2 = arith.addf %a1, %b2 : f32
    %a3 = arith.addf %a2, %b3 : f32
    %a4 = arith.addf %a3, %b4 : f32
    %a5 = arith.addf %a4, %b5 : f32
    %a6 = arith.addf %a5, %b6 : f32
    %a7 = arith.addf %a6, %b7 : f32
    %a8 = arith.addf %a7, %b8 : f32
    %a9 = arith.addf %a8, %b9 : f32
    %a10 = arith.addf %a9, %b10 : f32
    %a11 = arith.addf %a10, %b11 : f32
    %a12 = arith.addf %a11, %b12 : f32
    %a13 = arith.addf %a12, %b13 : f32
    %a14 = arith.addf %a13, %b14 : f32
    %a15 = arith.addf %a14, %b15 : f32
    %a16 = arith.addf %a15, %b16 : f32
    %a17 = arith.addf %a16, %b17 : f32
    %a18 = arith.addf %a17, %b18 : f32
    %a19 = arith.addf %a18, %b19 : f32
    %a20 = arith.addf %a19, %b20 : f32
    %a21 = arith.addf %a20, %b21 : f32
    %a22 = arith.addf %a21, %b22 : f32
    %a23 = arith.addf %a22, %b23 : f32
    %a24 = arith.addf %a23, %b24 : f32
    %a25 = arith.addf %a24, %b25 : f32
    %a26 = arith.addf %a25, %b26 : f32
    %a27 = arith.addf %a26, %b27 : f32
    %a28 = arith.addf %a27, %b28 : f32
    %a29 = arith.addf %a28, %b29 : f32
    %a30 = arith.addf %a29, %b30 : f32
    %a31 = arith.addf %a30, %b31 : f32
    redfuse.yield %a31 : f32
  } -> !t
  %1 = redfuse.cascade {indexing_maps = [#v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v]}
      ins(%0, %x32, %x33, %x34, %x35, %x36, %x37, %x38, %x39, %x40, %x41, %x42, %x43, %x44, %x45, %x46, %x47, %x48, %x49, %x50, %x51, %x52, %x53, %x54, %x55, %x56, %x57, %x58, %x59, %x60, %x61, %x62, %x63 : !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t)
      outs(%row : !t) {
  ^bb0(%b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %b8: f32, %b9: f32, %b10: f32, %b11: f32, %b12: f32, %b13: f32, %b14: f32, %b15: f32, %b16: f32, %b17: f32, %b18: f32, %b19: f32, %b20: f32, %b21: f32, %b22: f32, %b23: f32, %b24: f32, %b25: f32, %b26: f32, %b27: f32, %b28: f32, %b29: f32, %b30: f32, %b31: f32, %b32: f32):
    %a1 = arith.addf %b0, %b1 : f32
    %a2 = arith.addf %a1, %b2 : f32
    %a3 = arith.addf %a2, %b3 : f32
    %a4 = arith.addf %a3, %b4 : f32
    %a5 = arith.addf %a4, %b5 : f32
    %a6 = arith.addf %a5, %b6 : f32
    %a7 = arith.addf %a6, %b7 : f32
    %a8 = arith.addf %a7, %b8 : f32
    %a9 = arith.addf %a8, %b9 : f32
    %a10 = arith.addf %a9, %b10 : f32
    %a11 = arith.addf %a10, %b11 : f32
    %a12 = arith.addf %a11, %b12 : f32
    %a13 = arith.addf %a12, %b13 : f32
    %a14 = arith.addf %a13, %b14 : f32
    %a15 = arith.addf %a14, %b15 : f32
    %a16 = arith.addf %a15, %b16 : f32
    %a17 = arith.addf %a16, %b17 : f32
    %a18 = arith.addf %a17, %b18 : f32
    %a19 = arith.addf %a18, %b19 : f32
    %a20 = arith.addf %a19, %b20 : f32
    %a21 = arith.addf %a20, %b21 : f32
    %a22 = arith.addf %a21, %b22 : f32
    %a23 = arith.addf %a22, %b23 : f32
    %a24 = arith.addf %a23, %b24 : f32
    %a25 = arith.addf %a24, %b25 : f32
    %a26 = arith.addf %a25, %b26 : f32
    %a27 = arith.addf %a26, %b27 : f32
    %a28 = arith.addf %a27, %b28 : f32
    %a29 = arith.addf %a28, %b29 : f32
    %a30 = arith.addf %a29, %b30 : f32
    %a31 = arith.addf %a30, %b31 : f32
    %a32 = arith.addf %a31, %b32 : f32
    redfuse.yield %a32 : f32
  } -> !t
  return %1 : !t
}

// CHECK-LABEL: func @beyond
// CHECK: redfuse.cascade
// CHECK: redfuse.cascade
func.func @beyond(%x0: !t, %x1: !t, %x2: !t, %x3: !t, %x4: !t, %x5: !t, %x6: !t, %x7: !t, %x8: !t, %x9: !t, %x10: !t, %x11: !t, %x12: !t, %x13: !t, %x14: !t, %x15: !t, %x16: !t, %x17: !t, %x18: !t, %x19: !t, %x20: !t, %x21: !t, %x22: !t, %x23: !t, %x24: !t, %x25: !t, %x26: !t, %x27: !t, %x28: !t, %x29: !t, %x30: !t, %x31: !t, %x32: !t, %x33: !t, %x34: !t, %x35: !t, %x36: !t, %x37: !t, %x38: !t, %x39: !t, %x40: !t, %x41: !t, %x42: !t, %x43: !t, %x44: !t, %x45: !t, %x46: !t, %x47: !t, %x48: !t, %x49: !t, %x50: !t, %x51: !t, %x52: !t, %x53: !t, %x54: !t, %x55: !t, %x56: !t, %x57: !t, %x58: !t, %x59: !t, %x60: !t, %x61: !t, %x62: !t, %x63: !t, %x64: !t) -> !t {
  %row = tensor.empty() : !t
  %0 = redfuse.cascade {indexing_maps = [#v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v]}
      ins(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12, %x13, %x14, %x15, %x16, %x17, %x18, %x19, %x20, %x21, %x22, %x23, %x24, %x25, %x26, %x27, %x28, %x29, %x30, %x31 : !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t)
      outs(%row : !t) {
  ^bb0(%b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %b8: f32, %b9: f32, %b10: f32, %b11: f32, %b12: f32, %b13: f32, %b14: f32, %b15: f32, %b16: f32, %b17: f32, %b18: f32, %b19: f32, %b20: f32, %b21: f32, %b22: f32, %b23: f32, %b24: f32, %b25: f32, %b26: f32, %b27: f32, %b28: f32, %b29: f32, %b30: f32, %b31: f32):
    %a1 = arith.addf %b0, %b1 : f32
    %a2 = arith.addf %a1, %b2 : f32
    %a3 = arith.addf %a2, %b3 : f32
    %a4 = arith.addf %a3, %b4 : f32
    %a5 = arith.addf %a4, %b5 : f32
    %a6 = arith.addf %a5, %b6 : f32
    %a7 = arith.addf %a6, %b7 : f32
    %a8 = arith.addf %a7, %b8 : f32
    %a9 = arith.addf %a8, %b9 : f32
    %a10 = arith.addf %a9, %b10 : f32
    %a11 = arith.addf %a10, %b11 : f32
    %a12 = arith.addf %a11, %b12 : f32
    %a13 = arith.addf %a12, %b13 : f32
    %a14 = arith.addf %a13, %b14 : f32
    %a15 = arith.addf %a14, %b15 : f32
    %a16 = arith.addf %a15, %b16 : f32
    %a17 = arith.addf %a16, %b17 : f32
    %a18 = arith.addf %a17, %b18 : f32
    %a19 = arith.addf %a18, %b19 : f32
    %a20 = arith.addf %a19, %b20 : f32
    %a21 = arith.addf %a20, %b21 : f32
    %a22 = arith.addf %a21, %b22 : f32
    %a23 = arith.addf %a22, %b23 : f32
    %a24 = arith.addf %a23, %b24 : f32
    %a25 = arith.addf %a24, %b25 : f32
    %a26 = arith.addf %a25, %b26 : f32
    %a27 = arith.addf %a26, %b27 : f32
    %a28 = arith.addf %a27, %b28 : f32
    %a29 = arith.addf %a28, %b29 : f32
    %a30 = arith.addf %a29, %b30 : f32
    %a31 = arith.addf %a30, %b31 : f32
    redfuse.yield %a31 : f32
  } -> !t
  %1 = redfuse.cascade {indexing_maps = [#v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v, #v]}
      ins(%0, %x32, %x33, %x34, %x35, %x36, %x37, %x38, %x39, %x40, %x41, %x42, %x43, %x44, %x45, %x46, %x47, %x48, %x49, %x50, %x51, %x52, %x53, %x54, %x55, %x56, %x57, %x58, %x59, %x60, %x61, %x62, %x63, %x64 : !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t)
      outs(%row : !t) {
  ^bb0(%b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %b8: f32, %b9: f32, %b10: f32, %b11: f32, %b12: f32, %b13: f32, %b14: f32, %b15: f32, %b16: f32, %b17: f32, %b18: f32, %b19: f32, %b20: f32, %b21: f32, %b22: f32, %b23: f32, %b24: f32, %b25: f32, %b26: f32, %b27: f32, %b28: f32, %b29: f32, %b30: f32, %b31: f32, %b32: f32, %b33: f32):
    %a1 = arith.addf %b0, %b1 : f32
    %a2 = arith.addf %a1, %b2 : f32
    %a3 = arith.addf %a2, %b3 : f32
    %a4 = arith.addf %a3, %b4 : f32
    %a5 = arith.addf %a4, %b5 : f32
    %a6 = arith.addf %a5, %b6 : f32
    %a7 = arith.addf %a6, %b7 : f32
    %a8 = arith.addf %a7, %b8 : f32
    %a9 = arith.addf %a8, %b9 : f32
    %a10 = arith.addf %a9, %b10 : f32
    %a11 = arith.addf %a10, %b11 : f32
    %a12 = arith.addf %a11, %b12 : f32
    %a13 = arith.addf %a12, %b13 : f32
    %a14 = arith.addf %a13, %b14 : f32
    %a15 = arith.addf %a14, %b15 : f32
    %a16 = arith.addf %a15, %b16 : f32
    %a17 = arith.addf %a16, %b17 : f32
    %a18 = arith.addf %a17, %b18 : f32
    %a19 = arith.addf %a18, %b19 : f32
    %a20 = arith.addf %a19, %b20 : f32
    %a21 = arith.addf %a20, %b21 : f32
    %a22 = arith.addf %a21, %b22 : f32
    %a23 = arith.addf %a22, %b23 : f32
    %a24 = arith.addf %a23, %b24 : f32
    %a25 = arith.addf %a24, %b25 : f32
    %a26 = arith.addf %a25, %b26 : f32
    %a27 = arith.addf %a26, %b27 : f32
    %a28 = arith.addf %a27, %b28 : f32
    %a29 = arith.addf %a28, %b29 : f32
    %a30 = arith.addf %a29, %b30 : f32
    %a31 = arith.addf %a30, %b31 : f32
    %a32 = arith.addf %a31, %b32 : f32
    %a33 = arith.addf %a32, %b33 : f32
    redfuse.yield %a33 : f32
  } -> !t
  return %1 : !t
}
