// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s

// What is derived, as formulas: the state, how it moves to another pivot, and the
// source's reductions from it.

// CHECK-LABEL: @variance
// CHECK: redfuse.fold
// CHECK-SAME: {mean = #redfuse.formula<"x0">, names = ["t0"], weight = "t1"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"1">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"(x0 - t0')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t3"], operands = [#redfuse.formula<"(x0 - t0')**2">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: domain = array<i64: 5, 37>
// CHECK-SAME: {formula = #redfuse.formula<"t3 + 2*t2*(-t2/37) + 37*(-t2/37)**2">, name = "d1"}
// CHECK-SAME: guards = [{condition = #redfuse.formula<"Abs(-t2/37) == oo">, instead = #redfuse.formula<"nan">, term = #redfuse.formula<"(-t2/37)">}]
// CHECK-SAME: inputs = [{dims = array<i64: 0, 1>, name = "x0", type = f32}]
// CHECK-SAME: reads = {finalise = [], step = ["x0"]}
// CHECK-SAME: results = [{formula = #redfuse.formula<"d1/37">, name = "y0"}]
// CHECK-SAME: source = [{names = ["d0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "add"}, {names = ["d1"], operands = [#redfuse.formula<"(x0 - d0/37)*(x0 - d0/37)">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: state = [{dims = array<i64: 0>, identity = #redfuse.formula<"0">, name = "t0", type = f32}, {dims = array<i64>, identity = #redfuse.formula<"0">, name = "t1", type = i64}, {dims = array<i64: 0>, identity = #redfuse.formula<"0">, name = "t2", type = f32}, {dims = array<i64: 0>, identity = #redfuse.formula<"0">, name = "t3", type = f32}]
// CHECK-SAME: {formula = #redfuse.formula<"t2 + (t0 - t0')*t1">, name = "t2"}
// CHECK-SAME: {formula = #redfuse.formula<"t3 + 2*(t0 - t0')*t2 + (t0 - t0')**2*t1">, name = "t3"}
func.func @variance(%in0: tensor<5x37xf32>, %init0: tensor<5xf32>) -> (tensor<5xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%in0 : tensor<5x37xf32>)
      outs(%init0 : tensor<5xf32>) {
  ^bb0(%a: f32):
    %n = arith.constant 37.0 : f32
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %mu = arith.divf %s, %n : f32
    %d = arith.subf %a, %mu : f32
    %q = arith.mulf %d, %d : f32
    %qs = redfuse.reduce add %q over [1] into [0] : f32
    %var = arith.divf %qs, %n : f32
    %eps = arith.constant 1.0e-05 : f32
    %ve = arith.addf %var, %eps : f32
    %rs = math.rsqrt %ve : f32
    redfuse.yield %var : f32
  } -> tensor<5xf32>
  return %r#0 : tensor<5xf32>
}

// CHECK-LABEL: @covariance
// CHECK: redfuse.fold
// CHECK-SAME: {mean = #redfuse.formula<"x0">, names = ["t0"], weight = "t1"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"1">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"(x0 - t0')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {mean = #redfuse.formula<"x1">, names = ["t3"], weight = "t1"}
// CHECK-SAME: {names = ["t4"], operands = [#redfuse.formula<"(x1 - t3')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t5"], operands = [#redfuse.formula<"(x0 - t0')*(x1 - t3')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {formula = #redfuse.formula<"t5 + t2*(-t4/37) + t4*(-t2/37) + 37*(-t2/37)*(-t4/37)">, name = "d2"}
// CHECK-SAME: {formula = #redfuse.formula<"t2 + (t0 - t0')*t1">, name = "t2"}
// CHECK-SAME: {formula = #redfuse.formula<"t4 + (t3 - t3')*t1">, name = "t4"}
// CHECK-SAME: {formula = #redfuse.formula<"(t5 + (t3 - t3')*t2) + (t0 - t0')*(t4 + (t3 - t3')*t1)">, name = "t5"}
func.func @covariance(%in0: tensor<5x37xf32>, %in1: tensor<5x37xf32>, %init0: tensor<5xf32>) -> (tensor<5xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%in0, %in1 : tensor<5x37xf32>, tensor<5x37xf32>)
      outs(%init0 : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.constant 37.0 : f32
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %mu = arith.divf %s, %n : f32
    %d = arith.subf %a, %mu : f32
    %t = redfuse.reduce add %b over [1] into [0] : f32
    %nu = arith.divf %t, %n : f32
    %g = arith.subf %b, %nu : f32
    %p = arith.mulf %d, %g : f32
    %r = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %r : f32
  } -> tensor<5xf32>
  return %r#0 : tensor<5xf32>
}

