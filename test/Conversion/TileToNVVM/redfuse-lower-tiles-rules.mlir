// RUN: redfuse-opt %s -split-input-file -verify-diagnostics -redfuse-attach-target=chip=sm_90a -redfuse-lower-tiles

func.func @too_early(%a: i32) -> f32 {
  %t = tile.view at %a : !tile.shared<64x64xbf16>
  // expected-note@+1 {{started here}}
  %s = tile.multiply %t, %t over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
  // expected-error@+1 {{gives elements of a product that may still run: it is among the last 1}}
  %e:4 = tile.wait_products 1 of %s : !tile.accumulators<64x8xf32>
  return %e#0 : f32
}

// -----

// Of two products in the background the older one is over after a wait for all but one.

func.func @in_time(%a: i32) -> f32 {
  %t = tile.view at %a : !tile.shared<64x64xbf16>
  %s = tile.multiply %t, %t over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
  %r = tile.multiply %t, %t over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
  %e:4 = tile.wait_products 1 of %s : !tile.accumulators<64x8xf32>
  return %e#0 : f32
}

// -----

// The loop carries a product that runs; after it all but the last are over.

func.func @carried(%a: i32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.view at %a : !tile.shared<64x64xbf16>
  // expected-note@+1 {{started here}}
  %first = tile.multiply %t, %t over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %first) -> (!tile.accumulators<64x8xf32>) {
    %next = tile.multiply %t, %t over 64 plus %s : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> plus !tile.accumulators<64x8xf32> -> !tile.accumulators<64x8xf32>
    tile.wait_products 1
    scf.yield %next : !tile.accumulators<64x8xf32>
  }
  // expected-error@+1 {{gives elements of a product that may still run}}
  %e:4 = tile.wait_products 1 of %sum : !tile.accumulators<64x8xf32>
  return %e#0 : f32
}

// -----

func.func @given_back(%ring: !tile.ring<2 x 8192>, %stage: i32, %lane: i32) {
  %t = tile.stage %ring[%stage] : !tile.ring<2 x 8192>, !tile.shared<64x64xbf16>
  // expected-note@+1 {{started here}}
  %s = tile.multiply %t, %t over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
  %empty = tile.empty %ring[%stage] : !tile.ring<2 x 8192>
  // expected-error@+1 {{releases a stage that a running product may still read; wait for the product first}}
  tile.arrive %empty lane %lane
  return
}

// -----

// A loop that gives back the stage of the step before, which is over; and one that
// gives back that of the step itself.

func.func @steps(%tiles: i32, %barriers: i32, %first: i32, %lane: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %ring = tile.ring stages %tiles barriers %barriers : !tile.ring<2 x 8192>
  %t0 = tile.stage %ring[%first] : !tile.ring<2 x 8192>, !tile.shared<64x64xbf16>
  %s0 = tile.multiply %t0, %t0 over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
  %now0, %p0 = tile.advance %ring[%first], %zero : !tile.ring<2 x 8192>
  %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first, %now = %now0, %p = %p0) -> (i32, i32, i32) {
    %t = tile.stage %ring[%now] : !tile.ring<2 x 8192>, !tile.shared<64x64xbf16>
    %s = tile.multiply %t, %t over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
    tile.wait_products 1
    %empty = tile.empty %ring[%before] : !tile.ring<2 x 8192>
    tile.arrive %empty lane %lane
    %next, %q = tile.advance %ring[%now], %p : !tile.ring<2 x 8192>
    scf.yield %now, %next, %q : i32, i32, i32
  }
  tile.wait_products 0
  %last = tile.empty %ring[%end#0] : !tile.ring<2 x 8192>
  tile.arrive %last lane %lane
  return
}

// -----

