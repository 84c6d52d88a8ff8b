// RUN: redfuse-opt %s -redfuse-normalize-loops | FileCheck %s

// CHECK-LABEL: func.func @sum
// CHECK-SAME: %[[X:[^:]+]]: tensor<?xf32>, %[[INIT:[^:]+]]: f32
// CHECK-NOT: scf.for
// CHECK: %[[F:.+]] = linalg.fill ins(%[[INIT]]
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["reduction"]
// CHECK-SAME: outs(%[[F]] : tensor<f32>)
// CHECK: %[[I:.+]] = linalg.index 0
// CHECK: %[[E:.+]] = tensor.extract %[[X]][%[[I]]]
// CHECK: math.exp %[[E]]
// CHECK: arith.addf
// CHECK: tensor.extract %{{.*}}[] : tensor<f32>
func.func @sum(%x: tensor<?xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> f32 {
    %e = tensor.extract %x[%i] : tensor<?xf32>
    %f = math.exp %e : f32
    %s = arith.addf %acc, %f : f32
    scf.yield %s : f32
  }
  return %r : f32
}

// Two reductions and a map in each row: three generics over the rows.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: scf.for
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK: math.log
func.func @rows(%x: tensor<7x11xf32>, %o: tensor<7xf32>) -> tensor<7xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c11 = arith.constant 11 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %r = scf.for %i = %c0 to %c7 step %c1 iter_args(%out = %o) -> tensor<7xf32> {
    %m = scf.for %j = %c0 to %c11 step %c1 iter_args(%acc = %low) -> f32 {
      %e = tensor.extract %x[%i, %j] : tensor<7x11xf32>
      %s = arith.maximumf %acc, %e : f32
      scf.yield %s : f32
    }
    %l = scf.for %j = %c0 to %c11 step %c1 iter_args(%acc = %zero) -> f32 {
      %e = tensor.extract %x[%i, %j] : tensor<7x11xf32>
      %d = arith.subf %e, %m : f32
      %f = math.exp %d : f32
      %s = arith.addf %acc, %f : f32
      scf.yield %s : f32
    }
    %g = math.log %l : f32
    %v = arith.addf %g, %m : f32
    %w = tensor.insert %v into %out[%i] : tensor<7xf32>
    scf.yield %w : tensor<7xf32>
  }
  return %r : tensor<7xf32>
}

// The element is read, added to and written back: a contraction.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %{{[^:]+}}: tensor<5x3xf32>, %{{[^:]+}}: tensor<3x4xf32>, %[[C:[^:]+]]: tensor<4x5xf32>
// CHECK-NOT: scf.for
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME: outs(%[[C]] : tensor<4x5xf32>)
func.func @product(%a: tensor<5x3xf32>, %b: tensor<3x4xf32>, %c: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%c_k = %c) -> tensor<4x5xf32> {
    %r1 = scf.for %i = %c0 to %c5 step %c1 iter_args(%c_i = %c_k) -> tensor<4x5xf32> {
      %r2 = scf.for %j = %c0 to %c4 step %c1 iter_args(%c_j = %c_i) -> tensor<4x5xf32> {
        %x = tensor.extract %a[%i, %k] : tensor<5x3xf32>
        %y = tensor.extract %b[%k, %j] : tensor<3x4xf32>
        %z = tensor.extract %c_j[%j, %i] : tensor<4x5xf32>
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %z, %p : f32
        %w = tensor.insert %s into %c_j[%j, %i] : tensor<4x5xf32>
        scf.yield %w : tensor<4x5xf32>
      }
      scf.yield %r2 : tensor<4x5xf32>
    }
    scf.yield %r1 : tensor<4x5xf32>
  }
  return %r : tensor<4x5xf32>
}

// A recurrence of which every value is stored: a result with the reduction dim, beside the accumulator.
// CHECK-LABEL: func @stored_recurrence
// CHECK-SAME: (%[[X:.*]]: tensor<6x9xf32>)
func.func @stored_recurrence(%x: tensor<6x9xf32>) -> tensor<6x9xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c9 = arith.constant 9 : index
  %half = arith.constant 0.5 : f32
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT: scf.for
  // CHECK: %[[E:.*]] = tensor.empty() : tensor<6x9xf32>
  // CHECK: %[[I:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<6xf32>)
  // CHECK: %[[G:.*]]:2 = linalg.generic {indexing_maps = [{{.*}}], iterator_types = ["parallel", "reduction"]}
  // CHECK-SAME: outs(%[[I]], %[[E]] : tensor<6xf32>, tensor<6x9xf32>)
  // CHECK: arith.mulf
  // CHECK: %[[N:.*]] = arith.addf
  // CHECK: linalg.yield %[[N]], %[[N]] : f32, f32
  // CHECK: return %[[G]]#1
  %e = tensor.empty() : tensor<6x9xf32>
  %r = scf.for %i = %c0 to %c6 step %c1 iter_args(%o = %e) -> tensor<6x9xf32> {
    %q:2 = scf.for %j = %c0 to %c9 step %c1 iter_args(%h = %zero, %p = %o) -> (f32, tensor<6x9xf32>) {
      %v = tensor.extract %x[%i, %j] : tensor<6x9xf32>
      %t = arith.mulf %h, %half : f32
      %n = arith.addf %t, %v : f32
      %s = tensor.insert %n into %p[%i, %j] : tensor<6x9xf32>
      scf.yield %n, %s : f32, tensor<6x9xf32>
    }
    scf.yield %q#1 : tensor<6x9xf32>
  }
  return %r : tensor<6x9xf32>
}

// The last value of an affine recurrence alone.
// CHECK-LABEL: func @affine_recurrence
func.func @affine_recurrence(%x: tensor<9xf32>, %start: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %half = arith.constant 0.5 : f32
  // CHECK-NOT: scf.for
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]
  // CHECK: tensor.extract
  %r = scf.for %j = %c0 to %c9 step %c1 iter_args(%h = %start) -> f32 {
    %v = tensor.extract %x[%j] : tensor<9xf32>
    %d = arith.subf %v, %h : f32
    %t = arith.mulf %d, %half : f32
    %n = arith.addf %h, %t : f32
    scf.yield %n : f32
  }
  return %r : f32
}
