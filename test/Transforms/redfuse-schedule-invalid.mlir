// RUN: not redfuse-opt %s -redfuse-schedule=kind=sideways 2>&1 | FileCheck %s

// CHECK: error: unknown schedule kind 'sideways'; expected one of map, resident, stream, multipass, split
func.func @main() {
  return
}
