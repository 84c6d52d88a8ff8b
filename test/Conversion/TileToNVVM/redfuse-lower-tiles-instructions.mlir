// RUN: redfuse-opt %s -split-input-file -redfuse-attach-target=chip=sm_80 -redfuse-lower-tiles -verify-diagnostics | FileCheck %s

// mma.sync: words of two rows, the first of each first.

// CHECK-LABEL: func @mma(
// CHECK-SAME: %[[A0:[a-z0-9]+]]: i32, %[[A1:[a-z0-9]+]]: i32, %[[A2:[a-z0-9]+]]: i32, %[[A3:[a-z0-9]+]]: i32, %[[B0:[a-z0-9]+]]: i32, %[[B1:[a-z0-9]+]]: i32, %[[C:[a-z0-9]+]]: f32
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"(%[[A0]], %[[A2]], %[[A1]], %[[A3]], %[[B0]], %[[B1]], %[[C]], %[[C]], %[[C]], %[[C]])
func.func @mma(%a0: i32, %a1: i32, %a2: i32, %a3: i32, %b0: i32, %b1: i32, %c: f32) -> f32 {
  %d:4 = tile.mma bf16(%a0, %a1, %a2, %a3) by bf16(%b0, %b1) plus %c, %c, %c, %c : (i32, i32, i32, i32), (i32, i32) -> f32, f32, f32, f32
  return %d#3 : f32
}

// -----

func.func @type(%a: i32, %c: f32) {
  // expected-error@+1 {{multiplies 'f8E4M3FN' by 'f8E4M3FN' into 'f32', for which 'sm_80' has no instruction}}
  %d:4 = tile.mma f8E4M3FN(%a, %a, %a, %a) by f8E4M3FN(%a, %a) plus %c, %c, %c, %c : (i32, i32, i32, i32), (i32, i32) -> f32, f32, f32, f32
  return
}

// -----

func.func @count(%a: i32, %c: f32) {
  // expected-error@+1 {{has 1 words of rows and 1 of a column; on 'sm_80' a lane has 4 and 2}}
  %d:4 = tile.mma bf16(%a) by bf16(%a) plus %c, %c, %c, %c : (i32), (i32) -> f32, f32, f32, f32
  return
}

// -----

func.func @sums(%a: i32, %c: vector<4xf32>) {
  // expected-error@+1 {{has 1 sums; on 'sm_80' a lane has 4 of 'f32'}}
  %d = tile.mma bf16(%a, %a, %a, %a) by bf16(%a, %a) plus %c : (i32, i32, i32, i32), (i32, i32) -> vector<4xf32>
  return
}
