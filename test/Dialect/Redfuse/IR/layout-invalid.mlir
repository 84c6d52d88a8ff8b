// RUN: redfuse-opt %s -split-input-file -verify-diagnostics

// Layouts of registers that contradict themselves.

// expected-error @below {{'threads' is 48; expected a power of 2 up to 16384}}
func.func private @f() attributes {a = #redfuse.register_layout<threads = 48, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}

// -----

// expected-error @below {{'cluster' is 3; expected a power of 2 up to 64}}
func.func private @f() attributes {a = #redfuse.register_layout<threads = 64, cluster = 3, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}

// -----

// expected-error @below {{'blocks' is -1; expected from 0 to 1048576}}
func.func private @f() attributes {a = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 0>], blocks = -1, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}

// -----

// expected-error @below {{dim 1 has vectors of 2 lanes; expected 1 or 'lanes', 4}}
func.func private @f() attributes {a = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 2, repeats = 1, threads = 64, bit = 0>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}

// -----

// expected-error @below {{dim 1 takes bits that the numbers of 64 threads do not have}}
func.func private @f() attributes {a = #redfuse.register_layout<threads = 64, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 1, threads = 64, bit = 3>], blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [], ahead = [], ahead_tiles = 0, following = [], choices = []>}

// -----

// expected-error @below {{'lanes' is 3; expected a power of 2 up to 16}}
func.func private @f() attributes {a = #redfuse.dim_share<lanes = 3, repeats = 1, threads = 1, bit = 0>}

// -----

// expected-error @below {{'repeats' is 0; expected from 1 to 1048576}}
func.func private @f() attributes {a = #redfuse.dim_share<lanes = 1, repeats = 0, threads = 1, bit = 0>}

// -----

// expected-error @below {{'argument' is -1; expected from 0 to 1048576}}
func.func private @f() attributes {a = #redfuse.input_tile<argument = -1, map = affine_map<(i, j) -> (i, j)>, bytes = 0>}

// -----

// expected-error @below {{'run' is 0; expected from 1 to 1048576}}
func.func private @f() attributes {a = #redfuse.dim_share<lanes = 1, repeats = 3, threads = 1, bit = 0, run = 0>}

// -----

// expected-error @below {{expected 'repeats' of whole runs of 4 vectors, got 6}}
func.func private @f() attributes {a = #redfuse.dim_share<lanes = 1, repeats = 6, threads = 1, bit = 0, run = 4>}
