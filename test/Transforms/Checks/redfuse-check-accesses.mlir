// RUN: redfuse-opt %s -split-input-file -redfuse-check-accesses | FileCheck %s

// CHECK-LABEL: func @extract
// CHECK-SAME: (%{{.*}}: tensor<40xf32>, %[[I:.*]]: index)
// CHECK: %[[N:.*]] = arith.constant 40 : index
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[I]], %[[N]] : index
// CHECK: cf.assert %[[INSIDE]], "{{.*}}check-accesses.mlir:9:8: tensor.extract: index 0 is outside the tensor"
func.func @extract(%x: tensor<40xf32>, %i: index) -> f32 {
  %v = tensor.extract %x[%i] : tensor<40xf32>
  return %v : f32
}

// -----

// Both ends occur: they are looked at in front of the loop, if it has a round.
// CHECK-LABEL: func @loop
// CHECK-SAME: (%{{.*}}: tensor<40xf32>, %[[N:.*]]: index
// CHECK: %[[LAST:.*]] = arith.addi %[[N]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[LAST]]
// CHECK: %[[EMPTY:.*]] = arith.cmpi sle, %[[N]]
// CHECK: %[[HOLDS:.*]] = arith.ori %[[INSIDE]], %[[EMPTY]] : i1
// CHECK: cf.assert %[[HOLDS]]
// CHECK: scf.for
// CHECK-NOT: cf.assert
func.func @loop(%x: tensor<40xf32>, %n: index, %v: f32) -> tensor<40xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<40xf32>) {
    %s = tensor.insert %v into %t[%i] : tensor<40xf32>
    scf.yield %s : tensor<40xf32>
  }
  return %r : tensor<40xf32>
}

// -----

// In a body: it goes on as an assertion of the kernel.
// CHECK-LABEL: func @gather
// CHECK: %[[N:.*]] = tensor.dim
// CHECK: linalg.generic
// CHECK: %[[K:.*]] = arith.index_cast
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[K]], %[[N]]
// CHECK: cf.assert %[[INSIDE]]
// CHECK: tensor.extract
func.func @gather(%x: tensor<?xf32>, %at: tensor<9xi64>) -> tensor<9xf32> {
  %e = tensor.empty() : tensor<9xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%at : tensor<9xi64>) outs(%e : tensor<9xf32>) {
  ^bb0(%a: i64, %o: f32):
    %k = arith.index_cast %a : i64 to index
    %v = tensor.extract %x[%k] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// -----

// A branch that is not taken reads nothing: its checks stay in it.
// CHECK-LABEL: func @branch
// CHECK: scf.if
// CHECK: cf.assert
// CHECK: tensor.extract
func.func @branch(%x: tensor<?xf32>, %c: i1, %i: index, %z: f32) -> f32 {
  %r = scf.if %c -> f32 {
    %v = tensor.extract %x[%i] : tensor<?xf32>
    scf.yield %v : f32
  } else {
    scf.yield %z : f32
  }
  return %r : f32
}

// -----

// CHECK-LABEL: func @extents
// CHECK: cf.assert %{{.*}}, "{{.*}}linalg.add: extent 0 of operand 1 differs from another operand's in the same iteration dim"
// CHECK: cf.assert %{{.*}}, "{{.*}}linalg.add: extent 0 of operand 2
// CHECK-NOT: cf.assert
// CHECK: linalg.add
// What was compared once is known.
// CHECK-NOT: cf.assert
// CHECK: linalg.mul
func.func @extents(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%z : tensor<?xf32>)
      -> tensor<?xf32>
  %s = linalg.mul ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%z : tensor<?xf32>)
      -> tensor<?xf32>
  %t = linalg.sub ins(%r, %s : tensor<?xf32>, tensor<?xf32>) outs(%z : tensor<?xf32>)
      -> tensor<?xf32>
  return %t : tensor<?xf32>
}

// -----

