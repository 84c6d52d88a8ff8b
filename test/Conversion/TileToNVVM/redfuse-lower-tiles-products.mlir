// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-tiles -canonicalize -cse | FileCheck %s

// From zero, both operands in shared memory: descriptors of the addresses (units of
// 16 bytes; 1024 bytes from 8 rows to the next 8; for the sum along rows, the bytes
// of a panel from one to the next), and one text with a step for each 16 of the sum.
// The second step is 32 bytes on in a row, or 16 rows.

// CHECK-LABEL: func @shared(
// CHECK-SAME: %[[A:[a-z0-9]+]]: i32, %[[B:[a-z0-9]+]]: i32, %[[PART:[a-z0-9]+]]: i32
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 8192 : i32
// CHECK-DAG: %[[ABITS:.*]] = arith.constant 4611686293305360384 : i64
// CHECK-DAG: %[[BBITS:.*]] = arith.constant 4611686293322072064 : i64
// CHECK: %[[OFF:.*]] = arith.muli %[[PART]], %[[ROWS]]
// CHECK: %[[AT:.*]] = arith.addi %[[A]], %[[OFF]]
// CHECK: %[[UNITS:.*]] = arith.shrui %[[AT]], %c4
// CHECK: %[[WIDE:.*]] = arith.extui %[[UNITS]]
// CHECK: %[[LEFT:.*]] = arith.ori %[[WIDE]], %[[ABITS]]
// CHECK: %[[RIGHT:.*]] = arith.ori %{{.*}}, %[[BBITS]]
// CHECK: %[[S:.*]] = llvm.inline_asm has_side_effects asm_dialect = att
// CHECK-SAME: wgmma.fence.sync.aligned;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $4, $5, q, 1, 1, 0, 1;
// CHECK-SAME: add.s64 db, $5, 128;
// CHECK-SAME: add.s64 da, $4, 2;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, da, db, p, 1, 1, 0, 1;
// CHECK-SAME: wgmma.commit_group.sync.aligned;
// CHECK-SAME: "=&f,=&f,=&f,=&f,l,l,~{memory}" %[[LEFT]], %[[RIGHT]]
// CHECK: %[[E:.*]] = llvm.extractvalue %[[S]][0]
// CHECK: wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,~{memory}" %[[E]]
func.func @shared(%a: i32, %b: i32, %part: i32) -> (f32, f32, f32, f32) {
  %left = tile.view at %a : !tile.shared<128x64xf16>
  %right = tile.view at %b : !tile.shared<32x64xf16>
  %s = tile.multiply %left[%part], %right rows over 32 : !tile.shared<128x64xf16>, !tile.shared<32x64xf16> -> !tile.accumulators<64x8xf32>
  %e:4 = tile.wait_products 0 of %s : !tile.accumulators<64x8xf32>
  return %e#0, %e#1, %e#2, %e#3 : f32, f32, f32, f32
}

// Of f32 the unit takes TF32: 8 elements a step, no operand transposed.

// CHECK-LABEL: func @floats(
// CHECK: wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, $4, $5, q, 1, 1;
// CHECK-SAME: add.s64 db, $5, 2;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$0, $1, $2, $3}, da, db, p, 1, 1;
// CHECK-SAME: wgmma.commit_group.sync.aligned;
func.func @floats(%a: i32, %b: i32) -> f32 {
  %left = tile.view at %a : !tile.shared<64x32xf32>
  %right = tile.view at %b : !tile.shared<8x32xf32>
  %s = tile.multiply %left, %right over 16 : !tile.shared<64x32xf32>, !tile.shared<8x32xf32> -> !tile.accumulators<64x8xf32>
  %e:4 = tile.wait_products 0 of %s : !tile.accumulators<64x8xf32>
  return %e#0 : f32
}

// Floats of 8 bits: 32 a step, types of their own, no operand transposed.

// CHECK-LABEL: func @bytes(
// CHECK: wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e4m3 {$0, $1, $2, $3}, $4, $5, q, 1, 1;
// CHECK-SAME: add.s64 db, $5, 2;
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e4m3 {$0, $1, $2, $3}, da, db, p, 1, 1;
// CHECK-SAME: wgmma.commit_group.sync.aligned;
func.func @bytes(%a: i32, %b: i32) -> f32 {
  %left = tile.view at %a : !tile.shared<64x128xf8E5M2>
  %right = tile.view at %b : !tile.shared<8x128xf8E4M3FN>
  %s = tile.multiply %left, %right over 64 : !tile.shared<64x128xf8E5M2>, !tile.shared<8x128xf8E4M3FN> -> !tile.accumulators<64x8xf32>
  %e:4 = tile.wait_products 0 of %s : !tile.accumulators<64x8xf32>
  return %e#0 : f32
}

// Of integers sums are of i32, added to those before, and factors have no signs of their own.

