// The driver knows the dialect, upstream's dialects and upstream's passes, and refuses what nobody registered.
// RUN: redfuse-opt %s -split-input-file -cse | FileCheck %s
// RUN: redfuse-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// RUN: not redfuse-opt %s -split-input-file -redfuse-no-such-pass 2>&1 | FileCheck %s --check-prefix=NOPASS

// DIALECTS: linalg
// DIALECTS-SAME: redfuse
// NOPASS: Unknown command line argument '-redfuse-no-such-pass'

// CHECK-LABEL: func.func @twice
// CHECK: %[[S:.*]] = arith.addf
// CHECK-NEXT: arith.mulf %[[S]], %[[S]]
func.func @twice(%a: f32, %b: f32) -> f32 {
  %0 = arith.addf %a, %b : f32
  %1 = arith.addf %a, %b : f32
  %2 = arith.mulf %0, %1 : f32
  return %2 : f32
}
