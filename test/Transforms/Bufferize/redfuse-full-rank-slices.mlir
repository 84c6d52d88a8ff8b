// RUN: redfuse-opt %s -redfuse-full-rank-slices | FileCheck %s
// RUN: redfuse-opt %s -redfuse-full-rank-slices=open=true | FileCheck %s --check-prefix=OPEN
// RUN: redfuse-opt %s -redfuse-full-rank-slices -one-shot-bufferize=bufferize-function-boundaries -canonicalize | FileCheck %s --check-prefix=BUFFERS

// By the strides [4, 4, 1] of the buffer and [8, 4] of the view nobody can tell which
// dim it has dropped.
// CHECK-LABEL: func.func @taken
// CHECK:         %[[S:.*]] = tensor.extract_slice {{.*}} [2, 1, 1] : tensor<5x1x4xi32> to tensor<?x1x1xi32>
// CHECK:         tensor.collapse_shape %[[S]] {{\[\[}}0], [1, 2]] : tensor<?x1x1xi32> into tensor<?x1xi32>
// BUFFERS-LABEL: func.func @taken
// BUFFERS:         memref.subview {{.*}} : memref<5x1x4xi32, {{.*}}> to memref<?x1x1xi32,
func.func @taken(%x: tensor<5x1x4xi32>, %n: index) -> tensor<?x1xi32> {
  %s = tensor.extract_slice %x[1, 0, 3] [%n, 1, 1] [2, 1, 1] : tensor<5x1x4xi32> to tensor<?x1xi32>
  return %s : tensor<?x1xi32>
}

// CHECK-LABEL: func.func @a_number
// CHECK:         tensor.collapse_shape %{{.*}} [] : tensor<1x1xf32> into tensor<f32>
func.func @a_number(%x: tensor<5x4xf32>, %s: index) -> tensor<f32> {
  %0 = tensor.extract_slice %x[1, 2] [1, 1] [%s, 1] : tensor<5x4xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @inserted
// CHECK-SAME:    %[[X:.*]]: tensor<2xf32>
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0, 1, 2]] output_shape [1, 2, 1] : tensor<2xf32> into tensor<1x2x1xf32>
// CHECK:         tensor.insert_slice %[[E]] into {{.*}} [1, 2, 1] [1, 2, 1] : tensor<1x2x1xf32> into tensor<3x4x5xf32>
// BUFFERS-LABEL: func.func @inserted
// BUFFERS:         memref.subview {{.*}} : memref<3x4x5xf32, {{.*}}> to memref<1x2x1xf32,
func.func @inserted(%x: tensor<2xf32>, %y: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {
  %0 = tensor.insert_slice %x into %y[1, 0, 2] [1, 2, 1] [1, 2, 1] : tensor<2xf32> into tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}

// CHECK-LABEL: func.func @in_parallel
// CHECK:         %[[E:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1]]
// CHECK:         scf.forall.in_parallel
// CHECK-NEXT:      tensor.parallel_insert_slice %[[E]] into {{.*}} : tensor<2x1xf32> into tensor<4x5xf32>
func.func @in_parallel(%x: tensor<2xf32>, %y: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = scf.forall (%i) in (5) shared_outs(%o = %y) -> (tensor<4x5xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %x into %o[0, %i] [2, 1] [2, 1] : tensor<2xf32> into tensor<4x5xf32>
    }
  }
  return %0 : tensor<4x5xf32>
}

// Of nothing there are no views.
// CHECK-LABEL: func.func @nothing
// CHECK-SAME:    %[[X:.*]]: tensor<2x?xf32>, %[[N:.*]]: index
// CHECK-NOT:     _slice
// CHECK:         %[[E:.*]] = tensor.empty(%[[N]]) : tensor<?x0xf32>
// CHECK:         return %[[E]], %[[X]]
func.func @nothing(%x: tensor<2x?xf32>, %n: index, %y: tensor<2x0xf32>) -> (tensor<?x0xf32>, tensor<2x?xf32>) {
  %0 = tensor.extract_slice %x[0, 0] [%n, 0] [1, 2] : tensor<2x?xf32> to tensor<?x0xf32>
  %1 = tensor.insert_slice %y into %x[0, 0] [2, 0] [1, 1] : tensor<2x0xf32> into tensor<2x?xf32>
  return %0, %1 : tensor<?x0xf32>, tensor<2x?xf32>
}

