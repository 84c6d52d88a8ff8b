// RUN: redfuse-opt %s -redfuse-lower-device-libraries -split-input-file -verify-diagnostics

llvm.func @intrinsic(%x: f64) -> f64 {
  // expected-error @below {{llvm.intr.exp of 'f64' has no lowering without ROCm's device libraries; compute it in f32, or for another target}}
  %y = llvm.intr.exp(%x) : (f64) -> f64
  llvm.return %y : f64
}

// -----

llvm.func @vector(%x: vector<2xf32>) -> vector<2xf32> {
  // expected-error @below {{llvm.intr.tanh of 'vector<2xf32>' has no lowering without ROCm's device libraries; compute it for another target}}
  %y = llvm.intr.tanh(%x) : (vector<2xf32>) -> vector<2xf32>
  llvm.return %y : vector<2xf32>
}

// -----

llvm.func @__ocml_erf_f64(f64) -> f64
llvm.func @library(%x: f64) -> f64 {
  // expected-error @below {{__ocml_erf_f64 of 'f64' has no lowering without ROCm's device libraries; compute it in f32, or for another target}}
  %y = llvm.call @__ocml_erf_f64(%x) : (f64) -> f64
  llvm.return %y : f64
}
