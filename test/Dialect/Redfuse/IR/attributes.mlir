// RUN: redfuse-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK: hints = #redfuse.schedule<stream, grid = [0], tiles = [64, 128], stream = [1], hints = {columns = 64, rows = 128, stages = 3}>
// CHECK-SAME: map = #redfuse.schedule<map, grid = [0, 1], tiles = [1, 64]>
// CHECK-SAME: matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>
// CHECK-SAME: multipass = #redfuse.schedule<multipass, grid = [0], tiles = [4, 0, 32]>
// CHECK-SAME: resident = #redfuse.schedule<resident, reason = "fits \22l1\22">
// CHECK-SAME: stream = #redfuse.schedule<stream, grid = [0, 1], tiles = [1, 64, 256, 0, 0], stream = [2], reason = "why">
// CHECK-SAME: target = #redfuse.target<"cpu", units = 2, vector_bits = 512, l1 = 49152, l2 = 1048576, flops = 300, bandwidth = 40, launch_ns = 2000>
module attributes {
  redfuse.a = {
    hints = #redfuse.schedule<stream, hints = {stages = 3, rows = 128, columns = 64}, grid = [0], tiles = [64, 128], stream = [1]>,
    map = #redfuse.schedule<map, grid = [0, 1], tiles = [1, 64]>,
    matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>,
    multipass = #redfuse.schedule<multipass, grid = [0], tiles = [4, 0, 32]>,
    resident = #redfuse.schedule<resident, reason = "fits \22l1\22">,
    stream = #redfuse.schedule<stream, grid = [0, 1], tiles = [1, 64, 256, 0, 0], stream = [2], reason = "why">,
    target = #redfuse.target<"cpu", units = 2, vector_bits = 512, l1 = 49152, l2 = 1048576, flops = 300, bandwidth = 40, launch_ns = 2000>
  }
} {}

// -----

