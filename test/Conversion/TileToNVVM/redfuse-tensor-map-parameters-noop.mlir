// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-tensor-map-parameters > %t.after
// RUN: diff %t.before %t.after

// 128 bytes of other numbers, and half as many bytes: no tensor maps.
llvm.func @others(%v: vector<32xi32>, %w: vector<8xi64>) attributes {nvvm.kernel} {
  %p = builtin.unrealized_conversion_cast %v : vector<32xi32> to !llvm.ptr
  %q = builtin.unrealized_conversion_cast %w : vector<8xi64> to !llvm.ptr
  llvm.inline_asm has_side_effects "prefetch.tensormap [$0];", "l" %p : (!llvm.ptr) -> ()
  llvm.inline_asm has_side_effects "prefetch.tensormap [$0];", "l" %q : (!llvm.ptr) -> ()
  llvm.return
}

// A vector whose address is used, but whose words are, too.
llvm.func @both(%map: vector<16xi64>) attributes {nvvm.kernel} {
  %p = builtin.unrealized_conversion_cast %map : vector<16xi64> to !llvm.ptr
  llvm.inline_asm has_side_effects "prefetch.tensormap [$0];", "l" %p : (!llvm.ptr) -> ()
  llvm.store %map, %p : vector<16xi64>, !llvm.ptr
  llvm.return
}

// A vector that becomes something other than an address.
llvm.func @bits(%v: vector<16xi64>) -> i64 attributes {nvvm.kernel} {
  %n = builtin.unrealized_conversion_cast %v : vector<16xi64> to i64
  llvm.return %n : i64
}

// A function of another library: its callers know how it takes the map.
llvm.func @elsewhere(vector<16xi64>)