// CHECK-LABEL: func @integers(
// CHECK: wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {$0, $1, $2, $3}, $8, $9, p;
// CHECK-SAME: wgmma.commit_group.sync.aligned;
// CHECK-SAME: "=r,=r,=r,=r,0,1,2,3,l,l,
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-SAME: "=r,=r,=r,=r,0,1,2,3,~
func.func @integers(%a: i32, %b: i32, %x: i32) -> i32 {
  %left = tile.view at %a : !tile.shared<64x128xui8>
  %right = tile.view at %b : !tile.shared<8x128xsi8>
  %c = tile.accumulators %x, %x, %x, %x : !tile.accumulators<64x8xi32>
  %s = tile.multiply %left, %right over 32 plus %c : !tile.shared<64x128xui8>, !tile.shared<8x128xsi8> plus !tile.accumulators<64x8xi32> -> !tile.accumulators<64x8xi32>
  %e:4 = tile.wait_products 0 of %s : !tile.accumulators<64x8xi32>
  return %e#0 : i32
}

// From elements, the left operand in registers: accumulators are tied, elements are
// packed two a register; the operand stays alive until the wait.

// CHECK-LABEL: func @registers(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32
// CHECK: %[[P:.*]] = llvm.inline_asm asm_dialect = att "cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f" %{{.*}}, %[[X]]
// CHECK: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, $12, p, 1, 1, 0;
// CHECK-SAME: "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l,~{memory}" %[[X]]
// CHECK: wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,~{memory}"
func.func @registers(%x: f32, %y: f32, %b: i32) -> f32 {
  %right = tile.view at %b : !tile.shared<8x64xbf16>
  %p = tile.pack %x, %y, %x, %y, %x, %y, %x, %y : !tile.operand<64x16xbf16>
  %c = tile.accumulators %x, %x, %x, %x : !tile.accumulators<64x8xf32>
  %s = tile.multiply %p, %right over 16 plus %c : !tile.operand<64x16xbf16>, !tile.shared<8x64xbf16> plus !tile.accumulators<64x8xf32> -> !tile.accumulators<64x8xf32>
  %e:4 = tile.wait_products 0 of %s alive %p : !tile.accumulators<64x8xf32> alive !tile.operand<64x16xbf16>
  return %e#0 : f32
}

// A product that runs while a loop goes on is as many values as a thread has.

// CHECK-LABEL: func @carried(
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32) {
// CHECK: wgmma.mma_async
// CHECK: "wgmma.wait_group.sync.aligned 1;", "~{memory}"
// CHECK: scf.yield {{.*}} : f32, f32, f32, f32
func.func @carried(%a: i32, %b: i32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %left = tile.view at %a : !tile.shared<64x64xbf16>
  %right = tile.view at %b : !tile.shared<8x64xbf16>
  %first = tile.multiply %left, %right over 64 : !tile.shared<64x64xbf16>, !tile.shared<8x64xbf16> -> !tile.accumulators<64x8xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %first) -> (!tile.accumulators<64x8xf32>) {
    %next = tile.multiply %left, %right over 64 plus %s : !tile.shared<64x64xbf16>, !tile.shared<8x64xbf16> plus !tile.accumulators<64x8xf32> -> !tile.accumulators<64x8xf32>
    tile.wait_products 1
    scf.yield %next : !tile.accumulators<64x8xf32>
  }
  %e:4 = tile.wait_products 0 of %sum : !tile.accumulators<64x8xf32>
  return %e#0 : f32
}

// A left operand is read by ldmatrix, one for each 16 columns; four a panel. What is
// read is in registers when all lanes are past the settling.

// CHECK-LABEL: func @read(
// CHECK: %laneid
// CHECK-COUNT-5: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];
// CHECK-NOT: ldmatrix
// CHECK: bar.warp.sync -1;
// CHECK-SAME: %{{.*}} : (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) ->
func.func @read(%a: i32, %row: i32, %word: i32) -> i32 {
  %t = tile.view at %a : !tile.shared<64x128xbf16>
  %q = tile.read_operand %t[%row] : !tile.shared<64x128xbf16> -> !tile.operand<64x80xbf16>
  %there, %w = tile.settle %q, %word : !tile.operand<64x80xbf16>, i32
  return %w : i32
}

// In a cluster addresses have more bits than descriptors.

gpu.module @m {
  // CHECK-LABEL: gpu.func @cluster(
  // CHECK-DAG: %[[MASK:.*]] = arith.constant 262143 : i32
  // CHECK: arith.andi %{{.*}}, %[[MASK]]
  gpu.func @cluster(%a: i32, %b: i32) kernel attributes {nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    %left = tile.view at %a : !tile.shared<64x64xbf16>
    %right = tile.view at %b : !tile.shared<8x64xbf16>
    %s = tile.multiply %left, %right over 64 : !tile.shared<64x64xbf16>, !tile.shared<8x64xbf16> -> !tile.accumulators<64x8xf32>
    tile.wait_products 0
    gpu.return
  }
}