// CHECK-LABEL: @weighted_variance
// CHECK: redfuse.fold
// CHECK-SAME: {names = ["t0"], operands = [#redfuse.formula<"a0">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {mean = #redfuse.formula<"x0">, names = ["t1"], weight = "t0"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"(x0 - t1')*a0">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t3"], operands = [#redfuse.formula<"(x0 - t1')**2*a0">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {formula = #redfuse.formula<"t3 + 2*t2*(-t2/t0) + t0*(-t2/t0)**2">, name = "d2"}
// CHECK-SAME: {formula = #redfuse.formula<"t2 + (t1 - t1')*t0">, name = "t2"}
// CHECK-SAME: {formula = #redfuse.formula<"t3 + 2*(t1 - t1')*t2 + (t1 - t1')**2*t0">, name = "t3"}
func.func @weighted_variance(%in0: tensor<5x37xf32>, %in1: tensor<5x37xf32>, %init0: tensor<5xf32>) -> (tensor<5xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%in0, %in1 : tensor<5x37xf32>, tensor<5x37xf32>)
      outs(%init0 : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %w = arith.mulf %b, %b : f32
    %wa = arith.mulf %w, %a : f32
    %s1 = redfuse.reduce add %wa over [1] into [0] : f32
    %s0 = redfuse.reduce add %w over [1] into [0] : f32
    %mu = arith.divf %s1, %s0 : f32
    %d = arith.subf %a, %mu : f32
    %q = arith.mulf %d, %d : f32
    %p = arith.mulf %w, %q : f32
    %r = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %r : f32
  } -> tensor<5xf32>
  return %r#0 : tensor<5xf32>
}

// CHECK-LABEL: @normalised_contraction
// CHECK: redfuse.fold
// CHECK-SAME: {mean = #redfuse.formula<"x0">, names = ["t0"], weight = "t1"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"1">], over = array<i64: 2>, reducer = "add"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"(x0 - t0')">], over = array<i64: 2>, reducer = "add"}
// CHECK-SAME: {names = ["t3"], operands = [#redfuse.formula<"(x0 - t0')**2">], over = array<i64: 2>, reducer = "add"}
// CHECK-SAME: {names = ["t4"], operands = [#redfuse.formula<"(x0 - t0')*x1">], over = array<i64: 2>, reducer = "add"}
// CHECK-SAME: {names = ["t5"], operands = [#redfuse.formula<"x1">], over = array<i64: 2>, reducer = "add"}
// CHECK-SAME: {formula = #redfuse.formula<"t3 + 2*t2*(-t2/37) + 37*(-t2/37)**2">, name = "d1"}
// CHECK-SAME: {formula = #redfuse.formula<"t4/sqrt(d1/37 + 9.9999997473787516e-06) + t5*(-t2/37)/sqrt(d1/37 + 9.9999997473787516e-06)">, name = "d2"}
// CHECK-SAME: {formula = #redfuse.formula<"t2 + (t0 - t0')*t1">, name = "t2"}
// CHECK-SAME: {formula = #redfuse.formula<"t3 + 2*(t0 - t0')*t2 + (t0 - t0')**2*t1">, name = "t3"}
// CHECK-SAME: {formula = #redfuse.formula<"t4 + (t0 - t0')*t5">, name = "t4"}
func.func @normalised_contraction(%in0: tensor<5x37xf32>, %in1: tensor<37x3xf32>, %init0: tensor<5x3xf32>) -> (tensor<5x3xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(d, i, j) -> (i, j)>, affine_map<(d, i, j) -> (j, d)>, affine_map<(d, i, j) -> (i, d)>]}
      ins(%in0, %in1 : tensor<5x37xf32>, tensor<37x3xf32>)
      outs(%init0 : tensor<5x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.constant 37.0 : f32
    %s = redfuse.reduce add %a over [2] into [1] : f32
    %mu = arith.divf %s, %n : f32
    %d = arith.subf %a, %mu : f32
    %q = arith.mulf %d, %d : f32
    %qs = redfuse.reduce add %q over [2] into [1] : f32
    %var = arith.divf %qs, %n : f32
    %eps = arith.constant 1.0e-05 : f32
    %ve = arith.addf %var, %eps : f32
    %rs = math.rsqrt %ve : f32
    %x = arith.mulf %d, %rs : f32
    %p = arith.mulf %x, %b : f32
    %r = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %r : f32
  } -> tensor<5x3xf32>
  return %r#0 : tensor<5x3xf32>
}

