// RUN: redfuse-opt %s -redfuse-lower-deallocs | FileCheck %s

// CHECK-LABEL: func.func @two
// CHECK-SAME: %[[A:[^:]+]]: memref<4xf32>, %[[B:[^:]+]]: memref<4xf32>, %[[C:[^:]+]]: i1, %[[D:[^:]+]]: i1
// CHECK-DAG: %[[P:.+]] = memref.extract_aligned_pointer_as_index %[[A]]
// CHECK-DAG: %[[Q:.+]] = memref.extract_aligned_pointer_as_index %[[B]]
// CHECK: %[[OTHER:.+]] = arith.cmpi ne, %[[Q]], %[[P]]
// CHECK: %[[KEPT:.+]] = arith.xori %[[C]],
// CHECK: %[[ONCE:.+]] = arith.ori %[[OTHER]], %[[KEPT]]
// CHECK: %[[FREE:.+]] = arith.andi %[[D]], %[[ONCE]]
// CHECK: scf.if %[[C]] {
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK: scf.if %[[FREE]] {
// CHECK-NEXT: memref.dealloc %[[B]]
func.func @two(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1, %d: i1) {
  bufferization.dealloc (%a, %b : memref<4xf32>, memref<4xf32>) if (%c, %d)
  return
}

// What is retained is not freed; who owned it is known.
// CHECK-LABEL: func.func @retained
// CHECK-SAME: %[[A:[^:]+]]: memref<4xf32>, %[[B:[^:]+]]: memref<4xf32>, %[[R:[^:]+]]: memref<?xf32>, %[[C:[^:]+]]: i1, %[[D:[^:]+]]: i1
// CHECK-DAG: %[[P:.+]] = memref.extract_aligned_pointer_as_index %[[A]]
// CHECK-DAG: %[[Q:.+]] = memref.extract_aligned_pointer_as_index %[[B]]
// CHECK-DAG: %[[K:.+]] = memref.extract_aligned_pointer_as_index %[[R]]
// CHECK: %[[NOT:.+]] = arith.cmpi ne, %[[P]], %[[K]]
// CHECK: %[[FREE:.+]] = arith.andi %[[C]], %[[NOT]]
// CHECK-DAG: %[[X:.+]] = arith.cmpi eq, %[[P]], %[[K]]
// CHECK-DAG: %[[OWNX:.+]] = arith.andi %[[C]], %[[X]]
// CHECK-DAG: %[[Y:.+]] = arith.cmpi eq, %[[Q]], %[[K]]
// CHECK-DAG: %[[OWNY:.+]] = arith.andi %[[D]], %[[Y]]
// CHECK: %[[OWN:.+]] = arith.ori %[[OWNX]], %[[OWNY]]
// CHECK: scf.if %[[FREE]] {
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK: return %[[OWN]]
func.func @retained(%a: memref<4xf32>, %b: memref<4xf32>, %r: memref<?xf32>, %c: i1, %d: i1) -> i1 {
  %own = bufferization.dealloc (%a, %b : memref<4xf32>, memref<4xf32>) if (%c, %d) retain (%r : memref<?xf32>)
  return %own : i1
}

// Only what may be one buffer is compared: the first two, not the third.
// CHECK-LABEL: func.func @origins
// CHECK-COUNT-1: arith.cmpi ne
// CHECK-NOT:     arith.cmpi
// CHECK-COUNT-3: memref.dealloc
func.func @origins(%a: memref<4xf32>, %i: i1, %j: i1, %c: i1, %d: i1, %e: i1) {
  %x = memref.alloc() : memref<4xf32>
  %y = memref.alloc() : memref<4xf32>
  %b = scf.if %i -> (memref<4xf32>) {
    scf.yield %x : memref<4xf32>
  } else {
    scf.yield %a : memref<4xf32>
  }
  %f = arith.select %j, %b, %a : memref<4xf32>
  %base, %offset, %size, %stride = memref.extract_strided_metadata %y : memref<4xf32> -> memref<f32>, index, index, index
  bufferization.dealloc (%b, %f, %base : memref<4xf32>, memref<4xf32>, memref<f32>) if (%c, %d, %e)
  return
}
