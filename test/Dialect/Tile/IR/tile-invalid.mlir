// RUN: redfuse-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{a ring has one stage or more, got 0}}
func.func private @stages(!tile.ring<0 x 1024>)

// -----

// expected-error@+1 {{stages must be multiples of 1024 bytes, got 1000}}
func.func private @bytes(!tile.ring<2 x 1000>)

// -----

// expected-error@+1 {{expected rows and columns, got 1 extents}}
func.func private @rank(!tile.shared<64xbf16>)

// -----

// expected-error@+1 {{elements must be f32, or of 8 or 16 bits, got 'f64'}}
func.func private @element(!tile.shared<64x64xf64>)

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

// expected-error@+1 {{a warpgroup has 64 rows, or 128, got 256}}
func.func private @rows(!tile.accumulators<256x64xf32>)

// -----

// expected-error@+1 {{columns must be a multiple of 8 up to 256, got 264}}
func.func private @columns(!tile.accumulators<64x264xf32>)

// -----

// expected-error@+1 {{elements must be f32 or i32, got 'f16'}}
func.func private @element(!tile.accumulators<64x64xf16>)

// -----

// expected-error@+1 {{a warpgroup has 64 rows, or 128, got 32}}
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
  %t = tile.stage %r[%s] at 512 : !tile.ring<2 x 16384>, !tile.shared<64x64xbf16>
  return
}

// -----

