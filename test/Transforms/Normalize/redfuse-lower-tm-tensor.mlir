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

// Updates one after another; a position outside stops the program.
// CHECK-LABEL: func @scatter
// CHECK-NOT: tm_tensor
// CHECK: scf.for %[[N:.*]] = {{.*}} iter_args(%[[OUT:.*]] = %arg2)
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args
// CHECK: scf.for %[[J:.*]] = {{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}})
// CHECK: %[[POSITION:.*]] = tensor.extract %arg1[%[[N]], %{{.*}}]
// CHECK: %[[START:.*]] = arith.index_cast %[[POSITION]]
// CHECK: %[[ROW:.*]] = arith.addi %[[I]], %[[START]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[ROW]]
// CHECK: cf.assert %[[INSIDE]]
// CHECK: %[[AT:.*]] = arith.select %[[INSIDE]], %[[ROW]]
// CHECK: %[[NEW:.*]] = tensor.extract %arg0[%[[N]], %[[I]], %[[J]]]
// CHECK: %[[OLD:.*]] = tensor.extract %[[SO_FAR]][%[[AT]], %[[J]]]
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %[[NEW]]
// CHECK: tensor.insert %[[SUM]] into %[[SO_FAR]][%[[AT]], %[[J]]]
func.func @scatter(%u: tensor<?x1x8xf32>, %i: tensor<?x1xi64>, %o: tensor<40x8xf32>) -> tensor<40x8xf32> {
  %s = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %i : tensor<?x1x8xf32>, tensor<?x1xi64>) outs(%o : tensor<40x8xf32>) {
  ^bb0(%new: f32, %old: f32):
    %a = arith.addf %old, %new : f32
    tm_tensor.yield %a : f32
  } -> tensor<40x8xf32>
  return %s : tensor<40x8xf32>
}

// On a GPU the columns, of which no position speaks, are spread over threads;
// the updates of one column come one after another.
// CHECK-LABEL: func @scatter_on_a_gpu
// CHECK: scf.forall (%[[J:.*]]) in (8) shared_outs(%[[SHARED:.*]] = %arg2)
// CHECK: %[[COLUMN:.*]] = tensor.extract_slice %[[SHARED]][0, %[[J]]] [40, 1] [1, 1] : tensor<40x8xf32> to tensor<40xf32>
// CHECK: %[[WRITTEN:.*]] = scf.for %[[N:.*]] = {{.*}} iter_args(%{{.*}} = %[[COLUMN]])
// CHECK: scf.for
// CHECK: tensor.extract %arg0[%[[N]], %{{.*}}, %[[J]]]
// CHECK: scf.forall.in_parallel
// CHECK: tensor.parallel_insert_slice %[[WRITTEN]] into %[[SHARED]][0, %[[J]]] [40, 1] [1, 1]
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128,
    l1 = 233472, l2 = 52428800, flops = 100, bandwidth = 3000, launch_ns = 3000>} {
  func.func @scatter_on_a_gpu(%u: tensor<?x1x8xf32>, %i: tensor<?x1xi64>, %o: tensor<40x8xf32>) -> tensor<40x8xf32> {
    %s = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %i : tensor<?x1x8xf32>, tensor<?x1xi64>) outs(%o : tensor<40x8xf32>) {
    ^bb0(%new: f32, %old: f32):
      %a = arith.addf %old, %new : f32
      tm_tensor.yield %a : f32
    } -> tensor<40x8xf32>
    return %s : tensor<40x8xf32>
  }
}
