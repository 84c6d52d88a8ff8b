// Each clause of the verifiers of folds, merges and finalisations.
// RUN: redfuse-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

//===-- Folds, merges, finalize ---------------------------------------------===//

func.func @fold_over(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{'over' names dim 3, but there are 2 iteration dims}}
  %r = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], over = array<i64: 3>, identities = [0.0 : f32]}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>)
  step {
  ^bb0(%u: f32, %l: f32):
    redfuse.yield %l : f32
  } merge {
  ^bb0(%l: f32, %m: f32):
    redfuse.yield %l : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @fold_over_twice(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{'over' names dim 1 twice}}
  %r = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], over = array<i64: 1, 1>, identities = [0.0 : f32]}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>)
  step {
  ^bb0(%u: f32, %l: f32):
    redfuse.yield %l : f32
  } merge {
  ^bb0(%l: f32, %m: f32):
    redfuse.yield %l : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @fold_nothing(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{'over' must name at least one dim}}
  %r = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], over = array<i64>, identities = [0.0 : f32]}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>)
  step {
  ^bb0(%u: f32, %l: f32):
    redfuse.yield %l : f32
  } merge {
  ^bb0(%l: f32, %m: f32):
    redfuse.yield %l : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @fold_state_dims(%x: tensor<6x7xf32>, %a: tensor<7xf32>) {
  // expected-error @below {{state component 0 depends on a dim of 'over'}}
  %r = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], over = array<i64: 1>, identities = [0.0 : f32]}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<7xf32>)
  step {
  ^bb0(%u: f32, %l: f32):
    redfuse.yield %l : f32
  } merge {
  ^bb0(%l: f32, %m: f32):
    redfuse.yield %l : f32
  } -> tensor<7xf32>
  return
}

// -----

func.func @fold_identities(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{expected an identity for each component of the state, at least 1 and at most 1, got 2}}
  %r = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], over = array<i64: 1>, identities = [0.0 : f32, 0.0 : f32]}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>)
  step {
  ^bb0(%u: f32, %l: f32):
    redfuse.yield %l : f32
  } merge {
  ^bb0(%l: f32, %m: f32):
    redfuse.yield %l : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @fold_identity_type(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{identity 0 must be a constant of type 'f32', got 0 : i32}}
  %r = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], over = array<i64: 1>, identities = [0 : i32]}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>)
  step {
  ^bb0(%u: f32, %l: f32):
    redfuse.yield %l : f32
  } merge {
  ^bb0(%l: f32, %m: f32):
    redfuse.yield %l : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @fold_step(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{step: expected 2 arguments, got 1}}
  %r = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], over = array<i64: 1>, identities = [0.0 : f32]}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>)
  step {
  ^bb0(%l: f32):
    redfuse.yield %l : f32
  } merge {
  ^bb0(%l: f32, %m: f32):
    redfuse.yield %l : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @fold_merge(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  // expected-error @below {{merge: expected 2 arguments, got 1}}
  %r = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], over = array<i64: 1>, identities = [0.0 : f32]}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>)
  step {
  ^bb0(%u: f32, %l: f32):
    redfuse.yield %l : f32
  } merge {
  ^bb0(%l: f32):
    redfuse.yield %l : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @fold_merge_reduces(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %r = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], over = array<i64: 1>, identities = [0.0 : f32]}
    ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>)
  step {
  ^bb0(%u: f32, %l: f32):
    redfuse.yield %l : f32
  } merge {
  ^bb0(%l: f32, %m: f32):
    // expected-error @below {{reduces dim 1 in 'merge', but there are no elements along the dims of 'over' there}}
    %s = redfuse.reduce add %l over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @merge_types(%x: tensor<6xf64>, %a: tensor<6xf32>) {
  // expected-error @below {{expected the components of the right state (inputs) to have the types of the left state's (inits)}}
  %r = redfuse.merge {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf64>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32, %v: f64):
    redfuse.yield %u : f32
  } -> tensor<6xf32>
  return
}

// -----

func.func @merge_maps(%x: tensor<6x6xf32>, %a: tensor<6x6xf32>) {
  // expected-error @below {{component 0 has different indexing maps left and right}}
  %r = redfuse.merge {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>]} ins(%x : tensor<6x6xf32>) outs(%a : tensor<6x6xf32>) {
  ^bb0(%u: f32, %v: f32):
    redfuse.yield %u : f32
  } -> tensor<6x6xf32>
  return
}

// -----

func.func @finalize_reduces(%x: tensor<6x7xf32>, %a: tensor<6xf32>) {
  %l = redfuse.fold {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
            over = array<i64: 1>, identities = [0.0 : f32]}
          ins(%x : tensor<6x7xf32>) outs(%a : tensor<6xf32>)
  step {
  ^bb0(%e: f32, %l: f32):
    %ls = redfuse.reduce add %e over [1] into [0] : f32
    %s = arith.addf %l, %ls : f32
    redfuse.yield %s : f32
  } merge {
  ^bb0(%la: f32, %lb: f32):
    %l = arith.addf %la, %lb : f32
    redfuse.yield %l : f32
  } -> tensor<6xf32>
  %r = redfuse.finalize {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>]}
      ins(%x, %l : tensor<6x7xf32>, tensor<6xf32>) outs(%a : tensor<6xf32>) {
  ^bb0(%u: f32, %v: f32):
    // expected-error @below {{reduces dim 1, which was folded: redfuse.finalize reduces other dims only}}
    %s = redfuse.reduce add %u over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return
}
