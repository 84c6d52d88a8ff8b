//===- TileOps.td - tiles in shared memory and registers ----*- tablegen -*-===//
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
    and rings of slots, products of tiles, roles of warps. Loops, conditions and
    what is computed with single elements are `scf`, `arith` and `math` as
    everywhere.

    Most types stand for several registers and cannot be computed with, so that
    what must not be touched cannot be: the accumulators of a product that may
    still run are one value of `!tile.accumulators`, and only `tile.wait_products`
    makes elements of it.

    An address is a 32-bit address of shared memory, `i32`. An op with
    a trait `Sm80` or `Sm90` needs an NVIDIA GPU of that or a later architecture,
    one with `Sm90a` exactly that; for others `redfuse-lower-tiles` refuses it.
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
  let summary = "slots in shared memory that are filled and emptied in turn";
  let description = [{
    `!tile.ring<4 x 32768>` has 4 slots of 32768 bytes, and two barriers for each:
    `full` counts what fills the slot, `empty` who has read it. Where a user of
    the ring stands is two `i32`: the slot, and the phase, which flips after the
    last slot (`tile.advance`).
  }];
  let parameters = (ins "int64_t":$slots, "int64_t":$bytes);
  let assemblyFormat = "`<` $slots `x` $bytes `>`";
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
    128 bytes a row. A panel is rows after rows; panels follow each other, each
    starts at a multiple of 1024 bytes, and the 16-byte chunks of a row are swizzled:
    chunk c of row r is at place c xor r mod 8. This is what tensor maps with
    128-byte swizzle write and matrix units read without bank conflicts.
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
    while products may still run. Each thread has an element of every 128; in
    groups of four: of rows g and g + 8 of its warp's 16, columns 2t and 2t + 1 of
    each eight, g = lane / 4, t = lane mod 4.
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
    columns. A thread has the same elements as of `!tile.accumulators`, two
    neighbours of a row in a register, so that one product's result becomes the
    operand of the next without an exchange (`tile.pack`).
  }];
  let extraClassDeclaration = [{
    /// Registers of a thread.
    int64_t getSize() const { return getColumns() / 4; }
  }];
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

// The targets that have an op; one without these is everywhere.
class Tile_Target<string name> : NativeOpTrait<name> {
  let cppNamespace = "::redfuse::tile";
}
// sm_80 and later, sm_90 and later, and sm_90a alone.
def Tile_Sm80 : Tile_Target<"Sm80">;
def Tile_Sm90 : Tile_Target<"Sm90">;
def Tile_Sm90a : Tile_Target<"Sm90a">;

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

/// What other threads see: neither moved nor dropped.
def Tile_Shared : MemoryEffects<[MemRead, MemWrite]>;

// Barriers and rings ------------------------------------------------------------

def Tile_BarrierOp : Tile_Op<"barrier", [Tile_Sm90, Pure]> {
  let summary = "the barrier at an address";
  let description = [{
   

        %b = tile.barrier at %address
  }];
  let arguments = (ins I32:$address);
  let results = (outs Tile_BarrierType:$result);
  let assemblyFormat = "`at` $address attr-dict";
}

def Tile_RingOp : Tile_Op<"ring", [Tile_Sm90, Pure]> {
  let summary = "a ring of slots at an address";
  let description = [{
    Slots follow each other from `tiles` on, a multiple of 1024; slot s has its
    `full` barrier at `barriers` + 16 s, and `empty` 8 bytes behind.

        %ring = tile.ring slots %tiles barriers %barriers : !tile.ring<4 x 32768>
  }];
  let arguments = (ins I32:$tiles, I32:$barriers);
  let results = (outs Tile_RingType:$result);
  let assemblyFormat = [{
    `slots` $tiles `barriers` $barriers attr-dict `:` qualified(type($result))
  }];
}

class Tile_RingBarrierOp<string mnemonic> : Tile_Op<mnemonic, [Tile_Sm90, Pure]> {
  let arguments = (ins Tile_RingType:$ring, I32:$slot);
  let results = (outs Tile_BarrierType:$result);
  let assemblyFormat = "$ring `[` $slot `]` attr-dict `:` qualified(type($ring))";
}

def Tile_FullOp : Tile_RingBarrierOp<"full"> {
  let summary = "the barrier that tells that a slot is full";
  let description = [{
        %b = tile.full %ring[%slot] : !tile.ring<4 x 32768>
  }];
}

def Tile_EmptyOp : Tile_RingBarrierOp<"empty"> {
  let summary = "the barrier that tells that a slot is empty";
  let description = [{
        %b = tile.empty %ring[%slot] : !tile.ring<4 x 32768>
  }];
}

def Tile_SlotOp : Tile_Op<"slot", [Tile_Sm90, Pure]> {
  let summary = "a tile in a slot of a ring";
  let description = [{
    The tile starts `offset` bytes into the slot, at a multiple of 1024, and ends
    inside of it.

        %t = tile.slot %ring[%slot] at 16384 : !tile.ring<4 x 32768>, !tile.shared<64x128xbf16>
  }];
  let arguments = (ins Tile_RingType:$ring, I32:$slot,
                       DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = [{
    $ring `[` $slot `]` (`at` $offset^)? attr-dict `:` qualified(type($ring)) `,` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Tile_AdvanceOp : Tile_Op<"advance", [Tile_Sm90, Pure]> {
  let summary = "the next slot of a ring, and its phase";
  let description = [{
        %next, %phase = tile.advance %ring[%slot], %now : !tile.ring<4 x 32768>
  }];
  let arguments = (ins Tile_RingType:$ring, I32:$slot, I32:$phase);
  let results = (outs I32:$next_slot, I32:$next_phase);
  let assemblyFormat = [{
    $ring `[` $slot `]` `,` $phase attr-dict `:` qualified(type($ring))
  }];
}

def Tile_InitBarrierOp : Tile_Op<"init_barrier", [Tile_Sm90, Tile_Shared]> {
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

def Tile_FenceBarriersOp : Tile_Op<"fence_barriers", [Tile_Sm90, Tile_Shared]> {
  let summary = "shows prepared barriers to copies and to other blocks";
  let description = [{
    Between the preparation and the synchronisation of the block.
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_WaitBarrierOp : Tile_Op<"wait_barrier", [Tile_Sm90, Tile_Shared]> {
  let summary = "waits until the phase of a parity is over";
  let description = [{
    What arrivals of that phase made visible can be read. Who waits for a slot of
    which nobody has used the phase before passes with parity 1.

        tile.wait_barrier %b phase %phase
  }];
  let arguments = (ins Tile_BarrierType:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `phase` $parity attr-dict";
}

def Tile_ArriveOp : Tile_Op<"arrive", [Tile_Sm90, Tile_Shared]> {
  let summary = "one arrival of a warp";
  let description = [{
    Lane 0 arrives, after what the warp has read. Products that read a slot must
    be over before its warp arrives at the slot's `empty` barrier.

        tile.arrive %b lane %lane
  }];
  let arguments = (ins Tile_BarrierType:$barrier, I32:$lane);
  let assemblyFormat = "$barrier `lane` $lane attr-dict";
}

def Tile_ExpectOp : Tile_Op<"expect", [Tile_Sm90, Tile_Shared]> {
  let summary = "one arrival of a thread that announces bytes";
  let description = [{
    The phase is over when that many bytes have come, too (`tile.copy`). 

        tile.expect %b bytes 32768
  }];
  let arguments = (ins Tile_BarrierType:$barrier, I64Attr:$bytes);
  let assemblyFormat = "$barrier `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

#endif // REDFUSE_TILEOPS_TD
