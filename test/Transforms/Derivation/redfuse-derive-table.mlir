// RUN: redfuse-opt -redfuse-normalize -redfuse-raise -redfuse-fuse -redfuse-derive=all=true %s | FileCheck %s

// What is derived from plain linalg: the state, how the source's reductions come
// out of it, and how it moves to another pivot. `redfuse verify` proves these.

// exp(x - m)
// CHECK-LABEL: @exponentials
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "maximumf"}, {names = ["t1"], operands = [#redfuse.formula<"exp(x0 - t0')">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t0">, name = "d0"}, {formula = #redfuse.formula<"t1*exp(t0 - d0)">, name = "d1"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"exp(t0 - t0')*t1">, name = "t1"}]
func.func @exponentials(%x: tensor<5x37xf32>) -> tensor<5xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %m_e = tensor.empty() : tensor<5xf32>
  %m_i = linalg.fill ins(%low : f32) outs(%m_e : tensor<5xf32>) -> tensor<5xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%m_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %r = arith.maximumf %acc, %x_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %l_e = tensor.empty() : tensor<5xf32>
  %l_i = linalg.fill ins(%zero : f32) outs(%l_e : tensor<5xf32>) -> tensor<5xf32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<5x37xf32>, tensor<5xf32>) outs(%l_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %m_v: f32, %acc: f32):
    %c = arith.subf %x_v, %m_v : f32
    %v = math.exp %c : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %l : tensor<5xf32>
}

