// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s
// RUN: redfuse-opt -redfuse-derive=all=true -redfuse-outline %s | FileCheck %s --check-prefix=KERNEL

// A barrier cuts the cascade: what is before it is folded and finalised, and the
// rest is folded in a pass of its own, for which the reduced values are inputs.
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// CHECK-DAG: #[[IJ:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[I:.*]] = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: @rounded
// CHECK-SAME: condition = "quantisation"
// CHECK-SAME: location = "{{.*}}redfuse-derive-passes.mlir:[[@LINE+35]]
// CHECK-SAME: op = "math.roundeven"
// CHECK: %[[M:.*]] = redfuse.fold
// CHECK-SAME: redfuse.pass = array<i64: 0, 0>
// CHECK: redfuse.reduce maximumf
// CHECK: %[[D:.*]] = redfuse.finalize
// CHECK-SAME: redfuse.pass = array<i64: 0, 0>
// CHECK-SAME: ins(%[[M]] : tensor<64xf32>)
// CHECK: %[[S:.*]] = redfuse.fold
// CHECK-SAME: indexing_maps = [#[[IJ]], #[[I]], #[[I]]]
// CHECK-SAME: redfuse.pass = array<i64: 0, 1>
// CHECK-SAME: ins(%{{.*}}, %[[D]] :
// CHECK: %[[Q:.*]] = arith.divf
// CHECK: %[[R:.*]] = math.roundeven %[[Q]]
// CHECK: redfuse.reduce add %[[R]]
// CHECK: redfuse.finalize
// CHECK-SAME: ins(%[[S]] : tensor<64xf32>)

// One kernel has both passes; the reduced values between them are its own.
// KERNEL: redfuse.kernel @rounded_0
// KERNEL: ^bb0(%{{.*}}: tensor<64x80xf32>, %[[INIT:.*]]: tensor<64xf32>):
// KERNEL: redfuse.fold
// KERNEL: %[[OWN:.*]] = tensor.empty
// KERNEL: redfuse.finalize
// KERNEL-SAME: outs(%[[OWN]]
// KERNEL: redfuse.fold
// KERNEL: redfuse.finalize
// KERNEL-SAME: outs(%[[INIT]]
func.func @rounded(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %a = math.absf %x : f32
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %q = arith.divf %x, %m : f32
    %r = math.roundeven %q : f32
    %l = redfuse.reduce add %r over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// CHECK-LABEL: @compared
// CHECK-SAME: condition = "comparison"
// CHECK-COUNT-2: redfuse.finalize
func.func @compared(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce add %x over [1] into [0] : f32
    %r = arith.maximumf %x, %m : f32
    %l = redfuse.reduce add %r over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// CHECK-LABEL: @scaled_exponent
// CHECK-SAME: condition = "exponent"
// CHECK-COUNT-2: redfuse.finalize
func.func @scaled_exponent(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce add %x over [1] into [0] : f32
    %r = arith.mulf %x, %m : f32
    %e = math.exp %r : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// CHECK-LABEL: @divided_by_mixture
// CHECK-SAME: condition = "quotient"
// CHECK-COUNT-2: redfuse.finalize
func.func @divided_by_mixture(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce add %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %r = arith.divf %x, %c : f32
    %l = redfuse.reduce add %r over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// Two barriers, three passes; what folds together stays together: the sum of
// exponentials goes with the maximum that it needs.
// CHECK-LABEL: @twice
// CHECK: redfuse.fold
// CHECK-SAME: redfuse.pass = array<i64: [[N:.*]], 0>
// CHECK: redfuse.finalize
// CHECK: redfuse.fold
// CHECK-SAME: redfuse.pass = array<i64: [[N]], 1>
// CHECK: redfuse.reduce maximumf
// CHECK: math.exp
// CHECK: redfuse.finalize
// CHECK: redfuse.fold
// CHECK-SAME: redfuse.pass = array<i64: [[N]], 2>
// CHECK: redfuse.finalize
// CHECK-NOT: redfuse.cascade
func.func @twice(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %a = math.absf %x : f32
    %t = redfuse.reduce add %a over [1] into [0] : f32
    %q = arith.divf %x, %t : f32
    %r = math.roundeven %q : f32
    %m = redfuse.reduce maximumf %r over [1] into [0] : f32
    %c = arith.subf %r, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %k = arith.mulf %x, %l : f32
    %f = math.floor %k : f32
    %o = redfuse.reduce add %f over [1] into [0] : f32
    redfuse.yield %o : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// A reduced value that is NaN makes all elements NaN, and maxnumf drops them all: the ends of the
// data do not tell that.
// CHECK-LABEL: @dropped
// CHECK: %[[M:.*]] = redfuse.fold
// CHECK: redfuse.reduce maximumf
// CHECK: redfuse.fold
// CHECK: %[[V:.*]] = arith.maximumf
// CHECK-NEXT: redfuse.reduce maxnumf %[[V]] over [1]
func.func @dropped(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %v = arith.maximumf %x, %m : f32
    %d = redfuse.reduce maxnumf %v over [1] into [0] : f32
    redfuse.yield %d : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}
