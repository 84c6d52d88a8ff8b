// RUN: not redfuse-opt %s -redfuse-cut-carried=limit=0 2>&1 | FileCheck %s

// CHECK: error: redfuse-cut-carried: limit is 0; expected at least 1
func.func @none() {
  return
}
