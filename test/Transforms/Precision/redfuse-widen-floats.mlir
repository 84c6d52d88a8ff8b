// RUN: redfuse-opt %s -redfuse-widen-floats | FileCheck %s

// Signatures, bodies, constants and the types that attributes hold; casts are gone.
// CHECK-LABEL: func.func @scalars(
// CHECK-SAME:    %[[X:.*]]: f64, %[[Y:.*]]: i32) -> f64
// CHECK-DAG:     %[[INF:.*]] = arith.constant 0xFFF0000000000000 : f64
// CHECK-DAG:     %[[TENTH:.*]] = arith.constant 0.10000000149011612 : f64
// CHECK:         %[[M:.*]] = arith.maximumf %[[X]], %[[INF]] : f64
// CHECK:         %[[N:.*]] = arith.sitofp %[[Y]] : i32 to f64
// CHECK:         %[[P:.*]] = arith.mulf %[[M]], %[[TENTH]] : f64
// CHECK:         %[[S:.*]] = arith.addf %[[P]], %[[N]] : f64
// CHECK:         return %[[S]] : f64
func.func @scalars(%x: bf16, %y: i32) -> f32 {
  %inf = arith.constant 0xFF80 : bf16
  %tenth = arith.constant 0.1 : f32
  %m = arith.maximumf %x, %inf : bf16
  %wide = arith.extf %m : bf16 to f32
  %n = arith.sitofp %y : i32 to f32
  %p = arith.mulf %wide, %tenth : f32
  %s = arith.addf %p, %n : f32
  return %s : f32
}

// A constant of one value is widened, one of several has a cast behind it.
// CHECK-LABEL: func.func @constants() -> (tensor<2xf64>, tensor<2xf64>)
// CHECK-DAG:     %[[ONE:.*]] = arith.constant dense<1.500000e+00> : tensor<2xf64>
// CHECK-DAG:     %[[MANY:.*]] = arith.constant dense<[1.500000e+00, -2.500000e+00]> : tensor<2xf16>
// CHECK:         %[[WIDE:.*]] = arith.extf %[[MANY]] : tensor<2xf16> to tensor<2xf64>
// CHECK:         return %[[ONE]], %[[WIDE]]
func.func @constants() -> (tensor<2xf32>, tensor<2xf16>) {
  %one = arith.constant dense<1.5> : tensor<2xf32>
  %many = arith.constant dense<[1.5, -2.5]> : tensor<2xf16>
  return %one, %many : tensor<2xf32>, tensor<2xf16>
}

// Blocks have arguments, too.
// CHECK-LABEL: func.func @bodies(
// CHECK:         linalg.generic
// CHECK:         ^bb0(%[[A:.*]]: f64, %[[O:.*]]: f64):
// CHECK-NEXT:      %[[R:.*]] = arith.addf %[[A]], %[[O]] : f64
// CHECK-NEXT:      linalg.yield %[[R]] : f64
func.func @bodies(%x: tensor<?xf16>, %o: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} ins(%x : tensor<?xf16>) outs(%o : tensor<f32>) {
  ^bb0(%a: f16, %acc: f32):
    %wide = arith.extf %a : f16 to f32
    %sum = arith.addf %wide, %acc : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// Floats of 8 bits are meant, as integers are.
// CHECK-LABEL: func.func @small(
// CHECK-SAME:    %[[X:.*]]: f64) -> f64
// CHECK:         %[[N:.*]] = arith.truncf %[[X]] : f64 to f8E4M3FN
// CHECK:         %[[W:.*]] = arith.extf %[[N]] : f8E4M3FN to f64
func.func @small(%x: f32) -> f32 {
  %n = arith.truncf %x : f32 to f8E4M3FN
  %w = arith.extf %n : f8E4M3FN to f32
  return %w : f32
}