// expected-error @below {{a tile of extent -1; expected 0 (the whole dim) or more}}
module attributes {redfuse.a = #redfuse.schedule<map, tiles = [-1]>} {}

// -----

// expected-error @below {{'grid' names dim 2, but 'tiles' has 2 entries}}
module attributes {redfuse.a = #redfuse.schedule<map, grid = [2], tiles = [1, 1]>} {}

// -----

// expected-error @below {{'grid' names dim 0 twice}}
module attributes {redfuse.a = #redfuse.schedule<map, grid = [0, 0], tiles = [1, 1]>} {}

// -----

// expected-error @below {{dim 1 is in 'grid' but its tile is the whole dim}}
module attributes {redfuse.a = #redfuse.schedule<map, grid = [1], tiles = [1, 0]>} {}

// -----

// expected-error @below {{'stream' names dim -1, but 'tiles' has 1 entries}}
module attributes {redfuse.a = #redfuse.schedule<stream, tiles = [1], stream = [-1]>} {}

// -----

// expected-error @below {{'stream' names dim 0 twice}}
module attributes {redfuse.a = #redfuse.schedule<stream, tiles = [1], stream = [0, 0]>} {}

// -----

// expected-error @below {{dim 0 is both in 'grid' and 'stream'}}
module attributes {redfuse.a = #redfuse.schedule<stream, grid = [0], tiles = [1], stream = [0]>} {}

// -----

// expected-error @below {{dim 0 is in 'stream' but its tile is the whole dim}}
module attributes {redfuse.a = #redfuse.schedule<stream, tiles = [0], stream = [0]>} {}

// -----

// expected-error @below {{a stream schedule needs dims in 'stream'}}
module attributes {redfuse.a = #redfuse.schedule<stream, tiles = [1]>} {}

// -----

// expected-error @below {{a map has no dims in 'stream'}}
module attributes {redfuse.a = #redfuse.schedule<map, tiles = [1], stream = [0]>} {}

// -----

// expected-error @below {{a resident schedule folds whole dims, but dim 0 has tiles of 16}}
module attributes {redfuse.a = #redfuse.schedule<resident, tiles = [16], stream = [0]>} {}

// -----

// expected-error @below {{'lazy' is 0 to 8 powers of 2, got 9}}
module attributes {redfuse.a = #redfuse.schedule<stream, tiles = [1], stream = [0], lazy = 9>} {}

// -----

// expected-error @below {{only a schedule with dims in 'stream' has 'lazy'}}
module attributes {redfuse.a = #redfuse.schedule<resident, tiles = [1], lazy = 2>} {}

// -----

// expected-error @below {{expected map, resident, stream, multipass or split, got 'spiral'}}
module attributes {redfuse.a = #redfuse.schedule<spiral>} {}

// -----

// expected-error @below {{expected grid, tiles, stream, splits, lazy, hints or reason, got 'blocks'}}
module attributes {redfuse.a = #redfuse.schedule<map, blocks = [1]>} {}

// -----

// expected-error @below {{no hint is called "colour"; expected one of rows, columns, scheduler, cached, operand, staged, threshold, splits, stages, threads, blocks, cluster, ahead, late, step, loop, bypass, early, await, prefetch, keep}}
module attributes {redfuse.a = #redfuse.schedule<map, hints = {colour = 3}>} {}

// -----

// expected-error @below {{hint 'rows' is 100; expected 64 to 192, a multiple of 64}}
module attributes {redfuse.a = #redfuse.schedule<map, hints = {rows = 100}>} {}

// -----

// expected-error @below {{hint 'threads' is 96; expected 32 to 1024, a power of 2}}
module attributes {redfuse.a = #redfuse.schedule<map, hints = {threads = 96}>} {}

// -----

// expected-error @below {{hint "scheduler": expected one of static, dynamic}}
module attributes {redfuse.a = #redfuse.schedule<map, hints = {scheduler = 2}>} {}

// -----

// expected-error @below {{hint "early": expected one of at_use, with_rest, before_exchange}}
module attributes {redfuse.a = #redfuse.schedule<map, hints = {early = late}>} {}

// -----

// expected-error @below {{'rows' given twice}}
module attributes {redfuse.a = #redfuse.schedule<map, hints = {rows = 64, rows = 128}>} {}

// -----

// expected-error @below {{hint "stages": expected 1 to 1024}}
module attributes {redfuse.a = #redfuse.schedule<map, hints = {stages = many}>} {}

// -----

// expected-error @below {{'grid' given twice}}
module attributes {redfuse.a = #redfuse.schedule<map, grid = [0], tiles = [1], grid = [0]>} {}

// -----

// expected-error @below {{'rocm' has no chip 'sm_80'; known are sm_80, sm_86}}
module attributes {redfuse.a = #redfuse.target<"rocm", units = 1, vector_bits = 512, l1 = 1, l2 = 1, flops = 1, bandwidth = 1, launch_ns = 0, chip = "sm_80">} {}

// -----

// expected-error @below {{expected positive capacities and rates, got 0}}
module attributes {redfuse.a = #redfuse.target<"cpu", units = 0, vector_bits = 512, l1 = 1, l2 = 1, flops = 1, bandwidth = 1, launch_ns = 0>} {}

// -----

// expected-error @below {{expected a launch cost of 0 or more, got -5}}
module attributes {redfuse.a = #redfuse.target<"cpu", units = 1, vector_bits = 512, l1 = 1, l2 = 1, flops = 1, bandwidth = 1, launch_ns = -5>} {}

// -----

// expected-error @below {{'row_dim' is 4, but 'tiles' has 4 entries}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 4, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'tiles' is -1; expected from 0 to 1048576}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, -1, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'consumers' is 4; expected one of 1, 2, 3}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 4, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'consumers' is 3; expected one of 1, 2}}
module attributes {redfuse.a = #redfuse.matrix_plan<mma_sync, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 3, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'consumer_rows' is 32; expected one of 64, 128}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 32, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'sum_splits' is 3; expected one of 1, 2, 4, 8}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 3, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'splits' is 0; expected from 1 to 1048576}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 0, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'cluster' is 16; expected one of 1, 2, 4, 8}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 16, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'blocks' is 3; expected one of 1, 2}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 3, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'stages' is 0; expected from 1 to 1048576}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 0, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'cached' is -1; expected from 0 to 1048576}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = -1, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'ahead' is -1; expected from 0 to 1048576}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = -1, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'threshold' is -1; expected from 0 to 16}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = -1>} {}

// -----

// expected-error @below {{3 splits are no clusters of 2}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 3, cluster = 2, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{blocks share sums ('sum_splits') or a fold ('splits'), not both}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 2, splits = 2, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>} {}

// -----

// expected-error @below {{'cached' is 1152921504606846976; expected from 0 to 1048576}}
module attributes {redfuse.a = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 1152921504606846976, ahead = 0, late = false, threshold = 1>} {}

// -----

// CHECK: redfuse.a = #redfuse.formula<"select(not a2, -t1/(t0*x12) + 9.5e-06, add[1, 2](x0**-2)) - exp(t0 - t0')*oo">
module attributes {redfuse.a = #redfuse.formula<"select(not a2, -t1/(t0*x12) + 9.5e-06, add[1, 2](x0**-2)) - exp(t0 - t0')*oo">} {}

// -----

// expected-error @below {{formula 'x0 +': expected a formula at column 5, got ''}}
module attributes {redfuse.a = #redfuse.formula<"x0 +">} {}

// -----

// expected-error @below {{formula '(x0': expected ')' at column 4, got ''}}
module attributes {redfuse.a = #redfuse.formula<"(x0">} {}

// -----

// expected-error @below {{formula 'add[i](x0)': expected an iteration dim at column 5, got 'i](x0)'}}
module attributes {redfuse.a = #redfuse.formula<"add[i](x0)">} {}

// -----

// expected-error @below {{formula 'x0 x1': expected a formula that ends here at column 4, got 'x1'}}
module attributes {redfuse.a = #redfuse.formula<"x0 x1">} {}
