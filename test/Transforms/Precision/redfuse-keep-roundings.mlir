// RUN: redfuse-opt -redfuse-keep-roundings %s | FileCheck %s
// RUN: redfuse-opt -redfuse-keep-roundings -redfuse-derive=all=true %s | FileCheck %s --check-prefix=DERIVE

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#q = affine_map<(i, j, d) -> (i, d)>
#k = affine_map<(i, j, d) -> (j, d)>
#o = affine_map<(i, j, d) -> (i)>

// The key of a selection, through what is computed element by element.
// CHECK-LABEL: @selected
// CHECK: arith.truncf %{{.*}} {redfuse.rounds} : f32 to bf16
func.func @selected(%x: tensor<6x80xf32>, %o: tensor<6xindex>) -> tensor<6xindex> {
  %r = redfuse.cascade {indexing_maps = [#ij, #i]} ins(%x : tensor<6x80xf32>) outs(%o : tensor<6xindex>) {
  ^bb0(%a: f32):
    %h = arith.truncf %a : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %e = math.exp %w : f32
    %j = redfuse.index 1
    %b:2 = redfuse.reduce argmax %e, %j over [1] into [0] : f32, index
    redfuse.yield %b#1 : index
  } -> tensor<6xindex>
  return %r : tensor<6xindex>
}

// Nothing but a sum.
// CHECK-LABEL: @summed
// CHECK: arith.truncf %{{[a-z0-9]+}} : f32 to bf16
func.func @summed(%x: tensor<6x80xf32>, %o: tensor<6xf32>) -> tensor<6xf32> {
  %r = redfuse.cascade {indexing_maps = [#ij, #i]} ins(%x : tensor<6x80xf32>) outs(%o : tensor<6xf32>) {
  ^bb0(%a: f32):
    %h = arith.truncf %a : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %e = math.exp %w : f32
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// A comparison: not those of a clamp or for NaN, and in bf16 none with an infinity.
// CHECK-LABEL: @compared
// CHECK: arith.truncf %{{.*}} {redfuse.rounds} : f32 to bf16
// CHECK: arith.truncf %{{.*}} {redfuse.rounds} : f32 to f16
// CHECK: arith.truncf %{{[a-z0-9]+}} : f32 to bf16
// CHECK: arith.truncf %{{[a-z0-9]+}} : f32 to bf16
// CHECK: arith.truncf %{{[a-z0-9]+}} : f32 to bf16
func.func @compared(%x: tensor<6x80xf32>, %o: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %r:5 = redfuse.cascade {indexing_maps = [#ij, #i, #i, #i, #i, #i]} ins(%x : tensor<6x80xf32>)
      outs(%o, %o, %o, %o, %o : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %inf = arith.constant 0x7F800000 : f32
    %t = arith.addf %a, %one : f32
    %h0 = arith.truncf %t : f32 to bf16
    %w0 = arith.extf %h0 : bf16 to f32
    %c0 = arith.cmpf ogt, %w0, %one : f32
    %v0 = arith.select %c0, %one, %zero : f32
    %u = arith.mulf %a, %a : f32
    %h1 = arith.truncf %u : f32 to f16
    %w1 = arith.extf %h1 : f16 to f32
    %c1 = arith.cmpf oeq, %w1, %inf : f32
    %v1 = arith.select %c1, %one, %w1 : f32
    %h2 = arith.truncf %u : f32 to bf16
    %w2 = arith.extf %h2 : bf16 to f32
    %c2 = arith.cmpf oeq, %w2, %inf : f32
    %v2 = arith.select %c2, %one, %w2 : f32
    %p = arith.subf %a, %one : f32
    %h3 = arith.truncf %p : f32 to bf16
    %w3 = arith.extf %h3 : bf16 to f32
    %c3 = arith.cmpf ult, %w3, %zero : f32
    %v3 = arith.select %c3, %zero, %w3 : f32
    %q = arith.divf %a, %one : f32
    %h4 = arith.truncf %q : f32 to bf16
    %w4 = arith.extf %h4 : bf16 to f32
    %c4 = arith.cmpf uno, %w4, %w4 : f32
    %v4 = arith.select %c4, %one, %w4 : f32
    %s0 = redfuse.reduce add %v0 over [1] into [0] : f32
    %s1 = redfuse.reduce add %v1 over [1] into [0] : f32
    %s2 = redfuse.reduce add %v2 over [1] into [0] : f32
    %s3 = redfuse.reduce add %v3 over [1] into [0] : f32
    %s4 = redfuse.reduce add %v4 over [1] into [0] : f32
    redfuse.yield %s0, %s1, %s2, %s3, %s4 : f32, f32, f32, f32, f32
  } -> tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// In another cascade, through memory and a view of it.
// CHECK-LABEL: @elsewhere
// CHECK: arith.truncf %{{.*}} {redfuse.rounds} : f32 to bf16
func.func @elsewhere(%x: tensor<6x80xf32>, %t: tensor<6x80xf32>, %o: tensor<6xi32>) -> tensor<6xi32> {
  %y = redfuse.cascade {indexing_maps = [#ij, #ij]} ins(%x : tensor<6x80xf32>) outs(%t : tensor<6x80xf32>) {
  ^bb0(%a: f32):
    %h = arith.truncf %a : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    redfuse.yield %w : f32
  } -> tensor<6x80xf32>
  %c = tensor.cast %y : tensor<6x80xf32> to tensor<6x?xf32>
  %r = redfuse.cascade {indexing_maps = [#ij, #i]} ins(%c : tensor<6x?xf32>) outs(%o : tensor<6xi32>) {
  ^bb0(%a: f32):
    %q = arith.fptosi %a : f32 to i32
    %s = redfuse.reduce add %q over [1] into [0] : i32
    redfuse.yield %s : i32
  } -> tensor<6xi32>
  return %r : tensor<6xi32>
}

// The largest of rounded products is a rounded product. A fold takes the others as they are.
// CHECK-LABEL: @largest
// CHECK: arith.truncf %{{.*}} {redfuse.rounds} : f32 to bf16
// DERIVE-LABEL: @largest
// DERIVE: redfuse.fold
// DERIVE: arith.truncf %{{.*}} {redfuse.rounds} : f32 to bf16
func.func @largest(%q: tensor<64x32xbf16>, %k: tensor<80x32xbf16>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.cascade {indexing_maps = [#q, #k, #o]}
      ins(%q, %k : tensor<64x32xbf16>, tensor<80x32xbf16>) outs(%o : tensor<64xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %h = arith.truncf %s : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %m = redfuse.reduce maximumf %w over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: @sum_of_exponentials
// CHECK: arith.truncf %{{[a-z0-9]+}} : f32 to bf16
// DERIVE-LABEL: @sum_of_exponentials
// DERIVE: redfuse.fold
// DERIVE-NOT: arith.truncf
func.func @sum_of_exponentials(%q: tensor<64x32xbf16>, %k: tensor<80x32xbf16>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.cascade {indexing_maps = [#q, #k, #o]}
      ins(%q, %k : tensor<64x32xbf16>, tensor<80x32xbf16>) outs(%o : tensor<64xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %h = arith.truncf %s : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %m = redfuse.reduce maximumf %w over [1] into [0] : f32
    %d = arith.subf %w, %m : f32
    %e = math.exp %d : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// A quotient that is quantised is divided exactly, and what its divisor is made of as well;
// one that is compared or stored may be a product with the reciprocal.
// CHECK-LABEL: @quotients
// DERIVE-LABEL: @quotients
// CHECK: %[[S:.*]] = arith.divf %{{.*}} {redfuse.rounds} : f32
// CHECK: arith.divf %{{.*}}, %[[S]] {redfuse.rounds} : f32
// CHECK: arith.divf %{{[a-z0-9]+}}, %{{[a-z0-9_]+}} : f32
func.func @quotients(%x: tensor<64x32xf32>, %m: tensor<64xf32>, %q: tensor<64x32xf8E4M3FN>, %p: tensor<64x32xf32>) -> (tensor<64x32xf8E4M3FN>, tensor<64x32xf32>) {
  %cst = arith.constant 448.0 : f32
  %r:2 = redfuse.cascade {indexing_maps = [#ij, #i, #ij, #ij]}
      ins(%x, %m : tensor<64x32xf32>, tensor<64xf32>) outs(%q, %p : tensor<64x32xf8E4M3FN>, tensor<64x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.divf %b, %cst : f32
    %d = arith.divf %a, %s : f32
    %c = arith.truncf %d : f32 to f8E4M3FN
    %n = arith.divf %a, %cst : f32
    redfuse.yield %c, %n : f8E4M3FN, f32
  } -> tensor<64x32xf8E4M3FN>, tensor<64x32xf32>
  return %r#0, %r#1 : tensor<64x32xf8E4M3FN>, tensor<64x32xf32>
}
