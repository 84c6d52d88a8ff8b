// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-fuse -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-fuse=plans=false -split-input-file | FileCheck %s --check-prefix=UNASKED

#q = affine_map<(h, i, j, k) -> (h, i, k)>
#k = affine_map<(h, i, j, k) -> (h, j, k)>
#s = affine_map<(h, i, j, k) -> (h, i, j)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#r = affine_map<(h, i, j) -> (h, i)>

// What is computed for the operands of matrix units is read from memory, where they take
// it from: then one kernel has both products and what is between them.
// CHECK-LABEL: func.func @computed_operand
// CHECK-SAME:  threads would multiply its matrices
// CHECK:       redfuse.cascade
// CHECK-NOT:   redfuse.reduce
// CHECK:       } -> tensor<32x2048x128xbf16>
// CHECK:       redfuse.cascade
// CHECK-COUNT-3: redfuse.reduce
// CHECK:       } -> tensor<32x2048x128xf32>
// CHECK-NOT:   redfuse.cascade
// UNASKED-LABEL: func.func @computed_operand
// UNASKED-COUNT-1: redfuse.cascade
// UNASKED-NOT: redfuse.cascade
func.func @computed_operand(%q: tensor<32x2048x128xbf16>, %k: tensor<32x2048x128xbf16>, %w: tensor<32x2048x128xf32>, %v: tensor<32x2048x128xbf16>) -> tensor<32x2048x128xf32> {
  %d = tensor.empty() : tensor<32x2048x128xbf16>
  %e = tensor.empty() : tensor<32x2048x2048xf32>
  %f = tensor.empty() : tensor<32x2048xf32>
  %g = tensor.empty() : tensor<32x2048x128xf32>
  %h = tensor.empty() : tensor<32x2048x2048xbf16>
  %kw = redfuse.cascade {indexing_maps = [#x, #x, #x]} ins(%k, %w : tensor<32x2048x128xbf16>, tensor<32x2048x128xf32>) outs(%d : tensor<32x2048x128xbf16>) {
  ^bb0(%a: bf16, %b: f32):
    %a1 = arith.extf %a : bf16 to f32
    %p = arith.mulf %a1, %b : f32
    %t = math.tanh %p : f32
    %o = arith.truncf %t : f32 to bf16
    redfuse.yield %o : bf16
  } -> tensor<32x2048x128xbf16>
  %1 = redfuse.cascade {indexing_maps = [#q, #k, #s]} ins(%q, %kw : tensor<32x2048x128xbf16>, tensor<32x2048x128xbf16>) outs(%e : tensor<32x2048x2048xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %p = arith.mulf %a1, %b1 : f32
    %sum = redfuse.reduce add %p over [3] into [0, 1, 2] : f32
    redfuse.yield %sum : f32
  } -> tensor<32x2048x2048xf32>
  %2 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%1 : tensor<32x2048x2048xf32>) outs(%f : tensor<32x2048xf32>) {
  ^bb0(%a: f32):
    %max = redfuse.reduce maximumf %a over [2] into [0, 1] : f32
    redfuse.yield %max : f32
  } -> tensor<32x2048xf32>
  %3 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%1, %2 : tensor<32x2048x2048xf32>, tensor<32x2048xf32>) outs(%h : tensor<32x2048x2048xbf16>) {
  ^bb0(%a: f32, %max: f32):
    %c = arith.subf %a, %max : f32
    %exp = math.exp %c : f32
    %o = arith.truncf %exp : f32 to bf16
    redfuse.yield %o : bf16
  } -> tensor<32x2048x2048xbf16>
  %4 = redfuse.cascade {indexing_maps = [#q, affine_map<(h, i, j, k) -> (h, k, j)>, #s]} ins(%3, %v : tensor<32x2048x2048xbf16>, tensor<32x2048x128xbf16>) outs(%g : tensor<32x2048x128xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %p = arith.mulf %a1, %b1 : f32
    %sum = redfuse.reduce add %p over [3] into [0, 1, 2] : f32
    redfuse.yield %sum : f32
  } -> tensor<32x2048x128xf32>
  return %4 : tensor<32x2048x128xf32>
}

// -----

#q = affine_map<(h, i, j, k) -> (h, i, k)>
#k = affine_map<(h, i, j, k) -> (h, j, k)>
#v = affine_map<(h, i, j, k) -> (h, k, j)>
#s = affine_map<(h, i, j, k) -> (h, i, j)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#r = affine_map<(h, i, j) -> (h, i)>

// A projection behind heads, which sums over them, would make their products slow: it is a
// kernel of its own, and the scale of the queries stays in that of the heads.
// CHECK-LABEL: func.func @projection_behind
// CHECK:       redfuse.cascade
// CHECK-COUNT-4: redfuse.reduce
// CHECK:       } -> tensor<8x4096x32xbf16>
// CHECK:       redfuse.cascade
// CHECK-COUNT-1: redfuse.reduce
// CHECK:       } -> tensor<4096x128xbf16>
// CHECK-NOT:   redfuse.cascade
// UNASKED-LABEL: func.func @projection_behind
func.func @projection_behind(%q: tensor<8x4096x32xbf16>, %k: tensor<8x4096x32xbf16>, %v: tensor<8x4096x32xbf16>, %w: tensor<8x32x128xbf16>) -> tensor<4096x128xbf16> {
  %scale = arith.constant 0.177 : f32
  %d = tensor.empty() : tensor<8x4096x32xbf16>
  %e = tensor.empty() : tensor<8x4096x4096xf32>
  %f = tensor.empty() : tensor<8x4096xf32>
  %g = tensor.empty() : tensor<4096x128xbf16>
  %h = tensor.empty() : tensor<8x4096x4096xbf16>
  %qs = redfuse.cascade {indexing_maps = [#x, #x]} ins(%q : tensor<8x4096x32xbf16>) outs(%d : tensor<8x4096x32xbf16>) {
  ^bb0(%a: bf16):
    %a1 = arith.extf %a : bf16 to f32
    %p = arith.mulf %a1, %scale : f32
    %o = arith.truncf %p : f32 to bf16
    redfuse.yield %o : bf16
  } -> tensor<8x4096x32xbf16>
  %1 = redfuse.cascade {indexing_maps = [#q, #k, #s]} ins(%qs, %k : tensor<8x4096x32xbf16>, tensor<8x4096x32xbf16>) outs(%e : tensor<8x4096x4096xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %p = arith.mulf %a1, %b1 : f32
    %sum = redfuse.reduce add %p over [3] into [0, 1, 2] : f32
    redfuse.yield %sum : f32
  } -> tensor<8x4096x4096xf32>
  %2 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%1 : tensor<8x4096x4096xf32>) outs(%f : tensor<8x4096xf32>) {
  ^bb0(%a: f32):
    %max = redfuse.reduce maximumf %a over [2] into [0, 1] : f32
    redfuse.yield %max : f32
  } -> tensor<8x4096xf32>
  %3 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%1, %2 : tensor<8x4096x4096xf32>, tensor<8x4096xf32>) outs(%e : tensor<8x4096x4096xf32>) {
  ^bb0(%a: f32, %max: f32):
    %c = arith.subf %a, %max : f32
    %exp = math.exp %c : f32
    redfuse.yield %exp : f32
  } -> tensor<8x4096x4096xf32>
  %4 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%3 : tensor<8x4096x4096xf32>) outs(%f : tensor<8x4096xf32>) {
  ^bb0(%a: f32):
    %sum = redfuse.reduce add %a over [2] into [0, 1] : f32
    redfuse.yield %sum : f32
  } -> tensor<8x4096xf32>
  %5 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%3, %4 : tensor<8x4096x4096xf32>, tensor<8x4096xf32>) outs(%h : tensor<8x4096x4096xbf16>) {
  ^bb0(%a: f32, %sum: f32):
    %c = arith.divf %a, %sum : f32
    %o = arith.truncf %c : f32 to bf16
    redfuse.yield %o : bf16
  } -> tensor<8x4096x4096xbf16>
  %6 = redfuse.cascade {indexing_maps = [#q, #v, #s]} ins(%5, %v : tensor<8x4096x4096xbf16>, tensor<8x4096x32xbf16>) outs(%d : tensor<8x4096x32xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %p = arith.mulf %a1, %b1 : f32
    %sum = redfuse.reduce add %p over [3] into [0, 1, 2] : f32
    %o = arith.truncf %sum : f32 to bf16
    redfuse.yield %o : bf16
  } -> tensor<8x4096x32xbf16>
  %7 = redfuse.cascade {indexing_maps = [affine_map<(i, j, h, k) -> (h, i, k)>, affine_map<(i, j, h, k) -> (h, k, j)>, affine_map<(i, j, h, k) -> (i, j)>]} ins(%6, %w : tensor<8x4096x32xbf16>, tensor<8x32x128xbf16>) outs(%g : tensor<4096x128xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %p = arith.mulf %a1, %b1 : f32
    %sum = redfuse.reduce add %p over [2, 3] into [0, 1] : f32
    %o = arith.truncf %sum : f32 to bf16
    redfuse.yield %o : bf16
  } -> tensor<4096x128xbf16>
  return %7 : tensor<4096x128xbf16>
}