// CHECK-LABEL: @entropy
// CHECK: redfuse.fold
// CHECK-SAME: {names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "maximumf"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"exp(x0 - t0')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"exp(x0 - t0')*(x0 - t0')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {formula = #redfuse.formula<"t0">, name = "d0"}
// CHECK-SAME: {formula = #redfuse.formula<"t1*exp(t0 - d0)">, name = "d1"}
// CHECK-SAME: {formula = #redfuse.formula<"t2*exp(t0 - d0)/d1 + t1*exp(t0 - d0)*(t0 - d0 - log(d1))/d1">, name = "d2"}
// CHECK-SAME: {formula = #redfuse.formula<"exp(t0 - t0')*t1">, name = "t1"}
// CHECK-SAME: {formula = #redfuse.formula<"exp(t0 - t0')*(t2 + (t0 - t0')*t1)">, name = "t2"}
func.func @entropy(%in0: tensor<5x37xf32>, %init0: tensor<5xf32>) -> (tensor<5xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%in0 : tensor<5x37xf32>)
      outs(%init0 : tensor<5xf32>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %c = arith.subf %a, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %k = math.log %l : f32
    %lp = arith.subf %c, %k : f32
    %w = arith.divf %e, %l : f32
    %p = arith.mulf %w, %lp : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    %r = arith.negf %s : f32
    redfuse.yield %r : f32
  } -> tensor<5xf32>
  return %r#0 : tensor<5xf32>
}

// CHECK-LABEL: @divergence
// CHECK: redfuse.fold
// CHECK-SAME: {names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "maximumf"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"exp(x0 - t0')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"x1">], over = array<i64: 1>, reducer = "maximumf"}
// CHECK-SAME: {names = ["t3"], operands = [#redfuse.formula<"exp(x1 - t2')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t4"], operands = [#redfuse.formula<"exp(x0 - t0')*(x0 - x1 - t0' + t2')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {formula = #redfuse.formula<"t0">, name = "d0"}
// CHECK-SAME: {formula = #redfuse.formula<"t1*exp(t0 - d0)">, name = "d1"}
// CHECK-SAME: {formula = #redfuse.formula<"t2">, name = "d2"}
// CHECK-SAME: {formula = #redfuse.formula<"t3*exp(t2 - d2)">, name = "d3"}
// CHECK-SAME: {formula = #redfuse.formula<"t4*exp(t0 - d0)/d1 + t1*exp(t0 - d0)*(t0 - t2 - d0 - log(d1) + d2 + log(d3))/d1">, name = "d4"}
// CHECK-SAME: {formula = #redfuse.formula<"exp(t0 - t0')*t1">, name = "t1"}
// CHECK-SAME: {formula = #redfuse.formula<"exp(t2 - t2')*t3">, name = "t3"}
// CHECK-SAME: {formula = #redfuse.formula<"exp(t0 - t0')*(t4 + (t0 - t2 - t0' + t2')*t1)">, name = "t4"}
func.func @divergence(%in0: tensor<5x37xf32>, %in1: tensor<5x37xf32>, %init0: tensor<5xf32>) -> (tensor<5xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%in0, %in1 : tensor<5x37xf32>, tensor<5x37xf32>)
      outs(%init0 : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %c = arith.subf %a, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %m2 = redfuse.reduce maximumf %b over [1] into [0] : f32
    %c2 = arith.subf %b, %m2 : f32
    %e2 = math.exp %c2 : f32
    %l2 = redfuse.reduce add %e2 over [1] into [0] : f32
    %k = math.log %l : f32
    %k2 = math.log %l2 : f32
    %lp = arith.subf %c, %k : f32
    %lq = arith.subf %c2, %k2 : f32
    %lr = arith.subf %lp, %lq : f32
    %w = arith.divf %e, %l : f32
    %p = arith.mulf %w, %lr : f32
    %r = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %r : f32
  } -> tensor<5xf32>
  return %r#0 : tensor<5xf32>
}