func.func @without_waiting(%tiles: i32, %barriers: i32, %first: i32, %lane: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %ring = tile.ring stages %tiles barriers %barriers : !tile.ring<2 x 8192>
  %end:3 = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero, %now = %first, %p = %zero) -> (i32, i32, i32) {
    %empty = tile.empty %ring[%before] : !tile.ring<2 x 8192>
    // expected-error@+1 {{releases a stage that a running product may still read}}
    tile.arrive %empty lane %lane
    %t = tile.stage %ring[%now] : !tile.ring<2 x 8192>, !tile.shared<64x64xbf16>
    // expected-note@+1 {{started here}}
    %s = tile.multiply %t, %t over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
    %next, %q = tile.advance %ring[%now], %p : !tile.ring<2 x 8192>
    scf.yield %now, %next, %q : i32, i32, i32
  }
  return
}

// -----

// On one of two ways.

func.func @sometimes(%ring: !tile.ring<2 x 8192>, %stage: i32, %lane: i32, %c: i1) {
  scf.if %c {
    %t = tile.stage %ring[%stage] : !tile.ring<2 x 8192>, !tile.shared<64x64xbf16>
    // expected-note@+1 {{started here}}
    %s = tile.multiply %t, %t over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
  }
  %empty = tile.empty %ring[%stage] : !tile.ring<2 x 8192>
  // expected-error@+1 {{releases a stage that a running product may still read}}
  tile.arrive %empty lane %lane
  return
}

// -----

func.func @unsettled(%ring: !tile.ring<2 x 8192>, %stage: i32, %lane: i32) {
  %t = tile.stage %ring[%stage] : !tile.ring<2 x 8192>, !tile.shared<64x64xbf16>
  // expected-note@+1 {{read here}}
  %q = tile.read_operand %t[%lane] : !tile.shared<64x64xbf16> -> !tile.operand<64x64xbf16>
  %empty = tile.empty %ring[%stage] : !tile.ring<2 x 8192>
  // expected-error@+1 {{releases a stage that the warp may still read; settle what it reads first}}
  tile.arrive %empty lane %lane
  return
}

// -----

func.func @settled(%tiles: i32, %barriers: i32, %stage: i32, %lane: i32) {
  %ring = tile.ring stages %tiles barriers %barriers : !tile.ring<2 x 8192>
  %t = tile.stage %ring[%stage] : !tile.ring<2 x 8192>, !tile.shared<64x64xbf16>
  %q = tile.read_operand %t[%lane] : !tile.shared<64x64xbf16> -> !tile.operand<64x64xbf16>
  %there = tile.settle %q : !tile.operand<64x64xbf16>
  %empty = tile.empty %ring[%stage] : !tile.ring<2 x 8192>
  tile.arrive %empty lane %lane
  return
}

// -----

// A dynamic scheduler: the product of the last one runs into the next round.

func.func @scheduler(%tiles: i32, %barriers: i32, %first: i32, %lane: i32) {
  %zero = arith.constant 0 : i32
  %ring = tile.ring stages %tiles barriers %barriers : !tile.ring<2 x 8192>
  %end:2 = scf.while (%stage = %first, %before = %zero) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ult, %stage, %lane : i32
    scf.condition(%more) %stage, %before : i32, i32
  } do {
  ^bb0(%stage: i32, %before: i32):
    %empty = tile.empty %ring[%before] : !tile.ring<2 x 8192>
    // expected-error@+1 {{releases a stage that a running product may still read}}
    tile.arrive %empty lane %lane
    %t = tile.stage %ring[%stage] : !tile.ring<2 x 8192>, !tile.shared<64x64xbf16>
    // expected-note@+1 {{started here}}
    %s = tile.multiply %t, %t over 64 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x8xf32>
    %next = arith.addi %stage, %lane : i32
    scf.yield %next, %stage : i32, i32
  }
  return
}

// -----

func.func @high(%a: i32, %b: i32) {
  %left = tile.view at %a : !tile.shared<128x64xf16>
  %right = tile.view at %b : !tile.shared<32x64xf16>
  // expected-error@+1 {{needs products of single warps; the target is 'sm_90a'}}
  %s = tile.multiply %left, %right rows over 32 : !tile.shared<128x64xf16>, !tile.shared<32x64xf16> -> !tile.accumulators<128x16xf32>
  return
}
