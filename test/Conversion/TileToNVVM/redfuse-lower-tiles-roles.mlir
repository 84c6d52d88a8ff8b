// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-tiles -canonicalize -cse | FileCheck %s

// Roles are a chain of conditions on the warp's number. Who has fewer registers than
// the kernel was compiled for gives some away, who has more takes them.

// CHECK-LABEL: func @roles(
// CHECK-SAME: %[[WARP:[a-z0-9]+]]: i32
// CHECK: %[[FIRST:.*]] = arith.cmpi ult, %[[WARP]], %c4
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: setmaxnreg.dec.sync.aligned.u32 32;
// CHECK-NEXT: fence.proxy.async
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[SECOND:.*]] = arith.cmpi ult, %[[WARP]], %c8
// CHECK-NEXT: scf.if %[[SECOND]] {
// CHECK-NEXT: cp.async.bulk.commit_group
// CHECK-NEXT: } else {
// CHECK-NEXT: setmaxnreg.inc.sync.aligned.u32 160;
// CHECK-NEXT: bar.sync $0, $1;", "n,n,~{memory}" %c1{{.*}}, %c256
// CHECK-NEXT: bar.arrive $0, $1;", "n,n,~{memory}" %c2{{.*}}, %c256
func.func @roles(%warp: i32) {
  tile.roles of %warp registers 128
    role warps 4 registers 32 {
      tile.fence_copies
    }
    role warps 4 registers 128 {
      tile.commit_copies
    }
    role warps 8 registers 160 {
      tile.synchronize barrier 1 threads 256
      tile.notify barrier 2 threads 256
    }
  return
}

// Without budgets, and with nothing to do for some.

// CHECK-LABEL: func @merge(
// CHECK-NOT: setmaxnreg
// CHECK: scf.if
// CHECK: barrier.cluster.arrive.release.aligned;
func.func @merge(%warp: i32) {
  tile.roles of %warp
    role warps 4 {
    }
    role warps 4 {
      tile.synchronize_cluster
    }
  return
}