// CHECK-LABEL: @guarded
// CHECK: redfuse.fold
// CHECK-SAME: {names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 2>, reducer = "maximumf"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"exp(x0 - t0')">], over = array<i64: 2>, reducer = "add"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"a0">], over = array<i64: 2>, reducer = "and"}
// CHECK-SAME: {names = ["t3"], operands = [#redfuse.formula<"exp(x0 - t0')*x1">], over = array<i64: 2>, reducer = "add"}
// CHECK-SAME: {formula = #redfuse.formula<"t0">, name = "d0"}
// CHECK-SAME: {formula = #redfuse.formula<"t1*exp(t0 - d0)">, name = "d1"}
// CHECK-SAME: {formula = #redfuse.formula<"t2">, name = "d2"}
// CHECK-SAME: {formula = #redfuse.formula<"select(d2, 0*t3, t3*exp(t0 - d0)/d1)">, name = "d3"}
// CHECK-SAME: {formula = #redfuse.formula<"exp(t0 - t0')*t1">, name = "t1"}
// CHECK-SAME: {formula = #redfuse.formula<"exp(t0 - t0')*t3">, name = "t3"}
func.func @guarded(%in0: tensor<5x37xf32>, %in1: tensor<37x3xf32>, %init0: tensor<5x3xf32>) -> (tensor<5x3xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(d, i, j) -> (i, j)>, affine_map<(d, i, j) -> (j, d)>, affine_map<(d, i, j) -> (i, d)>]}
      ins(%in0, %in1 : tensor<5x37xf32>, tensor<37x3xf32>)
      outs(%init0 : tensor<5x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = redfuse.reduce maximumf %a over [2] into [1] : f32
    %c = arith.subf %a, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [2] into [1] : f32
    %ninf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %is = arith.cmpf oeq, %a, %ninf : f32
    %all = redfuse.reduce and %is over [2] into [1] : i1
    %w = arith.divf %e, %l : f32
    %g = arith.select %all, %zero, %w : f32
    %p = arith.mulf %g, %b : f32
    %r = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %r : f32
  } -> tensor<5x3xf32>
  return %r#0 : tensor<5x3xf32>
}

// CHECK-LABEL: @scaled_contraction
// CHECK: redfuse.fold
// CHECK-SAME: {names = ["t0"], operands = [#redfuse.formula<"a0">], over = array<i64: 2>, reducer = "add"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"x0*x1">], over = array<i64: 2>, reducer = "add"}
// CHECK-SAME: {formula = #redfuse.formula<"t0">, name = "d0"}
// CHECK-SAME: {formula = #redfuse.formula<"t1/sqrt(d0/37 + 9.9999999747524271e-07)">, name = "d1"}
func.func @scaled_contraction(%in0: tensor<5x37xf32>, %in1: tensor<37x3xf32>, %init0: tensor<5x3xf32>) -> (tensor<5x3xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(d, i, j) -> (i, j)>, affine_map<(d, i, j) -> (j, d)>, affine_map<(d, i, j) -> (i, d)>]}
      ins(%in0, %in1 : tensor<5x37xf32>, tensor<37x3xf32>)
      outs(%init0 : tensor<5x3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.constant 37.0 : f32
    %eps = arith.constant 1.0e-06 : f32
    %q = arith.mulf %a, %a : f32
    %s = redfuse.reduce add %q over [2] into [1] : f32
    %ms = arith.divf %s, %n : f32
    %me = arith.addf %ms, %eps : f32
    %rs = math.rsqrt %me : f32
    %x = arith.mulf %a, %rs : f32
    %p = arith.mulf %x, %b : f32
    %r = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %r : f32
  } -> tensor<5x3xf32>
  return %r#0 : tensor<5x3xf32>
}

