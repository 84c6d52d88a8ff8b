// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-tiles | FileCheck %s

// What is not of the tile dialect stays as it is, loops and constants included.

// CHECK-LABEL: func @plain(
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-NEXT: %[[R:.*]] = scf.for {{.*}} -> (i32) {
// CHECK-NEXT: arith.muli
// CHECK-NEXT: scf.yield
func.func @plain(%n: index, %x: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2 : i32
  %r = scf.for %i = %c0 to %n step %n iter_args(%y = %x) -> (i32) {
    %z = arith.muli %y, %two : i32
    scf.yield %z : i32
  }
  return %r : i32
}
