// RUN: redfuse-opt %s -redfuse-lower-tm-tensor | FileCheck %s

// CHECK-LABEL: func @sort
// CHECK-NOT: tm_tensor
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.while
// CHECK: arith.cmpf ole
func.func @sort(%x: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %s = tm_tensor.sort dimension(0) outs(%x : tensor<?x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<?x5xf32>
  return %s : tensor<?x5xf32>
}

// CHECK-LABEL: func @topk
// CHECK-NOT: tm_tensor
// CHECK: arith.cmpf ogt
func.func @topk(%x: tensor<5xf32>, %v: tensor<2xf32>, %i: tensor<2xi64>) -> (tensor<2xf32>, tensor<2xi64>) {
  %t:2 = tm_tensor.topk dimension(0) ins(%x : tensor<5xf32>) outs(%v, %i : tensor<2xf32>, tensor<2xi64>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<2xf32>, tensor<2xi64>
  return %t#0, %t#1 : tensor<2xf32>, tensor<2xi64>
}

// CHECK-LABEL: func @scan
// CHECK-NOT: tm_tensor
// CHECK: arith.addi
func.func @scan(%x: tensor<1x5xi64>, %o: tensor<1x5xi64>, %l: tensor<1xi64>) -> (tensor<1x5xi64>, tensor<1xi64>) {
  %s:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<1x5xi64>) outs(%o, %l : tensor<1x5xi64>, tensor<1xi64>) {
  ^bb0(%a: i64, %b: i64):
    %c = arith.addi %a, %b : i64
    tm_tensor.yield %c : i64
  } -> tensor<1x5xi64>, tensor<1xi64>
  return %s#0, %s#1 : tensor<1x5xi64>, tensor<1xi64>
}

// A declared reducer that was not raised is the ops of its region.
// CHECK-LABEL: func.func @combine
// CHECK-NOT: redfuse.combine
// CHECK: arith.addf
func.func @combine(%x: f32, %y: f32) -> f32 {
  %r = redfuse.combine %x, %y {identities = [0.0 : f32]} : (f32, f32) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    redfuse.yield %c : f32
  }
  return %r : f32
}