// CHECK-LABEL: @risky_quotient
// CHECK: redfuse.fold
// CHECK-SAME: {names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"x1">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"x1">], over = array<i64: 1>, reducer = "maximumf"}
// CHECK-SAME: {names = ["t3"], operands = [#redfuse.formula<"x1">], over = array<i64: 1>, reducer = "minimumf"}
// CHECK-SAME: {formula = #redfuse.formula<"t0">, name = "d0"}
// CHECK-SAME: {formula = #redfuse.formula<"t1/d0">, name = "d1"}
// CHECK-SAME: guards = [{condition = #redfuse.formula<"d0 == 0">, instead = #redfuse.formula<"t2/d0 + t3/d0">, term = #redfuse.formula<"t1/d0">}]
func.func @risky_quotient(%in0: tensor<5x37xf32>, %in1: tensor<5x37xf32>, %init0: tensor<5xf32>) -> (tensor<5xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%in0, %in1 : tensor<5x37xf32>, tensor<5x37xf32>)
      outs(%init0 : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %q = arith.divf %b, %s : f32
    %r = redfuse.reduce add %q over [1] into [0] : f32
    redfuse.yield %r : f32
  } -> tensor<5xf32>
  return %r#0 : tensor<5xf32>
}

// CHECK-LABEL: @map_after
// CHECK: redfuse.fold
// CHECK-SAME: {names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "maximumf"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "minimumf"}
// CHECK-SAME: {formula = #redfuse.formula<"t0">, name = "d0"}
// CHECK-SAME: {formula = #redfuse.formula<"t1">, name = "d1"}
func.func @map_after(%in0: tensor<5x37xf32>, %init0: tensor<5x37xf32>) -> (tensor<5x37xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
      ins(%in0 : tensor<5x37xf32>)
      outs(%init0 : tensor<5x37xf32>) {
  ^bb0(%a: f32):
    %h = redfuse.reduce maximumf %a over [1] into [0] : f32
    %l = redfuse.reduce minimumf %a over [1] into [0] : f32
    %t = arith.subf %a, %l : f32
    %w = arith.subf %h, %l : f32
    %r = arith.divf %t, %w : f32
    redfuse.yield %r : f32
  } -> tensor<5x37xf32>
  return %r#0 : tensor<5x37xf32>
}

// CHECK-LABEL: @moments
// CHECK: redfuse.fold
// CHECK-SAME: {mean = #redfuse.formula<"x0">, names = ["t0"], weight = "t1"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"1">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"(x0 - t0')">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t3"], operands = [#redfuse.formula<"(x0 - t0')**3">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t4"], operands = [#redfuse.formula<"(x0 - t0')**2">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {names = ["t5"], operands = [#redfuse.formula<"(x0 - t0')**4">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {formula = #redfuse.formula<"t3 + 3*t4*(-t2/37) + 3*t2*(-t2/37)**2 + 37*(-t2/37)**3">, name = "d1"}
// CHECK-SAME: {formula = #redfuse.formula<"t5 + 4*t3*(-t2/37) + 6*t4*(-t2/37)**2 + 4*t2*(-t2/37)**3 + 37*(-t2/37)**4">, name = "d2"}
// CHECK-SAME: {formula = #redfuse.formula<"t2 + (t0 - t0')*t1">, name = "t2"}
// CHECK-SAME: {formula = #redfuse.formula<"t3 + 3*(t0 - t0')*t4 + 3*(t0 - t0')**2*t2 + (t0 - t0')**3*t1">, name = "t3"}
// CHECK-SAME: {formula = #redfuse.formula<"t4 + 2*(t0 - t0')*t2 + (t0 - t0')**2*t1">, name = "t4"}
// CHECK-SAME: {formula = #redfuse.formula<"t5 + 4*(t0 - t0')*t3 + 6*(t0 - t0')**2*t4 + 4*(t0 - t0')**3*t2 + (t0 - t0')**4*t1">, name = "t5"}
func.func @moments(%in0: tensor<5x37xf32>, %init0: tensor<5xf32>, %init1: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %r:2 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]}
      ins(%in0 : tensor<5x37xf32>)
      outs(%init0, %init1 : tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%a: f32):
    %n = arith.constant 37.0 : f32
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %mu = arith.divf %s, %n : f32
    %d = arith.subf %a, %mu : f32
    %d2 = arith.mulf %d, %d : f32
    %d3 = arith.mulf %d2, %d : f32
    %d4 = arith.mulf %d2, %d2 : f32
    %s3 = redfuse.reduce add %d3 over [1] into [0] : f32
    %s4 = redfuse.reduce add %d4 over [1] into [0] : f32
    redfuse.yield %s3, %s4 : f32, f32
  } -> tensor<5xf32>, tensor<5xf32>
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>
}

