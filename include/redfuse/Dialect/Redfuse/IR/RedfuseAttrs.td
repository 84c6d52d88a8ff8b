//===- RedfuseAttrs.td - attributes of the dialect ---------*- tablegen -*-===//
#ifndef REDFUSE_ATTRS_TD
#define REDFUSE_ATTRS_TD

include "redfuse/Dialect/Redfuse/IR/RedfuseDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "redfuse/Dialect/Redfuse/IR/RedfuseHints.td"

def Redfuse_ReducerAttr : I32EnumAttr<"Reducer", "how a reduction combines", [
    I32EnumAttrCase<"Add", 0, "add">,
    I32EnumAttrCase<"Mul", 1, "mul">,
    // maximumf and minimumf hand NaN on; maxnumf and minnumf drop it.
    I32EnumAttrCase<"MaximumF", 2, "maximumf">,
    I32EnumAttrCase<"MinimumF", 3, "minimumf">,
    I32EnumAttrCase<"MaxNumF", 4, "maxnumf">,
    I32EnumAttrCase<"MinNumF", 5, "minnumf">,
    I32EnumAttrCase<"MaxSI", 6, "maxsi">,
    I32EnumAttrCase<"MinSI", 7, "minsi">,
    I32EnumAttrCase<"MaxUI", 8, "maxui">,
    I32EnumAttrCase<"MinUI", 9, "minui">,
    I32EnumAttrCase<"And", 10, "and">,
    I32EnumAttrCase<"Or", 11, "or">,
    I32EnumAttrCase<"Xor", 12, "xor">,
    // Two operands, value and index; ties go to the lowest index.
    I32EnumAttrCase<"ArgMax", 13, "argmax">,
    I32EnumAttrCase<"ArgMin", 14, "argmin">,
    // Two operands; the results have one more dim, the rank.
    I32EnumAttrCase<"TopK", 15, "topk">,
    // Any number of operands; the op has the identities and a combining region.
    I32EnumAttrCase<"Declared", 16, "declared">
  ]> {
  let cppNamespace = "::redfuse";
}

def Redfuse_ScheduleKindAttr : I32EnumAttr<"ScheduleKind", "how a kernel walks its reduction", [
    I32EnumAttrCase<"Map", 0, "map">,
    I32EnumAttrCase<"Resident", 1, "resident">,
    I32EnumAttrCase<"Stream", 2, "stream">,
    I32EnumAttrCase<"MultiPass", 3, "multipass">,
    I32EnumAttrCase<"Split", 4, "split">
  ]> {
  let cppNamespace = "::redfuse";
}

def Redfuse_MmaKindAttr : I32EnumAttr<"MmaKind", "the instruction that multiplies matrices", [
    I32EnumAttrCase<"Wgmma", 0, "wgmma">,
    I32EnumAttrCase<"MmaSync", 1, "mma_sync">
  ]> {
  let cppNamespace = "::redfuse";
}

def Redfuse_OperandPlaceAttr : I32EnumAttr<"OperandPlace", "where the left operand of a product is", [
    I32EnumAttrCase<"Tiled", 0, "tiled">,
    I32EnumAttrCase<"Kept", 1, "kept">,
    I32EnumAttrCase<"Resident", 2, "resident">,
    I32EnumAttrCase<"Packed", 3, "packed">
  ]> {
  let cppNamespace = "::redfuse";
}

def Redfuse_MicrokernelAttr : I32EnumAttr<"Microkernel", "how a core multiplies a tile in its registers", [
    I32EnumAttrCase<"Packed", 0, "packed">,
    I32EnumAttrCase<"PackedRows", 1, "packed_rows">,
    I32EnumAttrCase<"Outer", 2, "outer">,
    I32EnumAttrCase<"Inner", 3, "inner">
  ]> {
  let cppNamespace = "::redfuse";
}

def Redfuse_RegisterChoiceAttr : I32EnumAttr<"RegisterChoice", "what a kernel in registers does, or leaves", [
    I32EnumAttrCase<"LoadSharedLate", 0, "load_shared_late">,
    I32EnumAttrCase<"LoadSharedBeforeExchange", 1, "load_shared_before_exchange">,
    I32EnumAttrCase<"StayPacked", 2, "stay_packed">,
    I32EnumAttrCase<"AwaitLoads", 3, "await_loads">,
    I32EnumAttrCase<"ReadAgain", 4, "read_again">,
    I32EnumAttrCase<"LoadStepsAhead", 5, "load_steps_ahead">,
    I32EnumAttrCase<"StartNextLate", 6, "start_next_late">
  ]> {
  let cppNamespace = "::redfuse";
}

