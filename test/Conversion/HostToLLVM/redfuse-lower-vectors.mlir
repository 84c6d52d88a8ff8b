// RUN: redfuse-opt %s --redfuse-lower-vectors --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @transpose
// CHECK-NOT: vector.transpose
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT: vector.transpose
func.func @transpose(%x: vector<16x16xf32>) -> vector<16x16xf32> {
  %0 = vector.transpose %x, [1, 0] : vector<16x16xf32> to vector<16x16xf32>
  return %0 : vector<16x16xf32>
}

// -----

// CHECK-LABEL: func.func @reduce_rows
// CHECK-NOT: vector.multi_reduction
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
func.func @reduce_rows(%x: vector<2x16xf32>, %a: vector<16xf32>) -> vector<16xf32> {
  %0 = vector.multi_reduction <add>, %x, %a [0] : vector<2x16xf32> to vector<16xf32>
  return %0 : vector<16xf32>
}

// -----

// CHECK-LABEL: func.func @contract
// CHECK-NOT: vector.contract
// CHECK-NOT: vector.outerproduct
// CHECK-COUNT-4: vector.fma {{.*}} : vector<16xf32>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
func.func @contract(%x: vector<2x2xf32>, %y: vector<2x16xf32>, %z: vector<2x16xf32>) -> vector<2x16xf32> {
  %0 = vector.contract {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    %x, %y, %z : vector<2x2xf32>, vector<2x16xf32> into vector<2x16xf32>
  return %0 : vector<2x16xf32>
}

// -----

// An i1 is a byte in memory, and a bit in a vector: vectors go through bytes.
// CHECK-LABEL: func.func @booleans
// CHECK: %[[X:.*]] = builtin.unrealized_conversion_cast %arg0 : memref<?xi1> to memref<?xi8>
// CHECK: %[[V:.*]] = vector.load %[[X]]{{.*}} : memref<?xi8>, vector<16xi8>
// CHECK: %[[B:.*]] = arith.cmpi ne, %[[V]]
// CHECK: %[[W:.*]] = arith.extui {{.*}} : vector<16xi1> to vector<16xi8>
// CHECK: vector.maskedstore {{.*}}, %[[W]] : memref<?xi8>, vector<16xi1>, vector<16xi8>
func.func @booleans(%x: memref<?xi1>, %y: memref<?xi1>, %i: index, %m: vector<16xi1>) {
  %v = vector.load %x[%i] : memref<?xi1>, vector<16xi1>
  %n = arith.xori %v, %m : vector<16xi1>
  vector.maskedstore %y[%i], %m, %n : memref<?xi1>, vector<16xi1>, vector<16xi1>
  return
}

// -----

// CHECK-LABEL: func.func @maximum
// CHECK-NOT: vector.reduction
// CHECK: arith.maxnumf {{.*}} : vector<8xf32>
// CHECK: arith.maxnumf {{.*}} : vector<4xf32>
// CHECK: arith.maxnumf {{.*}} : vector<2xf32>
// CHECK: arith.maxnumf {{.*}} : vector<1xf32>
// CHECK: arith.maxnumf %arg1, {{.*}} : f32
func.func @maximum(%x: vector<16xf32>, %a: f32) -> f32 {
  %0 = vector.reduction <maxnumf>, %x, %a : vector<16xf32> into f32
  return %0 : f32
}
