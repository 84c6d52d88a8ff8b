// RUN: redfuse-opt %s --redfuse-skip-empty-loops --split-input-file | FileCheck %s

// Each of the inner loops may be without rounds.
// CHECK-LABEL: func.func @three
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[M:[a-z0-9]+]]: index, %[[K:[a-z0-9]+]]: index
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[HAS_M:.*]] = arith.cmpi slt, %[[ZERO]], %[[M]] : index
// CHECK-DAG: %[[HAS_K:.*]] = arith.cmpi slt, %[[ZERO]], %[[K]] : index
// CHECK: %[[BOTH:.*]] = arith.andi %[[HAS_M]], %[[HAS_K]] : i1
// CHECK: %[[END:.*]] = arith.select %[[BOTH]], %[[N]], %[[ZERO]] : index
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[END]]
// CHECK: %[[INNER:.*]] = arith.select %{{.*}}, %[[M]], %[[ZERO]] : index
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[INNER]]
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[K]]
func.func @three(%n: index, %m: index, %k: index, %x: memref<?x?x?xf32>, %v: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %a = %zero to %n step %one {
    scf.for %b = %zero to %m step %one {
      scf.for %c = %zero to %k step %one {
        memref.store %v, %x[%a, %b, %c] : memref<?x?x?xf32>
      }
    }
  }
  return
}

// -----

// What is carried goes through the inner loop alone.
// CHECK-LABEL: func.func @carried
// CHECK: arith.select
// CHECK: scf.for
func.func @carried(%n: index, %m: index, %x: memref<?x?xf32>, %v: f32) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %a = %zero to %n step %one iter_args(%s = %v) -> f32 {
    %t = scf.for %b = %zero to %m step %one iter_args(%u = %s) -> f32 {
      %y = memref.load %x[%a, %b] : memref<?x?xf32>
      %w = arith.addf %u, %y : f32
      scf.yield %w : f32
    }
    scf.yield %t : f32
  }
  return %r : f32
}

// -----

// These do something in each round, or more in the next: a store, a sum of what the inner
// loop has, a loop whose end is not known in front, and one that has rounds.
// CHECK-LABEL: func.func @others
// CHECK-NOT: arith.select
func.func @others(%n: index, %m: index, %x: memref<?x?xf32>, %y: memref<?xf32>, %v: f32) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  scf.for %a = %zero to %n step %one {
    memref.store %v, %y[%a] : memref<?xf32>
    scf.for %b = %zero to %m step %one {
      memref.store %v, %x[%a, %b] : memref<?x?xf32>
    }
  }
  %r = scf.for %a = %zero to %n step %one iter_args(%s = %v) -> f32 {
    %t = scf.for %b = %zero to %m step %one iter_args(%u = %v) -> f32 {
      %z = memref.load %x[%a, %b] : memref<?x?xf32>
      %w = arith.addf %u, %z : f32
      scf.yield %w : f32
    }
    %p = arith.addf %s, %t : f32
    scf.yield %p : f32
  }
  scf.for %a = %zero to %n step %one {
    scf.for %b = %zero to %a step %one {
      memref.store %v, %x[%a, %b] : memref<?x?xf32>
    }
  }
  scf.for %a = %zero to %n step %one {
    scf.for %b = %zero to %four step %one {
      memref.store %v, %x[%a, %b] : memref<?x?xf32>
    }
  }
  return %r : f32
}
