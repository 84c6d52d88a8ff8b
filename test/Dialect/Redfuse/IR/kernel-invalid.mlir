// Each clause of the verifiers of schedules, kernels and launches.
// RUN: redfuse-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

//===-- Schedules ------------------------------------------------------------===//

func.func @schedule_tiles(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{the schedule has 1 tiles, expected one for each of the 2 iteration dims}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], schedule = #redfuse.schedule<resident, tiles = [4]>}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @schedule_grid(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{dim 1 is in 'grid' of the schedule, but it is reduced: expected a parallel dim}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], schedule = #redfuse.schedule<resident, grid = [1], tiles = [4, 4]>}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

//===-- Kernels and launches ---------------------------------------------------===//

// expected-error @below {{num_inputs is 2, expected at least 0 and less than the 2 arguments (the rest are destinations)}}
redfuse.kernel @k attributes {num_inputs = 2 : i64} {
^bb0(%x: tensor<6xf32>, %a: tensor<6xf32>):
  redfuse.yield %x : tensor<6xf32>
}

// -----

// expected-error @below {{argument 1 is a destination and must be a ranked tensor, got 'f32'}}
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6xf32>, %a: f32):
  redfuse.yield %x : tensor<6xf32>
}

// -----

redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6xf32>, %a: tensor<6xf32>):
  // expected-error @below {{expected 1 values, one for each destination, got 2}}
  redfuse.yield %x, %x : tensor<6xf32>, tensor<6xf32>
}

// -----

redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6xf32>, %a: tensor<7xf32>):
  // expected-error @below {{value 0 has type 'tensor<6xf32>', but its destination has 'tensor<7xf32>'}}
  redfuse.yield %x : tensor<6xf32>
}

// -----

// A kernel sees its arguments and nothing else.
"some.scope"() ({
^bb0(%y: tensor<6xf32>):
  // expected-note @below {{required by region isolation constraints}}
  redfuse.kernel @k attributes {num_inputs = 1 : i64} {
  ^bb0(%x: tensor<6xf32>, %a: tensor<6xf32>):
    // expected-error @below {{using value defined outside the region}}
    redfuse.yield %y : tensor<6xf32>
  }
}) : () -> ()

// -----

redfuse.kernel @dims attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6x7xf32>, %a: tensor<6xf32>, %b: tensor<6xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  // expected-error @below {{has 1 iteration dims, but the kernel's other ops have 2}}
  %1 = redfuse.finalize {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%0 : tensor<6xf32>) outs(%b : tensor<6xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  redfuse.yield %0, %1 : tensor<6xf32>, tensor<6xf32>
}

// -----

redfuse.kernel @extents attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6x7xf32>, %a: tensor<6xf32>, %b: tensor<7xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  // expected-error @below {{dim 0 has extent 7, but another op of the kernel has 6}}
  %1 = redfuse.finalize {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]} ins(%b : tensor<7xf32>) outs(%b : tensor<7xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<7xf32>
  redfuse.yield %0, %1 : tensor<6xf32>, tensor<7xf32>
}

// -----

redfuse.kernel @grid attributes {num_inputs = 1 : i64, schedule = #redfuse.schedule<resident, grid = [1], tiles = [4, 4]>} {
^bb0(%x: tensor<6x7xf32>, %a: tensor<6xf32>):
  // expected-error @below {{dim 1 is in 'grid' of the schedule, but it is reduced: expected a parallel dim}}
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  redfuse.yield %0 : tensor<6xf32>
}

// -----

