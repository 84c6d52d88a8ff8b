// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-widen-integers > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i) -> (i)>

// Widths that memory has: masks would clear nothing.
func.func @stored(%a: tensor<4xi8>, %b: tensor<?xi16>, %c: memref<4xi32>, %i: index) -> (i64, i32) {
  %u = tensor.extract %a[%i] : tensor<4xi8>
  %v = tensor.extract %b[%i] : tensor<?xi16>
  %w = memref.load %c[%i] : memref<4xi32>
  %s = arith.extsi %u : i8 to i64
  %t = arith.extui %v : i16 to i64
  %r = arith.addi %s, %t : i64
  return %r, %w : i64, i32
}

// A flag is one bit wherever it is, and so is what is computed with flags.
func.func @flags(%x: tensor<4xi1>, %y: tensor<4xi8>) -> tensor<4xi1> {
  %e = tensor.empty() : tensor<4xi1>
  %r = linalg.generic {indexing_maps = [#x, #x, #x], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<4xi1>, tensor<4xi8>) outs(%e : tensor<4xi1>) {
  ^bb0(%a: i1, %b: i8, %o: i1):
    %t = arith.trunci %b : i8 to i1
    %s = arith.addi %a, %t : i1
    linalg.yield %s : i1
  } -> tensor<4xi1>
  return %r : tensor<4xi1>
}

// Past 64 bits there is no next wider one that memory has.
func.func @wide(%x: i65, %y: i64) -> i65 {
  %w = arith.extsi %y : i64 to i65
  %r = arith.muli %x, %w : i65
  return %r : i65
}

// Bits of widths that memory has may be looked at, and counted.
func.func @bits(%x: f32) -> i32 {
  %b = arith.bitcast %x : f32 to i32
  %n = math.ctpop %b : i32
  return %n : i32
}