// exp(x - m)/l * v: the division sinks out of the loop
// CHECK-LABEL: @weighted_sum
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 2>, reducer = "maximumf"}, {names = ["t1"], operands = [#redfuse.formula<"exp(x0 - t0')">], over = array<i64: 2>, reducer = "add"}, {names = ["t2"], operands = [#redfuse.formula<"exp(x0 - t0')*x1">], over = array<i64: 2>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t0">, name = "d0"}, {formula = #redfuse.formula<"t1*exp(t0 - d0)">, name = "d1"}, {formula = #redfuse.formula<"t2*exp(t0 - d0)/d1">, name = "d2"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"exp(t0 - t0')*t1">, name = "t1"}, {formula = #redfuse.formula<"exp(t0 - t0')*t2">, name = "t2"}]
func.func @weighted_sum(%x: tensor<5x37xf32>, %w: tensor<37x3xf32>) -> tensor<5x3xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %m_e = tensor.empty() : tensor<5xf32>
  %m_i = linalg.fill ins(%low : f32) outs(%m_e : tensor<5xf32>) -> tensor<5xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%m_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %r = arith.maximumf %acc, %x_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %l_e = tensor.empty() : tensor<5xf32>
  %l_i = linalg.fill ins(%zero : f32) outs(%l_e : tensor<5xf32>) -> tensor<5xf32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<5x37xf32>, tensor<5xf32>) outs(%l_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %m_v: f32, %acc: f32):
    %c = arith.subf %x_v, %m_v : f32
    %v = math.exp %c : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %o_e = tensor.empty() : tensor<5x3xf32>
  %o_i = linalg.fill ins(%zero : f32) outs(%o_e : tensor<5x3xf32>) -> tensor<5x3xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (i)>, affine_map<(i, d, j) -> (i)>, affine_map<(i, d, j) -> (j, d)>, affine_map<(i, d, j) -> (i, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %m, %l, %w : tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>, tensor<37x3xf32>) outs(%o_i : tensor<5x3xf32>) {
  ^bb0(%x_v: f32, %m_v: f32, %l_v: f32, %w_v: f32, %acc: f32):
    %c = arith.subf %x_v, %m_v : f32
    %e = math.exp %c : f32
    %p = arith.divf %e, %l_v : f32
    %v = arith.mulf %p, %w_v : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5x3xf32>
  return %o : tensor<5x3xf32>
}

// x*w*rsqrt(D + e)
// CHECK-LABEL: @scaled
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{names = ["t0"], operands = [#redfuse.formula<"a0">], over = array<i64: 2>, reducer = "add"}, {names = ["t1"], operands = [#redfuse.formula<"x0*x1">], over = array<i64: 2>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t0">, name = "d0"}, {formula = #redfuse.formula<"t1/sqrt(d0/37 + 9.9999999747524271e-07)">, name = "d1"}]
// CHECK-SAME: transport = []
func.func @scaled(%x: tensor<5x37xf32>, %w: tensor<37x3xf32>) -> tensor<5x3xf32> {
  %n = arith.constant 37.0 : f32
  %eps = arith.constant 1.0e-06 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %q_e = tensor.empty() : tensor<5xf32>
  %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<5xf32>) -> tensor<5xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%q_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %v = arith.mulf %x_v, %x_v : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %o_e = tensor.empty() : tensor<5x3xf32>
  %o_i = linalg.fill ins(%zero : f32) outs(%o_e : tensor<5x3xf32>) -> tensor<5x3xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (i)>, affine_map<(i, d, j) -> (j, d)>, affine_map<(i, d, j) -> (i, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %q, %w : tensor<5x37xf32>, tensor<5xf32>, tensor<37x3xf32>) outs(%o_i : tensor<5x3xf32>) {
  ^bb0(%x_v: f32, %q_v: f32, %w_v: f32, %acc: f32):
    %me = arith.divf %q_v, %n : f32
    %ve = arith.addf %me, %eps : f32
    %rs = math.rsqrt %ve : f32
    %t = arith.mulf %x_v, %rs : f32
    %v = arith.mulf %t, %w_v : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5x3xf32>
  return %o : tensor<5x3xf32>
}

// (x - mu)^2: about a pivot inside the data
// CHECK-LABEL: @variance
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{mean = #redfuse.formula<"x0">, names = ["t0"], weight = "t1"}, {names = ["t1"], operands = [#redfuse.formula<"1">], over = array<i64: 1>, reducer = "add"}, {names = ["t2"], operands = [#redfuse.formula<"(x0 - t0')">], over = array<i64: 1>, reducer = "add"}, {names = ["t3"], operands = [#redfuse.formula<"(x0 - t0')**2">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t3 + 2*t2*(-t2/37) + 37*(-t2/37)**2">, name = "d1"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"t2 + (t0 - t0')*t1">, name = "t2"}, {formula = #redfuse.formula<"t3 + 2*(t0 - t0')*t2 + (t0 - t0')**2*t1">, name = "t3"}]
func.func @variance(%x: tensor<5x37xf32>) -> tensor<5xf32> {
  %n = arith.constant 37.0 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %s_e = tensor.empty() : tensor<5xf32>
  %s_i = linalg.fill ins(%zero : f32) outs(%s_e : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%s_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %r = arith.addf %acc, %x_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %q_e = tensor.empty() : tensor<5xf32>
  %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<5xf32>) -> tensor<5xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %s : tensor<5x37xf32>, tensor<5xf32>) outs(%q_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %s_v: f32, %acc: f32):
    %mu = arith.divf %s_v, %n : f32
    %c = arith.subf %x_v, %mu : f32
    %v = arith.mulf %c, %c : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %q : tensor<5xf32>
}

// (x - mu)^4
// CHECK-LABEL: @fourth_moment
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{mean = #redfuse.formula<"x0">, names = ["t0"], weight = "t1"}, {names = ["t1"], operands = [#redfuse.formula<"1">], over = array<i64: 1>, reducer = "add"}, {names = ["t2"], operands = [#redfuse.formula<"(x0 - t0')">], over = array<i64: 1>, reducer = "add"}, {names = ["t3"], operands = [#redfuse.formula<"(x0 - t0')**4">], over = array<i64: 1>, reducer = "add"}, {names = ["t4"], operands = [#redfuse.formula<"(x0 - t0')**3">], over = array<i64: 1>, reducer = "add"}, {names = ["t5"], operands = [#redfuse.formula<"(x0 - t0')**2">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t3 + 4*t4*(-t2/37) + 6*t5*(-t2/37)**2 + 4*t2*(-t2/37)**3 + 37*(-t2/37)**4">, name = "d1"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"t2 + (t0 - t0')*t1">, name = "t2"}, {formula = #redfuse.formula<"t3 + 4*(t0 - t0')*t4 + 6*(t0 - t0')**2*t5 + 4*(t0 - t0')**3*t2 + (t0 - t0')**4*t1">, name = "t3"}, {formula = #redfuse.formula<"t4 + 3*(t0 - t0')*t5 + 3*(t0 - t0')**2*t2 + (t0 - t0')**3*t1">, name = "t4"}, {formula = #redfuse.formula<"t5 + 2*(t0 - t0')*t2 + (t0 - t0')**2*t1">, name = "t5"}]
func.func @fourth_moment(%x: tensor<5x37xf32>) -> tensor<5xf32> {
  %n = arith.constant 37.0 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %s_e = tensor.empty() : tensor<5xf32>
  %s_i = linalg.fill ins(%zero : f32) outs(%s_e : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%s_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %r = arith.addf %acc, %x_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %q_e = tensor.empty() : tensor<5xf32>
  %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<5xf32>) -> tensor<5xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %s : tensor<5x37xf32>, tensor<5xf32>) outs(%q_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %s_v: f32, %acc: f32):
    %mu = arith.divf %s_v, %n : f32
    %c = arith.subf %x_v, %mu : f32
    %d2 = arith.mulf %c, %c : f32
    %v = arith.mulf %d2, %d2 : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %q : tensor<5xf32>
}

// (x - mu)^3
// CHECK-LABEL: @third_moment
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{mean = #redfuse.formula<"x0">, names = ["t0"], weight = "t1"}, {names = ["t1"], operands = [#redfuse.formula<"1">], over = array<i64: 1>, reducer = "add"}, {names = ["t2"], operands = [#redfuse.formula<"(x0 - t0')">], over = array<i64: 1>, reducer = "add"}, {names = ["t3"], operands = [#redfuse.formula<"(x0 - t0')**3">], over = array<i64: 1>, reducer = "add"}, {names = ["t4"], operands = [#redfuse.formula<"(x0 - t0')**2">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t3 + 3*t4*(-t2/37) + 3*t2*(-t2/37)**2 + 37*(-t2/37)**3">, name = "d1"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"t2 + (t0 - t0')*t1">, name = "t2"}, {formula = #redfuse.formula<"t3 + 3*(t0 - t0')*t4 + 3*(t0 - t0')**2*t2 + (t0 - t0')**3*t1">, name = "t3"}, {formula = #redfuse.formula<"t4 + 2*(t0 - t0')*t2 + (t0 - t0')**2*t1">, name = "t4"}]
func.func @third_moment(%x: tensor<5x37xf32>) -> tensor<5xf32> {
  %n = arith.constant 37.0 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %s_e = tensor.empty() : tensor<5xf32>
  %s_i = linalg.fill ins(%zero : f32) outs(%s_e : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%s_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %r = arith.addf %acc, %x_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %q_e = tensor.empty() : tensor<5xf32>
  %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<5xf32>) -> tensor<5xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %s : tensor<5x37xf32>, tensor<5xf32>) outs(%q_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %s_v: f32, %acc: f32):
    %mu = arith.divf %s_v, %n : f32
    %c = arith.subf %x_v, %mu : f32
    %d2 = arith.mulf %c, %c : f32
    %v = arith.mulf %d2, %c : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %q : tensor<5xf32>
}

// (x - mu)*(y - nu): a product of pivots
// CHECK-LABEL: @covariance
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{mean = #redfuse.formula<"x0">, names = ["t0"], weight = "t1"}, {names = ["t1"], operands = [#redfuse.formula<"1">], over = array<i64: 1>, reducer = "add"}, {names = ["t2"], operands = [#redfuse.formula<"(x0 - t0')">], over = array<i64: 1>, reducer = "add"}, {mean = #redfuse.formula<"x1">, names = ["t3"], weight = "t1"}, {names = ["t4"], operands = [#redfuse.formula<"(x1 - t3')">], over = array<i64: 1>, reducer = "add"}, {names = ["t5"], operands = [#redfuse.formula<"(x0 - t0')*(x1 - t3')">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t5 + t2*(-t4/37) + t4*(-t2/37) + 37*(-t2/37)*(-t4/37)">, name = "d2"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"t2 + (t0 - t0')*t1">, name = "t2"}, {formula = #redfuse.formula<"t4 + (t3 - t3')*t1">, name = "t4"}, {formula = #redfuse.formula<"(t5 + (t3 - t3')*t2) + (t0 - t0')*(t4 + (t3 - t3')*t1)">, name = "t5"}]
func.func @covariance(%x: tensor<5x37xf32>, %y: tensor<5x37xf32>) -> tensor<5xf32> {
  %n = arith.constant 37.0 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %s_e = tensor.empty() : tensor<5xf32>
  %s_i = linalg.fill ins(%zero : f32) outs(%s_e : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%s_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %r = arith.addf %acc, %x_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %t_e = tensor.empty() : tensor<5xf32>
  %t_i = linalg.fill ins(%zero : f32) outs(%t_e : tensor<5xf32>) -> tensor<5xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<5x37xf32>) outs(%t_i : tensor<5xf32>) {
  ^bb0(%y_v: f32, %acc: f32):
    %r = arith.addf %acc, %y_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %q_e = tensor.empty() : tensor<5xf32>
  %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<5xf32>) -> tensor<5xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %s, %y, %t : tensor<5x37xf32>, tensor<5xf32>, tensor<5x37xf32>, tensor<5xf32>) outs(%q_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %s_v: f32, %y_v: f32, %t_v: f32, %acc: f32):
    %mu = arith.divf %s_v, %n : f32
    %c = arith.subf %x_v, %mu : f32
    %nu = arith.divf %t_v, %n : f32
    %g = arith.subf %y_v, %nu : f32
    %v = arith.mulf %c, %g : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %q : tensor<5xf32>
}

// w*(x - c)^2, c the weighted mean
// CHECK-LABEL: @moment_of_inertia
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "add"}, {mean = #redfuse.formula<"x1">, names = ["t1"], weight = "t2"}, {names = ["t2"], operands = [#redfuse.formula<"Abs(x0)">], over = array<i64: 1>, reducer = "add"}, {names = ["t3"], operands = [#redfuse.formula<"(x1 - t1')*x0">], over = array<i64: 1>, reducer = "add"}, {names = ["t4"], operands = [#redfuse.formula<"(x1 - t1')**2*x0">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t4 + 2*t3*(-t3/t0) + t0*(-t3/t0)**2">, name = "d2"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"t3 + (t1 - t1')*t0">, name = "t3"}, {formula = #redfuse.formula<"t4 + 2*(t1 - t1')*t3 + (t1 - t1')**2*t0">, name = "t4"}]
func.func @moment_of_inertia(%x: tensor<5x37xf32>, %y: tensor<5x37xf32>) -> tensor<5xf32> {
  %zero = arith.constant 0.000000e+00 : f32
  %s_e = tensor.empty() : tensor<5xf32>
  %s_i = linalg.fill ins(%zero : f32) outs(%s_e : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : tensor<5x37xf32>, tensor<5x37xf32>) outs(%s_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %y_v: f32, %acc: f32):
    %v = arith.mulf %x_v, %y_v : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %t_e = tensor.empty() : tensor<5xf32>
  %t_i = linalg.fill ins(%zero : f32) outs(%t_e : tensor<5xf32>) -> tensor<5xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<5x37xf32>) outs(%t_i : tensor<5xf32>) {
  ^bb0(%y_v: f32, %acc: f32):
    %r = arith.addf %acc, %y_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %q_e = tensor.empty() : tensor<5xf32>
  %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<5xf32>) -> tensor<5xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y, %s, %t : tensor<5x37xf32>, tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>) outs(%q_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %y_v: f32, %s_v: f32, %t_v: f32, %acc: f32):
    %mu = arith.divf %s_v, %t_v : f32
    %c = arith.subf %x_v, %mu : f32
    %d2 = arith.mulf %c, %c : f32
    %v = arith.mulf %y_v, %d2 : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %q : tensor<5xf32>
}

// (x - mu)/sigma * w: the sum of w is a component
// CHECK-LABEL: @normalised_product
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{mean = #redfuse.formula<"x0">, names = ["t0"], weight = "t1"}, {names = ["t1"], operands = [#redfuse.formula<"1">], over = array<i64: 2>, reducer = "add"}, {names = ["t2"], operands = [#redfuse.formula<"(x0 - t0')">], over = array<i64: 2>, reducer = "add"}, {names = ["t3"], operands = [#redfuse.formula<"(x0 - t0')**2">], over = array<i64: 2>, reducer = "add"}, {names = ["t4"], operands = [#redfuse.formula<"(x0 - t0')*x1">], over = array<i64: 2>, reducer = "add"}, {names = ["t5"], operands = [#redfuse.formula<"x1">], over = array<i64: 2>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t3 + 2*t2*(-t2/37) + 37*(-t2/37)**2">, name = "d1"}, {formula = #redfuse.formula<"t4/sqrt(d1/37 + 9.9999999747524271e-07) + t5*(-t2/37)/sqrt(d1/37 + 9.9999999747524271e-07)">, name = "d2"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"t2 + (t0 - t0')*t1">, name = "t2"}, {formula = #redfuse.formula<"t3 + 2*(t0 - t0')*t2 + (t0 - t0')**2*t1">, name = "t3"}, {formula = #redfuse.formula<"t4 + (t0 - t0')*t5">, name = "t4"}]
func.func @normalised_product(%x: tensor<5x37xf32>, %w: tensor<37x3xf32>) -> tensor<5x3xf32> {
  %n = arith.constant 37.0 : f32
  %eps = arith.constant 1.0e-06 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %s_e = tensor.empty() : tensor<5xf32>
  %s_i = linalg.fill ins(%zero : f32) outs(%s_e : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%s_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %r = arith.addf %acc, %x_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %q_e = tensor.empty() : tensor<5xf32>
  %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<5xf32>) -> tensor<5xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %s : tensor<5x37xf32>, tensor<5xf32>) outs(%q_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %s_v: f32, %acc: f32):
    %mu = arith.divf %s_v, %n : f32
    %c = arith.subf %x_v, %mu : f32
    %v = arith.mulf %c, %c : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %o_e = tensor.empty() : tensor<5x3xf32>
  %o_i = linalg.fill ins(%zero : f32) outs(%o_e : tensor<5x3xf32>) -> tensor<5x3xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (i)>, affine_map<(i, d, j) -> (i)>, affine_map<(i, d, j) -> (j, d)>, affine_map<(i, d, j) -> (i, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %s, %q, %w : tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>, tensor<37x3xf32>) outs(%o_i : tensor<5x3xf32>) {
  ^bb0(%x_v: f32, %s_v: f32, %q_v: f32, %w_v: f32, %acc: f32):
    %mu = arith.divf %s_v, %n : f32
    %c = arith.subf %x_v, %mu : f32
    %va = arith.divf %q_v, %n : f32
    %ve = arith.addf %va, %eps : f32
    %rs = math.rsqrt %ve : f32
    %t = arith.mulf %c, %rs : f32
    %v = arith.mulf %t, %w_v : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5x3xf32>
  return %o : tensor<5x3xf32>
}

// max |x|*rsqrt(D + e)
// CHECK-LABEL: @scaled_maximum
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{names = ["t0"], operands = [#redfuse.formula<"a0">], over = array<i64: 1>, reducer = "add"}, {names = ["t1"], operands = [#redfuse.formula<"a1">], over = array<i64: 1>, reducer = "maximumf"}, {names = ["t2"], operands = [#redfuse.formula<"a1">], over = array<i64: 1>, reducer = "minimumf"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t0">, name = "d0"}, {formula = #redfuse.formula<"maximumf(t1*1/sqrt(d0 + 9.9999999747524271e-07), t2*1/sqrt(d0 + 9.9999999747524271e-07))">, name = "d1"}]
// CHECK-SAME: transport = []
func.func @scaled_maximum(%x: tensor<5x37xf32>) -> tensor<5xf32> {
  %eps = arith.constant 1.0e-06 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %low = arith.constant 0xFF800000 : f32
  %q_e = tensor.empty() : tensor<5xf32>
  %q_i = linalg.fill ins(%zero : f32) outs(%q_e : tensor<5xf32>) -> tensor<5xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%q_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %v = arith.mulf %x_v, %x_v : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %o_e = tensor.empty() : tensor<5xf32>
  %o_i = linalg.fill ins(%low : f32) outs(%o_e : tensor<5xf32>) -> tensor<5xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %q : tensor<5x37xf32>, tensor<5xf32>) outs(%o_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %q_v: f32, %acc: f32):
    %ve = arith.addf %q_v, %eps : f32
    %rs = math.rsqrt %ve : f32
    %a = math.absf %x_v : f32
    %v = arith.mulf %a, %rs : f32
    %r = arith.maximumf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// p*log p
// CHECK-LABEL: @entropy
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "maximumf"}, {names = ["t1"], operands = [#redfuse.formula<"exp(x0 - t0')">], over = array<i64: 1>, reducer = "add"}, {names = ["t2"], operands = [#redfuse.formula<"exp(x0 - t0')*(x0 - t0')">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t0">, name = "d0"}, {formula = #redfuse.formula<"t1*exp(t0 - d0)">, name = "d1"}, {formula = #redfuse.formula<"t2*exp(t0 - d0)/d1 + t1*exp(t0 - d0)*(t0 - d0 - log(d1))/d1">, name = "d2"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"exp(t0 - t0')*t1">, name = "t1"}, {formula = #redfuse.formula<"exp(t0 - t0')*(t2 + (t0 - t0')*t1)">, name = "t2"}]
func.func @entropy(%x: tensor<5x37xf32>) -> tensor<5xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %m_e = tensor.empty() : tensor<5xf32>
  %m_i = linalg.fill ins(%low : f32) outs(%m_e : tensor<5xf32>) -> tensor<5xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%m_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %r = arith.maximumf %acc, %x_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %l_e = tensor.empty() : tensor<5xf32>
  %l_i = linalg.fill ins(%zero : f32) outs(%l_e : tensor<5xf32>) -> tensor<5xf32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<5x37xf32>, tensor<5xf32>) outs(%l_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %m_v: f32, %acc: f32):
    %c = arith.subf %x_v, %m_v : f32
    %v = math.exp %c : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %o_e = tensor.empty() : tensor<5xf32>
  %o_i = linalg.fill ins(%zero : f32) outs(%o_e : tensor<5xf32>) -> tensor<5xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m, %l : tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>) outs(%o_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %m_v: f32, %l_v: f32, %acc: f32):
    %c = arith.subf %x_v, %m_v : f32
    %e = math.exp %c : f32
    %k = math.log %l_v : f32
    %lp = arith.subf %c, %k : f32
    %p = arith.divf %e, %l_v : f32
    %v = arith.mulf %p, %lp : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// p*(log p - log q)
// CHECK-LABEL: @divergence
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{names = ["t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "maximumf"}, {names = ["t1"], operands = [#redfuse.formula<"exp(x0 - t0')">], over = array<i64: 1>, reducer = "add"}, {names = ["t2"], operands = [#redfuse.formula<"x1">], over = array<i64: 1>, reducer = "maximumf"}, {names = ["t3"], operands = [#redfuse.formula<"exp(x1 - t2')">], over = array<i64: 1>, reducer = "add"}, {names = ["t4"], operands = [#redfuse.formula<"exp(x0 - t0')*(x0 - x1 - t0' + t2')">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t0">, name = "d0"}, {formula = #redfuse.formula<"t1*exp(t0 - d0)">, name = "d1"}, {formula = #redfuse.formula<"t2">, name = "d2"}, {formula = #redfuse.formula<"t3*exp(t2 - d2)">, name = "d3"}, {formula = #redfuse.formula<"t4*exp(t0 - d0)/d1 + t1*exp(t0 - d0)*(t0 - t2 - d0 - log(d1) + d2 + log(d3))/d1">, name = "d4"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"exp(t0 - t0')*t1">, name = "t1"}, {formula = #redfuse.formula<"exp(t2 - t2')*t3">, name = "t3"}, {formula = #redfuse.formula<"exp(t0 - t0')*(t4 + (t0 - t2 - t0' + t2')*t1)">, name = "t4"}]
func.func @divergence(%x: tensor<5x37xf32>, %y: tensor<5x37xf32>) -> tensor<5xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.000000e+00 : f32
  %m_e = tensor.empty() : tensor<5xf32>
  %m_i = linalg.fill ins(%low : f32) outs(%m_e : tensor<5xf32>) -> tensor<5xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%m_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %r = arith.maximumf %acc, %x_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %l_e = tensor.empty() : tensor<5xf32>
  %l_i = linalg.fill ins(%zero : f32) outs(%l_e : tensor<5xf32>) -> tensor<5xf32>
  %l = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<5x37xf32>, tensor<5xf32>) outs(%l_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %m_v: f32, %acc: f32):
    %c = arith.subf %x_v, %m_v : f32
    %v = math.exp %c : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %m2_e = tensor.empty() : tensor<5xf32>
  %m2_i = linalg.fill ins(%low : f32) outs(%m2_e : tensor<5xf32>) -> tensor<5xf32>
  %m2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<5x37xf32>) outs(%m2_i : tensor<5xf32>) {
  ^bb0(%y_v: f32, %acc: f32):
    %r = arith.maximumf %acc, %y_v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %l2_e = tensor.empty() : tensor<5xf32>
  %l2_i = linalg.fill ins(%zero : f32) outs(%l2_e : tensor<5xf32>) -> tensor<5xf32>
  %l2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%y, %m2 : tensor<5x37xf32>, tensor<5xf32>) outs(%l2_i : tensor<5xf32>) {
  ^bb0(%y_v: f32, %m2_v: f32, %acc: f32):
    %c = arith.subf %y_v, %m2_v : f32
    %v = math.exp %c : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %o_e = tensor.empty() : tensor<5xf32>
  %o_i = linalg.fill ins(%zero : f32) outs(%o_e : tensor<5xf32>) -> tensor<5xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m, %l, %y, %m2, %l2 : tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5x37xf32>, tensor<5xf32>, tensor<5xf32>) outs(%o_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %m_v: f32, %l_v: f32, %y_v: f32, %m2_v: f32, %l2_v: f32, %acc: f32):
    %c = arith.subf %x_v, %m_v : f32
    %e = math.exp %c : f32
    %k = math.log %l_v : f32
    %lp = arith.subf %c, %k : f32
    %c2 = arith.subf %y_v, %m2_v : f32
    %k2 = math.log %l2_v : f32
    %lq = arith.subf %c2, %k2 : f32
    %lr = arith.subf %lp, %lq : f32
    %p = arith.divf %e, %l_v : f32
    %v = arith.mulf %p, %lr : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// log(x*D), both positive
// CHECK-LABEL: @logarithm
// CHECK: redfuse.fold
// CHECK-SAME: basis = [{names = ["t0"], operands = [#redfuse.formula<"a0">], over = array<i64: 1>, reducer = "add"}, {mean = #redfuse.formula<"log(a0)">, names = ["t1"], weight = "t2"}, {names = ["t2"], operands = [#redfuse.formula<"1">], over = array<i64: 1>, reducer = "add"}, {names = ["t3"], operands = [#redfuse.formula<"(log(a0) - t1')">], over = array<i64: 1>, reducer = "add"}]
// CHECK-SAME: finalise = [{formula = #redfuse.formula<"t0">, name = "d0"}, {formula = #redfuse.formula<"t3 + 37*(t1 + log(d0))">, name = "d1"}]
// CHECK-SAME: transport = [{formula = #redfuse.formula<"t3 + (t1 - t1')*t2">, name = "t3"}]
func.func @logarithm(%x: tensor<5x37xf32>) -> tensor<5xf32> {
  %zero = arith.constant 0.000000e+00 : f32
  %s_e = tensor.empty() : tensor<5xf32>
  %s_i = linalg.fill ins(%zero : f32) outs(%s_e : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x37xf32>) outs(%s_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %acc: f32):
    %v = math.exp %x_v : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %o_e = tensor.empty() : tensor<5xf32>
  %o_i = linalg.fill ins(%zero : f32) outs(%o_e : tensor<5xf32>) -> tensor<5xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %s : tensor<5x37xf32>, tensor<5xf32>) outs(%o_i : tensor<5xf32>) {
  ^bb0(%x_v: f32, %s_v: f32, %acc: f32):
    %e = math.exp %x_v : f32
    %t = arith.mulf %e, %s_v : f32
    %v = math.log %t : f32
    %r = arith.addf %acc, %v : f32
    linalg.yield %r : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}