// CHECK-LABEL: func.func @reshaped_nothing
// CHECK-SAME:    %[[X:.*]]: tensor<2x0x?xf32>
// CHECK-NOT:     collapse_shape
// CHECK:         tensor.empty({{.*}}) : tensor<2x?xf32>
func.func @reshaped_nothing(%x: tensor<2x0x?xf32>) -> tensor<2x?xf32> {
  %0 = tensor.collapse_shape %x [[0], [1, 2]] : tensor<2x0x?xf32> into tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// CHECK-LABEL: func.func @padded_nothing
// CHECK-NOT:     tensor.pad
// CHECK-NOT:     insert_slice
// CHECK:         %[[F:.*]] = linalg.fill
// CHECK:         return %[[F]]
func.func @padded_nothing(%x: tensor<?x0xf32>, %v: f32) -> tensor<?x2xf32> {
  %0 = tensor.pad %x low[0, 2] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<?x0xf32> to tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}

// Its type does not tell that it has no columns.
// CHECK-LABEL: func.func @padded_to_nothing
// CHECK-NOT:     tensor.pad
// CHECK:         linalg.fill {{.*}} tensor<2x0xi32>
func.func @padded_to_nothing(%v: i32, %x: tensor<0x?xi32>) -> tensor<2x?xi32> {
  %zero = arith.constant 0 : index
  %none = tensor.extract_slice %x[%zero, 0] [0, %zero] [1, 1] : tensor<0x?xi32> to tensor<0x?xi32>
  %0 = tensor.pad %none low[2, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : i32
  } : tensor<0x?xi32> to tensor<2x?xi32>
  return %0 : tensor<2x?xi32>
}

// CHECK-LABEL: func.func @beside_nothing
// CHECK-SAME:    %[[X:.*]]: tensor<0x?xf32>, %[[Y:.*]]: tensor<3x?xf32>
// CHECK-NOT:     tensor.concat
// CHECK:         tensor.insert_slice %[[Y]] into
// CHECK-NOT:     insert_slice
// CHECK:         return
func.func @beside_nothing(%x: tensor<0x?xf32>, %y: tensor<3x?xf32>) -> tensor<3x?xf32> {
  %0 = tensor.concat dim(0) %x, %y, %x : (tensor<0x?xf32>, tensor<3x?xf32>, tensor<0x?xf32>) -> tensor<3x?xf32>
  return %0 : tensor<3x?xf32>
}

// CHECK-LABEL: func.func @only_nothing
// CHECK-NOT:     tensor.concat
// CHECK:         tensor.empty({{.*}}) : tensor<0x?xf32>
func.func @only_nothing(%x: tensor<0x?xf32>) -> tensor<0x?xf32> {
  %0 = tensor.concat dim(0) %x, %x : (tensor<0x?xf32>, tensor<0x?xf32>) -> tensor<0x?xf32>
  return %0 : tensor<0x?xf32>
}

// Which dim is dropped may not be told once the extents are known.
// OPEN-LABEL: func.func @open
// OPEN:         %[[S:.*]] = tensor.extract_slice {{.*}} to tensor<?x?x1xf32>
// OPEN:         tensor.collapse_shape %[[S]] {{\[\[}}0], [1, 2]]
// OPEN:         tensor.extract_slice {{.*}} to tensor<?x5xf32>
func.func @open(%x: tensor<?x4x5xf32>, %n: index) -> (tensor<?x?xf32>, tensor<?x5xf32>) {
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %0 = tensor.extract_slice %x[0, 0, 0] [%one, %three, 1] [1, 1, 1] : tensor<?x4x5xf32> to tensor<?x?xf32>
  %1 = tensor.extract_slice %x[0, 0, 0] [%n, 1, 5] [1, 1, 1] : tensor<?x4x5xf32> to tensor<?x5xf32>
  return %0, %1 : tensor<?x?xf32>, tensor<?x5xf32>
}

// Nor where it is not the first of 1, once an offset is known.
// OPEN-LABEL: func.func @between_ones
// OPEN:         %[[S:.*]] = tensor.extract_slice {{.*}} to tensor<1x2x1xf32>
// OPEN:         tensor.collapse_shape %[[S]] {{\[\[}}0], [1, 2]]
// OPEN:         tensor.extract_slice {{.*}} to tensor<2x1xf32>
// OPEN:         %[[E:.*]] = tensor.expand_shape {{.*}} into tensor<1x2x1xf32>
// OPEN:         tensor.insert_slice %[[E]] into
func.func @between_ones(%x: tensor<1x3x?xf32>, %n: index, %y: tensor<1x2xf32>)
    -> (tensor<1x2xf32>, tensor<2x1xf32>, tensor<1x3x?xf32>) {
  %0 = tensor.extract_slice %x[0, 1, %n] [1, 2, 1] [1, 1, 1] : tensor<1x3x?xf32> to tensor<1x2xf32>
  %1 = tensor.extract_slice %x[0, 1, %n] [1, 2, 1] [1, 1, 1] : tensor<1x3x?xf32> to tensor<2x1xf32>
  %2 = tensor.insert_slice %y into %x[0, 1, %n] [1, 2, 1] [1, 1, 1] : tensor<1x2xf32> into tensor<1x3x?xf32>
  return %0, %1, %2 : tensor<1x2xf32>, tensor<2x1xf32>, tensor<1x3x?xf32>
}