// expected-error @below {{the schedule has 1 tiles, expected one for each of the 2 iteration dims}}
redfuse.kernel @tiles attributes {num_inputs = 1 : i64, schedule = #redfuse.schedule<resident, tiles = [4]>} {
^bb0(%x: tensor<6x7xf32>, %a: tensor<6xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  redfuse.yield %0 : tensor<6xf32>
}

// -----

func.func @no_kernel(%a: tensor<6xf32>) {
  // expected-error @below {{'k' does not name a redfuse.kernel}}
  %0 = redfuse.launch @k outs(%a : tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6xf32>, %a: tensor<6xf32>):
  redfuse.yield %x : tensor<6xf32>
}
func.func @operands(%a: tensor<6xf32>) {
  // expected-error @below {{passes 0 inputs and 1 inits, but 'k' takes 1 and 1}}
  %0 = redfuse.launch @k outs(%a : tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6xf32>, %a: tensor<6xf32>):
  redfuse.yield %x : tensor<6xf32>
}
func.func @shapes(%x: tensor<5xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{operand 0 has type 'tensor<5xf32>', but 'k' takes 'tensor<6xf32>'}}
  %0 = redfuse.launch @k ins(%x : tensor<5xf32>) outs(%a : tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @launch_results(%a: tensor<6xf32>) {
  // expected-error @below {{expected no results (on buffers) or one for each of the 1 inits, got 2}}
  %0:2 = redfuse.launch @k outs(%a : tensor<6xf32>) -> tensor<6xf32>, tensor<6xf32>
  return
}

// -----

func.func @launch_result_type(%a: tensor<6xf32>) {
  // expected-error @below {{result 0 has type 'tensor<7xf32>', but its init has 'tensor<6xf32>'}}
  %0 = redfuse.launch @k outs(%a : tensor<6xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @launch_mixed(%a: tensor<6xf32>) {
  // expected-error @below {{init 0 has type 'tensor<6xf32>', expected buffers where there are no results}}
  redfuse.launch @k outs(%a : tensor<6xf32>)
  return
}

// -----

func.func @launch_buffers(%a: memref<6xf32>) {
  // expected-error @below {{init 0 has type 'memref<6xf32>', expected tensors where there are results}}
  %0 = redfuse.launch @k outs(%a : memref<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @yield_place(%x: f32) {
  scf.execute_region {
    // expected-error @below {{expects parent op to be one of 'redfuse.cascade, redfuse.fold, redfuse.merge, redfuse.finalize, redfuse.kernel, redfuse.reduce, redfuse.scan, redfuse.combine'}}
    redfuse.yield %x : f32
  }
  return
}

// -----

func.func @declared_no_identities(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{expected 1 'identities', one for each operand, got 0}}
    %s = redfuse.reduce declared %u over [1] into [0]  : f32 combine {
    ^bb0(%l: f32, %r0: f32):
      %t = arith.addf %l, %r0 : f32
      redfuse.yield %t : f32
    }
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @declared_identity_type(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{identity 0 must be a constant of type 'f32', got 0 : i32}}
    %s = redfuse.reduce declared %u over [1] into [0] {identities = [0 : i32]} : f32 combine {
    ^bb0(%l: f32, %r0: f32):
      %t = arith.addf %l, %r0 : f32
      redfuse.yield %t : f32
    }
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @declared_no_region(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{a declared reducer needs a combining region}}
    %s = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32]} : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @declared_region_arguments(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{the combining region takes 2 arguments, a left and a right state, got 1}}
    %s = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32):
      redfuse.yield %l : f32
    }
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @declared_region_types(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{argument 1 of the combining region has type 'f64', expected 'f32'}}
    %s = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r0: f64):
      redfuse.yield %l : f32
    }
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @declared_yield(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r0: f32):
      // expected-error @below {{expected one value for each operand, of its type}}
      redfuse.yield %l, %r0 : f32, f32
    }
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @declared_nested_reduce(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r0: f32):
      // expected-error @below {{must stand in the body of a redfuse op}}
      %i = redfuse.index 0
      redfuse.yield %l : f32
    }
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @declared_captures(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-note @below {{required by region isolation constraints}}
    %s = redfuse.reduce declared %u over [1] into [0] {identities = [0.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %r0: f32):
      // expected-error @below {{using value defined outside the region}}
      %t = arith.addf %l, %u : f32
      redfuse.yield %t : f32
    }
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @known_with_region(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{only a declared reducer has 'identities', 'ordered' and a combining region, got add}}
    %s = redfuse.reduce add %u over [1] into [0]  : f32 combine {
    ^bb0(%l: f32, %r0: f32):
      %t = arith.addf %l, %r0 : f32
      redfuse.yield %t : f32
    }
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @known_ordered(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{only a declared reducer has 'identities', 'ordered' and a combining region, got add}}
    %s = redfuse.reduce add %u over [1] into [0] {ordered} : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @scan_dim(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{names dim 5, but there are 2 iteration dims}}
    %c = redfuse.scan add %u along 5 : f32
    %s = redfuse.reduce add %c over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @scan_pairs(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %j = redfuse.index 1
    // expected-error @below {{does not take argmax}}
    %c:2 = redfuse.scan argmax %u, %j along 1 : f32, index
    %s = redfuse.reduce add %c#0 over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @scan_not_yielded(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.scan add %u along 1 : f32
    // expected-error @below {{value 0 depends on dim 1, which the map of its init lacks: reduce it first}}
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @merge_topk_rank(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %k = arith.constant 0 : i64
    %m = redfuse.reduce add %u over [1] into [0] : f32
    // expected-error @below {{no operand depends on dim 1, the rank}}
    %s, %i = redfuse.merge_topk %m, %k, %m, %k along 1 : f32, i64
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @output_without_dim(%x: tensor<6x7xf32>, %a: tensor<6xf32>, %o: tensor<6xf32>) {
  // expected-error @below {{result 1 has no identity and is no component of the state: its map must have every dim of 'over'}}
  %r:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], over = array<i64: 1>, identities = [0.0 : f32]}
    ins(%x : tensor<6x7xf32>) outs(%a, %o : tensor<6xf32>, tensor<6xf32>)
  step {
  ^bb0(%u: f32, %s: f32):
    %t = redfuse.reduce add %u over [1] into [0] : f32
    %n = arith.addf %s, %t : f32
    redfuse.yield %n, %n : f32, f32
  } merge {
  ^bb0(%p: f32, %q: f32):
    %n = arith.addf %p, %q : f32
    redfuse.yield %n : f32
  } -> tensor<6xf32>, tensor<6xf32>
  return
}

// -----

func.func @no_state(%x: tensor<6x7xf32>, %a: tensor<6xf32>, %o: tensor<6xf32>) {
  // expected-error @below {{expected an identity for each component of the state, at least 1 and at most 2, got 0}}
  %r:2 = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], over = array<i64: 1>, identities = []}
    ins(%x : tensor<6x7xf32>) outs(%a, %o : tensor<6xf32>, tensor<6xf32>)
  step {
  ^bb0(%u: f32, %s: f32):
    %t = redfuse.reduce add %u over [1] into [0] : f32
    %n = arith.addf %s, %t : f32
    redfuse.yield %n, %n : f32, f32
  } merge {
  ^bb0(%p: f32, %q: f32):
    %n = arith.addf %p, %q : f32
    redfuse.yield %n : f32
  } -> tensor<6xf32>, tensor<6xf32>
  return
}

// -----

func.func @combine_states(%x: f32, %y: f64) {
  // expected-error @below {{expected a left and a right state of the types of the results as operands}}
  %r = redfuse.combine %x, %y {identities = [0.0 : f32]} : (f32, f64) -> f32 {
  ^bb0(%a: f32, %b: f32):
    redfuse.yield %a : f32
  }
  return
}

// -----

func.func @combine_identities(%x: f32) {
  // expected-error @below {{expected 1 'identities', one for each operand, got 2}}
  %r = redfuse.combine %x, %x {identities = [0.0 : f32, 0.0 : f32]} : (f32, f32) -> f32 {
  ^bb0(%a: f32, %b: f32):
    redfuse.yield %a : f32
  }
  return
}
