// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-tiles -canonicalize -cse | FileCheck %s

// A copy is an instruction for each panel of 128 bytes, 64 columns of 16 bits.

// CHECK-LABEL: func @copy(
// CHECK-SAME: %[[MAP:[a-z0-9]+]]: vector<16xi64>, %[[X:[a-z0-9]+]]: i32, %[[ROW:[a-z0-9]+]]: i32, %[[TO:[a-z0-9]+]]: i32, %[[BARRIER:[a-z0-9]+]]: i32
// CHECK-DAG: %[[COLUMNS:.*]] = arith.constant 64 : i32
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 16384 : i32
// CHECK: %[[P:.*]] = builtin.unrealized_conversion_cast %[[MAP]] : vector<16xi64> to !llvm.ptr
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4}], [$2];", "r,l,r,r,r,~{memory}" %[[TO]], %[[P]], %[[BARRIER]], %[[X]], %[[ROW]]
// CHECK: %[[X1:.*]] = arith.addi %[[X]], %[[COLUMNS]]
// CHECK: %[[TO1:.*]] = arith.addi %[[TO]], %[[BYTES]]
// CHECK: llvm.inline_asm {{.*}} %[[TO1]], %[[P]], %[[BARRIER]], %[[X1]], %[[ROW]]
func.func @copy(%map: vector<16xi64>, %x: i32, %row: i32, %to: i32, %at: i32) {
  %t = tile.view at %to : !tile.shared<128x128xbf16>
  %b = tile.barrier at %at
  tile.copy %map[%x, %row] to %t signal %b : !tile.shared<128x128xbf16>
  return
}

// Places of a window: the offsets in it are words of 16 bits.

// CHECK-LABEL: func @window(
// CHECK: "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [$0], [$1, {$5, $6, $7, $8}], [$2], {$3, $4};", "r,l,r,h,h,r,r,r,r,~{memory}"
func.func @window(%map: vector<16xi64>, %x: i32, %tap: i16, %to: i32, %at: i32) {
  %t = tile.view at %to : !tile.shared<128x64xbf16>
  %b = tile.barrier at %at
  tile.copy %map[%x, %x, %x, %x] window [%tap, %tap] to %t signal %b : !tile.shared<128x64xbf16>
  return
}

// Several blocks copy a part of the rows each, for all of them.

// CHECK-LABEL: func @multicast(
// CHECK-SAME: %[[TO:[a-z0-9]+]]: i32, %[[BARRIER:[a-z0-9]+]]: i32, %[[FIRST:[a-z0-9]+]]: i32, %[[BLOCKS:[a-z0-9]+]]: i16
// CHECK: %[[SHIFT:.*]] = arith.muli %[[FIRST]], %c128
// CHECK: %[[PART:.*]] = arith.addi %[[TO]], %[[SHIFT]]
// CHECK: "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$1, {$4, $5}], [$2], $3;", "r,l,r,h,r,r,~{memory}" %[[PART]], %{{.*}}, %[[BARRIER]], %[[BLOCKS]],
// The panels of a whole tile.
// CHECK: arith.addi %[[PART]], %c16384
func.func @multicast(%map: vector<16xi64>, %x: i32, %row: i32, %to: i32, %at: i32, %first: i32, %blocks: i16) {
  %t = tile.view at %to : !tile.shared<128x128xbf16>
  %b = tile.barrier at %at
  tile.copy %map[%x, %row] to %t row %first multicast %blocks signal %b : !tile.shared<128x128xbf16>
  return
}

// The cache is asked for the same boxes.

// CHECK-LABEL: func @ahead(
// CHECK-SAME: %[[MAP:[a-z0-9]+]]: vector<16xi64>, %[[X:[a-z0-9]+]]: i32, %[[ROW:[a-z0-9]+]]: i32)
// CHECK: %[[P:.*]] = builtin.unrealized_conversion_cast %[[MAP]]
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [$0, {$1, $2}];", "l,r,r,~{memory}" %[[P]], %[[X]], %[[ROW]]
// CHECK: %[[X1:.*]] = arith.addi %[[X]], %c64
// CHECK: cp.async.bulk.prefetch.tensor.2d{{.*}} %[[P]], %[[X1]], %[[ROW]]
// CHECK-NOT: prefetch
// CHECK: return
func.func @ahead(%map: vector<16xi64>, %x: i32, %row: i32) {
  tile.prefetch %map[%x, %row] : !tile.shared<64x128xbf16>
  return
}

