// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(gpu.func(redfuse-convert-bytes)))" | FileCheck %s

gpu.module @redfuse_gpu {
  // Codes of 4 bits less 8, times a scale, as they would be rounded: all in bf16, two at a time.
  // CHECK-LABEL: gpu.func @codes_of_4_bits
  // CHECK-SAME: (%[[X:.*]]: vector<8xi8>, %[[S:.*]]: bf16, %[[LOW:.*]]: i1)
  // CHECK-DAG: %[[UPPER:.*]] = arith.constant 1128481603 : i32
  // CHECK-DAG: %[[FIRST:.*]] = arith.constant 16704 : i32
  // CHECK-DAG: %[[SECOND:.*]] = arith.constant 17218 : i32
  // CHECK-DAG: %[[ABOVE:.*]] = arith.constant dense<1.360000e+02> : vector<8xbf16>
  // CHECK-DAG: %[[MASK:.*]] = arith.constant dense<252645135> : vector<2xi32>
  // CHECK-DAG: %[[FOUR:.*]] = arith.constant dense<4> : vector<2xi32>
  // CHECK: %[[WORDS:.*]] = vector.bitcast %[[X]] : vector<8xi8> to vector<2xi32>
  // CHECK: %[[AND:.*]] = arith.andi %[[WORDS]], %[[MASK]] : vector<2xi32>
  // CHECK: %[[SHIFTED:.*]] = arith.shrui %{{.*}}, %[[FOUR]] : vector<2xi32>
  // CHECK: %[[OTHER:.*]] = arith.andi %[[SHIFTED]], %[[MASK]] : vector<2xi32>
  // CHECK: %[[BYTES:.*]] = arith.select %[[LOW]], %{{.*}}, %{{.*}} : vector<2xi32>
  // CHECK: %[[WORD:.*]] = vector.extract %[[BYTES]][0]
  // CHECK: nvvm.prmt <default> %[[FIRST]], %[[WORD]], %[[UPPER]]
  // CHECK: nvvm.prmt <default> %[[SECOND]], %[[WORD]], %[[UPPER]]
  // CHECK: %[[PAIRS:.*]] = vector.bitcast %{{.*}} : vector<4xi32> to vector<8xbf16>
  // CHECK: %[[CODES:.*]] = arith.subf %[[PAIRS]], %[[ABOVE]] : vector<8xbf16>
  // CHECK: %[[SCALES:.*]] = vector.broadcast %[[S]] : bf16 to vector<8xbf16>
  // CHECK: arith.mulf %[[CODES]], %[[SCALES]] : vector<8xbf16>
  gpu.func @codes_of_4_bits(%x: vector<8xi8>, %s: bf16, %isLow: i1) -> vector<8xbf16> {
    %fifteen = arith.constant dense<15> : vector<8xi8>
    %four = arith.constant dense<4> : vector<8xi8>
    %eight = arith.constant dense<8.0> : vector<8xf32>
    %low = arith.andi %x, %fifteen : vector<8xi8>
    %high = arith.shrui %x, %four : vector<8xi8>
    %which = vector.broadcast %isLow : i1 to vector<8xi1>
    %code = arith.select %which, %low, %high : vector<8xi1>, vector<8xi8>
    %float = arith.uitofp %code : vector<8xi8> to vector<8xbf16>
    %wide = arith.extf %float : vector<8xbf16> to vector<8xf32>
    %centred = arith.subf %wide, %eight : vector<8xf32>
    %scale = arith.extf %s : bf16 to f32
    %scales = vector.broadcast %scale : f32 to vector<8xf32>
    %weight = arith.mulf %centred, %scales : vector<8xf32>
    %rounded = arith.truncf %weight : vector<8xf32> to vector<8xbf16>
    gpu.return %rounded : vector<8xbf16>
  }

  // All of 8 bits with a sign, in bf16: 128 and seven bits, less 128 or 256.
  // CHECK-LABEL: gpu.func @signed_bytes
  // CHECK-DAG: arith.constant dense<-8388737> : vector<2xi32>
  // CHECK-DAG: arith.constant dense<-8323200> : vector<2xi32>
  // CHECK-COUNT-2: nvvm.prmt
  // CHECK: arith.subf %{{.*}}, %{{.*}} : vector<4xbf16>
  gpu.func @signed_bytes(%x: vector<4xi8>) -> vector<4xbf16> {
    %float = arith.sitofp %x : vector<4xi8> to vector<4xbf16>
    gpu.return %float : vector<4xbf16>
  }

  // In f16 a number without a sign.
  // CHECK-LABEL: gpu.func @signed_bytes_as_halves
  // CHECK-DAG: arith.constant dense<1.152000e+03> : vector<4xf16>
  // CHECK-DAG: arith.constant dense<-2139062144> : vector<1xi32>
  // CHECK: arith.xori
  // CHECK-COUNT-2: nvvm.prmt
  // CHECK: arith.subf
  gpu.func @signed_bytes_as_halves(%x: vector<4xi8>) -> vector<4xf16> {
    %float = arith.sitofp %x : vector<4xi8> to vector<4xf16>
    gpu.return %float : vector<4xf16>
  }

  // CHECK-LABEL: gpu.func @bytes_as_halves
  // CHECK: arith.constant dense<1.024000e+03> : vector<4xf16>
  // CHECK-COUNT-2: nvvm.prmt
  gpu.func @bytes_as_halves(%x: vector<4xi8>) -> vector<4xf16> {
    %float = arith.uitofp %x : vector<4xi8> to vector<4xf16>
    gpu.return %float : vector<4xf16>
  }

  // Without vectors what is computed is narrow, too.
  // CHECK-LABEL: gpu.func @one
  // CHECK-SAME: (%[[X:.*]]: i8, %[[S:.*]]: f16)
  // CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8.000000e+00 : f16
  // CHECK: %[[F:.*]] = arith.uitofp %[[X]] : i8 to f16
  // CHECK: %[[C:.*]] = arith.subf %[[F]], %[[EIGHT]] : f16
  // CHECK: arith.mulf %[[C]], %[[S]] : f16
  gpu.func @one(%x: i8, %s: f16) -> f16 {
    %eight = arith.constant 8.0 : f32
    %float = arith.uitofp %x : i8 to f32
    %centred = arith.subf %float, %eight : f32
    %scale = arith.extf %s : f16 to f32
    %weight = arith.mulf %centred, %scale : f32
    %rounded = arith.truncf %weight : f32 to f16
    gpu.return %rounded : f16
  }

  // Differences of codes in words of 32 bits: added to the bits of 1536.
  // CHECK-LABEL: gpu.func @differences
  // CHECK-SAME: (%[[X:.*]]: vector<2xi32>, %[[Z:.*]]: vector<2xi32>)
  // CHECK-DAG: %[[BITS:.*]] = arith.constant dense<26112> : vector<2xi32>
  // CHECK-DAG: %[[MIDDLE:.*]] = arith.constant dense<1.536000e+03> : vector<2xf16>
  // CHECK: %[[D:.*]] = arith.subi
  // CHECK: %[[SUM:.*]] = arith.addi %[[D]], %[[BITS]]
  // CHECK: nvvm.prmt
  // CHECK: arith.subf %{{.*}}, %[[MIDDLE]] : vector<2xf16>
  gpu.func @differences(%x: vector<2xi32>, %z: vector<2xi32>) -> vector<2xf16> {
    %fifteen = arith.constant dense<15> : vector<2xi32>
    %eight = arith.constant dense<8> : vector<2xi32>
    %shifted = arith.shrsi %x, %eight : vector<2xi32>
    %code = arith.andi %shifted, %fifteen : vector<2xi32>
    %zero = arith.andi %z, %fifteen : vector<2xi32>
    %difference = arith.subi %code, %zero : vector<2xi32>
    %float = arith.sitofp %difference : vector<2xi32> to vector<2xf16>
    gpu.return %float : vector<2xf16>
  }

  // All codes of one word: its bytes, of which every second code begins in the middle, are
  // put below 1024, two at a time; the zero point is subtracted with that.
  // CHECK-LABEL: gpu.func @codes
  // CHECK-SAME: (%[[W:.*]]: i32, %[[Z:.*]]: i32)
  // CHECK-DAG: %[[MASK:.*]] = arith.constant 983055 : i32
  // CHECK-DAG: %[[UPPER:.*]] = arith.constant 1677747200 : i32
  // CHECK-DAG: %[[BYTE:.*]] = arith.constant 17408 : i32
  // CHECK: %[[SHIFTED:.*]] = arith.shrui %[[W]]
  // CHECK: %[[PAIR:.*]] = nvvm.prmt <default> %[[BYTE]], %[[W]], %[[SHIFTED]]
  // CHECK: %[[CODES:.*]] = arith.andi %[[PAIR]], %[[MASK]] : i32
  // CHECK: arith.ori %[[CODES]], %[[UPPER]] : i32
  // CHECK-COUNT-3: nvvm.prmt
  // CHECK: %[[MORE:.*]] = arith.addi
  // CHECK: %[[LESS:.*]] = arith.sitofp %[[MORE]] : i32 to f16
  // CHECK: %[[ALL:.*]] = vector.broadcast %[[LESS]]
  // CHECK: arith.subf %{{.*}}, %[[ALL]] : vector<8xf16>
  gpu.func @codes(%w: i32, %z: i32) -> vector<8xf16> {
    %fifteen = arith.constant dense<15> : vector<8xi32>
    %mask = arith.constant 15 : i32
    %shifts = arith.constant dense<[0, 4, 8, 12, 16, 20, 24, 28]> : vector<8xi32>
    %words = vector.broadcast %w : i32 to vector<8xi32>
    %shifted = arith.shrsi %words, %shifts : vector<8xi32>
    %code = arith.andi %shifted, %fifteen : vector<8xi32>
    %one = arith.andi %z, %mask : i32
    %zero = vector.broadcast %one : i32 to vector<8xi32>
    %difference = arith.subi %code, %zero : vector<8xi32>
    %float = arith.sitofp %difference : vector<8xi32> to vector<8xf16>
    gpu.return %float : vector<8xf16>
  }
}