func.func @beyond(%r: !tile.ring<2 x 16384>, %s: i32) {
  // expected-error@+1 {{the tile ends at byte 17408 of a stage of 16384}}
  %t = tile.stage %r[%s] at 1024 : !tile.ring<2 x 16384>, !tile.shared<64x128xbf16>
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

// -----

func.func @block(%a: i32) {
  // expected-error@+1 {{a cluster has up to 16 blocks, got number 16}}
  %b = tile.address_in %a block 16
  return
}

// -----

func.func @block_of_value_type(%a: i32, %n: index) {
  // expected-note@-1 {{prior use here}}
  // expected-error@+1 {{use of value '%n' expects different type than prior uses: 'i32' vs 'index'}}
  %b = tile.address_in %a block %n
  return
}

// -----

func.func @no_block(%a: i32) {
  // expected-error@+1 {{expected the number of a block, a constant or a value, got neither}}
  %b = "tile.address_in"(%a) : (i32) -> i32
  return
}

// -----

func.func @two_blocks(%a: i32) {
  // expected-error@+1 {{expected the number of a block, a constant or a value, got both}}
  %b = "tile.address_in"(%a, %a) <{number = 1 : i64}> : (i32, i32) -> i32
  return
}

// -----

func.func @barrier() {
  // expected-error@+1 {{a block has barriers 0 to 15, got 16}}
  tile.synchronize barrier 16 threads 32
  return
}

// -----

func.func @threads() {
  // expected-error@+1 {{expected whole warps, 32 to 1024 threads, got 40}}
  tile.notify barrier 1 threads 40
  return
}

// -----

func.func @nobody(%warp: i32) {
  // expected-error@+1 {{expected one role or more}}
  tile.roles of %warp
  return
}

// -----

func.func @empty(%warp: i32) {
  // expected-error@+1 {{a role has one warp or more, got 0}}
  tile.roles of %warp role warps 0 {}
  return
}

// -----

func.func @too_many(%warp: i32) {
  // expected-error@+1 {{a block has up to 32 warps, got 36}}
  tile.roles of %warp role warps 4 {} role warps 32 {}
  return
}

// -----

func.func @some(%warp: i32) {
  // expected-error@+1 {{expected registers of the kernel and of each role, or of none}}
  tile.roles of %warp registers 168 role warps 4 registers 24 {} role warps 8 {}
  return
}

// -----

func.func @odd(%warp: i32) {
  // expected-error@+1 {{a thread's registers must be a multiple of 8 from 24 to 256, got 20}}
  tile.roles of %warp registers 168 role warps 4 registers 20 {}
  return
}

// -----

func.func @part(%warp: i32) {
  // expected-error@+1 {{registers are those of whole warpgroups, of 4 warps each; got a role of 2}}
  tile.roles of %warp registers 168 role warps 2 registers 24 {}
  return
}

// -----

func.func @pool(%warp: i32) {
  // expected-error@+1 {{roles take 66560 registers of 64512 that the block has}}
  tile.roles of %warp registers 168 role warps 4 registers 40 {} role warps 8 registers 240 {}
  return
}

// -----

gpu.module @m {
  gpu.func @block(%warp: i32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    // expected-error@+1 {{roles of 12 warps in a block of 256 threads}}
    tile.roles of %warp role warps 4 {} role warps 8 {}
    gpu.return
  }
}

// -----

func.func @three(%a: i32, %x: f32) {
  // expected-error@+1 {{expected 1, 2 or 4 words, got 3}}
  tile.store %a, %x, %x, %x : f32, f32, f32
  return
}

// -----

func.func @mixed(%a: i32, %x: f32) {
  // expected-error@+1 {{words must be of one type}}
  tile.store %a, %x, %a : f32, i32
  return
}

// -----

func.func @misplaced(%a: i32) {
  // expected-error@+1 {{the offset must be a multiple of 8 bytes, got 4}}
  %x, %y = tile.load %a at 4 : f32, f32
  return
}

// -----

func.func @rank(%map: vector<16xi64>, %x: i32, %t: !tile.shared<64x64xbf16>, %b: !tile.barrier) {
  // expected-error@+1 {{a tensor map has 1 to 5 dims, got 6 coordinates}}
  tile.copy %map[%x, %x, %x, %x, %x, %x] to %t signal %b : !tile.shared<64x64xbf16>
  return
}

// -----

func.func @neighbours(%b: !tile.barrier, %lane: i32) {
  // expected-error@+1 {{arrives at the barriers of 1 to 8 blocks, got 16}}
  tile.arrive %b lane %lane rank %lane blocks 16
  return
}

// -----

func.func @window(%map: vector<16xi64>, %x: i32, %tap: i16, %t: !tile.shared<64x64xbf16>, %b: !tile.barrier) {
  // expected-error@+1 {{a window has an offset for each of the one to three dims between the first and the last, got 2 and 3 coordinates}}
  tile.copy %map[%x, %x, %x] window [%tap, %tap] to %t signal %b : !tile.shared<64x64xbf16>
  return
}

// -----

func.func @box(%map: vector<16xi64>, %x: i32, %t: !tile.shared<264x64xbf16>) {
  // expected-error@+1 {{a box has up to 256 rows, got 264}}
  tile.copy_out %t to %map[%x] : !tile.shared<264x64xbf16>
  return
}

// -----

func.func @ahead(%map: vector<16xi64>, %x: i32) {
  // expected-error @+1 {{a box has up to 256 rows, got 264}}
  tile.prefetch %map[%x] : !tile.shared<264x64xbf16>
  return
}

// -----

func.func @groups() {
  // expected-error@+1 {{waits until 0 to 7 groups run, got 8}}
  tile.wait_copies 8
  return
}

// -----

func.func @column(%r: i32, %t: !tile.shared<64x64xbf16>) {
  // expected-error@+1 {{expected a multiple of 16 below 64 as column, got 64}}
  tile.store_block %r, %r, %r, %r to %t[%r] column 64 : !tile.shared<64x64xbf16>
  return
}

// -----

func.func @bytes(%r: i32, %t: !tile.shared<64x128xi8>) {
  // expected-error@+1 {{expected elements of 16 bits, got 'i8'}}
  tile.store_block %r, %r, %r, %r to %t[%r] column 0 : !tile.shared<64x128xi8>
  return
}

// -----

func.func @few(%x: f32) {
  // expected-error@+1 {{number of operands and types do not match: got 2 operands and 4 types}}
  %c = tile.accumulators %x, %x : !tile.accumulators<64x8xf32>
  return
}

// -----

func.func @few(%x: f32) {
  // expected-error@+1 {{a thread has 8 elements of it, got 2}}
  %p = tile.pack %x, %x : !tile.operand<64x16xbf16>
  return
}

// -----

func.func @type(%t: !tile.shared<64x64xbf16>, %r: i32) {
  // expected-error@+1 {{reads elements of 'bf16' as 'f16'}}
  %p = tile.read_operand %t[%r] : !tile.shared<64x64xbf16> -> !tile.operand<64x64xf16>
  return
}

// -----

func.func @large(%t: !tile.shared<64x64xbf16>, %r: i32) {
  // expected-error@+1 {{a tile of 64 x 64 does not have the 64 x 128 of the operand}}
  %p = tile.read_operand %t[%r] : !tile.shared<64x64xbf16> -> !tile.operand<64x128xbf16>
  return
}

// -----

func.func @nothing() {
  // expected-error@+1 {{expected one value or more}}
  "tile.settle"() : () -> ()
  return
}

// -----

func.func @sum(%a: !tile.shared<64x64xbf16>, %b: !tile.shared<64x64xbf16>) {
  // expected-error@+1 {{sums over a multiple of 16, got 40}}
  %c = tile.multiply %a, %b over 40 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x64xf32>
  return
}

// -----

func.func @element(%a: !tile.shared<64x128xi8>, %b: !tile.shared<64x128xi8>) {
  // expected-error@+1 {{elements must be bf16, f16, f32, f8E4M3FN, f8E5M2, si8 or ui8, got 'i8'}}
  %c = tile.multiply %a, %b over 64 : !tile.shared<64x128xi8>, !tile.shared<64x128xi8> -> !tile.accumulators<64x64xf32>
  return
}

// -----

func.func @long(%a: !tile.shared<64x64xbf16>, %b: !tile.shared<64x64xbf16>) {
  // expected-error@+1 {{sums over 128 elements, of which the right operand has 64}}
  %c = tile.multiply %a, %b over 128 : !tile.shared<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x64xf32>
  return
}

// -----

func.func @wide(%a: !tile.shared<64x64xbf16>, %b: !tile.shared<128x64xbf16>) {
  // expected-error@+1 {{the result has 128 columns, the right operand 64}}
  %c = tile.multiply %a, %b rows over 64 : !tile.shared<64x64xbf16>, !tile.shared<128x64xbf16> -> !tile.accumulators<64x128xf32>
  return
}

// -----

func.func @low(%a: !tile.shared<32x64xbf16>, %b: !tile.shared<64x64xbf16>) {
  // expected-error@+1 {{the result has 64 rows, the left operand 32}}
  %c = tile.multiply %a, %b over 64 : !tile.shared<32x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x64xf32>
  return
}

// -----

func.func @kinds(%a: !tile.operand<64x64xf16>, %b: !tile.shared<64x64xbf16>) {
  // expected-error@+1 {{operands are of 'f16' and of 'bf16'}}
  %c = tile.multiply %a, %b over 64 : !tile.operand<64x64xf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x64xf32>
  return
}

// -----

func.func @left(%a: !tile.operand<64x32xbf16>, %b: !tile.shared<64x64xbf16>) {
  // expected-error@+1 {{sums over 64 elements, of which the left operand has 32}}
  %c = tile.multiply %a, %b over 64 : !tile.operand<64x32xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x64xf32>
  return
}

// -----

func.func @part(%a: !tile.operand<64x64xbf16>, %b: !tile.shared<64x64xbf16>, %i: i32) {
  // expected-error@+1 {{a left operand in registers is taken as it is}}
  %c = tile.multiply %a[%i], %b over 64 : !tile.operand<64x64xbf16>, !tile.shared<64x64xbf16> -> !tile.accumulators<64x64xf32>
  return
}

// -----

func.func @other(%a: !tile.operand<64x64xbf16>, %b: !tile.shared<64x64xbf16>, %s: !tile.accumulators<64x32xf32>) {
  // expected-error@+1 {{adds to '!tile.accumulators<64x32xf32>', and gives '!tile.accumulators<64x64xf32>'}}
  %c = tile.multiply %a, %b over 64 plus %s : !tile.operand<64x64xbf16>, !tile.shared<64x64xbf16> plus !tile.accumulators<64x32xf32> -> !tile.accumulators<64x64xf32>
  return
}

// -----

// What may still run cannot be computed with.
func.func @touched(%s: !tile.accumulators<64x8xf32>) {
  // expected-error@+1 {{operand #0 must be floating-point-like, but got '!tile.accumulators<64x8xf32>'}}
  %x = arith.addf %s, %s : !tile.accumulators<64x8xf32>
  return
}

// -----

func.func @nothing(%a: i32, %x: f32) {
  // expected-error@+1 {{expected words of both operands, and sums}}
  %m = "tile.mma"(%a, %x) <{left_element = bf16, right_element = bf16, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> f32
  return
}

// -----

func.func @uneven(%a: i32, %x: f32) {
  // expected-error@+1 {{the lane's rows have 3 words, its column 2; expected as many for each row}}
  %m = tile.mma bf16(%a, %a, %a) by bf16(%a, %a) plus %x : (i32, i32, i32), (i32, i32) -> f32
  return
}

// -----

func.func @signless(%a: i32, %x: i32) {
  // expected-error@+1 {{elements must be floats, si8 or ui8, got 'i8'}}
  %m = tile.mma i8(%a) by i8(%a) plus %x : (i32), (i32) -> i32
  return
}

// -----

func.func @unpacked(%a: bf16, %x: f32) {
  // expected-error@+1 {{elements of 'bf16' come as i32, got 'bf16'}}
  %m = tile.mma bf16(%a) by bf16(%a) plus %x : (bf16), (bf16) -> f32
  return
}

// -----

func.func @sums(%a: i32, %x: f16) {
  // expected-error@+1 {{sums must be f32, f64 or i32, got 'f16'}}
  %m = tile.mma bf16(%a) by bf16(%a) plus %x : (i32), (i32) -> f16
  return
}

// -----

func.func @copied(%m: memref<64x20xbf16>, %t: !tile.shared<64x64xbf16>, %at: index, %thread: i32) {
  // expected-error@+1 {{expected a contiguous tensor with rows of a multiple of 16 bytes, got 'memref<64x20xbf16>'}}
  tile.copy_rows %m[%at, %at] along 0 to %t thread %thread of 128 : memref<64x20xbf16>, !tile.shared<64x64xbf16>
  return
}

// -----

func.func @copied(%m: memref<64x24xbf16>, %t: !tile.shared<64x64xbf16>, %at: index, %thread: i32) {
  // expected-error@+1 {{rows must be a dim before the last of 2, got 1}}
  tile.copy_rows %m[%at, %at] along 1 to %t thread %thread of 128 : memref<64x24xbf16>, !tile.shared<64x64xbf16>
  return
}

// -----

func.func @copied(%m: memref<64x24xf16>, %t: !tile.shared<64x64xbf16>, %at: index, %thread: i32) {
  // expected-error@+1 {{copies elements of 'f16' to a tile of 'bf16'}}
  tile.copy_rows %m[%at, %at] along 0 to %t thread %thread of 128 : memref<64x24xf16>, !tile.shared<64x64xbf16>
  return
}

// -----

func.func @copied(%m: memref<64x24xbf16>, %t: !tile.shared<64x64xbf16>, %at: index, %thread: i32) {
  // expected-error@+1 {{expected 2 indices, got 1}}
  tile.copy_rows %m[%at] along 0 to %t thread %thread of 128 : memref<64x24xbf16>, !tile.shared<64x64xbf16>
  return
}

// -----

func.func @copied(%m: memref<64x24xbf16>, %t: !tile.shared<64x64xbf16>, %at: index, %thread: i32) {
  // expected-error@+1 {{threads must be a multiple of 8 up to 1024, got 100}}
  tile.copy_rows %m[%at, %at] along 0 to %t thread %thread of 100 : memref<64x24xbf16>, !tile.shared<64x64xbf16>
  return
}

// -----

func.func @transposed(%a: !tile.shared<64x32xf32>, %b: !tile.shared<32x32xf32>) {
  // expected-error@+1 {{operands of 'f32' are in shared memory, and the sum runs along their columns}}
  %c = tile.multiply %a, %b rows over 32 : !tile.shared<64x32xf32>, !tile.shared<32x32xf32> -> !tile.accumulators<64x32xf32>
  return
}

// -----

func.func @transposed_bytes(%a: !tile.shared<64x128xf8E4M3FN>, %b: !tile.shared<32x128xf8E4M3FN>) {
  // expected-error@+1 {{operands of 'f8E4M3FN' are in shared memory, and the sum runs along their columns}}
  %c = tile.multiply %a, %b rows over 32 : !tile.shared<64x128xf8E4M3FN>, !tile.shared<32x128xf8E4M3FN> -> !tile.accumulators<64x32xf32>
  return
}

// -----

func.func @integers_and_floats(%a: !tile.shared<64x128xf8E4M3FN>, %b: !tile.shared<32x128xsi8>) {
  // expected-error@+1 {{operands are of 'f8E4M3FN' and of 'si8'}}
  %c = tile.multiply %a, %b over 32 : !tile.shared<64x128xf8E4M3FN>, !tile.shared<32x128xsi8> -> !tile.accumulators<64x32xi32>
  return
}

// -----

func.func @float_sums_of_integers(%a: !tile.shared<64x128xui8>, %b: !tile.shared<32x128xsi8>) {
  // expected-error@+1 {{sums of 'si8' are of i32, got 'f32'}}
  %c = tile.multiply %a, %b over 32 : !tile.shared<64x128xui8>, !tile.shared<32x128xsi8> -> !tile.accumulators<64x32xf32>
  return
}

// -----

func.func @integer_sums_of_floats(%a: !tile.shared<64x64xbf16>, %b: !tile.shared<32x64xbf16>) {
  // expected-error@+1 {{sums of 'bf16' are of f32, got 'i32'}}
  %c = tile.multiply %a, %b over 32 : !tile.shared<64x64xbf16>, !tile.shared<32x64xbf16> -> !tile.accumulators<64x32xi32>
  return
}

// -----

func.func @bytes_and_halves(%a: !tile.shared<64x64xbf16>, %b: !tile.shared<32x128xf8E4M3FN>) {
  // expected-error@+1 {{operands are of 'bf16' and of 'f8E4M3FN'}}
  %c = tile.multiply %a, %b over 32 : !tile.shared<64x64xbf16>, !tile.shared<32x128xf8E4M3FN> -> !tile.accumulators<64x32xf32>
  return
}
