// RUN: not redfuse-opt %s --redfuse-lower-to-llvm=cpu=nothing 2>&1 | FileCheck %s
// RUN: not redfuse-opt %s --redfuse-lower-to-llvm=features=+nothing 2>&1 | FileCheck %s --check-prefix=FEATURE
// RUN: not redfuse-opt %s --redfuse-lower-to-llvm=features=avx2 2>&1 | FileCheck %s --check-prefix=FEATURE

// CHECK: unknown processor 'nothing'
// FEATURE: unknown processor feature '{{.*}}'; a feature is written +name or -name
func.func @f() {
  return
}
