// RUN: redfuse-opt %s -redfuse-lower-device-libraries | FileCheck %s

// In f32 LLVM has code for exponentials, and calls of other functions are the program's.

// CHECK-LABEL: llvm.func @f
// CHECK: llvm.intr.exp2(%{{.*}}) : (f32) -> f32
// CHECK: llvm.call @g
// CHECK-NOT: implicitarg
llvm.func @g(f32) -> f32
llvm.func @f(%x: f32) -> f32 {
  %y = llvm.intr.exp2(%x) : (f32) -> f32
  %z = llvm.call @g(%y) : (f32) -> f32
  llvm.return %z : f32
}