// Of 8 bits a panel has 128 columns.

// CHECK-LABEL: func @bytes(
// CHECK: cp.async.bulk.tensor.1d
// CHECK-NOT: cp.async.bulk
// CHECK: return
func.func @bytes(%map: vector<16xi64>, %x: i32, %to: i32, %at: i32) {
  %t = tile.view at %to : !tile.shared<64x128xi8>
  %b = tile.barrier at %at
  tile.copy %map[%x] to %t signal %b : !tile.shared<64x128xi8>
  return
}

// Back to global memory: 16 rows of a warp by stmatrix, swizzled; the chunk of 8
// columns exclusive-or the row modulo 8.

// CHECK-LABEL: func @out(
// CHECK-SAME: %[[MAP:[a-z0-9]+]]: vector<16xi64>, %[[X:[a-z0-9]+]]: i32, %[[ROW:[a-z0-9]+]]: i32, %[[FROM:[a-z0-9]+]]: i32, %[[R:[a-z0-9]+]]: i32
// CHECK: %[[LANE:.*]] = llvm.inline_asm {{.*}}%laneid
// CHECK: %[[IN:.*]] = arith.andi %[[LANE]], %c15
// CHECK: %[[OWN:.*]] = arith.addi %[[ROW]], %[[IN]]
// CHECK: %[[HALF:.*]] = arith.shrui %[[LANE]], %c4
// CHECK: %[[LOW:.*]] = arith.andi %[[OWN]], %c7
// CHECK: %[[CHUNK:.*]] = arith.addi %[[HALF]], %c2
// CHECK: arith.xori %[[CHUNK]], %[[LOW]]
// CHECK: stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};
// CHECK: fence.proxy.async.shared::cta;
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [$1, {$2, $3}], [$0];", "r,l,r,r,~{memory}" %[[FROM]]
// CHECK: cp.async.bulk.commit_group;
// CHECK: cp.async.bulk.wait_group.read 0;
func.func @out(%map: vector<16xi64>, %x: i32, %row: i32, %from: i32, %r: i32) {
  %t = tile.view at %from : !tile.shared<64x64xbf16>
  tile.store_block %r, %r, %r, %r to %t[%row] column 16 : !tile.shared<64x64xbf16>
  tile.fence_copies
  tile.copy_out %t to %map[%x, %row] : !tile.shared<64x64xbf16>
  tile.commit_copies
  tile.wait_copies 0
  return
}

// Words, of this block and of another one.

// CHECK-LABEL: func @words(
// CHECK-SAME: %[[AT:[a-z0-9]+]]: i32, %[[X:[a-z0-9]+]]: f32
// CHECK: "st.shared.v2.f32 [$0+8], {$1, $2};", "r,f,f,~{memory}" %[[AT]], %[[X]], %[[X]]
// CHECK: "st.shared.u32 [$0], $1;", "r,r,~{memory}" %[[AT]], %[[AT]]
// CHECK: "ld.shared.u32 $0, [$1];", "=r,r,~{memory}" %[[AT]]
// CHECK: %[[THERE:.*]] = llvm.inline_asm asm_dialect = att "mapa.shared::cluster.u32 $0, $1, $2;"
// CHECK: "ld.shared::cluster.v2.f32 {$0, $1}, [$2+8];", "=f,=f,r,~{memory}" %[[THERE]]
func.func @words(%at: i32, %x: f32) -> (i32, f32, f32) {
  tile.store %at at 8, %x, %x : f32, f32
  tile.store %at, %at : i32
  %n = tile.load %at : i32
  %there = tile.address_in %at block 3
  %y, %z = tile.load cluster %there at 8 : f32, f32
  return %n, %y, %z : i32, f32, f32
}

// The number of the block may be known when the kernel runs only.

// CHECK-LABEL: func @word_of(
// CHECK-SAME: %[[AT:[a-z0-9]+]]: i32, %[[BLOCK:[a-z0-9]+]]: i32
// CHECK: "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r" %[[AT]], %[[BLOCK]]
func.func @word_of(%at: i32, %block: i32) -> i32 {
  %there = tile.address_in %at block %block
  %n = tile.load cluster %there : i32
  return %n : i32
}
