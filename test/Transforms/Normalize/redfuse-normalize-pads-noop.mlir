// RUN: redfuse-opt %s -redfuse-normalize-pads | FileCheck %s

// The extent of the source is not known.
// CHECK-LABEL: func.func @dynamic
// CHECK: tensor.pad
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    %v = arith.constant 0.0 : f32
    tensor.yield %v : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}

// What it pads with depends on the place.
// CHECK-LABEL: func.func @varies
// CHECK: tensor.pad
func.func @varies(%x: tensor<4xindex>) -> tensor<6xindex> {
  %r = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<4xindex> to tensor<6xindex>
  return %r : tensor<6xindex>
}

// There is no element that could be read everywhere.
// CHECK-LABEL: func.func @empty
// CHECK: tensor.pad
func.func @empty(%x: tensor<0xf32>) -> tensor<2xf32> {
  %r = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    %v = arith.constant 0.0 : f32
    tensor.yield %v : f32
  } : tensor<0xf32> to tensor<2xf32>
  return %r : tensor<2xf32>
}
