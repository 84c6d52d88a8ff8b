// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-prepack-operands | FileCheck %s

#x = affine_map<(n, o, p, c, t) -> (n, c, (p + t + 8193) mod 8194)>
#w = affine_map<(n, o, p, c, t) -> (o, c, t)>
#y = affine_map<(n, o, p, c, t) -> (n, o, p)>

// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, (d2 + d4 + 8193) mod 8194, d3)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d1, d4, d3)>

// Channels become neighbours in both operands, rounded. The zeros of the padding are made
// where the window is read.
// CHECK-LABEL: func.func @padded
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<8x64x8194xf32>, %[[B:[a-z0-9]+]]: tensor<512x64x3xf32>
// CHECK: %[[XC:.*]] = redfuse.cascade {indexing_maps = [#[[LAST]], #[[ID]]]} ins(%[[A]] : tensor<8x64x8194xf32>) outs(%{{.*}} : tensor<8x8194x64xf32>)
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32):
// CHECK-NEXT: %[[T:.*]] = arith.truncf %[[V]] : f32 to tf32
// CHECK-NEXT: %[[U:.*]] = arith.extf %[[T]] : tf32 to f32
// CHECK-NEXT: redfuse.yield %[[U]]
// CHECK: %[[WC:.*]] = redfuse.cascade {indexing_maps = [#[[LAST]], #[[ID]]]} ins(%[[B]] : tensor<512x64x3xf32>) outs(%{{.*}} : tensor<512x3x64xf32>)
// CHECK: redfuse.cascade {indexing_maps = [#[[X]], #[[W]], #{{.*}}]} ins(%[[XC]], %[[WC]] :
// CHECK-NEXT: ^bb0(%[[F:.*]]: f32, %[[G:.*]]: f32):
// CHECK: %[[S:.*]] = arith.select %{{.*}}, %[[F]], %{{.*}} : f32
// CHECK-NEXT: arith.truncf %[[S]] {redfuse.exact} : f32 to tf32
// CHECK: arith.truncf %[[G]] {redfuse.exact} : f32 to tf32
func.func @padded(%x: tensor<8x64x8194xf32>, %w: tensor<512x64x3xf32>, %e: tensor<8x512x8194xf32>) -> tensor<8x512x8194xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  %r = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%x, %w : tensor<8x64x8194xf32>, tensor<512x64x3xf32>) outs(%e : tensor<8x512x8194xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = redfuse.index 2
    %t = redfuse.index 4
    %i = arith.addi %p, %t : index
    %inside = arith.cmpi sge, %i, %one : index
    %v = arith.select %inside, %a, %zero : f32
    %v19 = arith.truncf %v : f32 to tf32
    %f = arith.extf %v19 : tf32 to f32
    %b19 = arith.truncf %b : f32 to tf32
    %g = arith.extf %b19 : tf32 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<8x512x8194xf32>
  return %r : tensor<8x512x8194xf32>
}

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// A product in TF32 without a window. What is 16 bits and lies in this order already is
// not copied.
// CHECK-LABEL: func.func @plain
// CHECK-COUNT-2: arith.truncf %{{.*}} : f32 to tf32
// CHECK-COUNT-2: arith.truncf %{{.*}} {redfuse.exact} : f32 to tf32
func.func @plain(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%x, %w : tensor<4096x4096xf32>, tensor<4096x4096xf32>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %a19 = arith.truncf %a : f32 to tf32
    %f = arith.extf %a19 : tf32 to f32
    %b19 = arith.truncf %b : f32 to tf32
    %g = arith.extf %b19 : tf32 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

#cx = affine_map<(n, o, p, c, t) -> (n, p + t, c)>
#cw = affine_map<(n, o, p, c, t) -> (o, t, c)>

// CHECK-LABEL: func.func @last
// CHECK-COUNT-1: redfuse.cascade
// CHECK-NOT: redfuse.cascade
// CHECK: return
func.func @last(%x: tensor<8x8194x64xbf16>, %w: tensor<512x3x64xbf16>, %e: tensor<8x512x8192xf32>) -> tensor<8x512x8192xf32> {
  %r = redfuse.cascade {indexing_maps = [#cx, #cw, #y]} ins(%x, %w : tensor<8x8194x64xbf16>, tensor<512x3x64xbf16>) outs(%e : tensor<8x512x8192xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %p = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<8x512x8192xf32>
  return %r : tensor<8x512x8192xf32>
}

#kb = affine_map<(i, j, k) -> (j, k)>

// Where f32 is not rounded a factor is copied in two parts, whose sum it is.
// CHECK-LABEL: func.func @parts
// CHECK: %[[P:.*]]:2 = redfuse.cascade {{.*}} ins(%{{.*}} : tensor<4096x4096xf32>) outs(%{{.*}}, %{{.*}} : tensor<4096x4096xf32>, tensor<4096x4096xf32>)
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32):
// CHECK: %[[BITS:.*]] = arith.bitcast %[[V]] : f32 to i32
// CHECK: %[[BIG:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: %[[REST:.*]] = arith.subf %[[V]], %[[BIG]]
// CHECK: %[[LACKS:.*]] = arith.select %{{.*}}, %{{.*}}, %[[REST]]
// CHECK: redfuse.yield %[[BIG]], %[[LACKS]]
// CHECK: %[[Q:.*]]:2 = redfuse.cascade
// CHECK: redfuse.cascade {{.*}} ins(%[[P]]#0, %[[P]]#1, %[[Q]]#0, %[[Q]]#1 :
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[AR:.*]]: f32, %[[B:.*]]: f32, %[[BR:.*]]: f32):
// CHECK-DAG: %[[X:.*]] = arith.addf %[[A]], %[[AR]] {redfuse.parts} : f32
// CHECK-DAG: %[[Y:.*]] = arith.addf %[[B]], %[[BR]] {redfuse.parts} : f32
// CHECK: arith.mulf %[[X]], %[[Y]]
func.func @parts(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#a, #kb, #o]} ins(%x, %w : tensor<4096x4096xf32>, tensor<4096x4096xf32>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// Codes of 8 bits, stored or computed, are bfloats exactly: warpgroups multiply those.
// CHECK-LABEL: func.func @codes
// CHECK: %[[X:.*]] = redfuse.cascade {{.*}} ins(%{{.*}} : tensor<4096x4096xf32>) outs(%{{.*}} : tensor<4096x4096xbf16>)
// CHECK: %[[W:.*]] = redfuse.cascade {{.*}} ins(%{{.*}} : tensor<4096x4096xi8>) outs(%{{.*}} : tensor<4096x4096xbf16>)
// CHECK: arith.sitofp %{{.*}} : i8 to f32
// CHECK: redfuse.cascade {{.*}} ins(%[[X]], %[[W]] : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16):
// CHECK-DAG: %[[AF:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-DAG: %[[BF:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK: arith.mulf %[[AF]], %[[BF]]
func.func @codes(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xi8>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#a, #kb, #o]} ins(%x, %w : tensor<4096x4096xf32>, tensor<4096x4096xi8>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: f32, %b: i8):
    %q = arith.truncf %a : f32 to f8E4M3FN
    %x8 = arith.extf %q : f8E4M3FN to f32
    %w8 = arith.sitofp %b : i8 to f32
    %m = arith.mulf %x8, %w8 : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// Rows that are moved against the results' and computed are copied as what is computed.
// CHECK-LABEL: func.func @moved
// CHECK: %[[X:.*]] = redfuse.cascade {{.*}} ins(%{{.*}} : tensor<4096x4096xbf16>) outs(%{{.*}} : tensor<4096x4096xbf16>)
// CHECK: arith.mulf
// CHECK: redfuse.cascade {{.*}} ins(%{{.*}}, %[[X]] : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>)
func.func @moved(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j, k) -> ((i + 4095) mod 4096, k)>, #kb, #o]} ins(%x, %w : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.mulf %f, %f : f32
    %h = arith.truncf %g : f32 to bf16
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %b : bf16 to f32
    %m = arith.mulf %p, %q : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

#ra = affine_map<(i, j, k) -> (i, k)>
#rb = affine_map<(i, j, k) -> (j, k)>
#ro = affine_map<(i, j, k) -> (i, j)>

// A factor that is computed, beside rows of 16-bit floats that do not begin at multiples of 16
// bytes: zeros are put behind the sum of both, up to whole lines.
// CHECK-LABEL: func.func @ragged
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<4096x4097xbf16>, %[[B:[a-z0-9]+]]: tensor<4096x4097xbf16>
// CHECK: %[[AC:.*]] = redfuse.cascade {{.*}} ins(%[[A]] : tensor<4096x4097xbf16>) outs(%{{.*}} : tensor<4096x4160xbf16>)
// CHECK: arith.negf
// CHECK: %[[IN:.*]] = arith.cmpi slt
// CHECK: arith.select %[[IN]]
// CHECK: %[[BC:.*]] = redfuse.cascade {{.*}} ins(%[[B]] : tensor<4096x4097xbf16>) outs(%{{.*}} : tensor<4096x4160xbf16>)
// CHECK-NEXT: ^bb0(%[[V:.*]]: bf16):
// CHECK: %[[K:.*]] = redfuse.index 1
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[K]], %c4097
// CHECK: %[[P:.*]] = arith.select %[[IN]], %[[V]], %cst
// CHECK: redfuse.yield %[[P]]
// CHECK: redfuse.cascade {{.*}} ins(%[[AC]], %[[BC]] :
func.func @ragged(%x: tensor<4096x4097xbf16>, %w: tensor<4096x4097xbf16>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#ra, #rb, #ro]} ins(%x, %w : tensor<4096x4097xbf16>, tensor<4096x4097xbf16>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %n = arith.negf %a : bf16
    %f = arith.extf %n : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

#px = affine_map<(n, o, p, c, t) -> (n, c, p + t)>
#pw = affine_map<(n, o, p, c, t) -> (o, c, t)>

// Channels that are no whole vectors.
// CHECK-LABEL: func.func @channels
// CHECK: redfuse.cascade {{.*}} outs(%{{.*}} : tensor<8x8194x40xbf16>)
// CHECK: redfuse.cascade {{.*}} outs(%{{.*}} : tensor<512x3x40xbf16>)
// CHECK: redfuse.cascade {{.*}} : tensor<8x8194x40xbf16>, tensor<512x3x40xbf16>)
func.func @channels(%x: tensor<8x37x8194xbf16>, %w: tensor<512x37x3xbf16>, %e: tensor<8x512x8192xf32>) -> tensor<8x512x8192xf32> {
  %r = redfuse.cascade {indexing_maps = [#px, #pw, #y]} ins(%x, %w : tensor<8x37x8194xbf16>, tensor<512x37x3xbf16>) outs(%e : tensor<8x512x8192xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %p = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<8x512x8192xf32>
  return %r : tensor<8x512x8192xf32>
}

// Neighbours in memory are of different matrices (channels): one copy has each matrix for itself, the
// sum adjacent, and both operands read it.
// CHECK-LABEL: func.func @of_channels
// CHECK: %[[COPY:.*]] = redfuse.cascade {{.*}} ins(%{{.*}} : tensor<250x240x128xbf16>) outs(%{{.*}} : tensor<128x250x240xbf16>)
// CHECK: redfuse.cascade {{.*}} ins(%[[COPY]], %[[COPY]] : tensor<128x250x240xbf16>, tensor<128x250x240xbf16>)
func.func @of_channels(%x: tensor<250x240x128xbf16>, %e: tensor<250x250x128xf32>) -> tensor<250x250x128xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(i, j, c, k) -> (i, k, c)>, affine_map<(i, j, c, k) -> (j, k, c)>, affine_map<(i, j, c, k) -> (i, j, c)>]} ins(%x, %x : tensor<250x240x128xbf16>, tensor<250x240x128xbf16>) outs(%e : tensor<250x250x128xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %p = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %p over [3] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<250x250x128xf32>
  return %r : tensor<250x250x128xf32>
}

// Few products, by windows that warps would read element by element; the filter is known, so that its
// copy is made when the program is compiled.
// CHECK-LABEL: func.func @few_products
// CHECK: redfuse.cascade {{.*}} ins(%{{.*}} : tensor<2x64x52xf32>) outs(%{{.*}} : tensor<2x52x64xf32>)
// CHECK: redfuse.cascade {{.*}} ins(%{{.*}} : tensor<64x64x5xf32>) outs(%{{.*}} : tensor<64x5x64xf32>)
// CHECK: redfuse.cascade {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x52x64xf32>, tensor<64x5x64xf32>)
func.func @few_products(%x: tensor<2x64x52xf32>, %e: tensor<2x64x48xf32>) -> tensor<2x64x48xf32> {
  %w = arith.constant dense_resource<filter> : tensor<64x64x5xf32>
  %r = redfuse.cascade {indexing_maps = [#px, #pw, #y]} ins(%x, %w : tensor<2x64x52xf32>, tensor<64x64x5xf32>) outs(%e : tensor<2x64x48xf32>) {
  ^bb0(%a: f32, %b: f32):
    %a19 = arith.truncf %a : f32 to tf32
    %f = arith.extf %a19 : tf32 to f32
    %b19 = arith.truncf %b : f32 to tf32
    %g = arith.extf %b19 : tf32 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<2x64x48xf32>
  return %r : tensor<2x64x48xf32>
}
