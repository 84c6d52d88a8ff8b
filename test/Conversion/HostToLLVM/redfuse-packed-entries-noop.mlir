// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-packed-entries | diff %t.before -

// Functions that only this module calls, and those of other libraries.
llvm.func internal @inner(%x: !llvm.ptr) {
  llvm.return
}
llvm.func @elsewhere(!llvm.ptr)
