// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-kernel-to-gpu -split-input-file -verify-diagnostics

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run as 'redfuse.registers' says: expected a #redfuse.register_layout}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = "threads"}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: 'dims' has 1 entries, the kernel 2 dims}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: dim 1 has 256 positions in a tile, and a share for 128}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 32, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: the tiles of dim 0 are not of whole vectors of 8}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 8, dims = [<lanes = 8, repeats = 1, threads = 2, bit = 5>, <lanes = 8, repeats = 1, threads = 32, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: dims 0 and 1 occur together, and share bits of the number of a thread}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 2, bit = 1>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: a block has whole warps of 32 threads, and 1024 threads at most, not 16}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 16, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 4, threads = 16, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: 2 blocks cannot share a tile here}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 128, cluster = 2, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: a multiprocessor has no 1000000 bytes of shared memory}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 1000000, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: blocks that read again have one tile each}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 1, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = [read_again]>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: steps are loaded ahead in folds along one dim}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = [load_steps_ahead]>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: shared memory cannot keep 512 bytes of argument 0}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 1, kept = [<argument = 0, map = affine_map<(i, j) -> (i, j)>, bytes = 512>], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: shared memory cannot keep 1024 bytes of argument 1}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 1, kept = [<argument = 1, map = affine_map<(i, j) -> (i, j)>, bytes = 1024>], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: one block keeps what it walks along one dim}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [<argument = 0, map = affine_map<(i, j) -> (i, j)>, bytes = 1024>], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: argument 0 has no tiles of 8192 bytes in one piece to ask for}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [<argument = 0, map = affine_map<(i, j) -> (i, j)>, bytes = 8192>], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  // expected-error @below {{cannot run in registers as planned: argument 7 is no tensor that it reads or writes}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [7], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#y = affine_map<(i, j) -> (j, i)>
func.func @f(%x: memref<64x256xf32>, %out: memref<256x64xf32>) {
  // expected-error @below {{cannot run in registers as planned: dim 0 has runs of 4: it cannot have vectors of its own, nor be walked in steps}}
  redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<256x64xf32>) {redfuse.registers = #redfuse.register_layout<threads = 32, cluster = 1, lanes = 4, dims = [<lanes = 4, repeats = 4, threads = 4, bit = 3, run = 4>, <lanes = 1, repeats = 4, threads = 8, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<map, grid = [0, 1], tiles = [16, 32]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<256x64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #y]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<256x64xf32>) {
  ^bb0(%e: f32):
    redfuse.yield %e : f32
  } -> tensor<256x64xf32>
  redfuse.yield %r : tensor<256x64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#y = affine_map<(i, j) -> (j, i)>
func.func @f(%x: memref<62x256xf32>, %out: memref<256x62xf32>) {
  // expected-error @below {{cannot run in registers as planned: the tiles of dim 0 are not of whole vectors of 4}}
  redfuse.launch @k ins(%x : memref<62x256xf32>) outs(%out : memref<256x62xf32>) {redfuse.registers = #redfuse.register_layout<threads = 32, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 4, threads = 4, bit = 3, run = 4>, <lanes = 4, repeats = 1, threads = 8, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<map, grid = [0, 1], tiles = [16, 32]>} {
^bb0(%x: tensor<62x256xf32>, %init: tensor<256x62xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #y]} ins(%x : tensor<62x256xf32>) outs(%init : tensor<256x62xf32>) {
  ^bb0(%e: f32):
    redfuse.yield %e : f32
  } -> tensor<256x62xf32>
  redfuse.yield %r : tensor<256x62xf32>
}
// -----

#x = affine_map<(i, j) -> (i, j)>
#y = affine_map<(i, j) -> (j, i)>
func.func @f(%x: memref<90x256xf32>, %out: memref<256x90xf32>) {
  // expected-error @below {{cannot run in registers as planned: dim 0 has runs of 3, which no vectors are}}
  redfuse.launch @k ins(%x : memref<90x256xf32>) outs(%out : memref<256x90xf32>) {redfuse.registers = #redfuse.register_layout<threads = 32, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 6, threads = 4, bit = 3, run = 3>, <lanes = 4, repeats = 1, threads = 8, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}
  return
}
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<map, grid = [0, 1], tiles = [18, 32]>} {
^bb0(%x: tensor<90x256xf32>, %init: tensor<256x90xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #y]} ins(%x : tensor<90x256xf32>) outs(%init : tensor<256x90xf32>) {
  ^bb0(%e: f32):
    redfuse.yield %e : f32
  } -> tensor<256x90xf32>
  redfuse.yield %r : tensor<256x90xf32>
}
