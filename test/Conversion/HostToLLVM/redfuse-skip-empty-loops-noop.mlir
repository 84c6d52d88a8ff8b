// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-skip-empty-loops | diff %t.before -

// Loops within that have rounds, whose rounds depend on the outer one, or beside which a round does
// something else.
func.func @others(%m: memref<8x8xf32>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  scf.for %i = %zero to %n step %one {
    scf.for %j = %zero to %eight step %one {
      memref.store %v, %m[%i, %j] : memref<8x8xf32>
    }
  }
  scf.for %i = %zero to %eight step %one {
    scf.for %j = %zero to %i step %one {
      memref.store %v, %m[%i, %j] : memref<8x8xf32>
    }
  }
  scf.for %i = %zero to %eight step %one {
    memref.store %v, %m[%i, %zero] : memref<8x8xf32>
    scf.for %j = %zero to %n step %one {
      memref.store %v, %m[%i, %j] : memref<8x8xf32>
    }
  }
  return
}
