// RUN: redfuse-opt %s -redfuse-lower-deallocs | FileCheck %s

// One buffer is left to upstream's lowering, and so are those without a rank.

// CHECK-LABEL: func.func @one
// CHECK: bufferization.dealloc
func.func @one(%a: memref<4xf32>, %r: memref<?xf32>, %c: i1) -> i1 {
  %own = bufferization.dealloc (%a : memref<4xf32>) if (%c) retain (%r : memref<?xf32>)
  return %own : i1
}

// CHECK-LABEL: func.func @without_rank
// CHECK: bufferization.dealloc
func.func @without_rank(%a: memref<*xf32>, %b: memref<*xf32>, %c: i1) {
  bufferization.dealloc (%a, %b : memref<*xf32>, memref<*xf32>) if (%c, %c)
  return
}