// -----

#q = affine_map<(h, i, j, k) -> (h, i, k)>
#k = affine_map<(h, i, j, k) -> (h, j, k)>
#s = affine_map<(h, i, j, k) -> (h, i, j)>
#x = affine_map<(h, i, j) -> (h, i, j)>
#r = affine_map<(h, i, j) -> (h, i)>

// What is reduced for a mask of scores is a kernel of its own; the mask itself is computed
// where it is needed.
// CHECK-LABEL: func.func @documents
// CHECK:       redfuse.cascade
// CHECK-COUNT-1: redfuse.reduce
// CHECK:       } -> tensor<2048xi64>
// CHECK:       redfuse.cascade
// CHECK:       arith.cmpi eq
// CHECK-COUNT-4: redfuse.reduce
// CHECK:       } -> tensor<8x2048x64xbf16>
// CHECK-NOT:   redfuse.cascade
// UNASKED-LABEL: func.func @documents
func.func @documents(%q: tensor<8x2048x64xbf16>, %k: tensor<8x2048x64xbf16>, %v: tensor<8x2048x64xbf16>, %ends: tensor<11xi64>) -> tensor<8x2048x64xbf16> {
  %lowest = arith.constant 0xFF800000 : f32
  %c = tensor.empty() : tensor<2048xi64>
  %p = tensor.empty() : tensor<2048x2048xi1>
  %d = tensor.empty() : tensor<8x2048x64xbf16>
  %e = tensor.empty() : tensor<8x2048x2048xf32>
  %f = tensor.empty() : tensor<8x2048xf32>
  %h = tensor.empty() : tensor<8x2048x2048xbf16>
  %count = redfuse.cascade {indexing_maps = [affine_map<(i, n) -> (n)>, affine_map<(i, n) -> (i)>]} ins(%ends : tensor<11xi64>) outs(%c : tensor<2048xi64>) {
  ^bb0(%a: i64):
    %i = redfuse.index 0
    %n = arith.index_cast %i : index to i64
    %isBefore = arith.cmpi sle, %a, %n : i64
    %one = arith.extui %isBefore : i1 to i64
    %sum = redfuse.reduce add %one over [1] into [0] : i64
    redfuse.yield %sum : i64
  } -> tensor<2048xi64>
  %mask = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>]} ins(%count, %count : tensor<2048xi64>, tensor<2048xi64>) outs(%p : tensor<2048x2048xi1>) {
  ^bb0(%a: i64, %b: i64):
    %same = arith.cmpi eq, %a, %b : i64
    redfuse.yield %same : i1
  } -> tensor<2048x2048xi1>
  %1 = redfuse.cascade {indexing_maps = [#q, #k, #s]} ins(%q, %k : tensor<8x2048x64xbf16>, tensor<8x2048x64xbf16>) outs(%e : tensor<8x2048x2048xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %m = arith.mulf %a1, %b1 : f32
    %sum = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
    redfuse.yield %sum : f32
  } -> tensor<8x2048x2048xf32>
  %m1 = redfuse.cascade {indexing_maps = [#x, affine_map<(h, i, j) -> (i, j)>, #x]} ins(%1, %mask : tensor<8x2048x2048xf32>, tensor<2048x2048xi1>) outs(%e : tensor<8x2048x2048xf32>) {
  ^bb0(%a: f32, %b: i1):
    %o = arith.select %b, %a, %lowest : f32
    redfuse.yield %o : f32
  } -> tensor<8x2048x2048xf32>
  %2 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%m1 : tensor<8x2048x2048xf32>) outs(%f : tensor<8x2048xf32>) {
  ^bb0(%a: f32):
    %max = redfuse.reduce maximumf %a over [2] into [0, 1] : f32
    redfuse.yield %max : f32
  } -> tensor<8x2048xf32>
  %3 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%m1, %2 : tensor<8x2048x2048xf32>, tensor<8x2048xf32>) outs(%e : tensor<8x2048x2048xf32>) {
  ^bb0(%a: f32, %max: f32):
    %away = arith.subf %a, %max : f32
    %exp = math.exp %away : f32
    redfuse.yield %exp : f32
  } -> tensor<8x2048x2048xf32>
  %4 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%3 : tensor<8x2048x2048xf32>) outs(%f : tensor<8x2048xf32>) {
  ^bb0(%a: f32):
    %sum = redfuse.reduce add %a over [2] into [0, 1] : f32
    redfuse.yield %sum : f32
  } -> tensor<8x2048xf32>
  %5 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%3, %4 : tensor<8x2048x2048xf32>, tensor<8x2048xf32>) outs(%h : tensor<8x2048x2048xbf16>) {
  ^bb0(%a: f32, %sum: f32):
    %w = arith.divf %a, %sum : f32
    %o = arith.truncf %w : f32 to bf16
    redfuse.yield %o : bf16
  } -> tensor<8x2048x2048xbf16>
  %6 = redfuse.cascade {indexing_maps = [affine_map<(h, i, e, j) -> (h, i, j)>, affine_map<(h, i, e, j) -> (h, j, e)>, affine_map<(h, i, e, j) -> (h, i, e)>]} ins(%5, %v : tensor<8x2048x2048xbf16>, tensor<8x2048x64xbf16>) outs(%d : tensor<8x2048x64xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %m = arith.mulf %a1, %b1 : f32
    %sum = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
    %o = arith.truncf %sum : f32 to bf16
    redfuse.yield %o : bf16
  } -> tensor<8x2048x64xbf16>
  return %6 : tensor<8x2048x64xbf16>
}
