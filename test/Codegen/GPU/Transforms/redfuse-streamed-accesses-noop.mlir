// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(redfuse-streamed-accesses))" | FileCheck %s

// Accesses that are not marked, are volatile, have no instruction of their size, are
// not known to be aligned, or are to another memory.

gpu.module @redfuse_gpu {
  // CHECK-LABEL: llvm.func @others
  // CHECK-NOT: inline_asm
  // CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
  // CHECK-NEXT: llvm.load volatile %{{.*}} : !llvm.ptr<1> -> f32
  // CHECK-NEXT: llvm.load %{{.*}} {{.*}}nontemporal{{.*}} : !llvm.ptr<1> -> i16
  // CHECK-NEXT: llvm.load %{{.*}} {{.*}}nontemporal{{.*}} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NEXT: llvm.load %{{.*}} {{.*}}nontemporal{{.*}} : !llvm.ptr<3> -> f32
  // CHECK-NEXT: llvm.store %{{.*}} {{.*}}nontemporal{{.*}} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-NOT: inline_asm
  llvm.func @others(%p: !llvm.ptr<1>, %s: !llvm.ptr<3>) -> !llvm.struct<(f32, f32, i16, f32)> {
    %s0 = llvm.mlir.poison : !llvm.struct<(f32, f32, i16, f32)>
    %a = llvm.load %p : !llvm.ptr<1> -> f32
    %b = llvm.load volatile %p {nontemporal} : !llvm.ptr<1> -> f32
    %c = llvm.load %p {nontemporal} : !llvm.ptr<1> -> i16
    %d = llvm.load %p {alignment = 8 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xf32>
    %e = llvm.load %s {nontemporal} : !llvm.ptr<3> -> f32
    llvm.store %d, %p {alignment = 4 : i64, nontemporal} : vector<4xf32>, !llvm.ptr<1>
    %s1 = llvm.insertvalue %a, %s0[0] : !llvm.struct<(f32, f32, i16, f32)>
    %s2 = llvm.insertvalue %b, %s1[1] : !llvm.struct<(f32, f32, i16, f32)>
    %s3 = llvm.insertvalue %c, %s2[2] : !llvm.struct<(f32, f32, i16, f32)>
    %s4 = llvm.insertvalue %e, %s3[3] : !llvm.struct<(f32, f32, i16, f32)>
    llvm.return %s4 : !llvm.struct<(f32, f32, i16, f32)>
  }
}
