// RUN: redfuse-opt %s --redfuse-lower-launches --split-input-file --verify-diagnostics

llvm.func internal @k(%x: !llvm.ptr) {
  llvm.return
}
llvm.func @f(%x: !llvm.ptr) {
  // expected-error @+1 {{a call with 'redfuse.parallel' must be of the form @kernel(%begin : index, %end : index, ...) without results}}
  llvm.call @k(%x) {redfuse.parallel} : (!llvm.ptr) -> ()
  llvm.return
}
