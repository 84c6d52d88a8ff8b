//===- TileOps.td - tiles in shared memory and registers ---*- tablegen -*-===//
#ifndef REDFUSE_TILEOPS_TD
#define REDFUSE_TILEOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::redfuse::tile";
  let summary = "tiles of matrices in a GPU's shared memory and registers";
  let description = [{
    What a kernel on matrix units is made of, between `redfuse-kernel-to-gpu`, which
    builds these ops, and `redfuse-lower-tiles`, which replaces each by the
    instructions of its target: tiles in shared memory and copies to them, barriers
    and rings of stages, products of tiles, roles of warps. Loops, conditions and
    what is computed with single elements are `scf`, `arith` and `math` as
    everywhere.

    Most types stand for several registers and cannot be computed with, so that
    what must not be touched cannot be: the accumulators of a product that may
    still run are one value of `!tile.accumulators`, and only `tile.wait_products`
    makes elements of it.

    An address is a 32-bit address of shared memory, `i32`. An op with
    a trait `NeedsAsyncCopies` or `NeedsTensorMaps` needs an NVIDIA GPU that has these,
    of compute capability 8.0 or 9.0; for others `redfuse-lower-tiles` refuses it.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = [];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Tile_Type<string cppName, string typeMnemonic> : TypeDef<Tile_Dialect, cppName> {
  let mnemonic = typeMnemonic;
}

def Tile_BarrierType : Tile_Type<"Barrier", "barrier"> {
  let summary = "a barrier in shared memory";
  let description = [{
    8 bytes that count arrivals and bytes (`mbarrier`). When all of a phase have
    come, the next phase begins; phases are told apart by their parity, 0 first.
  }];
}

def Tile_RingType : Tile_Type<"Ring", "ring"> {
  let summary = "stages in shared memory that are filled and emptied in turn";
  let description = [{
    `!tile.ring<4 x 32768>` has 4 stages of 32768 bytes, and two barriers for each:
    `full` counts what fills the stage, `empty` who has read it. Where a user of
    the ring stands is two `i32`: the stage, and the phase, which flips after the
    last stage (`tile.advance`).
  }];
  let parameters = (ins "int64_t":$stages, "int64_t":$bytes);
  let assemblyFormat = "`<` $stages `x` $bytes `>`";
  let genVerifyDecl = 1;
}

class Tile_MatrixType<string cppName, string typeMnemonic>
    : Tile_Type<cppName, typeMnemonic> {
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "Type":$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_SharedType : Tile_MatrixType<"Shared", "shared"> {
  let summary = "a tile in shared memory";
  let description = [{
    `!tile.shared<128x256xbf16>` has 128 rows of 256 elements, cut into panels of
    128 bytes a row. A panel is rows after rows; panels follow each other, and the
    16-byte chunks of a row are swizzled: chunk c of row r is at place c xor r mod 8.
    This is what tensor maps with 128-byte swizzle write and matrix units read
    without bank conflicts. These swizzle by bits of the address, so that a panel of
    theirs starts at a multiple of 1024 bytes; where threads copy and load fragments
    (`tile.copy_rows`, products of single warps) the row decides, and 128 suffice.
  }];
  let extraClassDeclaration = [{
    /// Columns of a panel.
    int64_t getPanelColumns() const;
    int64_t getPanels() const { return getColumns() / getPanelColumns(); }
    /// Bytes from one panel to the next.
    int64_t getPanelBytes() const { return getRows() * 128; }
    int64_t getBytes() const { return getPanels() * getPanelBytes(); }
  }];
}

def Tile_AccumulatorsType : Tile_MatrixType<"Accumulators", "accumulators"> {
  let summary = "a matrix that products of a warpgroup are added to";
  let description = [{
    `!tile.accumulators<64x128xf32>`: registers of the 128 threads of a warpgroup
    while products may still run; of f32, or i32 for products of integers. Each thread has an element of every 128; in
    groups of four: of rows g and g + 8 of its warp's 16, columns 2t and 2t + 1 of
    each eight, g = lane / 4, t = lane mod 4. Where products are those of single
    warps, four of them may have 128 rows, each 32: groups are of eight elements, of
    rows g, g + 8, g + 16 and g + 24.
  }];
  let extraClassDeclaration = [{
    /// Elements of a thread.
    int64_t getSize() const { return getRows() * getColumns() / 128; }
  }];
}

def Tile_OperandType : Tile_MatrixType<"Operand", "operand"> {
  let summary = "the left operand of a warpgroup's products in registers";
  let description = [{
    `!tile.operand<64x128xbf16>`: four registers of two elements for every 16
    columns, or eight for 128 rows. A thread has the same elements as of
    `!tile.accumulators`, two neighbours of a row in a register, so that one
    product's result becomes the operand of the next without an exchange
    (`tile.pack`).
  }];
  let extraClassDeclaration = [{
    /// Registers of a thread.
    int64_t getSize() const { return getRows() * getColumns() / 256; }
  }];
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

// What an op needs of its target; one without these is everywhere.
class Tile_Needs<string name> : NativeOpTrait<name> {
  let cppNamespace = "::redfuse::tile";
}
def Tile_NeedsAsyncCopies : Tile_Needs<"NeedsAsyncCopies">;
def Tile_NeedsTensorMaps : Tile_Needs<"NeedsTensorMaps">;

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

/// What other threads see: neither moved nor dropped.
def Tile_Shared : MemoryEffects<[MemRead, MemWrite]>;

// Barriers and rings ------------------------------------------------------------

def Tile_BarrierOp : Tile_Op<"barrier", [Tile_NeedsTensorMaps, Pure]> {
  let summary = "the barrier at an address";
  let description = [{
   

        %b = tile.barrier at %address
  }];
  let arguments = (ins I32:$address);
  let results = (outs Tile_BarrierType:$result);
  let assemblyFormat = "`at` $address attr-dict";
}

def Tile_RingOp : Tile_Op<"ring", [Tile_NeedsAsyncCopies, Pure]> {
  let summary = "a ring of stages at an address";
  let description = [{
    Stages follow each other from `tiles` on, a multiple of 1024; stage s has its
    `full` barrier at `barriers` + 16 s, and `empty` 8 bytes behind, if they are
    used at all.

        %ring = tile.ring stages %tiles barriers %barriers : !tile.ring<4 x 32768>
  }];
  let arguments = (ins I32:$tiles, I32:$barriers);
  let results = (outs Tile_RingType:$result);
  let assemblyFormat = [{
    `stages` $tiles `barriers` $barriers attr-dict `:` qualified(type($result))
  }];
}

class Tile_RingBarrierOp<string mnemonic> : Tile_Op<mnemonic, [Tile_NeedsTensorMaps, Pure]> {
  let arguments = (ins Tile_RingType:$ring, I32:$stage);
  let results = (outs Tile_BarrierType:$result);
  let assemblyFormat = "$ring `[` $stage `]` attr-dict `:` qualified(type($ring))";
}

def Tile_FullOp : Tile_RingBarrierOp<"full"> {
  let summary = "the barrier that tells that a stage is full";
  let description = [{
        %b = tile.full %ring[%stage] : !tile.ring<4 x 32768>
  }];
}

def Tile_EmptyOp : Tile_RingBarrierOp<"empty"> {
  let summary = "the barrier that tells that a stage is empty";
  let description = [{
        %b = tile.empty %ring[%stage] : !tile.ring<4 x 32768>
  }];
}

def Tile_StageOp : Tile_Op<"stage", [Tile_NeedsAsyncCopies, Pure]> {
  let summary = "a tile in a stage of a ring";
  let description = [{
    The tile starts `offset` bytes into the stage, at a multiple of 1024, and ends
    inside of it.

        %t = tile.stage %ring[%stage] at 16384 : !tile.ring<4 x 32768>, !tile.shared<64x128xbf16>
  }];
  let arguments = (ins Tile_RingType:$ring, I32:$stage,
                       DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = [{
    $ring `[` $stage `]` (`at` $offset^)? attr-dict `:` qualified(type($ring)) `,` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Tile_ViewOp : Tile_Op<"view", [Pure]> {
  let summary = "the tile at an address";
  let description = [{
    Outside of a ring; the address is a multiple of 1024.

        %t = tile.view at %address : !tile.shared<64x128xbf16>
  }];
  let arguments = (ins I32:$address);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = "`at` $address attr-dict `:` qualified(type($result))";
}

def Tile_AdvanceOp : Tile_Op<"advance", [Tile_NeedsAsyncCopies, Pure]> {
  let summary = "the next stage of a ring, and its phase";
  let description = [{
        %next, %phase = tile.advance %ring[%stage], %now : !tile.ring<4 x 32768>
  }];
  let arguments = (ins Tile_RingType:$ring, I32:$stage, I32:$phase);
  let results = (outs I32:$next_stage, I32:$next_phase);
  let assemblyFormat = [{
    $ring `[` $stage `]` `,` $phase attr-dict `:` qualified(type($ring))
  }];
}

def Tile_InitBarrierOp : Tile_Op<"init_barrier", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "prepares a barrier for a number of arrivals a phase";
  let description = [{
    By one thread; `tile.fence_barriers` and a synchronisation of the block come
    before others use it.

        tile.init_barrier %b arrivals 8
  }];
  let arguments = (ins Tile_BarrierType:$barrier, I64Attr:$arrivals);
  let assemblyFormat = "$barrier `arrivals` $arrivals attr-dict";
  let hasVerifier = 1;
}

def Tile_FenceBarriersOp : Tile_Op<"fence_barriers", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "shows prepared barriers to copies and to other blocks";
  let description = [{
    Between the preparation and the synchronisation of the block.
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_WaitBarrierOp : Tile_Op<"wait_barrier", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "waits until the phase of a parity is over";
  let description = [{
    What arrivals of that phase made visible can be read. Who waits for a stage of
    which nobody has used the phase before passes with parity 1.

        tile.wait_barrier %b phase %phase
  }];
  let arguments = (ins Tile_BarrierType:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `phase` $parity attr-dict";
}

def Tile_ArriveOp : Tile_Op<"arrive", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "one arrival of a warp";
  let description = [{
    Lane 0 arrives, after what the warp has read. Products that read a stage must
    be over before its warp arrives at the stage's `empty` barrier.

        tile.arrive %b lane %lane

    With `rank`, this block's number in its cluster, the first `blocks` lanes arrive at
    that barrier of one block each: lane l at that of block `rank` xor l.

        tile.arrive %b lane %lane rank %rank blocks 2
  }];
  let arguments = (ins Tile_BarrierType:$barrier, I32:$lane, Optional<I32>:$rank,
                       DefaultValuedAttr<I64Attr, "1">:$blocks);
  let assemblyFormat = [{
    $barrier `lane` $lane (`rank` $rank^ `blocks` $blocks)? attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_ExpectOp : Tile_Op<"expect", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "one arrival of a thread that announces bytes";
  let description = [{
    The phase is over when that many bytes have come, too (`tile.copy`). 

        tile.expect %b bytes 32768
  }];
  let arguments = (ins Tile_BarrierType:$barrier, I64Attr:$bytes);
  let assemblyFormat = "$barrier `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

def Tile_AddressInOp : Tile_Op<"address_in", [Tile_NeedsTensorMaps, Pure]> {
  let summary = "the address of the same place in a block of the cluster";
  let description = [{
    Of that number, a constant or a value; for `tile.load ... cluster` and for
    stores there.

        %there = tile.address_in %address block 3
        %here = tile.address_in %address block %n
  }];
  let arguments = (ins I32:$address, Optional<I32>:$block,
                       OptionalAttr<I64Attr>:$number);
  let results = (outs I32:$result);
  let assemblyFormat = [{
    $address `block` ($block^) : ($number)? attr-dict
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$address, "::mlir::OpFoldResult":$block)>];
  let hasVerifier = 1;
}

// Threads ------------------------------------------------------------------------

class Tile_NamedBarrierOp<string mnemonic>
    : Tile_Op<mnemonic, [Tile_NeedsAsyncCopies, Tile_Shared]> {
  let arguments = (ins I64Attr:$barrier, I64Attr:$threads);
  let assemblyFormat = "`barrier` $barrier `threads` $threads attr-dict";
  let hasVerifier = 1;
}

def Tile_SynchronizeOp : Tile_NamedBarrierOp<"synchronize"> {
  let summary = "waits for threads of the block by a numbered barrier";
  let description = [{
    Until that many threads, whole warps, have come to the barrier, those that
    only notify it included. Number 0 is that of `gpu.barrier`.

        tile.synchronize barrier 1 threads 256
  }];
}

def Tile_NotifyOp : Tile_NamedBarrierOp<"notify"> {
  let summary = "comes to a numbered barrier and goes on";
  let description = [{
        tile.notify barrier 1 threads 256
  }];
}

def Tile_SynchronizeClusterOp
    : Tile_Op<"synchronize_cluster", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "waits for all threads of all blocks of the cluster";
  let description = "What they stored before can be read.";
  let assemblyFormat = "attr-dict";
}

def Tile_RolesOp : Tile_Op<"roles", [
    Tile_NeedsTensorMaps, NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "what the warps of a block do, by their number";
  let description = [{
    The first warps of the block take the first region, and so on; `warp` is the
    thread's, the same value for all threads of a warp. With register budgets
    (sm_90a) a warp gives registers away or takes more when its role begins: from
    what `registers` the kernel was compiled for, to its role's. Budgets are
    multiples of 8 from 24 to 256, of whole warpgroups, and all roles together have
    as many as the block had.

        tile.roles of %warp registers 168
          role warps 4 registers 24 {
            // loads
          }
          role warps 8 registers 240 {
            // multiplies
          }
  }];
  let arguments = (ins I32:$warp, OptionalAttr<I64Attr>:$registers,
                       DenseI64ArrayAttr:$warps,
                       OptionalAttr<DenseI64ArrayAttr>:$budgets);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Value":$warp, "::llvm::ArrayRef<int64_t>":$warps,
                   CArg<"int64_t", "0">:$registers,
                   CArg<"::llvm::ArrayRef<int64_t>", "{}">:$budgets)>];
}

// Words of shared memory -----------------------------------------------------------

def Tile_Word : AnyTypeOf<[F32, I32]>;

def Tile_StoreOp : Tile_Op<"store", [Tile_NeedsAsyncCopies, Tile_Shared]> {
  let summary = "stores one, two or four words in shared memory";
  let description = [{
    At `offset` bytes behind the address, a multiple of the size of all words.

        tile.store %address at 32, %x, %y : f32, f32
  }];
  let arguments = (ins I32:$address, DefaultValuedAttr<I64Attr, "0">:$offset,
                       Variadic<Tile_Word>:$words);
  let assemblyFormat = [{
    $address (`at` $offset^)? `,` $words attr-dict `:` type($words)
  }];
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [Tile_NeedsAsyncCopies, Tile_Shared]> {
  let summary = "loads one, two or four words of shared memory";
  let description = [{
    With `cluster` the address is that of any block of the cluster
    (`tile.address_in`).

        %x, %y = tile.load cluster %there at 32 : f32, f32
  }];
  let arguments = (ins I32:$address, DefaultValuedAttr<I64Attr, "0">:$offset,
                       UnitAttr:$cluster);
  let results = (outs Variadic<Tile_Word>:$words);
  let assemblyFormat = [{
    (`cluster` $cluster^)? $address (`at` $offset^)? attr-dict `:` type($words)
  }];
  let hasVerifier = 1;
}

// Copies -----------------------------------------------------------------------------

def Tile_Map
    : Type<CPred<"::redfuse::tile::isTensorMap($_self)">, "tensor map",
           "::mlir::VectorType">,
      BuildableType<"::mlir::VectorType::get({16}, $_builder.getI64Type())">;

def Tile_CopyOp : Tile_Op<"copy", [Tile_NeedsTensorMaps, Tile_Shared,
                                   AttrSizedOperandSegments]> {
  let summary = "starts the copy of a tile from global memory";
  let description = [{
    By one thread. The tensor map, an argument of the kernel of type
    `vector<16xi64>`, has boxes of one panel: as many rows as the tile, 128 bytes
    of columns, with 128-byte swizzle; `coordinates` are those of the first
    element, innermost first. Elements outside of the tensor are zero. The bytes
    count in the barrier's phase (`tile.expect`).

        tile.copy %map[%column, %row, %head] to %t signal %full : !tile.shared<128x128xbf16>

    With `window`, rows are neighbouring places of a window that goes over the tensor
    (the map is one of the driver's im2col mode): the offsets say which element of the
    window each row has, one (i16) for each dim between the first and the last.

        tile.copy %map[%channel, %x, %y, %image] window[%tapX, %tapY] to %t signal %full
            : !tile.shared<128x64xbf16>

    With `multicast`, boxes are a part of the rows, and are written from row `row` on, to
    the same place of each block of the cluster whose bit is set (i16); the same barrier
    of each counts the bytes.

        tile.copy %map[%column, %row] to %t row %row multicast %blocks signal %full
            : !tile.shared<128x64xbf16>
  }];
  let arguments = (ins Tile_Map:$map, Variadic<I32>:$coordinates,
                       Variadic<I16>:$offsets, Tile_SharedType:$tile,
                       Tile_BarrierType:$barrier, Optional<I32>:$row,
                       Optional<I16>:$blocks);
  let assemblyFormat = [{
    $map `[` $coordinates `]` (`window` `[` $offsets^ `]`)? `to` $tile
    (`row` $row^ `multicast` $blocks)? `signal` $barrier attr-dict `:`
    qualified(type($tile))
  }];
  let hasVerifier = 1;
}

def Tile_PrefetchOp : Tile_Op<"prefetch", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "asks the second-level cache for a tile of global memory";
  let description = [{
    By one thread. What is there when the tile is copied is what is copied, whoever
    has written it since. Map and coordinates are as for `tile.copy`.

        tile.prefetch %map[%column, %row, %head] : !tile.shared<128x128xbf16>
  }];
  let arguments = (ins Tile_Map:$map, Variadic<I32>:$coordinates,
                       TypeAttrOf<Tile_SharedType>:$tile);
  let assemblyFormat = "$map `[` $coordinates `]` attr-dict `:` $tile";
  let hasVerifier = 1;
}

def Tile_CopyOutOp : Tile_Op<"copy_out", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "starts the copy of a tile to global memory";
  let description = [{
    By one thread, after `tile.fence_copies` and a synchronisation with the threads
    that wrote the tile. The map is as for `tile.copy`; what is outside of the
    tensor is not written. The tile may be written again after `tile.wait_copies`.

        tile.copy_out %t to %map[%column, %row] : !tile.shared<64x128xbf16>
  }];
  let arguments = (ins Tile_SharedType:$tile, Tile_Map:$map,
                       Variadic<I32>:$coordinates);
  let assemblyFormat = [{
    $tile `to` $map `[` $coordinates `]` attr-dict `:` qualified(type($tile))
  }];
  let hasVerifier = 1;
}

def Tile_FenceCopiesOp : Tile_Op<"fence_copies", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "shows what this thread stored in shared memory to copies";
  let description = "Products read it, too, only after this.";
  let assemblyFormat = "attr-dict";
}

def Tile_CommitCopiesOp : Tile_Op<"commit_copies", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "makes one group of the copies to global memory that this thread started";
  let assemblyFormat = "attr-dict";
}

def Tile_WaitCopiesOp : Tile_Op<"wait_copies", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "waits until at most that many groups of copies run";
  let description = [{
    Until they have read shared memory; what they wrote need not be visible.

        tile.wait_copies 0
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

def Tile_CopyRowsOp : Tile_Op<"copy_rows", [Tile_NeedsAsyncCopies, Tile_Shared]> {
  let summary = "starts the copy of a tile from global memory, by many threads";
  let description = [{
    By `threads` threads, a multiple of 8, of which this one is `thread`: each
    copies pieces of 16 bytes (`cp.async`). Columns of the tile run along the last
    dim of the tensor, whose rows are multiples of 16 bytes, and its rows along the
    dim `along`; `indices` are those of the first element. Elements that lie outside
    of the tensor along these two are zero; with `inside` there are none.

    The tile can be read after `tile.wait_rows` and a synchronisation of these
    threads.

        tile.copy_rows %m[%head, %row, %c0] along 1 to %t thread %thread of 128
            : memref<8x?x80xbf16>, !tile.shared<64x128xbf16>
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$indices,
                       I64Attr:$along, Tile_SharedType:$tile, I32:$thread,
                       I64Attr:$threads, UnitAttr:$inside);
  let assemblyFormat = [{
    $source `[` $indices `]` `along` $along `to` $tile `thread` $thread
    `of` $threads (`inside` $inside^)? attr-dict
    `:` type($source) `,` qualified(type($tile))
  }];
  let hasVerifier = 1;
}

def Tile_CommitRowsOp : Tile_Op<"commit_rows", [Tile_NeedsAsyncCopies, Tile_Shared]> {
  let summary = "makes one group of the copies of rows that this thread started";
  let description = "Of those since the last group, or an empty one.";
  let assemblyFormat = "attr-dict";
}

def Tile_WaitRowsOp : Tile_Op<"wait_rows", [Tile_NeedsAsyncCopies, Tile_Shared]> {
  let summary = "waits until at most that many groups of copies of rows run";
  let description = [{
    Of this thread's own: what others have copied can be read after a
    synchronisation with them.

        tile.wait_rows 1
  }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}

def Tile_StoreBlockOp : Tile_Op<"store_block", [Tile_NeedsTensorMaps, Tile_Shared]> {
  let summary = "stores 16 rows of 16 elements of a warp in a tile";
  let description = [{
    The four registers of each thread are those of 16 columns of a
    `!tile.operand`: the block's rows start at `row`, its columns at `column`, a
    multiple of 16 (`stmatrix`).

        tile.store_block %r0, %r1, %r2, %r3 to %t[%row] column 32 : !tile.shared<64x128xbf16>
  }];
  let arguments = (ins I32:$r0, I32:$r1, I32:$r2, I32:$r3, Tile_SharedType:$tile,
                       I32:$row, I64Attr:$column);
  let assemblyFormat = [{
    $r0 `,` $r1 `,` $r2 `,` $r3 `to` $tile `[` $row `]` `column` $column attr-dict
    `:` qualified(type($tile))
  }];
  let hasVerifier = 1;
}

// Products of a warp --------------------------------------------------------------------

def Tile_MmaOp : Tile_Op<"mma", [
    Pure, AttrSizedOperandSegments, AllTypesMatch<["sums", "results"]>]> {
  let summary = "adds a product of small matrices, of a warp or wave";
  let description = [{
    All lanes come here. Which instruction it is (`mma.sync`, MFMA, WMMA), and so
    which lane has which elements, follows from the target and the types of the
    elements; `redfuse/Conversion/MatrixInstruction.h` has the table. `left` are the
    words of the lane's rows, row after row, `right` those of its column: 32 bits of
    packed elements each, or one element where that is longer. `sums` are the lane's
    elements of the result, or one vector of them (AMD). Integers say whether they
    have a sign.

        %d:4 = tile.mma bf16(%a0, %a1, %a2, %a3) by bf16(%b0, %b1) plus %c0, %c1, %c2, %c3
            : (i32, i32, i32, i32), (i32, i32) -> f32, f32, f32, f32
        %e = tile.mma si8(%a) by si8(%b) plus %v : (i32), (i32) -> vector<4xi32>
  }];
  let arguments = (ins TypeAttr:$left_element, TypeAttr:$right_element,
                       Variadic<AnyType>:$left, Variadic<AnyType>:$right,
                       Variadic<AnyType>:$sums);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $left_element `(` $left `)` `by` $right_element `(` $right `)` `plus` $sums
    attr-dict `:` `(` type($left) `)` `,` `(` type($right) `)` `->` type($sums)
  }];
  let hasVerifier = 1;
}

// Products of a warpgroup --------------------------------------------------------------

def Tile_AccumulatorsOp : Tile_Op<"accumulators", [
    Pure,
    RangedTypesMatchWith<
        "a thread has as many elements of it as values", "result", "values",
        "llvm::SmallVector<Type>(llvm::cast<AccumulatorsType>($_self).getSize(), "
        "llvm::cast<AccumulatorsType>($_self).getElement())">]> {
  let summary = "elements as accumulators";
  let description = [{
        %c = tile.accumulators %c0, %c1, %c2, %c3 : !tile.accumulators<64x8xf32>
  }];
  let arguments = (ins Variadic<AnyTypeOf<[F32, I32]>>:$values);
  let results = (outs Tile_AccumulatorsType:$result);
  let assemblyFormat = "$values attr-dict `:` qualified(type($result))";
}

def Tile_PackOp : Tile_Op<"pack", [Tile_NeedsAsyncCopies, Pure]> {
  let summary = "elements of accumulators as a left operand, rounded";
  let description = [{
    Two neighbours a register, to nearest even; nothing is exchanged.

        %p = tile.pack %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7 : !tile.operand<64x16xbf16>
  }];
  let arguments = (ins Variadic<F32>:$values);
  let results = (outs Tile_OperandType:$result);
  let assemblyFormat = "$values attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_ReadOperandOp : Tile_Op<"read_operand", [Tile_NeedsAsyncCopies, Tile_Shared]> {
  let summary = "reads a left operand of a tile";
  let description = [{
    The 16 rows of the warp start at row `row` of the tile (`ldmatrix`).

        %q = tile.read_operand %t[%row] : !tile.shared<128x128xbf16> -> !tile.operand<64x128xbf16>
  }];
  let arguments = (ins Tile_SharedType:$tile, I32:$row);
  let results = (outs Tile_OperandType:$result);
  let assemblyFormat = [{
    $tile `[` $row `]` attr-dict `:` qualified(type($tile)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Tile_SettleOp : Tile_Op<"settle", [
    Tile_NeedsAsyncCopies, Tile_Shared,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits until all lanes of the warp have read what they hold";
  let description = [{
    A load is not over when the next instruction starts: before a warp gives a stage
    back that it has read by itself, what it has read must be in its registers.

        %there = tile.settle %q : !tile.operand<64x128xbf16>
  }];
  let arguments = (ins Variadic<AnyTypeOf<[I32, Tile_OperandType]>>:$values);
  let results = (outs Variadic<AnyTypeOf<[I32, Tile_OperandType]>>:$results);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let hasVerifier = 1;
}

def Tile_MultiplyOp : Tile_Op<"multiply", [
    Tile_NeedsAsyncCopies, Tile_Shared, AttrSizedOperandSegments]> {
  let summary = "starts a product of a warpgroup";
  let description = [{
    All four warps of a warpgroup come here. 64 rows of the left operand by the
    columns of the right one, over `sum` elements, a multiple of 32 bytes; added to
    `accumulators`, or to zero. The product runs until a `tile.wait_products` says
    that it is over; then what it reads may be written again. Each product is a
    group of its own, in order.

    On sm_90a that is `wgmma`. On other targets every warp multiplies by itself
    (`ldmatrix` and `mma.sync`), and its product is over at once; there the four may
    have 128 rows, and columns are a multiple of 16.

    Of f32 the unit reads the upper 19 bits, a float of TF32: whoever wants numbers rounded
    rounds them before. Products of floats of 8 bits (f8E4M3FN and f8E5M2, one of each is
    fine) are cut off some 13 bits below the largest that is added: whoever wants more digits
    adds up short sums. Sums of integers of 8 bits (si8 and ui8, one of each is fine) are exact,
    modulo 2^32. Of f32 and of 8 bits both operands are in shared memory (sm_90a alone), and
    sums run along columns.

    The sum runs along the columns of a tile, or with `rows` along its rows. Of a
    left operand in shared memory as many rows as the result has are taken, from
    `part` times that on.

        %s = tile.multiply %q, %k over 128
            : !tile.operand<64x128xbf16>, !tile.shared<128x128xbf16>
            -> !tile.accumulators<64x128xf32>
        %o = tile.multiply %p, %v rows over 128 plus %before : ...
        %c = tile.multiply %a[%group], %b rows over 64 : !tile.shared<128x64xbf16>, ...
  }];
  let arguments = (ins AnyTypeOf<[Tile_OperandType, Tile_SharedType]>:$left,
                       Optional<I32>:$part, UnitAttr:$left_rows,
                       Tile_SharedType:$right, UnitAttr:$right_rows,
                       I64Attr:$sum,
                       Optional<Tile_AccumulatorsType>:$accumulators);
  let results = (outs Tile_AccumulatorsType:$result);
  let assemblyFormat = [{
    $left (`[` $part^ `]`)? (`rows` $left_rows^)? `,`
    $right (`rows` $right_rows^)? `over` $sum (`plus` $accumulators^)? attr-dict
    `:` qualified(type($left)) `,` qualified(type($right)) (`plus` qualified(type($accumulators))^)? `->`
    qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Tile_WaitProductsOp : Tile_Op<"wait_products", [
    Tile_NeedsAsyncCopies, Tile_Shared, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits until at most that many products run";
  let description = [{
    The elements of `accumulators`, whose products are over then, can be computed
    with. `alive` are operands in registers that these products read.

        %s:64 = tile.wait_products 1 of %running : !tile.accumulators<64x128xf32>
        %o:64 = tile.wait_products 0 of %sum alive %p
            : !tile.accumulators<64x128xf32> alive !tile.operand<64x128xbf16>
        tile.wait_products 0
  }];
  let arguments = (ins I64Attr:$pending,
                       Variadic<Tile_AccumulatorsType>:$accumulators,
                       Variadic<Tile_OperandType>:$alive);
  let results = (outs Variadic<AnyTypeOf<[F32, I32]>>:$elements);
  let assemblyFormat = [{
    $pending (`of` $accumulators^ (`alive` $alive^)? `:`
    qualified(type($accumulators)) (`alive` qualified(type($alive))^)?)?
    attr-dict
  }];
  let hasVerifier = 1;
}

#endif // REDFUSE_TILEOPS_TD