// CHECK-LABEL: @masked
// CHECK: redfuse.fold
// CHECK-SAME: {names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "maximumf"}
// CHECK-SAME: {names = ["t1"], operands = [#redfuse.formula<"where(a0, x0)">], over = array<i64: 1>, reducer = "maximumf"}
// CHECK-SAME: {names = ["t2"], operands = [#redfuse.formula<"where(a0, exp(x0 - t1'))">], over = array<i64: 1>, reducer = "add"}
// CHECK-SAME: {formula = #redfuse.formula<"t0">, name = "d0"}
// CHECK-SAME: {formula = #redfuse.formula<"t2*exp(t1 - d0)">, name = "d1"}
// CHECK-SAME: {formula = #redfuse.formula<"exp(t1 - t1')*t2">, name = "t2"}
func.func @masked(%in0: tensor<5x37xf32>, %init0: tensor<5xf32>) -> (tensor<5xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%in0 : tensor<5x37xf32>)
      outs(%init0 : tensor<5xf32>) {
  ^bb0(%a: f32):
    %i0 = redfuse.index 0
    %j0 = redfuse.index 1
    %keep = arith.cmpi sle, %j0, %i0 : index
    %zero = arith.constant 0.0 : f32
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %c = arith.subf %a, %m : f32
    %e = math.exp %c : f32
    %k = arith.select %keep, %e, %zero : f32
    %l = redfuse.reduce add %k over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<5xf32>
  return %r#0 : tensor<5xf32>
}

