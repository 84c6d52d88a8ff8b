// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-lower-tiles -canonicalize -cse | FileCheck %s

// Sixteen rows a pass, eight threads a row; the swizzle is the same in each pass. All
// places are constants behind one of each kind.

// CHECK-LABEL: func @inside(
// CHECK-SAME: %[[M:.*]]: memref<4x64x128xbf16>, %[[T:.*]]: i32, %{{.*}}: index, %{{.*}}: index, %[[THREAD:.*]]: i32
// CHECK-DAG: %[[ROW:.*]] = arith.shrui %[[THREAD]], %c3
// CHECK-DAG: %[[CHUNK:.*]] = arith.andi %[[THREAD]], %c7
// CHECK: arith.xori
// CHECK: memref.extract_aligned_pointer_as_index %[[M]]
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "cp.async.cg.shared.global [$0], [$1], 16;", "r,l,~{memory}"
// CHECK: "cp.async.cg.shared.global [$0+2048], [$1+4096], 16;"
// CHECK: "cp.async.cg.shared.global [$0+4096], [$1+128], 16;"
// CHECK: "cp.async.cg.shared.global [$0+6144], [$1+4224], 16;"
// CHECK: "cp.async.commit_group;"
// CHECK: "cp.async.wait_group 1;"
func.func @inside(%m: memref<4x64x128xbf16>, %at: i32, %head: index, %row: index, %thread: i32) {
  %c0 = arith.constant 0 : index
  %t = tile.view at %at : !tile.shared<32x128xbf16>
  tile.copy_rows %m[%head, %row, %c0] along 1 to %t thread %thread of 128 inside : memref<4x64x128xbf16>, !tile.shared<32x128xbf16>
  tile.commit_rows
  tile.wait_rows 1
  return
}

// Nothing is read of rows and columns that do not exist, and not all threads have one
// of eight rows.

// CHECK-LABEL: func @ragged(
// CHECK: memref.dim
// CHECK: arith.cmpi slt, %{{.*}}, %c24
// CHECK: arith.select
// CHECK: setp.gt.s32 p, $2, 0;
// CHECK-SAME: selp.b32 t, 16, 0, p;
// CHECK-SAME: setp.lt.s32 q, $3, 8;
// CHECK-SAME: @q cp.async.cg.shared.global [$0], [$1], 16, t;
// CHECK-SAME: "r,l,r,r,~{memory}"
// CHECK-NOT: cp.async.cg
func.func @ragged(%m: memref<?x24xbf16>, %at: i32, %row: index, %thread: i32) {
  %c0 = arith.constant 0 : index
  %t = tile.view at %at : !tile.shared<8x64xbf16>
  tile.copy_rows %m[%row, %c0] along 0 to %t thread %thread of 128 : memref<?x24xbf16>, !tile.shared<8x64xbf16>
  return
}