// CHECK-LABEL: func @slice
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.extract_slice: dim 0 reaches outside the tensor"
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.extract_slice: dim 0 reaches outside the tensor"
func.func @slice(%x: tensor<?xf32>, %o: index, %n: index, %s: index) -> tensor<?xf32> {
  %r = tensor.extract_slice %x[%o] [%n] [%s] : tensor<?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// A negative offset, which is never reached or begins nothing, is made 0.
// CHECK-LABEL: func @negative
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.extract_slice: dim 0 reaches outside the tensor"
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.extract_slice: dim 0 reaches outside the tensor"
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT: tensor.extract_slice %{{.*}}[%[[ZERO]]]
func.func @negative(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %two = arith.constant -2 : index
  %three = arith.constant -3 : index
  %five = arith.addi %two, %three : index
  %r = tensor.extract_slice %x[%five] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// CHECK-LABEL: func @sizes
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.empty: negative extent"
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.empty: negative extent"
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.empty: a tensor of more bytes than memory has addresses"
func.func @sizes(%n: index, %m: index) -> tensor<?x?xf32> {
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  return %e : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func @shapes
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.reshape: negative extent"
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.reshape: negative extent"
// CHECK: cf.assert %{{.*}}, "{{.*}}tensor.reshape: the result has another number of elements"
func.func @shapes(%x: tensor<?xf32>, %s: tensor<2xindex>) -> tensor<?x?xf32> {
  %r = tensor.reshape %x(%s) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func @pack
// CHECK: cf.assert %{{.*}}, "{{.*}}linalg.pack: extent 0 of the packed tensor does not fit dim 0 of the other"
func.func @pack(%x: tensor<48xf32>, %e: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = linalg.pack %x inner_dims_pos = [0] inner_tiles = [8] into %e
      : tensor<48xf32> -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// -----

// Nothing else may stand among what a parallel loop writes.
// CHECK-LABEL: func @parallel
// CHECK: scf.forall
// CHECK: cf.assert
// CHECK: scf.forall.in_parallel
// CHECK-NEXT: tensor.parallel_insert_slice
func.func @parallel(%x: tensor<?xf32>, %v: tensor<3xf32>, %at: tensor<4xindex>) -> tensor<?xf32> {
  %r = scf.forall (%i) in (4) shared_outs(%y = %x) -> (tensor<?xf32>) {
    %k = tensor.extract %at[%i] : tensor<4xindex>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %v into %y[%k] [3] [1] : tensor<3xf32> into tensor<?xf32>
    }
  }
  return %r : tensor<?xf32>
}

// -----

// It is made as soon as its values are there, in bodies of loops too.
// CHECK-LABEL: func @lifted
// CHECK: scf.forall
// CHECK: tensor.extract
// CHECK-NOT: linalg.fill
// CHECK: cf.assert
// CHECK: linalg.fill
func.func @lifted(%x: tensor<?xf32>, %v: tensor<3xf32>, %at: tensor<4xindex>, %f: f32) -> tensor<?xf32> {
  %r = scf.forall (%i) in (4) shared_outs(%y = %x) -> (tensor<?xf32>) {
    %k = tensor.extract %at[%i] : tensor<4xindex>
    %w = linalg.fill ins(%f : f32) outs(%v : tensor<3xf32>) -> tensor<3xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %y[%k] [3] [1] : tensor<3xf32> into tensor<?xf32>
    }
  }
  return %r : tensor<?xf32>
}

// -----

// A pad that asserts something would be dropped with what it asserts.
// CHECK-LABEL: func @padded
// CHECK-SAME: %[[X:[^:]*]]: tensor<?xf32>
// CHECK: %[[G:.*]] = tensor.generate
// CHECK: cf.assert
// CHECK: tensor.yield
// CHECK: tensor.insert_slice %[[X]] into %[[G]][1]
func.func @padded(%x: tensor<?xf32>, %at: tensor<?xindex>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    %k = tensor.extract %at[%i] : tensor<?xindex>
    %v = tensor.extract %y[%k] : tensor<?xf32>
    tensor.yield %v : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}

// Extents of what is padded are compared in front of the pad, which would be made of as
// many as they should be.
// CHECK-LABEL: func.func @pad_and_compare
// CHECK-SAME:    %[[X:.*]]: tensor<?xf32>, %[[N:.*]]: index
// CHECK:         %[[DIM:.*]] = tensor.dim %[[X]]
// CHECK:         %[[LENGTH:.*]] = affine.apply {{.*}}%[[DIM]]
// CHECK:         %[[IS:.*]] = arith.cmpi eq, %[[LENGTH]]
// CHECK:         cf.assert %[[IS]], "{{.*}}tensor.cast: extent 0 is not 4"
// CHECK:         tensor.pad
func.func @pad_and_compare(%x: tensor<?xf32>, %n: index, %v: f32) -> tensor<4xf32> {
  %p = tensor.pad %x low[0] high[%n] {
  ^bb0(%i: index):
    tensor.yield %v : f32
  } : tensor<?xf32> to tensor<?xf32>
  %r = tensor.cast %p : tensor<?xf32> to tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Where there are no rows, nothing is read: a branch, so that nobody reads the element
// before the loop over rows.
// CHECK-LABEL: func @element_for_rows
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>, %[[N:[a-z0-9]*]]: index
// CHECK: cf.assert
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %[[N]]
// CHECK: scf.if %[[SOME]] -> (tensor<?x4xf32>)
// CHECK: tensor.extract %[[X]]
// CHECK: } else {
// CHECK: scf.yield %{{.*}} : tensor<?x4xf32>
func.func @element_for_rows(%x: tensor<?xf32>, %n: index) -> tensor<?x4xf32> {
  %c2 = arith.constant 2 : index
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x4xf32>) {
  ^bb0(%o: f32):
    %v = tensor.extract %x[%c2] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// -----

// A read in each row is in no row where there is none.
// CHECK-LABEL: func @element_of_rows
// CHECK-NOT: scf.if
func.func @element_of_rows(%x: tensor<?x5xf32>, %n: index) -> tensor<?x4xf32> {
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} outs(%e : tensor<?x4xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %v = tensor.extract %x[%i, %j] : tensor<?x5xf32>
    linalg.yield %v : f32
  } -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// -----

// Whether the second op has rows says the result of the first, which is a branch's.
// CHECK-LABEL: func @rows_of_a_result
// CHECK: %[[FIRST:.*]] = scf.if
// CHECK: tensor.dim %[[FIRST]]
// CHECK: scf.if
func.func @rows_of_a_result(%x: tensor<?xf32>, %n: index, %init: tensor<4xf32>) -> tensor<4xf32> {
  %c2 = arith.constant 2 : index
  %t = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %x[%c2] : tensor<?xf32>
    tensor.yield %v : f32
  } : tensor<?x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
      iterator_types = ["reduction", "parallel"]}
      ins(%t : tensor<?x4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = tensor.extract %x[%c2] : tensor<?xf32>
    %w = arith.addf %v, %o : f32
    linalg.yield %w : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// What no memory has is asked for behind an assertion that fails, and never: its size would
// overflow once it is in a type. Nothing is left behind that assertion.
// CHECK-LABEL: func @impossible
// CHECK: %[[FALSE:.*]] = arith.constant false
// CHECK: cf.assert %[[FALSE]]
// CHECK-NOT: linalg.fill
// CHECK: %[[NONE:.*]] = tensor.empty(%[[ZERO:.*]], %[[ZERO]]) : tensor<?x?xf32>
// CHECK-NEXT: return %[[NONE]]
func.func @impossible() -> tensor<?x?xf32> {
  %n = arith.constant 4294967296 : index
  %e = tensor.empty(%n, %n) : tensor<?x?xf32>
  %f = arith.constant 1.0 : f32
  %r = linalg.fill ins(%f : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// The constant is computed; only the branch that is refused loses its ops.
// CHECK-LABEL: func @negative_in_a_branch
// CHECK: scf.if
// CHECK: cf.assert
// CHECK-NOT: linalg.fill
// CHECK: %[[NONE:.*]] = tensor.empty(%{{.*}}) : tensor<?x4294967296xf32>
// CHECK: scf.yield %[[NONE]]
// CHECK: else
// CHECK-NOT: cf.assert
// CHECK: linalg.fill
func.func @negative_in_a_branch(%take: i1) -> tensor<?x4294967296xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %minus = arith.subi %zero, %one : index
  %f = arith.constant 1.0 : f32
  %r = scf.if %take -> tensor<?x4294967296xf32> {
    %e = tensor.empty(%minus) : tensor<?x4294967296xf32>
    %v = linalg.fill ins(%f : f32) outs(%e : tensor<?x4294967296xf32>) -> tensor<?x4294967296xf32>
    scf.yield %v : tensor<?x4294967296xf32>
  } else {
    %e = tensor.empty(%one) : tensor<?x4294967296xf32>
    %v = linalg.fill ins(%f : f32) outs(%e : tensor<?x4294967296xf32>) -> tensor<?x4294967296xf32>
    scf.yield %v : tensor<?x4294967296xf32>
  }
  return %r : tensor<?x4294967296xf32>
}

// An extent that is always negative, whatever the argument is: the check fails, and nothing makes
// a type of it.
// CHECK-LABEL: func.func @expanded
// CHECK-SAME: (%[[X:.*]]: tensor<?x?xf32>, %{{.*}}: index)
// CHECK: "{{.*}}tensor.expand_shape: negative extent"
// CHECK: tensor.expand_shape %[[X]] {{.*}} output_shape [%{{.*}}, 3, %c0{{.*}}]
func.func @expanded(%x: tensor<?x?xf32>, %n: index) -> tensor<?x3x?xf32> {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %minus = arith.constant -104 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %least = arith.maxsi %n, %c0 : index
  %most = arith.minsi %least, %c5 : index
  %less = arith.addi %most, %minus : index
  %r = tensor.expand_shape %x [[0], [1, 2]] output_shape [%rows, 3, %less] : tensor<?x?xf32> into tensor<?x3x?xf32>
  return %r : tensor<?x3x?xf32>
}

// CHECK-LABEL: func.func @scattered
// CHECK: "{{.*}}redfuse.scatter: expected a place for each update"
// CHECK: "{{.*}}redfuse.scatter: updates are no rows of the destination"
// CHECK: "{{.*}}redfuse.select: dim 0 is not that of the input"
func.func @scattered(%u: tensor<?x?xf32>, %p: tensor<?xi32>, %d: tensor<5x?xf32>, %v: tensor<?x3xf32>)
    -> (tensor<5x?xf32>, tensor<?x3xf32>) {
  %r = redfuse.scatter ins(%u, %p : tensor<?x?xf32>, tensor<?xi32>) outs(%d : tensor<5x?xf32>) -> tensor<5x?xf32>
  %s = redfuse.select ins(%u : tensor<?x?xf32>) values(%v : tensor<?x3xf32>) -> tensor<?x3xf32>
  return %r, %s : tensor<5x?xf32>, tensor<?x3xf32>
}