// A reduced integer leaves a product as a power.
// CHECK-LABEL: @scaled_integers
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "add"}, {names = ["t1"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "mul"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t0">, name = "d0"}, {formula = #redfuse.formula<"t1*d0**37">, name = "d1"}]
func.func @scaled_integers(%x: tensor<5x37xi32>, %init: tensor<5xi32>) -> tensor<5xi32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%x : tensor<5x37xi32>) outs(%init : tensor<5xi32>) {
  ^bb0(%a: i32):
    %s = redfuse.reduce add %a over [1] into [0] : i32
    %p = arith.muli %a, %s : i32
    %r = redfuse.reduce mul %p over [1] into [0] : i32
    redfuse.yield %r : i32
  } -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// A value that is made of reductions, long and used twice, has a name: else a chain
// of such values would be spelled out once for each path through it.

// CHECK-LABEL: @repeated
// CHECK: redfuse.fold
// CHECK-SAME: results = [{formula = #redfuse.formula<"select(cmpf_ugt(select(cmpf_ugt(e9, 0), e9, 0), 0), select(cmpf_ugt(e9, 0), e9, 0), 0)">, name = "y0"}]
// CHECK-SAME: shared = [{formula = #redfuse.formula<"select(cmpf_ugt(select(cmpf_ugt(select(cmpf_ugt(d0, 0), d0, 0), 0),
// CHECK-SAME: name = "e0"}, {formula = #redfuse.formula<"select({{[^"]*}}e0{{[^"]*}}">, name = "e1"}
// CHECK-SAME: {formula = #redfuse.formula<"select({{[^"]*}}e8{{[^"]*}}">, name = "e9"}]
func.func @repeated(%in0: tensor<5x37xf32>, %init0: tensor<5xf32>) -> (tensor<5xf32>) {
  %r:1 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%in0 : tensor<5x37xf32>)
      outs(%init0 : tensor<5xf32>) {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %v0 = redfuse.reduce add %a over [1] into [0] : f32
    %c0 = arith.cmpf ugt, %v0, %zero : f32
    %v1 = arith.select %c0, %v0, %zero : f32
    %c1 = arith.cmpf ugt, %v1, %zero : f32
    %v2 = arith.select %c1, %v1, %zero : f32
    %c2 = arith.cmpf ugt, %v2, %zero : f32
    %v3 = arith.select %c2, %v2, %zero : f32
    %c3 = arith.cmpf ugt, %v3, %zero : f32
    %v4 = arith.select %c3, %v3, %zero : f32
    %c4 = arith.cmpf ugt, %v4, %zero : f32
    %v5 = arith.select %c4, %v4, %zero : f32
    %c5 = arith.cmpf ugt, %v5, %zero : f32
    %v6 = arith.select %c5, %v5, %zero : f32
    %c6 = arith.cmpf ugt, %v6, %zero : f32
    %v7 = arith.select %c6, %v6, %zero : f32
    %c7 = arith.cmpf ugt, %v7, %zero : f32
    %v8 = arith.select %c7, %v7, %zero : f32
    %c8 = arith.cmpf ugt, %v8, %zero : f32
    %v9 = arith.select %c8, %v8, %zero : f32
    %c9 = arith.cmpf ugt, %v9, %zero : f32
    %v10 = arith.select %c9, %v9, %zero : f32
    %c10 = arith.cmpf ugt, %v10, %zero : f32
    %v11 = arith.select %c10, %v10, %zero : f32
    %c11 = arith.cmpf ugt, %v11, %zero : f32
    %v12 = arith.select %c11, %v11, %zero : f32
    %c12 = arith.cmpf ugt, %v12, %zero : f32
    %v13 = arith.select %c12, %v12, %zero : f32
    %c13 = arith.cmpf ugt, %v13, %zero : f32
    %v14 = arith.select %c13, %v13, %zero : f32
    %c14 = arith.cmpf ugt, %v14, %zero : f32
    %v15 = arith.select %c14, %v14, %zero : f32
    %c15 = arith.cmpf ugt, %v15, %zero : f32
    %v16 = arith.select %c15, %v15, %zero : f32
    %c16 = arith.cmpf ugt, %v16, %zero : f32
    %v17 = arith.select %c16, %v16, %zero : f32
    %c17 = arith.cmpf ugt, %v17, %zero : f32
    %v18 = arith.select %c17, %v17, %zero : f32
    %c18 = arith.cmpf ugt, %v18, %zero : f32
    %v19 = arith.select %c18, %v18, %zero : f32
    %c19 = arith.cmpf ugt, %v19, %zero : f32
    %v20 = arith.select %c19, %v19, %zero : f32
    %c20 = arith.cmpf ugt, %v20, %zero : f32
    %v21 = arith.select %c20, %v20, %zero : f32
    %c21 = arith.cmpf ugt, %v21, %zero : f32
    %v22 = arith.select %c21, %v21, %zero : f32
    %c22 = arith.cmpf ugt, %v22, %zero : f32
    %v23 = arith.select %c22, %v22, %zero : f32
    %c23 = arith.cmpf ugt, %v23, %zero : f32
    %v24 = arith.select %c23, %v23, %zero : f32
    %c24 = arith.cmpf ugt, %v24, %zero : f32
    %v25 = arith.select %c24, %v24, %zero : f32
    %c25 = arith.cmpf ugt, %v25, %zero : f32
    %v26 = arith.select %c25, %v25, %zero : f32
    %c26 = arith.cmpf ugt, %v26, %zero : f32
    %v27 = arith.select %c26, %v26, %zero : f32
    %c27 = arith.cmpf ugt, %v27, %zero : f32
    %v28 = arith.select %c27, %v27, %zero : f32
    %c28 = arith.cmpf ugt, %v28, %zero : f32
    %v29 = arith.select %c28, %v28, %zero : f32
    %c29 = arith.cmpf ugt, %v29, %zero : f32
    %v30 = arith.select %c29, %v29, %zero : f32
    %c30 = arith.cmpf ugt, %v30, %zero : f32
    %v31 = arith.select %c30, %v30, %zero : f32
    %c31 = arith.cmpf ugt, %v31, %zero : f32
    %v32 = arith.select %c31, %v31, %zero : f32
    redfuse.yield %v32 : f32
  } -> tensor<5xf32>
  return %r#0 : tensor<5xf32>
}
