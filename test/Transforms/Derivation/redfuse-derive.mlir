// RUN: redfuse-opt -redfuse-derive %s | FileCheck %s --check-prefix=SCHEDULED
// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s

#mx = affine_map<(i, j, d) -> (i, j)>
#mv = affine_map<(i, j, d) -> (j, d)>
#mo = affine_map<(i, j, d) -> (i, d)>

// Only a stream schedule asks for a fold; it takes the schedule over.
// SCHEDULED-LABEL: @streamed
// SCHEDULED: redfuse.fold
// SCHEDULED-SAME: schedule = #redfuse.schedule<stream
// SCHEDULED-LABEL: @weighted
// SCHEDULED: redfuse.cascade

// The maximum is carried; the sum is relative to it. The step multiplies by the
// growth of the maximum once a row, never inside the reduced term.
// CHECK-LABEL: @streamed
// CHECK: %[[ST:.*]]:2 = redfuse.fold
// CHECK-SAME: identities = [0xFF800000 : f32, 0.000000e+00 : f32]
// CHECK-SAME: over = array<i64: 1>
// CHECK: ^bb0(%[[X:.*]]: f32, %[[M:.*]]: f32, %[[L:.*]]: f32):
// CHECK: %[[MS:.*]] = redfuse.reduce maximumf %[[X]] over [1] into [0] : f32
// CHECK: %[[M1:.*]] = arith.maximumf %[[M]], %[[MS]] : f32
// CHECK: %[[ABS:.*]] = math.absf %[[M1]]
// CHECK: %[[ALL:.*]] = arith.cmpf oeq, %[[ABS]]
// CHECK: %[[P:.*]] = arith.select %[[ALL]], %{{.*}}, %[[M1]] : f32
// CHECK: %[[G:.*]] = arith.subf %[[M]], %[[P]] : f32
// CHECK: %[[SCALE:.*]] = math.exp %[[G]] : f32
// CHECK: %[[C:.*]] = arith.subf %[[X]], %[[P]] : f32
// CHECK: %[[E:.*]] = math.exp %[[C]] : f32
// CHECK: %[[LS:.*]] = redfuse.reduce add %[[E]] over [1] into [0] : f32
// CHECK: %[[LT:.*]] = arith.mulf %[[L]], %[[SCALE]] : f32
// CHECK: %[[L1:.*]] = arith.addf %[[LT]], %[[LS]] : f32
// CHECK: redfuse.yield %[[M1]], %[[L1]] : f32, f32
// CHECK: merge
// CHECK: redfuse.finalize
// CHECK-SAME: ins(%[[ST]]#0, %[[ST]]#1 :
func.func @streamed(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 32], stream = [1]>}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// The quotient leaves the sum, and the contraction keeps plain operands.
// CHECK-LABEL: @weighted
// CHECK: redfuse.fold
// CHECK: ^bb0(%{{.*}}: f32, %[[V:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK: math.exp
// CHECK: %[[E:.*]] = math.exp
// CHECK: redfuse.reduce add %[[E]] over [1] into [0] : f32
// CHECK: %[[EV:.*]] = arith.mulf %[[E]], %[[V]] : f32
// CHECK: redfuse.reduce add %[[EV]] over [1] into [0, 2] : f32
// CHECK: redfuse.finalize
// CHECK: arith.divf
func.func @weighted(%s: tensor<64x80xf32>, %v: tensor<80x32xf32>, %init: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %o = redfuse.cascade {indexing_maps = [#mx, #mv, #mo]}
      ins(%s, %v : tensor<64x80xf32>, tensor<80x32xf32>) outs(%init : tensor<64x32xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    %p = arith.mulf %w, %y : f32
    %r = redfuse.reduce add %p over [1] into [0, 2] : f32
    redfuse.yield %r : f32
  } -> tensor<64x32xf32>
  return %o : tensor<64x32xf32>
}

// Without a maximum in the source one is added to the state.
// CHECK-LABEL: @own_pivot
// CHECK: %{{.*}}:3 = redfuse.fold
// CHECK: redfuse.reduce add
// CHECK: redfuse.reduce maximumf
// CHECK: redfuse.finalize
func.func @own_pivot(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce add %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// A narrowing of the normalised term is dropped, and the certificate says so; a
// choice by a reduced value becomes one in the finalisation.
// CHECK-LABEL: @narrowed_and_guarded
// CHECK: redfuse.fold
// CHECK-SAME: float narrowing of an accumulated term is dropped
// CHECK: step
// CHECK: redfuse.reduce and
// CHECK-NOT: truncf
// CHECK: redfuse.reduce add {{.+}} {redfuse.narrowed = bf16}
// CHECK-NOT: truncf
// CHECK: redfuse.finalize
// CHECK: arith.select
func.func @narrowed_and_guarded(%s: tensor<64x80xf32>, %v: tensor<80x32xbf16>, %init: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %o = redfuse.cascade {indexing_maps = [#mx, #mv, #mo]}
      ins(%s, %v : tensor<64x80xf32>, tensor<80x32xbf16>) outs(%init : tensor<64x32xf32>) {
  ^bb0(%x: f32, %y: bf16):
    %ninf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    %masked = arith.cmpf oeq, %x, %ninf : f32
    %all = redfuse.reduce and %masked over [1] into [0] : i1
    %g = arith.select %all, %zero, %w : f32
    %h = arith.truncf %g : f32 to bf16
    %h32 = arith.extf %h : bf16 to f32
    %y32 = arith.extf %y : bf16 to f32
    %p = arith.mulf %h32, %y32 : f32
    %r = redfuse.reduce add %p over [1] into [0, 2] : f32
    redfuse.yield %r : f32
  } -> tensor<64x32xf32>
  return %o : tensor<64x32xf32>
}

// A result that still depends on the folded dim is a map of the data and the
// final state.
// CHECK-LABEL: @map_after
// CHECK: redfuse.finalize
// CHECK-SAME: ins(%arg0, %{{.*}}#0, %{{.*}}#1 : tensor<64x80xf32>
func.func @map_after(%s: tensor<64x80xf32>, %init: tensor<64x80xf32>) -> tensor<64x80xf32> {
  %l = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64x80xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    redfuse.yield %w : f32
  } -> tensor<64x80xf32>
  return %l : tensor<64x80xf32>
}

// The sign of the factor is not known: both ends of the range are kept.
// CHECK-LABEL: @scaled_maximum
// CHECK: redfuse.fold
// CHECK: redfuse.reduce maximumf
// CHECK: redfuse.reduce minimumf
// CHECK: redfuse.finalize
// CHECK: arith.maximumf
func.func @scaled_maximum(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %d = redfuse.reduce add %x over [1] into [0] : f32
    %t = math.tanh %d : f32
    %y = arith.mulf %x, %t : f32
    %m = redfuse.reduce maximumf %y over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// An infinite factor makes NaN of a 0 that is no end of the range: the sum comes
// first, in a pass of its own.
// CHECK-LABEL: @maximum_times_infinity
// CHECK-SAME: condition = "not monotone"
// CHECK: redfuse.fold
// CHECK: redfuse.finalize
// CHECK: redfuse.fold
func.func @maximum_times_infinity(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %d = redfuse.reduce add %x over [1] into [0] : f32
    %y = arith.mulf %x, %d : f32
    %m = redfuse.reduce maximumf %y over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// Dynamic sizes: a count tells nothing from something.
// CHECK-LABEL: @dynamic
// CHECK: redfuse.fold
// CHECK-SAME: identities = [0xFF800000 : f32, 0.000000e+00 : f32, 0]
// CHECK: redfuse.finalize
// CHECK: arith.cmpi eq
func.func @dynamic(%s: tensor<?x?xf32>, %init: tensor<?xf32>) -> tensor<?xf32> {
  %l = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%s : tensor<?x?xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %c = arith.subf %x, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<?xf32>
  return %l : tensor<?xf32>
}


// The folded dim is that of a result and of computed positions alone: the fold
// gets it from an input of its own.
// CHECK-LABEL: @looked_up
// CHECK: %[[E:.*]] = tensor.empty() : tensor<16xi1>
// CHECK: redfuse.fold
// CHECK-SAME: ins(%{{.*}}, %[[E]] : tensor<11xi64>, tensor<16xi1>)
func.func @looked_up(%table: tensor<31x16xf32>, %rows: tensor<11xi64>, %init: tensor<11x16xf32>) -> tensor<11x16xf32> {
  %r = redfuse.cascade {
      indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 16], stream = [1]>}
      ins(%rows : tensor<11xi64>) outs(%init : tensor<11x16xf32>) {
  ^bb0(%row: i64):
    %i = arith.index_cast %row : i64 to index
    %j = redfuse.index 1
    %x = tensor.extract %table[%i, %j] : tensor<31x16xf32>
    %s = redfuse.reduce add %x over [1] into [0] : f32
    %y = arith.mulf %x, %s : f32
    redfuse.yield %y : f32
  } -> tensor<11x16xf32>
  return %r : tensor<11x16xf32>
}

// So is the extent of a window's position, which is reduced in each step.
// CHECK-LABEL: @window
// CHECK: %[[E:.*]] = tensor.empty() : tensor<7xi1>
// CHECK: redfuse.fold
// CHECK-SAME: ins(%{{.*}}, %{{.*}}, %[[E]] : tensor<5x9xf32>, tensor<5x3xf32>, tensor<7xi1>)
func.func @window(%a: tensor<5x9xf32>, %w: tensor<5x3xf32>, %init: tensor<7xf32>) -> tensor<7xf32> {
  %r = redfuse.cascade {
      indexing_maps = [affine_map<(o, c, k) -> (c, o + k)>, affine_map<(o, c, k) -> (c, k)>,
                       affine_map<(o, c, k) -> (o)>]}
      ins(%a, %w : tensor<5x9xf32>, tensor<5x3xf32>) outs(%init : tensor<7xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %t = redfuse.reduce add %s over [0] into [1] : f32
    %u = redfuse.reduce add %t over [1] into [] : f32
    redfuse.yield %u : f32
  } -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// A state of what does not vary has no dims, so the extent of what an input that is
// not read has inside an expression comes from an input of its own.
// CHECK-LABEL: @same_for_all
// CHECK: %[[E:.*]] = tensor.empty() : tensor<2xi1>
// CHECK: redfuse.fold
// CHECK-SAME: ins(%{{.*}}, %[[E]] : tensor<2x4xi8>, tensor<2xi1>)
func.func @same_for_all(%x: tensor<2x4xi8>, %scale: f32, %init: tensor<2x3xf32>)
    -> tensor<2x3xf32> {
  %r = redfuse.cascade {
      indexing_maps = [affine_map<(i, j, k) -> (i, j + 1)>, affine_map<(i, j, k) -> (j, k)>]}
      ins(%x : tensor<2x4xi8>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%e: i8):
    %y = arith.negf %scale : f32
    %m = redfuse.reduce maximumf %y over [0] into [1, 2] : f32
    redfuse.yield %m : f32
  } -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// A sum over channels is exchanged with that over positions: what is exchanged is a sum into what is left of the
// dims of the other terms, which have channels.
// CHECK-LABEL: func.func @exchanged
// CHECK: redfuse.fold
// CHECK: redfuse.finalize
// CHECK: redfuse.reduce add %{{.+}} over [1] into [0] : f32
#ncs = affine_map<(n, c, s) -> (n, c, s)>
#nc = affine_map<(n, c, s) -> (n, c)>
func.func @exchanged(%x: tensor<3x6x35xf32>, %init: tensor<3x6xf32>) -> tensor<3x6xf32> {
  %r = redfuse.cascade {indexing_maps = [#ncs, #nc], schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 0, 8], stream = [2]>}
      ins(%x : tensor<3x6x35xf32>) outs(%init : tensor<3x6xf32>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce add %a over [2] into [0, 1] : f32
    %y = arith.mulf %a, %m : f32
    %s = redfuse.reduce add %y over [1] into [0, 2] : f32
    %z = arith.subf %y, %s : f32
    %t = redfuse.reduce add %z over [2] into [0, 1] : f32
    redfuse.yield %t : f32
  } -> tensor<3x6xf32>
  return %r : tensor<3x6xf32>
}
