//===- Passes.td - from cascades to kernels and calls ------*- tablegen -*-===//
#ifndef REDFUSE_TRANSFORMS_KERNELS_PASSES_TD
#define REDFUSE_TRANSFORMS_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def PitchOperands : Pass<"redfuse-pitch-operands"> {
  let summary = "Copy matrices whose rows are ragged to where rows begin at whole lines";
  let description = [{
    Copies of tensor maps read 16-bit matrices whose rows begin at multiples of 16 bytes, and
    read them faster where these are multiples of a line of memory. A cascade in front copies
    the rows of others, in their order, so that as many elements are between them; the
    products read what was there, and not what lies behind (`d1 mod 780`). Matrices
    that lie well are left as they are. This is done for cascades whose products are all of
    plain matrices in memory, or of what they have reduced before, where the copies take less
    time, by the bytes that they move, than the products gain.

    For targets with units of warpgroups (sm_90a); without a chip nothing changes.

    ```mlir
    #a = affine_map<(i, j, k) -> (i, k)>
    #b = affine_map<(i, j, k) -> (k, j)>
    #c = affine_map<(i, j, k) -> (i, j)>
    %r = redfuse.cascade {indexing_maps = [#a, #b, #c]}
        ins(%a, %b : tensor<4096x780xbf16>, tensor<780x1536xbf16>)
        outs(%e : tensor<4096x1536xf32>) {
    // ... their product, summed over [2]
    ```

    becomes

    ```mlir
    #row = affine_map<(i, k) -> (i, k mod 780)>
    #id = affine_map<(i, k) -> (i, k)>
    #a = affine_map<(i, j, k) -> (i, k mod 780)>
    %n = tensor.empty() : tensor<4096x832xbf16>
    %p = redfuse.cascade {indexing_maps = [#row, #id]} ins(%a : tensor<4096x780xbf16>)
        outs(%n : tensor<4096x832xbf16>) {
    ^bb0(%x: bf16):
      redfuse.yield %x : bf16
    } -> tensor<4096x832xbf16>
    %r = redfuse.cascade {indexing_maps = [#a, #b, #c]}
        ins(%p, %b : tensor<4096x832xbf16>, tensor<780x1536xbf16>) ...
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def PrepackOperands : Pass<"redfuse-prepack-operands"> {
  let summary = "Copy operands of products into the order in which blocks read them";
  let description = [{
    A sum of products that reads windows (a convolution) takes one tap after another, and of
    each all channels. Filters whose neighbours in memory are taps, or that are read
    back to front (transposed convolutions), are gathered for that by every block: as many
    accesses as a block has columns, each to a line of its own. Where their elements are
    used for 1024 results and more, and the sum has 5e8 multiply-adds and more, a cascade in
    front copies them once: taps, then channels, then what the result has of them, whose
    neighbours are adjacent. Roundings and extensions stay where they are.

    For units of warpgroups (sm_90a) both operands are copied, so that neighbours along a
    dim of the sum that is part of no window (channels) lie together in vectors of 16 bytes:
    windows of 16-bit floats, all products of f32 that the program rounds to TF32, whose
    copies are rounded (`redfuse.exact` then marks the product's own rounding, which changes
    nothing), and those of other f32, of which there are two copies: floats of TF32, and what
    they lack (`redfuse.parts` marks their sum, which is the factor). What lies so already is
    not copied; zeros around a window are made where it is read. Where the dim is no
    multiple of a vector (37 channels), or rows of 16-bit matrices beside a computed one do not begin at
    multiples of 16 bytes, or of a line of memory, zeros are put behind the dim in both copies. Of a slice of such rows
    the part alone is copied. Products that share an
    operand share its copy. This is done where the copies take less time, by the bytes that
    they move, than the products gain.

    Rows that are computed beside packed weights, of which there are eight times as many, are
    copied as well, however few: units unpack weights for rows that are in memory.

    For targets with matrix units and copies by threads (sm_80 and later); without a chip
    nothing changes.

    ```mlir
    #x = affine_map<(n, o, p, c, t) -> (n, c, p + t)>
    #w = affine_map<(n, o, p, c, t) -> (o, c, t)>
    #y = affine_map<(n, o, p, c, t) -> (n, o, p)>
    %r = redfuse.cascade {indexing_maps = [#x, #w, #y]}
        ins(%x, %w : tensor<8x64x8194xf32>, tensor<64x64x3xf32>)
        outs(%e : tensor<8x64x8192xf32>) {
    // ... their product, summed over [3, 4]
    ```

    becomes

    ```mlir
    #w = affine_map<(t, c, o) -> (o, c, t)>
    #id = affine_map<(t, c, o) -> (t, c, o)>
    #x = affine_map<(n, o, p, c, t) -> (n, c, p + t)>
    #q = affine_map<(n, o, p, c, t) -> (t, c, o)>
    #y = affine_map<(n, o, p, c, t) -> (n, o, p)>
    %n = tensor.empty() : tensor<3x64x64xf32>
    %q = redfuse.cascade {indexing_maps = [#w, #id]} ins(%w : tensor<64x64x3xf32>)
        outs(%n : tensor<3x64x64xf32>) {
    ^bb0(%b: f32):
      redfuse.yield %b : f32
    } -> tensor<3x64x64xf32>
    %r = redfuse.cascade {indexing_maps = [#x, #q, #y]} ins(%x, %q : ...) ...
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def FoldCopies : Pass<"redfuse-fold-copies"> {
  let summary = "Make copies of constants when compiling";
  let description = [{
    Weights of a layer that are constants of the program are put into the order in which kernels read
    them, and cut into parts, by the compiler instead of by a kernel in each call. So is every map of one
    constant tensor that reads an element for each of its own (a permutation, with zeros behind a dim) and
    computes no more than copies do: roundings to TF32, what they leave, zeros.
    Up to 64 million elements; what is a splat stays one. The constant itself stays for other readers.

    ```mlir
    #t = affine_map<(c, o) -> (o, c)>
    #id = affine_map<(c, o) -> (c, o)>
    %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf16>
    %p = redfuse.cascade {indexing_maps = [#t, #id]} ins(%w : tensor<2x2xf16>) outs(%e : tensor<2x2xf16>) {
    ^bb0(%a: f16):
      redfuse.yield %a : f16
    } -> tensor<2x2xf16>
    ```

    becomes

    ```mlir
    %p = arith.constant dense_resource<copy> : tensor<2x2xf16> // 1, 3, 2, 4
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def PropagateLayouts : Pass<"redfuse-propagate-layouts"> {
  let summary = "Store tensors between kernels in the order in which they are read";
  let description = [{
    What only puts the dims of a tensor in another order, for a product that reads its sum
    side by side, is left out where another kernel makes the tensor: that stores it in that
    order. So a convolution behind a convolution reads channels that lie together, without a copy.

    The orders of a block's tensors are chosen from its last cascade to its first. A map that
    copies to an order says it; kernels whose results are element by element those of what they read
    (what follows a product, windows of a pooling) want it in the order in which they store;
    sums along a tensor, and products, take it as it is. Other readers, and the caller, have
    a copy of it as it was: as many copies as before. A kernel of one product, or of a
    window, keeps its order where it would read large tensors across it.

    Tensors are those of known extents that maps, windows or single products make, also where dims
    become several in between (`tensor.expand_shape`). For NVIDIA GPUs.

    ```mlir
    #id = affine_map<(n, h, w, c) -> (n, h, w, c)>
    #t = affine_map<(n, h, w, c) -> (n, c, h, w)>
    %x = redfuse.cascade ... outs(%e : tensor<8x64x56x56xf16>) {
    // ... its last map is (n, c, h, w)
    %y = redfuse.cascade {indexing_maps = [#t, #id]} ins(%x : tensor<8x64x56x56xf16>)
        outs(%f : tensor<8x56x56x64xf16>) {
    ^bb0(%a: f16):
      redfuse.yield %a : f16
    } -> tensor<8x56x56x64xf16>
    %z = redfuse.cascade ... ins(%y, %w : ...)
    ```

    becomes

    ```mlir
    %x = redfuse.cascade ... outs(%e : tensor<8x56x56x64xf16>) {
    // ... its last map is (n, h, w, c)
    %z = redfuse.cascade ... ins(%x, %w : ...)
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def Schedule : Pass<"redfuse-schedule"> {
  let summary = "Choose grid, tiles and kind of schedule for every cascade";
  let description = [{
    Sets the `schedule` attribute of every cascade that has none. The grid is made
    of the dims that every result has and every reduction keeps. A cascade whose
    blocks keep little stays resident: its stages run one after another over data
    in cache, exactly. Else the reduced dims that make the tiles large are
    streamed, if a merge can be derived; if some reductions have a merge only once
    others are complete, in several passes; if not, the cascade stays resident.
    The reasons are recorded in `redfuse.refused`.

    A module can ask for schedules: `redfuse.schedules = [#redfuse.schedule<...>,
    unit]` has one for each of its cascades in order, or `unit` where the model
    chooses. What a search has timed is used so (docs/user/tuning.md).

    ```mlir
    #all = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<64x1000xf32>, %e: tensor<64xf32>) -> tensor<64xf32> {
      %r = redfuse.cascade {indexing_maps = [#all, #row]}
          ins(%x : tensor<64x1000xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%a: f32):
        %s = redfuse.reduce add %a over [1] into [0] : f32
        redfuse.yield %s : f32
      } -> tensor<64xf32>
      return %r : tensor<64xf32>
    }
    ```

    becomes (a block sums 8 rows, which stay in the cache)

    ```mlir
    func.func @f(%x: tensor<64x1000xf32>, %e: tensor<64xf32>) -> tensor<64xf32> {
      %r = redfuse.cascade {indexing_maps = [#all, #row], schedule =
          #redfuse.schedule<resident, grid = [0], tiles = [8, 0], reason = "...">}
          ins(%x : tensor<64x1000xf32>) outs(%e : tensor<64xf32>) {
      ^bb0(%a: f32):
        %s = redfuse.reduce add %a over [1] into [0] : f32
        redfuse.yield %s : f32
      } -> tensor<64xf32>
      return %r : tensor<64xf32>
    }
    ```
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"\"",
           "resident, stream or split: use it wherever it is legal">,
    ListOption<"tiles", "tiles", "int64_t",
               "extents of tiles by iteration dim instead of the model's; 0 keeps the model's">,
    Option<"splits", "splits", "int64_t", "0",
           "how many splits a split schedule has; 0: the model's number">,
    Option<"lazy", "lazy", "int64_t", "0",
           "let the pivots of streamed exponentials stay while the running maximum "
           "grows less than this, in powers of 2 (at most 8)">,
    Option<"strict", "strict", "bool", "false",
           "refuse everything that changes the order of floating-point operations">,
    Option<"approximate", "approximate", "bool", "false",
           "take rounding and saturation in the way of a merge for the identity">];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def Outline : Pass<"redfuse-outline", "mlir::ModuleOp"> {
  let summary = "Make every fusion group a redfuse.kernel and launch it";
  let description = [{
    A cascade, or a fold with what finalises it, becomes the body of a kernel; the
    host keeps a `redfuse.launch`. Constants that bodies use move in; other values
    from outside, scalars and tensors that are read at computed positions, become
    arguments. The state of a fold exists inside the kernel only.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<8xf32>, %s: f32, %e: tensor<8xf32>) -> tensor<8xf32> {
      %two = arith.constant 2.0 : f32
      %r = redfuse.cascade {indexing_maps = [#id, #id]}
          ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      ^bb0(%a: f32):
        %p = arith.mulf %a, %two : f32
        %q = arith.addf %p, %s : f32
        redfuse.yield %q : f32
      } -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: tensor<8xf32>, %s: f32, %e: tensor<8xf32>) -> tensor<8xf32> {
      %r = redfuse.launch @f_0 ins(%x, %s : tensor<8xf32>, f32)
           outs(%e : tensor<8xf32>) -> tensor<8xf32>
      return %r : tensor<8xf32>
    }
    redfuse.kernel @f_0 attributes {num_inputs = 2 : i64, info = {...}} {
    ^bb0(%x: tensor<8xf32>, %s: f32, %e: tensor<8xf32>):
      %two = arith.constant 2.0 : f32
      %r = redfuse.cascade {indexing_maps = [#id, #id]}
          ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
      // ... the body as it was
      } -> tensor<8xf32>
      redfuse.yield %r : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def EvaluatePositions : Pass<"redfuse-evaluate-positions"> {
  let summary = "Compute what depends on one position alone when the program is compiled";
  let description = [{
    Interpolation, rolls and adaptive windows compute where they read: positions become
    floats, are scaled, rounded, wrapped and compared with the extents. Where all of that depends on the
    position along one dim, of a known extent of up to 4096, each op is folded for each
    position. What is the same at all of them (that a position is inside its tensor)
    becomes a constant; integers that lie on a line become its arithmetic, between bounds
    and divided by a small number, where anything else reads them.

    ```mlir
    %r = redfuse.cascade {indexing_maps = [#id]} outs(%e : tensor<8xf32>) {
      %i = redfuse.index 0
      %j = arith.index_cast %i : index to i64
      %f = arith.sitofp %j : i64 to f32
      %half = arith.mulf %f, %c0.5 : f32
      %k = arith.fptosi %half : f32 to i64
      %p = arith.index_cast %k : i64 to index
      %inside = arith.cmpi ult, %p, %c4 : index
      cf.assert %inside, "outside"
      %v = tensor.extract %x[%p] : tensor<4xf32>
      redfuse.yield %v : f32
    } -> tensor<8xf32>
    ```

    becomes, with what canonicalisation drops,

    ```mlir
    %r = redfuse.cascade {indexing_maps = [#id]} outs(%e : tensor<8xf32>) {
      %i = redfuse.index 0
      %p = arith.divui %i, %c2 : index
      %v = tensor.extract %x[%p] : tensor<4xf32>
      redfuse.yield %v : f32
    } -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect"];
}

def CollapseDims : Pass<"redfuse-collapse-dims"> {
  let summary = "Take dims that are neighbours in all tensors as one";
  let description = [{
    Height and width of images are two dims, but in memory one row of pixels. Where all tensors
    of an element-wise cascade have two dims of known extents side by side in the same order, or
    neither, and nothing asks for a position along one of them, they become one dim: its vectors
    go on from row to row, and 7 x 7 pixels are 49 neighbours. So do dims of a reduction of a tensor
    that has six dims or more, or of several with one that has more than five, which no copy engine
    takes, if it folds both, or keeps both; the sums of a product of matrices; and dims of reductions
    whose rows are so short or odd that threads are better used along both (planes of 10 x 10, and
    of 28 x 28, whose rows are less than a warp reads). The dim
    of a scan stays alone: its prefixes begin anew in each row. Operands are collapsed and results
    expanded, which moves no data: operands and results that are parts of other tensors stay as
    they are.

    Before:

    ```mlir
    #x = affine_map<(n, h, w, c) -> (n, c, h, w)>
    #y = affine_map<(n, h, w, c) -> (n, h, w, c)>
    %r = redfuse.cascade {indexing_maps = [#x, #y]} ins(%x : tensor<2x16x7x7xf32>)
        outs(%e : tensor<2x7x7x16xf32>) {...}
    ```

    After:

    ```mlir
    #x = affine_map<(n, p, c) -> (n, c, p)>
    #y = affine_map<(n, p, c) -> (n, p, c)>
    %a = tensor.collapse_shape %x [[0], [1], [2, 3]] : tensor<2x16x7x7xf32> into tensor<2x16x49xf32>
    %b = tensor.collapse_shape %e [[0], [1, 2], [3]] : tensor<2x7x7x16xf32> into tensor<2x49x16xf32>
    %s = redfuse.cascade {indexing_maps = [#x, #y]} ins(%a : tensor<2x16x49xf32>)
        outs(%b : tensor<2x49x16xf32>) {...}
    %r = tensor.expand_shape %s [[0], [1, 2], [3]] output_shape [2, 7, 7, 16]
        : tensor<2x49x16xf32> into tensor<2x7x7x16xf32>
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def AlignRows : Pass<"redfuse-align-rows"> {
  let summary = "Move what lies across the rows of scans and windows by maps, for GPUs";
  let description = [{
    Threads walk the rows of a scan, or of windows, by vectors. What lies across them (a gate whose
    rows are columns here, a result that is transposed) takes a sector of memory for each element.
    Where that takes longer than to move it once more, and to launch a kernel, what the scan or the
    windows read becomes a copy that lies as the rows do, and the work behind them that needs it a
    map of its own. Maps move rectangles. For cascades of known extents.

    Before:

    ```mlir
    #row = affine_map<(i, t) -> (i, t)>
    #column = affine_map<(i, t) -> (t, i)>
    %r = redfuse.cascade {indexing_maps = [#row, #column, #column]}
        ins(%x, %gate : tensor<6144x2048xf32>, tensor<2048x6144xf32>)
        outs(%e : tensor<2048x6144xf32>) {
    ^bb0(%a: f32, %g: f32):
      %p = redfuse.scan add %a along 1 : f32
      %q = arith.mulf %p, %g : f32
      redfuse.yield %q : f32
    } -> tensor<2048x6144xf32>
    ```

    After:

    ```mlir
    %p = redfuse.cascade {indexing_maps = [#row, #row]} ins(%x : tensor<6144x2048xf32>)
        outs(%s : tensor<6144x2048xf32>) {
    ^bb0(%a: f32):
      %p = redfuse.scan add %a along 1 : f32
      redfuse.yield %p : f32
    } -> tensor<6144x2048xf32>
    %r = redfuse.cascade {indexing_maps = [#column, #row, #column]}
        ins(%gate, %p : tensor<2048x6144xf32>, tensor<6144x2048xf32>)
        outs(%e : tensor<2048x6144xf32>) {
    ^bb0(%g: f32, %a: f32):
      %q = arith.mulf %a, %g : f32
      redfuse.yield %q : f32
    } -> tensor<2048x6144xf32>
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def SplitMaps : Pass<"redfuse-split-maps"> {
  let summary = "Cut element-wise cascades at the seams of concatenations, for GPUs";
  let description = [{
    What a concatenation becomes, a select of what is in front of a seam and of what is behind it,
    is loaded on both sides for every element. Where what is loaded for nothing takes longer than
    a launch, each side becomes a cascade of its own, which reads its tensors as they lie and
    writes its part of the results. For element-wise cascades of known extents.

    So do the last elements of one long dim that is no whole number of vectors (16 bytes): what is
    in front of them is loaded and stored by vectors.

    Before:

    ```mlir
    #a = affine_map<(i, j) -> (j, i mod 4160)>
    #b = affine_map<(i, j) -> (j, (i + 3872) mod 4016)>
    #id = affine_map<(i, j) -> (i, j)>
    %r = redfuse.cascade {indexing_maps = [#a, #b, #id]}
        ins(%x, %y : tensor<2295x4160xf32>, tensor<2295x4016xf32>)
        outs(%e : tensor<8176x2295xf32>) {
    ^bb0(%a: f32, %b: f32):
      %i = redfuse.index 0
      %front = arith.cmpi slt, %i, %c4160 : index
      %v = arith.select %front, %a, %b : f32
      redfuse.yield %v : f32
    } -> tensor<8176x2295xf32>
    ```

    After:

    ```mlir
    #t = affine_map<(i, j) -> (j, i)>
    #id = affine_map<(i, j) -> (i, j)>
    %d = tensor.extract_slice %e[0, 0] [4160, 2295] [1, 1] : ...
    %p = redfuse.cascade {indexing_maps = [#t, #id]} ins(%x : ...) outs(%d : ...) {...}
    %f = tensor.insert_slice %p into %e[0, 0] [4160, 2295] [1, 1] : ...
    %g = tensor.extract_slice %f[4160, 0] [4016, 2295] [1, 1] : ...
    %q = redfuse.cascade {indexing_maps = [#t, #id]} ins(%y : ...) outs(%g : ...) {...}
    %r = tensor.insert_slice %q into %f[4160, 0] [4016, 2295] [1, 1] : ...
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def FactorSums : Pass<"redfuse-factor-sums"> {
  let summary = "Multiply sums of products of 8-bit numbers by their scales, not the numbers";
  let description = [{
    Where a sum of products has two factors that are numbers of 8 bits (integers, f8E4M3FN,
    f8E5M2) and others that no dim of the sum changes (scales of tensors, rows or columns), these
    multiply the sum. Others that change with some dims of the sum, but not along one of 128
    elements or a multiple, along which both numbers lie in memory (scales of blocks), multiply
    the product of the two; a unit of warpgroups then multiplies the sum of each such block.
    That is done for integers, and for floats whose sum is rounded to 16 bits behind it.
    Roundings of scaled numbers that decide nothing are left out. A sum of multiples is the
    multiple of the sum but for roundings, and where a scale is infinite; so this is not for the
    option `strict`.

    For targets with units of warpgroups (sm_90a); without a chip nothing changes.

    Before:

    ```mlir
    ^bb0(%a: f8E4M3FN, %s: f32, %b: f8E4M3FN, %t: f32):
      %x = arith.extf %a : f8E4M3FN to f32
      %u = arith.mulf %x, %s : f32
      %y = arith.extf %b : f8E4M3FN to f32
      %v = arith.mulf %y, %t : f32
      %p = arith.mulf %u, %v : f32
      %r = redfuse.reduce add %p over [2] into [0, 1] : f32
      redfuse.yield %r : f32
    ```

    After:

    ```mlir
    ^bb0(%a: f8E4M3FN, %s: f32, %b: f8E4M3FN, %t: f32):
      %x = arith.extf %a : f8E4M3FN to f32
      %y = arith.extf %b : f8E4M3FN to f32
      %p = arith.mulf %x, %y : f32
      %q = redfuse.reduce add %p over [2] into [0, 1] : f32
      %f = arith.mulf %q, %s : f32
      %r = arith.mulf %f, %t : f32
      redfuse.yield %r : f32
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def SplitSums : Pass<"redfuse-split-sums"> {
  let summary = "Cut long sums of products with few results, for more blocks of a GPU";
  let description = [{
    A product of few rows and columns has few tiles of results, and a long sum keeps the blocks
    that may share a tile waiting for memory one step after another. Where more blocks take less
    time, with what adding up takes, the sum is cut: the product has a dim more, the splits', and
    a cascade behind it adds those up and does what was done with the sum. What does not fill
    a split is a product of its own. Operands are sliced and expanded, which moves no data. This
    changes the order in which floats are added, so it is not for the option `strict`.

    Before:

    ```mlir
    #x = affine_map<(i, j, k) -> (k, i)>
    #y = affine_map<(i, j, k) -> (k, j)>
    #z = affine_map<(i, j, k) -> (i, j)>
    %r = redfuse.cascade {indexing_maps = [#x, #y, #z]} ins(%x, %y : tensor<131072x32xf32>, ...)
    // ... the product, summed over [2]
    ```

    After:

    ```mlir
    #x = affine_map<(p, i, j, k) -> (p, k, i)>
    #y = affine_map<(p, i, j, k) -> (p, k, j)>
    #z = affine_map<(p, i, j, k) -> (p, i, j)>
    #id = affine_map<(p, i, j) -> (p, i, j)>
    #r = affine_map<(p, i, j) -> (i, j)>
    %a = tensor.expand_shape %x [[0, 1], [2]] output_shape [512, 256, 32] : ...
    %b = tensor.expand_shape %y [[0, 1], [2]] output_shape [512, 256, 32] : ...
    %s = redfuse.cascade {indexing_maps = [#x, #y, #z]} ins(%a, %b : ...)
    // ... the product, summed over [3]
    %r = redfuse.cascade {indexing_maps = [#id, #r]} ins(%s : tensor<512x32x32xf32>)
    // ... the sum over [0]
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::tensor::TensorDialect"];
}

def DropUnusedResults : Pass<"redfuse-drop-unused-results"> {
  let summary = "Leave out the results of cascades that nobody reads";
  let description = [{
    A scan is written as a loop that carries its total, which then is a result beside the
    prefixes. Where nobody reads it, it is left out, with what only it needs. A result stays that
    alone tells how long some dim is, and so does a cascade of which nothing is read.

    Before:

    ```mlir
    #x = affine_map<(i, j) -> (i, j)>
    #r = affine_map<(i, j) -> (i)>
    %r:2 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%x : tensor<4x8xf32>)
        outs(%d, %e : tensor<4xf32>, tensor<4x8xf32>) {
    ^bb0(%a: f32):
      %t = redfuse.reduce add %a over [1] into [0] : f32
      %s = redfuse.scan add %a along 1 : f32
      redfuse.yield %t, %s : f32, f32
    } -> tensor<4xf32>, tensor<4x8xf32>
    return %r#1 : tensor<4x8xf32>
    ```

    After:

    ```mlir
    %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<4x8xf32>)
        outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32):
      %s = redfuse.scan add %a along 1 : f32
      redfuse.yield %s : f32
    } -> tensor<4x8xf32>
    return %r : tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def SplitScans : Pass<"redfuse-split-scans"> {
  let summary = "Cut long scans of few rows into pieces, for more blocks of a GPU";
  let description = [{
    One block walks a row of a scan. Where rows are fewer than half of the multiprocessors, and
    long, each is cut into pieces of equal length that registers hold: one kernel reduces every
    piece, a small one scans what these come to, exclusively, and one scans every piece from there.
    The data is read twice, but by all multiprocessors. Operands and results are expanded and
    collapsed, which moves no data. For one scan with a reducer of its own name, of a known extent
    that has a divisor of about 8192; this changes the order in which floats are combined, so it is
    not for the option `strict`.

    Before:

    ```mlir
    #x = affine_map<(i) -> (i)>
    %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<1048576xf32>)
        outs(%e : tensor<1048576xf32>) {
    ^bb0(%a: f32):
      %s = redfuse.scan add %a along 0 : f32
      redfuse.yield %s : f32
    } -> tensor<1048576xf32>
    ```

    After:

    ```mlir
    #p = affine_map<(p, i) -> (p, i)>
    #s = affine_map<(p, i) -> (p)>
    #n = affine_map<(p) -> (p)>
    %a = tensor.expand_shape %x [[0, 1]] output_shape [128, 8192] : ...
    %t = redfuse.cascade {indexing_maps = [#p, #s]} ins(%a : tensor<128x8192xf32>)
        outs(%d : tensor<128xf32>) {
    ^bb0(%v: f32):
      %s = redfuse.reduce add %v over [1] into [0] : f32
      redfuse.yield %s : f32
    } -> tensor<128xf32>
    %b = redfuse.cascade {indexing_maps = [#n, #n]} ins(%t : tensor<128xf32>)
        outs(%f : tensor<128xf32>) {
    ^bb0(%v: f32):
      %s = redfuse.scan add %v along 0 {exclusive} : f32
      redfuse.yield %s : f32
    } -> tensor<128xf32>
    %o = redfuse.cascade {indexing_maps = [#p, #s, #p]} ins(%a, %b : ...) outs(%g : ...) {
    ^bb0(%v: f32, %before: f32):
      %s = redfuse.scan add %v along 1 : f32
      %u = arith.addf %before, %s : f32
      redfuse.yield %u : f32
    } -> tensor<128x8192xf32>
    %r = tensor.collapse_shape %o [[0, 1]] : tensor<128x8192xf32> into tensor<1048576xf32>
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
}

def Split : Pass<"redfuse-split", "mlir::ModuleOp"> {
  let summary = "Make two kernels of one whose fold is split over blocks";
  let description = [{
    Where a few long reductions would leave processors idle (as for split-K): a
    kernel with a `split` schedule becomes a kernel with one more dim, the number
    of the split, whose blocks fold a split each and store its state; and a
    kernel that merges these states in index order, as a tree, and finalises. Where
    a result has the folded dims, the finalisation is a kernel of its own, a map.
    Where the merge of all states would be longer than 3072 ops, those of equally many
    neighbours are merged by kernels in front.

    On an NVIDIA GPU the last block of a tile to finish can merge and finalise in the same
    launch: such a kernel gets `redfuse.merges_in_launch` and stays one. Where registers cannot
    hold what it does, that launch would be one block (`redfuse-plan-registers` says so by
    `redfuse.no_registers`): run behind the plans, on buffers, the pass takes it apart as above,
    and its launches get the reason (`redfuse.taken_apart`).

    ```mlir
    redfuse.kernel @k attributes {num_inputs = 1 : i64, schedule =
        #redfuse.schedule<split, grid = [0], stream = [1], splits = 2, ...>} {
    ^bb0(%x: tensor<64x80xf32>, %out: tensor<64xf32>):
      // ... a fold of %x over dim 1, finalised into %out
    }
    %r = redfuse.launch @k ins(%x : ...) outs(%e : ...) -> tensor<64xf32>
    ```

    becomes

    ```mlir
    redfuse.kernel @k_splits attributes {num_inputs = 1 : i64, schedule =
        #redfuse.schedule<split, grid = [0, 2], stream = [1], splits = 2, ...>} {
    ^bb0(%x: tensor<64x80xf32>, %states: tensor<2x64xf32>):
      // ... the fold over split d2 of dim 1, whose state goes to (d2, d0)
    }
    redfuse.kernel @k_merge attributes {num_inputs = 1 : i64, schedule =
        #redfuse.schedule<map, grid = [0], ...>} {
    ^bb0(%states: tensor<2x64xf32>, %out: tensor<64xf32>):
      // ... the states at (0, d0) and (1, d0), merged and finalised into %out
    }
    %d = tensor.empty() : tensor<2x64xf32>
    %s = redfuse.launch @k_splits ins(%x : ...) outs(%d : ...) -> tensor<2x64xf32>
    %r = redfuse.launch @k_merge ins(%s : ...) outs(%e : ...) -> tensor<64xf32>
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::memref::MemRefDialect",
                           "mlir::tensor::TensorDialect"];
}

def SliceOperands : Pass<"redfuse-slice-operands", "mlir::ModuleOp"> {
  let summary = "Give kernels that differ by where they read the slices there";
  let description = [{
    The steps of an unrolled loop, as a recurrent network's, are kernels that differ by
    the constant at which they read the first dims of a buffer. Where 32 or more
    would be equal without, each takes a view of what is there, and its maps lose these
    dims; `redfuse-share-kernels` then finds that they are one. The view's offset is a
    value, so that all are of one type.

    ```mlir
    redfuse.launch @step_3 ins(%x : memref<256x8xf32>) outs(%out : memref<8xf32>)
    redfuse.kernel @step_3 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<256x8xf32>, %init: tensor<8xf32>):
      // ... reads %x by affine_map<(i) -> (3, i)>
    ```

    becomes

    ```mlir
    %three = arith.constant 3 : index
    %s = memref.subview %x[%three, 0] [1, 8] [1, 1]
        : memref<256x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    redfuse.launch @step_3 ins(%s : memref<8xf32, strided<[1], offset: ?>>)
                           outs(%out : memref<8xf32>)
    redfuse.kernel @step_3 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<8xf32>, %init: tensor<8xf32>):
      // ... reads %x by affine_map<(i) -> (i)>
    ```
  }];
  let options = [
    Option<"leastAlike", "least-alike", "unsigned", "32",
           "Fewer different kernels keep their constant positions: part of an address for "
           "nothing, and code of their own is cheap for a few.">
  ];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::memref::MemRefDialect"];
}

def ShareKernels : Pass<"redfuse-share-kernels", "mlir::ModuleOp"> {
  let summary = "Launch one kernel where several do the same";
  let description = [{
    Kernels that are equal up to their names and their places in the source, as
    those of a model's layers are, and that run on buffers of the same types, become
    the first of them: code is generated once. A launch whose kernel went keeps its
    name as `redfuse.instead_of`, by which explanations find it. Works on buffers,
    because how a kernel is generated depends on their layouts.

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %out: memref<8xf32>) {
      redfuse.launch @f_0 ins(%x : memref<8xf32>) outs(%out : memref<8xf32>)
      redfuse.launch @f_1 ins(%y : memref<8xf32>) outs(%out : memref<8xf32>)
      return
    }
    redfuse.kernel @f_0 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
      redfuse.yield %x : tensor<8xf32>
    }
    redfuse.kernel @f_1 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
      redfuse.yield %x : tensor<8xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>, %out: memref<8xf32>) {
      redfuse.launch @f_0 ins(%x : memref<8xf32>) outs(%out : memref<8xf32>)
      redfuse.launch @f_0 ins(%y : memref<8xf32>) outs(%out : memref<8xf32>)
          {redfuse.instead_of = "f_1"}
      return
    }
    redfuse.kernel @f_0 attributes {num_inputs = 1 : i64} {
    ^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
      redfuse.yield %x : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

#endif // REDFUSE_TRANSFORMS_KERNELS_PASSES_TD
