// RUN: redfuse-opt %s --redfuse-expand-math | FileCheck %s

// f64 is libm's, and what one instruction does stays.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT: math.exp %arg0 : f64
// CHECK-NEXT: math.sqrt %arg1
// CHECK-NEXT: math.fma
// CHECK-NEXT: math.sin
func.func @stays(%x: f64, %v: vector<16xf32>) -> (f64, vector<16xf32>) {
  %0 = math.exp %x : f64
  %1 = math.sqrt %v : vector<16xf32>
  %2 = math.fma %1, %v, %v : vector<16xf32>
  %3 = math.sin %2 : vector<16xf32>
  return %0, %3 : f64, vector<16xf32>
}
