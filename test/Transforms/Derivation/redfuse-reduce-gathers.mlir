// RUN: redfuse-opt %s -redfuse-reduce-gathers | FileCheck %s

#i = affine_map<(i) -> (i)>

// The label's logit, where negative labels count from the end.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @label(
// CHECK-SAME:      %[[X:.*]]: tensor<6x8xbf16>, %[[AT:.*]]: tensor<6xi64>, %[[S:.*]]: tensor<6xbf16>)
// CHECK:         %[[L:.*]] = redfuse.cascade {indexing_maps = [#[[ROWS]], #[[ROW]], #[[ROW]]]} ins(%[[X]], %[[AT]] :
// CHECK-NEXT:    ^bb0(%[[V:.*]]: bf16, %[[P:.*]]: i64):
// CHECK:           %[[W:.*]] = arith.select
// CHECK:           %[[J:.*]] = redfuse.index 1
// CHECK:           %[[IS:.*]] = arith.cmpi eq, %[[J]], %[[W]] : index
// CHECK:           %[[LEFT:.*]] = arith.select %[[IS]], %[[V]], %{{.*}} : bf16
// CHECK:           %[[WIDE:.*]] = arith.extf %[[LEFT]] : bf16 to f32
// CHECK:           %[[SUM:.*]] = redfuse.reduce add %[[WIDE]] over [1] into [0] : f32
// CHECK:           arith.truncf %[[SUM]] : f32 to bf16
// CHECK:         redfuse.cascade {{.*}} ins(%[[AT]], %[[S]], %[[L]] :
// CHECK-NEXT:    ^bb0(%{{.*}}: i64, %[[M:.*]]: bf16, %[[G:.*]]: bf16):
// The place is still checked.
// CHECK:           cf.assert
// CHECK-NOT:       tensor.extract
// CHECK:           arith.subf %[[G]], %[[M]] : bf16
func.func @label(%x: tensor<6x8xbf16>, %at: tensor<6xi64>, %s: tensor<6xbf16>) -> tensor<6xbf16> {
  %e = tensor.empty() : tensor<6xbf16>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %r = redfuse.cascade {indexing_maps = [#i, #i, #i]} ins(%at, %s : tensor<6xi64>, tensor<6xbf16>) outs(%e : tensor<6xbf16>) {
  ^bb0(%a: i64, %m: bf16):
    %i = redfuse.index 0
    %p = arith.index_cast %a : i64 to index
    %is = arith.cmpi slt, %p, %c0 : index
    %q = arith.addi %p, %c8 : index
    %w = arith.select %is, %q, %p : index
    %in = arith.cmpi ult, %w, %c8 : index
    cf.assert %in, "outside"
    %v = tensor.extract %x[%i, %w] : tensor<6x8xbf16>
    %d = arith.subf %v, %m : bf16
    redfuse.yield %d : bf16
  } -> tensor<6xbf16>
  return %r : tensor<6xbf16>
}
