// RUN: redfuse-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{a ring has one slot or more, got 0}}
func.func private @slots(!tile.ring<0 x 1024>)

// -----

// expected-error@+1 {{slots must be multiples of 1024 bytes, got 1000}}
func.func private @bytes(!tile.ring<2 x 1000>)

// -----

// expected-error@+1 {{expected rows and columns, got 1 extents}}
func.func private @rank(!tile.shared<64xbf16>)

// -----

// expected-error@+1 {{elements must be of 8 or 16 bits, got 'f32'}}
func.func private @element(!tile.shared<64x64xf32>)

// -----

// expected-error@+1 {{rows must be a multiple of 8, the period of the swizzle, got 12}}
func.func private @rows(!tile.shared<12x64xbf16>)

// -----

// expected-error@+1 {{columns must be a multiple of 64, a panel of 128 bytes, got 32}}
func.func private @columns(!tile.shared<64x32xbf16>)

// -----

// expected-error@+1 {{columns must be a multiple of 128, a panel of 128 bytes, got 64}}
func.func private @bytes(!tile.shared<64x64xf8E4M3FN>)

// -----

// expected-error@+1 {{a warpgroup has 64 rows, got 128}}
func.func private @rows(!tile.accumulators<128x64xf32>)

// -----

// expected-error@+1 {{columns must be a multiple of 8 up to 256, got 264}}
func.func private @columns(!tile.accumulators<64x264xf32>)

// -----

// expected-error@+1 {{elements must be f32, got 'f16'}}
func.func private @element(!tile.accumulators<64x64xf16>)

// -----

// expected-error@+1 {{a warpgroup has 64 rows, got 32}}
func.func private @rows(!tile.operand<32x64xbf16>)

// -----

// expected-error@+1 {{columns must be a multiple of 16, got 8}}
func.func private @columns(!tile.operand<64x8xbf16>)

// -----

// expected-error@+1 {{elements must be bf16 or f16, got 'f32'}}
func.func private @element(!tile.operand<64x16xf32>)

// -----

func.func @misplaced(%r: !tile.ring<2 x 16384>, %s: i32) {
  // expected-error@+1 {{the tile must start at a multiple of 1024 bytes, got 512}}
  %t = tile.slot %r[%s] at 512 : !tile.ring<2 x 16384>, !tile.shared<64x64xbf16>
  return
}

// -----

func.func @beyond(%r: !tile.ring<2 x 16384>, %s: i32) {
  // expected-error@+1 {{the tile ends at byte 17408 of a slot of 16384}}
  %t = tile.slot %r[%s] at 1024 : !tile.ring<2 x 16384>, !tile.shared<64x128xbf16>
  return
}

// -----

func.func @nobody(%b: !tile.barrier) {
  // expected-error@+1 {{expected 1 to 1048575 arrivals a phase, got 0}}
  tile.init_barrier %b arrivals 0
  return
}

// -----

func.func @too_many(%b: !tile.barrier) {
  // expected-error@+1 {{a phase counts up to 1048575 bytes, got 1048576}}
  tile.expect %b bytes 1048576
  return
}
