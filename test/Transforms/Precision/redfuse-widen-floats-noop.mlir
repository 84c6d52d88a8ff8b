// RUN: redfuse-opt %s -redfuse-widen-floats | FileCheck %s

// CHECK-LABEL: func.func @doubles(%{{.*}}: tensor<4xf64>, %{{.*}}: tensor<4xi32>, %{{.*}}: f8E5M2)
// CHECK-NEXT:    %[[C:.*]] = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
// CHECK-NEXT:    %[[D:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf64>
// CHECK-NEXT:    return %[[C]], %[[D]]
func.func @doubles(%x: tensor<4xf64>, %i: tensor<4xi32>, %s: f8E5M2) -> (tensor<4xi32>, tensor<2xf64>) {
  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %d = arith.constant dense<[1.0, 2.0]> : tensor<2xf64>
  return %c, %d : tensor<4xi32>, tensor<2xf64>
}
