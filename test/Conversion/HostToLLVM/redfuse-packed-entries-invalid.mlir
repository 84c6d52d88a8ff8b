// RUN: redfuse-opt %s --redfuse-interfaces --convert-func-to-llvm --redfuse-packed-entries --split-input-file --verify-diagnostics

// expected-error @+1 {{an entry returns nothing: its outputs are arguments that the caller allocates}}
func.func @f(%s: f32) -> f32 {
  return %s : f32
}

// -----

// expected-error @+1 {{the name 'g__packed' is taken}}
func.func @g(%s: f32) {
  return
}
func.func private @g__packed()
