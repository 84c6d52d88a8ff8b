// RUN: redfuse-opt %s -redfuse-tensor-map-parameters | FileCheck %s

// A vector of 128 bytes of which only the address is used is memory of the launch.

// CHECK-LABEL: llvm.func @copy(
// CHECK-SAME: %[[N:[a-z0-9]+]]: i64, %[[MAP:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-NOT: unrealized_conversion_cast
// CHECK: llvm.inline_asm {{.*}} %[[MAP]] : (!llvm.ptr) -> ()
llvm.func @copy(%n: i64, %map: vector<16xi64>) attributes {nvvm.kernel} {
  %p = builtin.unrealized_conversion_cast %map : vector<16xi64> to !llvm.ptr
  llvm.inline_asm has_side_effects "prefetch.tensormap [$0];", "l" %p : (!llvm.ptr) -> ()
  llvm.return
}

// A vector that is computed with stays one, and so does one of another size.

// CHECK-LABEL: llvm.func @values(
// CHECK-SAME: vector<16xi64>, %{{[a-z0-9]+}}: vector<4xi64>)
llvm.func @values(%v: vector<16xi64>, %w: vector<4xi64>) attributes {nvvm.kernel} {
  %s = llvm.add %v, %v : vector<16xi64>
  %t = llvm.add %w, %w : vector<4xi64>
  llvm.return
}
