// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-lower-launches | diff %t.before -

// A call of blocks that is not marked runs them here, one after another.
llvm.func internal @k(%begin: i64, %end: i64, %x: !llvm.ptr) {
  llvm.return
}
llvm.func @f(%begin: i64, %end: i64, %x: !llvm.ptr) {
  llvm.call @k(%begin, %end, %x) : (i64, i64, !llvm.ptr) -> ()
  llvm.return
}

// A call that is not one of the LLVM dialect yet.
func.func private @early(%begin: index, %end: index) {
  return
}
func.func @g(%begin: index, %end: index) {
  call @early(%begin, %end) {redfuse.parallel} : (index, index) -> ()
  return
}

// What stands for a kernel of the device goes when launches are lowered, of which there are none.
llvm.func @stub__launch(i64, i64, i64, !llvm.ptr) attributes {redfuse.device = "stub"}
