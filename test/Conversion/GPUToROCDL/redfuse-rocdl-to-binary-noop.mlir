// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx942 -redfuse-rocdl-to-binary=python=/nowhere | FileCheck %s

// A module without kernels asks for nothing.
// CHECK: func.func @host
func.func @host() {
  return
}
