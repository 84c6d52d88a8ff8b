// Each clause of the verifiers of cascades, and of what their bodies have.
// RUN: redfuse-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

//===-- Operands and maps --------------------------------------------------===//

func.func @map_count(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{expected 2 indexing maps, one for each input and init, got 1}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @map_dims(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{indexing map 1: expected 1 dims and no symbols as in the first map, got 2 and 0}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @map_rank(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{indexing map 0: expected 2 results, the rank of its operand, got 1}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @init_map(%x: tensor<6xf32>, %a: tensor<8xf32>) {
  // expected-error @below {{the indexing map of init 0 must be a projected permutation (each point written once)}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i + 2)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<8xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<8xf32>
  return
}

// -----

func.func @no_extent(%x: tensor<6xf32>, %a: tensor<4xf32>) {
  // expected-error @below {{no operand gives the extent of dim 1: it occurs only inside expressions}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<4xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<4xf32>
  return
}

// -----

func.func @extents(%x: tensor<6xf32>, %a: tensor<7xf32>) {
  // expected-error @below {{operand 1 has size 7 where dim 0 has extent 6}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<7xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<7xf32>
  return
}

// -----

func.func @out_of_range(%x: tensor<6xf32>, %w: tensor<3xf32>, %a: tensor<5xf32>) {
  // expected-error @below {{operand 0 is read at 0 to 6 of a dim of size 6}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>]}
    ins(%x, %w : tensor<6xf32>, tensor<3xf32>) outs(%a : tensor<5xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<5xf32>
  return
}

// -----

// Up in one dim and down in another: the ends of the range are at mixed corners.
func.func @out_of_range_mixed(%x: tensor<6xf32>, %w: tensor<3xf32>, %a: tensor<5xf32>) {
  // expected-error @below {{operand 0 is read at -2 to 4 of a dim of size 6}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i - j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>]}
    ins(%x, %w : tensor<6xf32>, tensor<3xf32>) outs(%a : tensor<5xf32>) {
  ^bb0(%u: f32, %v: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<5xf32>
  return
}

// -----

func.func @results(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{expected as many results as inits (1), got 0}}
  redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  }
  return
}

// -----

func.func @result_type(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{result 0 has type 'tensor<6xf16>', but its init has 'tensor<6xf32>'}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<6xf16>
  return
}

// -----

func.func @buffers(%x: memref<6xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{operand #0 must be variadic of ranked tensor of any type values, but got 'memref<6xf32>'}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : memref<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  return
}

// -----

//===-- Bodies -------------------------------------------------------------===//

func.func @arguments(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{body: expected 1 arguments, got 2}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32, %v: f32):
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @argument_type(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{body: argument 0 has type 'f16', expected 'f32'}}
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f16):
    %v = arith.extf %u : f16 to f32
    redfuse.yield %v : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @regions(%x: tensor<6xf32>, %a: tensor<6xf32>, %c: i1) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{ops with regions cannot stand in the body of 'redfuse.cascade'}}
    %v = scf.if %c -> f32 {
      scf.yield %u : f32
    } else {
      scf.yield %u : f32
    }
    redfuse.yield %v : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @side_effects(%x: tensor<6xf32>, %a: tensor<6xf32>, %m: memref<f32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{has side effects; the body of 'redfuse.cascade' takes pure ops and cf.assert}}
    %v = memref.load %m[] : memref<f32>
    redfuse.yield %v : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @tensors_inside(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{makes a value of type 'tensor<1xf32>'; the body of 'redfuse.cascade' works on scalars}}
    %v = tensor.from_elements %u : tensor<1xf32>
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @terminator(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{body: expected to end with redfuse.yield}}
  %r = redfuse.finalize {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    llvm.unreachable
  } -> tensor<6xf32>
  return
}

// -----

func.func @yield_count(%x: tensor<6xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{expected 1 values, one for each init, got 2}}
    redfuse.yield %u, %u : f32, f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @yield_type(%x: tensor<6xf32>, %a: tensor<6xf64>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%a : tensor<6xf64>) {
  ^bb0(%u: f32):
    // expected-error @below {{value 0 has type 'f32', expected 'f64'}}
    redfuse.yield %u : f32
  } -> tensor<6xf64>
  return
}

// -----

func.func @yield_dims(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{value 0 depends on dim 1, which the map of its init lacks: reduce it first}}
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  return
}

// -----

//===-- Reductions and indices ----------------------------------------------===//

func.func @reduce_operands(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{add takes 1 operand, got 2}}
    %s:2 = redfuse.reduce add %u, %u over [1] into [0] : f32, f32
    redfuse.yield %s#0 : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @reduce_pair(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{the second operand of argmax is an index, got 'f32'}}
    %s:2 = redfuse.reduce argmax %u, %u over [1] into [0] : f32, f32
    redfuse.yield %s#0 : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @reduce_type(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{maxsi does not reduce values of type 'f32'}}
    %s = redfuse.reduce maxsi %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

// A format without a sign, and with no value that a sum could start from.
func.func @reduce_format(%x: tensor<6x7xf8E8M0FNU>, %a: tensor<6xf8E8M0FNU>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf8E8M0FNU>) outs(%a : tensor<6xf8E8M0FNU>) {
  ^bb0(%u: f8E8M0FNU):
    // expected-error @below {{maximumf does not reduce values of type 'f8E8M0FNU'}}
    %s = redfuse.reduce maximumf %u over [1] into [0] : f8E8M0FNU
    redfuse.yield %s : f8E8M0FNU
  } -> tensor<6xf8E8M0FNU>
  return
}

// -----

func.func @reduce_nothing(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{'over' must name at least one dim}}
    %s = redfuse.reduce add %u over [] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @reduce_range(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{'over' names dim 2, but there are 2 iteration dims}}
    %s = redfuse.reduce add %u over [1, 2] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @reduce_twice(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{'into' names dim 0 twice}}
    %s = redfuse.reduce add %u over [1] into [0, 0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @reduce_both(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    // expected-error @below {{a dim is both in 'over' and in 'into'}}
    %s = redfuse.reduce add %u over [1] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @reduce_uncovered(%x: tensor<6x7xf32>, %a: tensor<f32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<f32>) {
  ^bb0(%u: f32):
    // expected-error @below {{an operand depends on dim 0, which is neither in 'over' nor in 'into'}}
    %s = redfuse.reduce add %u over [1] into [] : f32
    redfuse.yield %s : f32
  } -> tensor<f32>
  return
}

// -----

func.func @topk_rank(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]} ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32):
    %j = redfuse.index 1
    // expected-error @below {{topk: 'into' must have one dim more than the operands depend on (the rank), got 0 more}}
    %s:2 = redfuse.reduce topk %u, %j over [1] into [0] : f32, index
    redfuse.yield %s#0 : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @outside(%x: f32) {
  // expected-error @below {{must stand in the body of a redfuse op}}
  %s = redfuse.reduce add %x over [1] into [0] : f32
  return
}

// -----

func.func @index_outside() {
  // expected-error @below {{must stand in the body of a redfuse op}}
  %s = redfuse.index 0
  return
}

// -----

func.func @index_range(%a: tensor<6xindex>) {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>]} outs(%a : tensor<6xindex>) {
    // expected-error @below {{names dim 1, but there are 1 iteration dims}}
    %i = redfuse.index 1
    redfuse.yield %i : index
  } -> tensor<6xindex>
  return
}
