// RUN: not redfuse-opt %s -redfuse-schedule=kind=sideways 2>&1 | FileCheck %s
// RUN: not redfuse-opt %s -redfuse-schedule=lazy=9 2>&1 | FileCheck %s --check-prefix=LAZY

// LAZY: error: option 'lazy': expected 0 to 8 powers of 2, got 9
// CHECK: error: unknown schedule kind 'sideways'; expected one of map, resident, stream, multipass, split
func.func @main() {
  return
}
