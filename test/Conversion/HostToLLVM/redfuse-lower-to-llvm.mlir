// RUN: redfuse-opt %s --redfuse-lower-to-llvm=cpu=x86-64-v4 | FileCheck %s
// RUN: redfuse-opt %s --redfuse-lower-to-llvm=cpu=x86-64-v3 | FileCheck %s --check-prefix=AVX2

// Every op of the pipeline's input becomes the LLVM dialect, launches and
// entries included; only the packed entry is seen from outside.
// CHECK-NOT: unrealized_conversion_cast
// CHECK-NOT: vector.
// CHECK-NOT: memref.
// AVX2-NOT: avx512
// CHECK: llvm.func internal @k(
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: llvm.func internal @f(
// CHECK: llvm.call @redfuse_rt_parallel_for
// CHECK: llvm.func internal @k__body(
// CHECK: llvm.func @f__packed(
func.func private @redfuse_rt_scratch_view(index) -> memref<?xi8>
memref.global "private" constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func private @k(%begin: index, %end: index, %x: memref<?xf32>, %y: memref<?xf32>) attributes {redfuse.kernel_body} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %pad = arith.constant 0.0 : f32
  %s = call @redfuse_rt_scratch_view(%c64) : (index) -> memref<?xi8>
  %v = memref.view %s[%c0][] : memref<?xi8> to memref<16xf32>
  scf.for %b = %begin to %end step %c1 {
    %i = affine.apply affine_map<(d0) -> (d0 * 16)>(%b)
    %r = vector.transfer_read %x[%i], %pad : memref<?xf32>, vector<16xf32>
    %e = math.exp %r : vector<16xf32>
    vector.store %e, %v[%c0] : memref<16xf32>, vector<16xf32>
    %l = vector.load %v[%c0] : memref<16xf32>, vector<16xf32>
    vector.transfer_write %l, %y[%i] : vector<16xf32>, memref<?xf32>
  }
  return
}
func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %same = arith.cmpi eq, %n, %m : index
  cf.assert %same, "sizes differ"
  %blocks = arith.ceildivsi %n, %c16 : index
  call @k(%c0, %blocks, %x, %y) {redfuse.parallel} : (index, index, memref<?xf32>, memref<?xf32>) -> ()
  %t = memref.alloc(%n) : memref<?xf32>
  memref.copy %y, %t : memref<?xf32> to memref<?xf32>
  memref.copy %t, %y : memref<?xf32> to memref<?xf32>
  memref.dealloc %t : memref<?xf32>
  return
}
