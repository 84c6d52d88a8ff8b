// RUN: redfuse-opt %s -redfuse-fuse | FileCheck %s --check-prefix=ONE
// RUN: redfuse-opt %s -redfuse-fuse=along=0,1 | FileCheck %s --check-prefix=COLUMNS
// RUN: redfuse-opt %s -redfuse-fuse=along=0,0 | FileCheck %s --check-prefix=ROWS

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#i = affine_map<(i) -> (i)>
#n = affine_map<(i) -> ()>

// The sum of the largest of each row: a state of the columns is the largest of
// each row, of which another kernel makes the sum.
// ONE-LABEL: func.func @sum
// ONE-COUNT-1: = redfuse.cascade {
// ONE-NOT: = redfuse.cascade {
// COLUMNS-LABEL: func.func @sum
// COLUMNS: condition = "stream"
// COLUMNS: = redfuse.cascade {
// COLUMNS-NEXT: ^bb0
// COLUMNS-NEXT: redfuse.reduce maximumf %{{.*}} over [1] into [0]
// COLUMNS-NEXT: redfuse.yield
// COLUMNS: = redfuse.cascade {
// COLUMNS: redfuse.reduce add %{{.*}} over [0] into []
// ROWS-LABEL: func.func @sum
// ROWS-COUNT-1: = redfuse.cascade {
// ROWS-NOT: = redfuse.cascade {
func.func @sum(%x: tensor<64x512xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<64xf32>
  %s = tensor.empty() : tensor<f32>
  %m = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x512xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32):
    %v = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %v : f32
  } -> tensor<64xf32>
  %r = redfuse.cascade {indexing_maps = [#i, #n]} ins(%m : tensor<64xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32):
    %v = redfuse.reduce add %a over [0] into [] : f32
    redfuse.yield %v : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
