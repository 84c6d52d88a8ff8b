// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(llvm.func(redfuse-realign-loads)))" | FileCheck %s

gpu.module @redfuse_gpu {
  // Pairs of words: the second word of the first piece is the first or the third of both.
  // CHECK-LABEL: llvm.func @pairs
  // CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr)
  // CHECK: %[[NUMBER:.*]] = llvm.ptrtoint %[[P]] : !llvm.ptr<1> to i64
  // CHECK: %[[LOW:.*]] = llvm.trunc %[[NUMBER]] : i64 to i32
  // CHECK: %[[OFFSET:.*]] = llvm.and %[[LOW]], %{{.*}} : i32
  // CHECK: %[[BACK:.*]] = llvm.sub %{{.*}}, %[[OFFSET]] : i32
  // CHECK: %[[DOWN:.*]] = llvm.sext %[[BACK]] : i32 to i64
  // CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[P]][%[[DOWN]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
  // CHECK: llvm.load %[[FIRST]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK: %[[ON:.*]] = llvm.and %[[BACK]], %{{.*}} : i32
  // CHECK: %[[UP:.*]] = llvm.sext %[[ON]] : i32 to i64
  // CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[P]][%[[UP]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
  // CHECK: llvm.load %[[SECOND]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
  // CHECK: %[[SKIPS:.*]] = llvm.icmp "ne"
  // CHECK-COUNT-4: llvm.select %[[SKIPS]]
  // CHECK-NOT: llvm.select
  // CHECK-NOT: llvm.intr.fshr
  // CHECK: llvm.bitcast %{{.*}} : vector<4xi32> to vector<4xf32>
  llvm.func @pairs(%p: !llvm.ptr<1>, %out: !llvm.ptr) {
    %v = llvm.load %p {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xf32>
    llvm.store %v, %out {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
    llvm.return
  }

  // Words: two of them are skipped, then one.
  // CHECK-LABEL: llvm.func @words
  // CHECK-COUNT-9: llvm.select
  // CHECK-NOT: llvm.select
  // CHECK-NOT: llvm.intr.fshr
  // CHECK: llvm.bitcast %{{.*}} : vector<4xi32> to vector<4xf32>
  llvm.func @words(%p: !llvm.ptr, %out: !llvm.ptr) {
    %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    llvm.store %v, %out {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
    llvm.return
  }

  // Parts of words are shifted out of two neighbours.
  // CHECK-LABEL: llvm.func @halves
  // CHECK-COUNT-11: llvm.select
  // CHECK-NOT: llvm.select
  // CHECK: %[[BITS:.*]] = llvm.shl
  // CHECK-COUNT-4: llvm.intr.fshr(%{{.*}}, %{{.*}}, %[[BITS]])
  // CHECK: llvm.bitcast %{{.*}} : vector<4xi32> to vector<8xbf16>
  llvm.func @halves(%p: !llvm.ptr, %out: !llvm.ptr) {
    %v = llvm.load %p {alignment = 2 : i64} : !llvm.ptr -> vector<8xbf16>
    llvm.store %v, %out {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr
    llvm.return
  }
}