/// An attribute whose fields can be asked for by name, and given by name (AttrFields.h):
/// the names are those of its parameters.
class Redfuse_Attr<string name, string attrMnemonic>
    : AttrDef<Redfuse_Dialect, name> {
  let mnemonic = attrMnemonic;
  list<string> fieldNames =
      !foreach(i, !range(!size(parameters)), !getdagname(parameters, i));
  string fieldAccess =
      "static constexpr ::llvm::StringLiteral fieldNames[] = {" #
      !interleave(!foreach(f, fieldNames, "\"" # f # "\""), ", ") # "};\n" #
      "auto getFieldValues() const {\n  return ::std::make_tuple(" #
      !interleave(!foreach(f, fieldNames, "get" # !toupper(!substr(f, 0, 1)) #
                                          !substr(f, 1) # "()"), ", ") # ");\n}\n";
  let extraClassDeclaration = fieldAccess;
}

defvar Redfuse_HintText = Redfuse_HintTexts<Redfuse_HintNumbers>;

def Redfuse_HintsAttr : Redfuse_Attr<"Hints", "hints"> {
  let summary = "what is asked of a generator that chooses more than tiles";
  let description = [{
    What is not named, or cannot be had, is the generator's own choice, and what is for
    other kinds of kernels changes nothing ([Tuning](../user/tuning.md#hints) says which
    hints are for which). Other names are refused, and values that no kernel can take.

    Example: `#redfuse.hints<rows = 128, columns = 64, scheduler = dynamic, operand = shared>`;
    in a schedule it is `hints = {rows = 128, columns = 64, scheduler = dynamic}`.
  }];
  let parameters = Redfuse_Hints;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = !strconcat(fieldAccess, [{
    /// What is asked for; others are not there.
    struct Values {
  }], Redfuse_HintText.members, [{
    };
    Values getValues() const {
      return std::apply([](auto... values) { return Values{values...}; },
                        getFieldValues());
    }
    /// What a hint takes, for people.
    static ::llvm::StringRef getExpected(::llvm::StringRef name);
    /// The whole table, as JSON.
    static ::llvm::StringRef getTable();
  }]);
  let extraClassDefinition = !strconcat(
      "::llvm::LogicalResult $cppClass::verify(",
      "::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError",
      Redfuse_HintText.parameters, ") {\n  return ::mlir::success(",
      Redfuse_HintText.checks, ");\n}\n\n",
      "::llvm::StringRef $cppClass::getExpected(::llvm::StringRef name) {\n",
      "  static constexpr ::llvm::StringLiteral expected[] = {",
      Redfuse_HintText.expected, "};\n",
      "  return expected[::llvm::find(fieldNames, name) - ::std::begin(fieldNames)];\n",
      "}\n\n::llvm::StringRef $cppClass::getTable() {\n  return R\"json(",
      Redfuse_HintText.json, ")json\";\n}\n");
}

def Redfuse_ScheduleAttr : Redfuse_Attr<"Schedule", "schedule"> {
  let summary = "how a kernel walks its iteration space";
  let description = [{
    `grid` lists the dims whose tiles are the blocks of the launch, outermost
    first; `tiles` has an entry for each iteration dim: the extent of a tile, or
    0 for the whole dim at once; `stream` lists the dims that are folded tile by
    tile with carried state. A `resident` schedule keeps the reduced dims whole;
    those in `stream` are folded in one piece.
    `reason` says in words why this schedule was chosen.

    Where `lazy` is not 0 the pivot of an exponential stays in the fold while the
    running maximum grows by less than this, in powers of 2 (at most 8).

    `split` is `stream` with several blocks for one fold: the first dim of
    `stream` is cut into `splits` of equal length (the last ones may be
    shorter, or empty), which leave a state each; these are merged in index order.
    On a kernel, the last dim of `grid` is the number of the split: a block
    folds that split alone.

    `hints` ask for what generators choose besides tiles ([HintsAttr](#hintsattr)).

    Example:

    ```mlir
    #redfuse.schedule<stream, grid = [0, 1], tiles = [1, 64, 256, 0, 0], stream = [2],
                      reason = "the row does not fit l1">
    ```
  }];
  let parameters = (ins
    EnumParameter<Redfuse_ScheduleKindAttr>:$kind,
    OptionalArrayRefParameter<"int64_t">:$grid,
    OptionalArrayRefParameter<"int64_t">:$tiles,
    OptionalArrayRefParameter<"int64_t">:$stream,
    OptionalParameter<"::mlir::StringAttr">:$reason,
    DefaultValuedParameter<"int64_t", "0">:$splits,
    DefaultValuedParameter<"int64_t", "0">:$lazy,
    OptionalParameter<"::redfuse::HintsAttr">:$hints);
  let skipDefaultBuilders = 1;
  let builders = [
    AttrBuilder<(ins "ScheduleKind":$kind, "::llvm::ArrayRef<int64_t>":$grid,
                     "::llvm::ArrayRef<int64_t>":$tiles, "::llvm::ArrayRef<int64_t>":$stream,
                     "::mlir::StringAttr":$reason, CArg<"int64_t", "0">:$splits,
                     CArg<"int64_t", "0">:$lazy, CArg<"::redfuse::HintsAttr", "{}">:$hints),
      [{ return $_get($_ctxt, kind, grid, tiles, stream, reason, splits, lazy, hints); }]>
  ];
  // Entries after the kind may each be missing.
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Redfuse_MatrixPlanAttr : Redfuse_Attr<"MatrixPlan", "matrix_plan"> {
  let summary = "how a kernel runs on matrix units";
  let description = [{
    All that is chosen for a kernel whose contractions run on matrix units: layouts,
    operands, roles, pipeline, tiles and stores. `redfuse-plan-matrices` puts it on
    a launch (`redfuse.matrices`), `redfuse-kernel-to-gpu` does as it says; a plan
    that was written by hand is checked against the kernel.

    - the instruction of products: `wgmma` of warpgroups, beside a warp that copies
      (sm_90a), or `mma_sync` of warps that copy, too
    - `row_dim`: the dim that is the rows of all products
    - `tiles` has an entry for each iteration dim: the rows of a block, the columns
      of products (those of the streamed dim are a step), 0 for others
    - `consumers` of four warps with `consumer_rows` rows each multiply; two warpgroups
      take turns (ping-pong)
    - `left` has the place of each product's left operand: tiles of a long sum pass
      through the ring (`tiled`); it is read to registers once (`kept`), or stays in
      shared memory (`resident`); it is computed, or read element by element (`packed`)
    - `sum_splits` blocks share the sums of a tile, or `splits` of them the streamed
      dim, of which `cluster` at a time merge before others do
    - `cluster_shape`: so many neighbouring tiles along the rows and along the columns are
      those of a cluster, whose blocks copy a part each of what several of them read
      (multicast); left out where each copies for itself
    - `blocks` of a multiprocessor (with `mma_sync`: that the tiles are cut for); `stages` of
      the ring of tiles
    - `staged`: results leave by copies from shared memory
    - `scheduler` of tiles: `dynamic`, a block asks for its next tile when it is done with
      one, or `static`, all are dealt out before
    - `cached`: MiB that tiles one behind the other find in the L2 cache
    - `ahead`: steps (or tiles of a sum) that the L2 cache is asked for before the
      kernel waits for the one before it
    - `late`: the next kernel's blocks come when all copies of this one are under way
    - `threshold` of rescaling, for pivots that `redfuse-lazy-pivots` has marked, in halves of a power of 2
      (16 at most); 1: as far as the sums of rows allow, 0: pivots are maxima

    Example:

    ```mlir
    #redfuse.matrix_plan<wgmma, row_dim = 2, tiles = [0, 0, 128, 128, 128, 128],
        consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1,
        cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32,
        ahead = 0, late = false, threshold = 1>
    ```
  }];
  let parameters = (ins
    EnumParameter<Redfuse_MmaKindAttr>:$kind, "int64_t":$rowDim,
    ArrayRefParameter<"int64_t">:$tiles, "int64_t":$consumers, "int64_t":$consumerRows,
    ArrayRefParameter<"::redfuse::OperandPlace">:$left,
    "int64_t":$sumSplits, "int64_t":$splits, "int64_t":$cluster, "int64_t":$blocks,
    "int64_t":$stages, "bool":$staged, 
    EnumParameter<Redfuse_TileSchedulingAttr>:$scheduler, "int64_t":$cached,
    "int64_t":$ahead, "bool":$late, "int64_t":$threshold,
    OptionalArrayRefParameter<"int64_t">:$clusterShape);
  let assemblyFormat = [{
    `<` $kind `,` `row_dim` `=` $rowDim `,` `tiles` `=` `[` $tiles `]` `,` `consumers` `=` $consumers `,`
    `consumer_rows` `=` $consumerRows `,` `left` `=` `[` $left `]` `,` `sum_splits` `=` $sumSplits `,`
    `splits` `=` $splits `,` `cluster` `=` $cluster `,` `blocks` `=` $blocks `,`
    `stages` `=` $stages `,` `staged` `=` $staged `,` `scheduler` `=` $scheduler `,`
    `cached` `=` $cached `,`
    `ahead` `=` $ahead `,` `late` `=` $late `,` `threshold` `=` $threshold
    (`,` `cluster_shape` `=` `[` $clusterShape^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
}

def Redfuse_ContractionPlanAttr : Redfuse_Attr<"ContractionPlan", "contraction_plan"> {
  let summary = "how a kernel that is one sum of products is cut into tiles";
  let description = [{
    All that is chosen for a kernel whose one contraction is made by the matrix
    instructions of tiles of its operands in shared memory.
    `redfuse-plan-contractions` puts it on a launch (`redfuse.contraction`),
    `redfuse-kernel-to-gpu` does as it says.

    - the instruction of products: `mma_sync` of warps, or `wgmma` of warpgroups, four warps along
      rows
    - `warps` of a block, along rows and along columns; a third number says how many share
      the sum of a tile (sliced-K), where warps compute an operand that they alone read
    - `instructions` of a warp's tile, along rows and along columns: 16 rows and 8 columns
      each (f64 but on sm_90: 8 rows)
    - `slabs` of a stage of the mainloop: a slab has 64 bytes of the sum of each row and
      column
    - `stages` of the mainloop: two where threads load operands and store them, more where
      they start copies
    - `splits`: so many blocks share the sum of a tile (split-K); the last one to finish
      adds what they have, always in the same order
    - `boxes`: of warpgroups, whether one thread copies operands by tensor maps, as boxes
      or places of windows, instead of all threads in pieces of 16 bytes

    Example: tiles of 128 x 128 by eight warps with 64 x 32 results each.

    ```mlir
    #redfuse.contraction_plan<mma_sync, warps = [2, 4], instructions = [4, 4], slabs = 1,
        stages = 2, splits = 1>
    ```

    Tiles of 32 x 8, whose sum eight warps share: each adds four of a stage's slabs.

    ```mlir
    #redfuse.contraction_plan<mma_sync, warps = [1, 1, 8], instructions = [2, 1],
        slabs = 32, stages = 2, splits = 1>
    ```
  }];
  let parameters = (ins
    EnumParameter<Redfuse_MmaKindAttr>:$kind,
    ArrayRefParameter<"int64_t">:$warps, ArrayRefParameter<"int64_t">:$instructions,
    "int64_t":$slabs, "int64_t":$stages, "int64_t":$splits,
    DefaultValuedParameter<"bool", "false">:$boxes);
  let assemblyFormat = [{
    `<` $kind `,` `warps` `=` `[` $warps `]` `,` `instructions` `=` `[` $instructions `]` `,`
    `slabs` `=` $slabs `,` `stages` `=` $stages `,` `splits` `=` $splits
    (`,` `boxes` `=` $boxes^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Redfuse_PackingPlanAttr : Redfuse_Attr<"PackingPlan", "packing_plan"> {
  let summary = "how a CPU packs the operands of a sum of products";
  let description = [{
    All that is chosen for a kernel whose one contraction is made by the cores of a CPU
    of packed operands. `redfuse-plan-packing` puts it on a launch (`redfuse.packing`),
    `redfuse-kernel-to-cpu` does as it says.

    - `tiles` by iteration dim, 0 for a whole dim: what a block has of the dims of the
      result, and how much of the dims of the sum is packed at a time
    - `registers`: the rows and the vectors of columns whose sums are in registers
    - `microkernel`: what it reads. `packed`: panels of both operands. `packed_rows`: the
      rows' panel; columns lie where they are. `outer`: both where they are, elements of
      rows times vectors of columns. `inner`: both where they are, vectors along the sum,
      whose lanes are added at the end; the second number of `registers` is then of columns

    Example: blocks of 256 x 512, of sums 256 at a time, by a microkernel of 8 rows and
    three vectors.

    ```mlir
    #redfuse.packing_plan<tiles = [256, 512, 256], registers = [8, 3]>
    ```

    Five rows by columns, both read where they lie:

    ```mlir
    #redfuse.packing_plan<tiles = [0, 512, 32], registers = [5, 5], microkernel = outer>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$tiles, ArrayRefParameter<"int64_t">:$registers,
    DefaultValuedParameter<"::redfuse::Microkernel",
                           "::redfuse::Microkernel::Packed">:$microkernel);
  let assemblyFormat = [{
    `<` `tiles` `=` `[` $tiles `]` `,` `registers` `=` `[` $registers `]`
    (`,` `microkernel` `=` $microkernel^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Redfuse_DimShareAttr : Redfuse_Attr<"DimShare", "dim_share"> {
  let summary = "how the positions of a dim of a tile are dealt out to threads";
  let description = [{
    Position `(r * threads + t) * lanes + l` is lane `l` of the `r`-th vector of thread
    `t`, of `repeats` vectors. The thread's number along the dim is a field of the bits of
    its number in the block, from `bit` on; dims that no value has together may share bits.

    With a `run` of more than one, that many vectors of a thread are neighbours: its
    `r`-th vector is the one at `((r / run) * threads + t) * run + r % run`. A dim has one
    whose `lanes` are 1 where memory is contiguous along it for some tensors, and values are
    vectors along another dim: what is loaded or stored along it is transposed in registers.
    A dim that is scanned has one where no tensor is contiguous along it: a thread scans its
    neighbours by itself. Then a tile may end inside of a run.

    Example: `#redfuse.dim_share<lanes = 4, repeats = 2, threads = 32, bit = 0>`, and
    `#redfuse.dim_share<lanes = 1, repeats = 8, threads = 32, bit = 3, run = 4>`, of which a
    thread has two pieces of four neighbouring positions.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$repeats, "int64_t":$threads, "int64_t":$bit,
                        DefaultValuedParameter<"int64_t", "1">:$run);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Redfuse_InputTileAttr : Redfuse_Attr<"InputTile", "input_tile"> {
  let summary = "a block's part of an input";
  let description = [{
    What is read of an `argument` of a kernel by way of `map` (from iteration dims to its
    indices) for one tile: `bytes` of it.

    Example: `#redfuse.input_tile<argument = 0, map = affine_map<(i, j) -> (i, j)>, bytes = 4096>`.
  }];
  let parameters = (ins "int64_t":$argument, "::mlir::AffineMapAttr":$map, "int64_t":$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Redfuse_RegisterLayoutAttr : Redfuse_Attr<"RegisterLayout", "register_layout"> {
  let summary = "how a kernel holds its tiles in registers";
  let description = [{
    All that is chosen for a kernel whose tiles are registers: who holds what, and when data
    moves. `redfuse-plan-registers` puts it on a launch (`redfuse.registers`),
    `redfuse-kernel-to-gpu` does as it says; a layout that was written by hand is checked
    against the kernel.

    - `threads` of a tile: those of a block, or of the `cluster` of blocks that share it,
      numbered block after block. Where a schedule splits a fold, a cluster of more than one
      block takes the place of its splits
    - `lanes` of a vector, and for each iteration dim its share of lanes and threads (`dims`)
    - `blocks` of a multiprocessor at least, and bytes of shared memory that a launch asks
      for at least (`shared_bytes`), which keep others away; 0: as it comes
    - `looping_blocks` of a multiprocessor walk tiles of the grid in a loop; 0: each block
      has one tile
    - `kept`: inputs of which shared memory has a block's part; `moved_once`: arguments that
      go past the first-level cache
    - `ahead`: inputs that the second-level cache is asked for before the kernel waits for
      the one before it, by the first `ahead_tiles` tiles (0: by all); `following`: by a
      block that loops, of the tile after the next
    - `choices`: what all blocks read is loaded where it is used (`load_shared_late`), or
      before the last exchange of a reduction (`load_shared_before_exchange`); short floats
      stay as they were loaded (`stay_packed`); all of a step is loaded before anything is
      computed (`await_loads`); nests read again what the caches have (`read_again`); a step
      is loaded while the one before it is computed (`load_steps_ahead`); the next kernel
      starts when all is read (`start_next_late`)

    Example:

    ```mlir
    #redfuse.register_layout<threads = 128, cluster = 1, lanes = 4,
        dims = [<lanes = 1, repeats = 1, threads = 4, bit = 5>, <lanes = 4, repeats = 2, threads = 32, bit = 0>],
        blocks = 0, shared_bytes = 0, looping_blocks = 0, kept = [], moved_once = [],
        ahead = [], ahead_tiles = 0, following = [], choices = [stay_packed]>
    ```
  }];
  let parameters = (ins
    "int64_t":$threads, "int64_t":$cluster, "int64_t":$lanes,
    ArrayRefParameter<"::redfuse::DimShareAttr">:$dims, "int64_t":$blocks,
    "int64_t":$sharedBytes, "int64_t":$loopingBlocks,
    ArrayRefParameter<"::redfuse::InputTileAttr">:$kept, ArrayRefParameter<"int64_t">:$movedOnce,
    ArrayRefParameter<"::redfuse::InputTileAttr">:$ahead, "int64_t":$aheadTiles,
    ArrayRefParameter<"::redfuse::InputTileAttr">:$following,
    ArrayRefParameter<"::redfuse::RegisterChoice">:$choices);
  let assemblyFormat = [{
    `<` `threads` `=` $threads `,` `cluster` `=` $cluster `,` `lanes` `=` $lanes `,`
    `dims` `=` custom<List>($dims) `,` `blocks` `=` $blocks `,`
    `shared_bytes` `=` $sharedBytes `,` `looping_blocks` `=` $loopingBlocks `,`
    `kept` `=` custom<List>($kept) `,` `moved_once` `=` custom<List>($movedOnce) `,`
    `ahead` `=` custom<List>($ahead) `,` `ahead_tiles` `=` $aheadTiles `,`
    `following` `=` custom<List>($following) `,` `choices` `=` custom<List>($choices) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = fieldAccess # [{
    bool has(::redfuse::RegisterChoice choice) const {
      return ::llvm::is_contained(getChoices(), choice);
    }
  }];
}

def Redfuse_PredictedTimeAttr : Redfuse_Attr<"PredictedTime", "predicted_time"> {
  let summary = "how long a launch of a kernel is predicted to take";
  let description = [{
    Nanoseconds: of the launch, of moving what it reads and writes through memory, of the products
    of matrix units, and of what threads compute. `total` is the launch, the longest of the other
    three, and what does not overlap with it. `blocks` have work of their own.
    `redfuse-predict-times` puts it on a launch (`redfuse.predicted`).

    Example:

    ```mlir
    #redfuse.predicted_time<total = 23100, launch = 2900, memory = 19800, matrix = 0,
                            vector = 1900, blocks = 4096>
    ```
  }];
  let parameters = (ins "int64_t":$total, "int64_t":$launch, "int64_t":$memory, "int64_t":$matrix,
                        "int64_t":$vector, "int64_t":$blocks);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Redfuse_RatesAttr : Redfuse_Attr<"Rates", "rates"> {
  let summary = "what a GPU was measured to reach, for predicted times";
  let description = [{
    `launch`: nanoseconds of a kernel that does next to nothing; `round`: of a round of a loop that
    one launch makes, beside its work. `memory`: 10^9 bytes a second that a copy reads and writes;
    `vector`: 10^9 additions a second of all threads; `matrix`: 10^9 multiply-adds a second of 16-bit
    floats by the fastest matrix instruction. `redfuse calibrate` measures them; on a module
    (`redfuse.rates`) `redfuse-predict-times` takes them instead of shares of the chip's peaks.

    Example:

    ```mlir
    #redfuse.rates<launch = 4400, round = 1100, memory = 4125, vector = 28150, matrix = 501000>
    ```
  }];
  let parameters = (ins "int64_t":$launch, "int64_t":$round, "int64_t":$memory,
                        "int64_t":$vector, "int64_t":$matrix);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Redfuse_FusedKernelAttr : Redfuse_Attr<"FusedKernel", "fused_kernel"> {
  let summary = "which cascades fusion made one kernel of, and what else it might have done";
  let description = [{
    `cascades` are the numbers of a kernel's cascades, in the order of the program that fusion was
    given, and `places` where each was written. Of these, those in `cuts` need another one of the
    kernel: each of them may begin a kernel instead (option `cuts` of `redfuse-fuse`). Those in
    `joins` need a cascade of another kernel that they may be fused with (option `joins`).
    `redfuse-fuse` puts one for each kernel on the module (`redfuse.fused_kernels`) where it is
    asked for that.

    Example: `#redfuse.fused_kernel<cascades = [1, 2], places = ["a.mlir:4:8", "a.mlir:9:8"],
    cuts = [2], joins = [1]>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$cascades,
                        ArrayRefParameter<"::mlir::StringAttr">:$places,
                        ArrayRefParameter<"int64_t">:$cuts,
                        ArrayRefParameter<"int64_t">:$joins);
  let assemblyFormat = [{
    `<` `cascades` `=` custom<List>($cascades) `,` `places` `=` custom<List>($places)
    `,` `cuts` `=` custom<List>($cuts) `,` `joins` `=` custom<List>($joins) `>`
  }];
}

def Redfuse_RoundsPlanAttr : Redfuse_Attr<"RoundsPlan", "rounds_plan"> {
  let summary = "how one kernel makes all rounds of a loop";
  let description = [{
    Of a loop that launches one kernel a round: what `grid_parts` parts of the grid and
    `warp_parts` of each block's warps do never meet, round after round. Each of these parts has a
    `cluster` of that many blocks, of `warps` warps; a warp has the work that one warp of one of the
    launch's blocks would have. `redfuse-plan-rounds` puts it on a loop (`redfuse.persistent`).

    Example: `#redfuse.rounds_plan<cluster = 16, warps = 7, grid_parts = 2, warp_parts = 4>`, of
    a launch of 2 x 112 blocks of four warps.
  }];
  let parameters = (ins "int64_t":$cluster, "int64_t":$warps, "int64_t":$gridParts,
                        "int64_t":$warpParts);
  let assemblyFormat = [{
    `<` `cluster` `=` $cluster `,` `warps` `=` $warps `,` `grid_parts` `=` $gridParts `,`
    `warp_parts` `=` $warpParts `>`
  }];
  let genVerifyDecl = 1;
}

def Redfuse_TargetAttr : Redfuse_Attr<"Target", "target"> {
  let summary = "a machine as the cost model sees it";
  let description = [{
    `units` is the number of independent workers (cores, multiprocessors),
    `vector_bits` the width of one vector register, the cache sizes are bytes of
    one worker's share, the rates are of the whole machine: `flops` fused
    multiply-adds in f32 count 2, `bandwidth` bytes a second of main memory,
    `launch_ns` the fixed cost of one kernel. `chip` is the architecture of a GPU,
    one of `Chips.def`, which says what else is known of it; kernels are generated
    for it.

    Examples: `#redfuse.target<"cpu", units = 2, vector_bits = 512, l1 = 49152,
    l2 = 1048576, flops = 300, bandwidth = 40, launch_ns = 2000>` (rates in
    giga-units), `#redfuse.target<"cuda", units = 132,
    vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300,
    launch_ns = 3000, chip = "sm_90a">`.
  }];
  let parameters = (ins
    "::mlir::StringAttr":$name, "int64_t":$units, "int64_t":$vectorBits,
    "int64_t":$l1, "int64_t":$l2, "int64_t":$flops, "int64_t":$bandwidth,
    "int64_t":$launchNs, OptionalParameter<"::mlir::StringAttr">:$chip);
  let assemblyFormat = [{
    `<` $name `,` `units` `=` $units `,` `vector_bits` `=` $vectorBits `,` `l1` `=` $l1 `,`
    `l2` `=` $l2 `,` `flops` `=` $flops `,` `bandwidth` `=` $bandwidth `,` `launch_ns` `=` $launchNs
    (`,` `chip` `=` $chip^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Redfuse_FormulaAttr : Redfuse_Attr<"Formula", "formula"> {
  let summary = "a formula of a certificate";
  let description = [{
    What a component of a state, a reduction or a result is, in a spelling that people and
    computer algebra read. `Formula.h` has the grammar; what it does not allow is refused.
    `x0` is an element of an input, `a0` data computed from inputs, `d0` a reduction of the
    cascade, `t0` a component of the state and `t0'` the same after a segment, `y0` a
    result, `i0` a position, `c0` a scalar from outside.

    Example: `#redfuse.formula<"exp(t0 - t0')*t1">`.
  }];
  let parameters = (ins "::mlir::StringAttr":$text);
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = fieldAccess # [{
    /// The formula as a tree: a node is [head, value, primes, dims, arguments...], with the
    /// fields that `FormulaNode` has.
    ::mlir::ArrayAttr getTree() const;
  }];
}

#endif // REDFUSE_ATTRS_TD
