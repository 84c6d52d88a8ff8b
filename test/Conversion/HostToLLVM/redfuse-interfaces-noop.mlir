// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-interfaces | diff %t.before -

// What nobody calls from outside, and what is defined elsewhere.
func.func private @inner(%x: memref<4xf32>) {
  return
}
func.func private @elsewhere(memref<4xf32>)
