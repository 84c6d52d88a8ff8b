// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s

// A kernel goes on where an assertion fails; a thread whose point exists stores
// the number of the message where a global of the module says. Equal messages have
// one number.

// CHECK: gpu.module @redfuse_gpu
// CHECK: llvm.mlir.global external @redfuse_report(0 : i64) {addr_space = 1 : i32, alignment = 8 : i64} : i64
// CHECK: llvm.mlir.global external constant @redfuse_messages("too large\00negative\00") {addr_space = 1 : i32
// CHECK-LABEL: gpu.func @gather_0
// CHECK: %[[POS:.+]] = arith.index_cast %{{.+}} : i64 to index
// CHECK: %[[SMALL:.+]] = arith.cmpi slt, %[[POS]], %{{.+}} : index
// CHECK: %[[FAILED:.+]] = arith.xori %[[SMALL]], %true{{.*}} : i1
// CHECK: %[[OF_A_POINT:.+]] = arith.andi %[[FAILED]], %{{.+}} : i1
// CHECK: scf.if %[[OF_A_POINT]]
// CHECK:   %[[GLOBAL:.+]] = llvm.mlir.addressof @redfuse_report : !llvm.ptr<1>
// CHECK:   %[[PLACE:.+]] = llvm.load %[[GLOBAL]] : !llvm.ptr<1> -> i64
// CHECK:   %[[WORD:.+]] = llvm.inttoptr %[[PLACE]] : i64 to !llvm.ptr<1>
// CHECK:   %[[NUMBER:.+]] = llvm.mlir.constant(1 : i32) : i32
// CHECK:   llvm.store volatile %[[NUMBER]], %[[WORD]] {alignment = 4 : i64} : i32, !llvm.ptr<1>
// CHECK: llvm.mlir.constant(2 : i32) : i32
// CHECK: llvm.mlir.constant(1 : i32) : i32
// CHECK-NOT: cf.assert

#row = affine_map<(i) -> (i)>
func.func @main(%at: memref<5xi64>, %x: memref<5x64xf32>, %out: memref<5xf32>) {
  redfuse.launch @gather_0 ins(%at, %x : memref<5xi64>, memref<5x64xf32>) outs(%out : memref<5xf32>)
  return
}
redfuse.kernel @gather_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<map, grid = [0], tiles = [5]>} {
^bb0(%at: tensor<5xi64>, %x: tensor<5x64xf32>, %init: tensor<5xf32>):
  %count = arith.constant 64 : index
  %none = arith.constant 0 : index
  %r = redfuse.cascade {indexing_maps = [#row, #row]} ins(%at : tensor<5xi64>) outs(%init : tensor<5xf32>) {
  ^bb0(%k: i64):
    %i = redfuse.index 0
    %j = arith.index_cast %k : i64 to index
    %small = arith.cmpi slt, %j, %count : index
    cf.assert %small, "too large"
    %large = arith.cmpi sge, %j, %none : index
    cf.assert %large, "negative"
    %different = arith.cmpi ne, %j, %i : index
    cf.assert %different, "too large"
    %v = tensor.extract %x[%i, %j] : tensor<5x64xf32>
    redfuse.yield %v : f32
  } -> tensor<5xf32>
  redfuse.yield %r : tensor<5xf32>
}
