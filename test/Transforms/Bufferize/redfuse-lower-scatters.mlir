// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-scatters | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: redfuse-opt %s -redfuse-lower-scatters | FileCheck %s --check-prefixes=CHECK,CPU

// What is combined: by an atomic, or one after another. A place that is not there, or
// negative, is left out.
// CHECK-LABEL: func.func @combined
// CHECK-SAME:    (%[[U:.*]]: memref<9x2xi32>, %[[P:.*]]: memref<9xi32>, %[[D:.*]]: memref<64x2xi32>)
// GPU:           scf.parallel (%[[K:.*]], %[[C:.*]]) = {{.*}} {
// CPU:           scf.for %[[K:.*]] = {{.*}} {
// CPU:             scf.for %[[C:.*]] = {{.*}} {
// CHECK:           %[[PLACE:.*]] = memref.load %[[P]][%[[K]]]
// CHECK:           %[[AT:.*]] = arith.index_cast %[[PLACE]] : i32 to index
// CHECK:           %[[EXISTS:.*]] = arith.cmpi ult, %[[AT]], %{{.*}} : index
// CHECK:           scf.if %[[EXISTS]] {
// CHECK:             %[[V:.*]] = memref.load %[[U]][%[[K]], %[[C]]]
// GPU:               memref.atomic_rmw maxs %[[V]], %[[D]][%[[AT]], %[[C]]]
// CPU:               %[[OLD:.*]] = memref.load %[[D]][%[[AT]], %[[C]]]
// CPU:               %[[NEW:.*]] = arith.maxsi %[[OLD]], %[[V]] : i32
// CPU:               memref.store %[[NEW]], %[[D]][%[[AT]], %[[C]]]
func.func @combined(%u: memref<9x2xi32>, %p: memref<9xi32>, %d: memref<64x2xi32>) {
  redfuse.scatter maxsi ins(%u, %p : memref<9x2xi32>, memref<9xi32>)
      outs(%d : memref<64x2xi32>)
  return
}

// What replaces is stored.
// CHECK-LABEL: func.func @replaced
// CHECK:         scf.if
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      memref.store
func.func @replaced(%u: memref<?x2xf32>, %p: memref<?xindex>, %d: memref<?x2xf32>) {
  redfuse.scatter ins(%u, %p : memref<?x2xf32>, memref<?xindex>) outs(%d : memref<?x2xf32>)
  return
}
