// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-lower-tiles -canonicalize -cse | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_100a -redfuse-lower-tiles -canonicalize -cse | FileCheck %s

// Without warpgroups every warp multiplies its own rows: four matrices of 8 x 8 are
// read of each operand, a row at a time where two neighbours of the sum are
// neighbours in a row, else transposed. Chunks are at places that the row's number
// swizzles.

// CHECK-LABEL: func @shared(
// CHECK: %[[A:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];"
// CHECK: %[[B:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4];"
// CHECK: %[[S:.*]] = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
// The next 16 of the sum: 16 rows on.
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];"
// CHECK: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4+2048];"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
// CHECK-NOT: wait_group
// CHECK: return
func.func @shared(%a: i32, %b: i32, %part: i32) -> (f32, f32, f32, f32) {
  %left = tile.view at %a : !tile.shared<128x64xf16>
  %right = tile.view at %b : !tile.shared<32x64xf16>
  %s = tile.multiply %left[%part], %right rows over 32 : !tile.shared<128x64xf16>, !tile.shared<32x64xf16> -> !tile.accumulators<64x16xf32>
  %e:8 = tile.wait_products 0 of %s : !tile.accumulators<64x16xf32>
  return %e#0, %e#1, %e#2, %e#3 : f32, f32, f32, f32
}

// With 128 rows each warp has 32, for which an operand on the right serves twice. The
// left one is in registers: of each eight columns those of four rows.

// CHECK-LABEL: func @registers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32
// CHECK-COUNT-4: cvt.rn.bf16x2.f32
// CHECK-COUNT-1: "ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
func.func @registers(%x: f32, %y: f32, %b: i32) -> f32 {
  %right = tile.view at %b : !tile.shared<16x64xbf16>
  %p = tile.pack %x, %y, %y, %y, %x, %x, %y, %x, %x, %y, %x, %x, %y, %y, %y, %x : !tile.operand<128x16xbf16>
  %c = tile.accumulators %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x : !tile.accumulators<128x16xf32>
  %s = tile.multiply %p, %right over 16 plus %c : !tile.operand<128x16xbf16>, !tile.shared<16x64xbf16> plus !tile.accumulators<128x16xf32> -> !tile.accumulators<128x16xf32>
  %e:16 = tile.wait_products 0 of %s alive %p : !tile.accumulators<128x16xf32> alive !tile.operand<128x16xbf16>
  return %e#0 : f32
}
