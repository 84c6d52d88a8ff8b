// RUN: redfuse-opt %s --redfuse-expand-math --split-input-file | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: redfuse-opt %s --redfuse-expand-math=scalef --split-input-file | FileCheck %s --check-prefixes=CHECK,SCALEF

// CHECK-LABEL: func.func @exp_vector
// CHECK-NOT: math.exp
// What would underflow is zero before it is scaled.
// CHECK: math.fma
// CHECK: %[[LOW:.*]] = arith.cmpf olt, %arg0, %{{.*}} : vector<16xf32>
// CHECK: %[[P:.*]] = arith.select %[[LOW]], %{{.*}}
// PLAIN: arith.mulf %[[P]]
// SCALEF-NOT: arith.shli
// SCALEF: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%[[P]],
func.func @exp_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// -----

// Scalars have no vscalef.
// CHECK-LABEL: func.func @exp_scalar
// CHECK-NOT: math.exp
// CHECK-NOT: llvm.call_intrinsic
// CHECK: arith.shli
func.func @exp_scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// -----

// Rows of vectors of more dims, and vectors longer than a register.
// CHECK-LABEL: func.func @exp_rows
// SCALEF-COUNT-4: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK-NOT: math.exp
func.func @exp_rows(%x: vector<2x32xf32>) -> vector<2x32xf32> {
  %0 = math.exp %x : vector<2x32xf32>
  return %0 : vector<2x32xf32>
}

// -----

// CHECK-LABEL: func.func @others
// CHECK-NOT: math.{{exp2|expm1|log|log2|log10|log1p|tanh|erf|fpowi}}
// CHECK: return
func.func @others(%x: vector<8xf32>, %i: i32) -> vector<8xf32> {
  %c2 = arith.constant dense<2> : vector<8xi32>
  %0 = math.exp2 %x : vector<8xf32>
  %1 = math.expm1 %0 : vector<8xf32>
  %2 = math.log %1 : vector<8xf32>
  %3 = math.log2 %2 : vector<8xf32>
  %4 = math.log10 %3 : vector<8xf32>
  %5 = math.log1p %4 : vector<8xf32>
  %6 = math.tanh %5 : vector<8xf32>
  %7 = math.erf %6 : vector<8xf32>
  %8 = math.fpowi %7, %c2 : vector<8xf32>, vector<8xi32>
  return %8 : vector<8xf32>
}

// -----

// pow(-0.0, 0.5) is 0.0 and pow(-inf, 0.5) inf, which the square root is not.
// CHECK-LABEL: func.func @half_powers
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[LEAST:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[MOST:.*]] = arith.constant 0x7F800000 : f32
// CHECK: %[[PLUS:.*]] = arith.addf %[[X]], %[[ZERO]] : f32
// CHECK: %[[ROOT:.*]] = math.sqrt %[[PLUS]] : f32
// CHECK: %[[IS:.*]] = arith.cmpf oeq, %[[X]], %[[LEAST]] : f32
// CHECK: %[[HALF:.*]] = arith.select %[[IS]], %[[MOST]], %[[ROOT]] : f32
// CHECK: arith.divf %[[ONE]], %{{.*}} : f32
// CHECK-NOT: math.powf
func.func @half_powers(%x: f32) -> (f32, f32) {
  %half = arith.constant 0.5 : f32
  %minus = arith.constant -0.5 : f32
  %0 = math.powf %x, %half : f32
  %1 = math.powf %x, %minus : f32
  return %0, %1 : f32, f32
}
