// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-to-nvvm | FileCheck %s
// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(redfuse-streamed-accesses))" | FileCheck %s --check-prefix=ALONE

// Vectors of 4, 8 or 16 bytes that are moved once leave nothing in the first-level cache.

// CHECK-LABEL: llvm.func @copy
// CHECK: llvm.inline_asm has_side_effects {{.*}} "ld.global.L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l"
// CHECK: llvm.inline_asm has_side_effects {{.*}} "st.global.L1::no_allocate.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}"
// CHECK: "ld.global.L1::no_allocate.v2.b32 {$0, $1}, [$2];"
// CHECK: "ld.global.L1::no_allocate.b32 $0, [$1];"

// Others stay loads, and what is not known to be aligned becomes two (redfuse-realign-loads).
// CHECK: llvm.load {{.*}} -> vector<2xf64>
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : {{.*}} -> vector<4xi32>
module attributes {gpu.container_module} {
  gpu.module @redfuse_gpu {
    gpu.func @copy(%x: memref<64xbf16>, %y: memref<64xbf16>, %l: memref<4xi64>, %f: memref<8xf32>,
                   %d: memref<8xf64>, %o: memref<8xi64>, %p: memref<8xf32>, %q: memref<8xf64>) kernel {
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] {nontemporal = true, alignment = 16 : i64} : memref<64xbf16>, vector<8xbf16>
      vector.store %v, %y[%c0] {nontemporal = true, alignment = 16 : i64} : memref<64xbf16>, vector<8xbf16>
      %n = memref.load %l[%c0] {nontemporal = true} : memref<4xi64>
      memref.store %n, %o[%c0] : memref<8xi64>
      %g = memref.load %f[%c0] {nontemporal = true} : memref<8xf32>
      memref.store %g, %p[%c0] : memref<8xf32>
      %w = vector.load %d[%c0] {alignment = 16 : i64} : memref<8xf64>, vector<2xf64>
      vector.store %w, %q[%c0] : memref<8xf64>, vector<2xf64>
      %u = vector.load %f[%c0] {nontemporal = true} : memref<8xf32>, vector<4xf32>
      vector.store %u, %p[%c0] : memref<8xf32>, vector<4xf32>
      gpu.return
    }

    // ALONE-LABEL: llvm.func @alone
    // ALONE-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[Q:.*]]: !llvm.ptr)
    // ALONE: %[[WORDS:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "ld.global.L1::no_allocate.v2.b32 {$0, $1}, [$2];", "=r,=r,l" %[[P]]
    // ALONE: llvm.extractvalue %[[WORDS]][0]
    // ALONE: %[[TO:.*]] = llvm.addrspacecast %[[Q]] : !llvm.ptr to !llvm.ptr<1>
    // ALONE: "st.global.L1::no_allocate.v2.b32 [$0], {$1, $2};", "l,r,r,~{memory}" %[[TO]]
    llvm.func @alone(%p: !llvm.ptr<1>, %q: !llvm.ptr) {
      %v = llvm.load %p {alignment = 8 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xbf16>
      llvm.store %v, %q {alignment = 8 : i64, nontemporal} : vector<4xbf16>, !llvm.ptr
      llvm.return
    }
  }
}
