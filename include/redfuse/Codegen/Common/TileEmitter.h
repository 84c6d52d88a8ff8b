//===- TileEmitter.h - values of a tile program -----------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_COMMON_TILEEMITTER_H
#define REDFUSE_CODEGEN_COMMON_TILEEMITTER_H

#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace redfuse {

/// i1 elements take a byte in memory, vectors of i1 are packed bits: both are
/// accessed as bytes.
mlir::Value asBytes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value memref);

/// The memory of a memref whose layout is known, from its first element on, as
/// `size` elements in one dim.
mlir::Value flatView(mlir::OpBuilder &b, mlir::Location loc, mlir::Value memref,
                     int64_t size);

/// One dim of the kernel's iteration space while code is generated.
struct SpaceDim {
  int64_t staticExtent = mlir::ShapedType::kDynamic;
  mlir::Value extent;
  /// The extent of a tile; 0: the whole dim at once.
  int64_t tile = 0;
  bool isGrid = false, isStream = false;
  /// The current tile: where it starts and how long it is.
  mlir::Value offset, size;
  std::optional<int64_t> staticSize;
  /// The longest tile, for buffers.
  mlir::OpFoldResult capacity;
};

/// A piece of scratch memory for the elements of one tile.
struct TileBuffer {
  mlir::Value memref;
  /// The kernel dims of its shape, outermost first; index d is the position in
  /// the tile, not in the whole dim.
  llvm::SmallVector<unsigned> dims;
  /// Which one, where tiles are registers and not memory.
  unsigned id = 0;
};

/// Where code stands: which dims are bound, to what, and what has been computed.
struct Env {
  /// For each kernel dim: the position in the tile, or null if not bound. For
  /// the vector dim: that of lane 0.
  llvm::SmallVector<mlir::Value> position;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// Set in the ragged tail of the vector dim: which lanes exist, and how many. A
  /// scalar mask stands for the whole point.
  mlir::Value mask, lanesLeft;
  /// For each kernel dim, where tiles are registers: which of this thread's
  /// positions it is.
  llvm::SmallVector<int64_t> local;
};

/// Whether a reduction carries a value and its index.
bool isPair(Reducer reducer);

/// Combines by a reducer of one operand.
mlir::Value combineValues(mlir::OpBuilder &b, mlir::Location loc,
                          Reducer reducer, mlir::Value lhs, mlir::Value rhs);
/// Keeps the pair whose value is extreme. `isOrdered`: the other index is known
/// to be larger, so that a tie keeps what is there.
void combinePair(mlir::OpBuilder &b, mlir::Location loc, Reducer reducer,
                 mlir::Value &value, mlir::Value &index, mlir::Value otherValue,
                 mlir::Value otherIndex, bool isOrdered);

llvm::SmallVector<mlir::Value>
emitFor(mlir::OpBuilder &b, mlir::Location loc, mlir::Value from,
        mlir::Value to, mlir::Value step, mlir::ValueRange state,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                          mlir::ValueRange)>
            body);

/// Emits the values of a tile program, as vectors of `lanes` elements along the
/// nest's vector dim and scalars elsewhere. The emitter of a target adds the
/// loops around them.
class TileEmitter {
public:
  virtual ~TileEmitter() = default;

  TileEmitter(mlir::OpBuilder &b, mlir::Location loc, unsigned lanes,
              llvm::MutableArrayRef<SpaceDim> dims)
      : b(b), loc(loc), lanes(lanes), dims(dims) {}

  /// What a tensor of the kernel is in memory: a memref of the whole (kernel
  /// arguments) ...
  llvm::DenseMap<mlir::Value, mlir::Value> memrefs;
  /// ... or a tile of it (intermediates).
  llvm::DenseMap<mlir::Value, TileBuffer> tiles;
  /// Scalars and other values from outside the bodies.
  mlir::IRMapping captured;
  /// Selects that take the same operand at all points that are walked, and which.
  llvm::DenseMap<mlir::Operation *, mlir::Value> decided;
  /// The block where constants go: that of the function's entry.
  mlir::Block *entry = nullptr;

  /// Selects the program that is emitted.
  void setProgram(IndexProgramOpInterface op, TileProgram &program,
                  llvm::DenseMap<mlir::Value, TileBuffer> buffers);

  virtual mlir::LogicalResult emitNest(const LoopNest &nest) = 0;
  /// Sets all elements of a tile to a constant.
  virtual void emitFill(const TileBuffer &buffer, mlir::TypedAttr value) = 0;

  // For what is a part of an emitter ------------------------------------------
  mlir::Value constantIndex(int64_t value);
  mlir::Value constant(mlir::TypedAttr attr);
  mlir::Value asVector(mlir::Value v);
  /// `op` on other operands: as it is, or on vectors if one of them is.
  llvm::SmallVector<mlir::Value>
  emitOpOn(mlir::Operation *op, llvm::SmallVector<mlir::Value> operands);
  /// Two states, left and right, by the region of a reducer. `fuses`: products are added
  /// by one instruction. `isSome`: the left one is of elements, and what the region does
  /// for an identity there is left out.
  llvm::SmallVector<mlir::Value> emitCombine(mlir::Region &combine,
                                             llvm::ArrayRef<mlir::Value> lhs,
                                             llvm::ArrayRef<mlir::Value> rhs,
                                             bool fuses = false,
                                             bool isSome = false);
  /// Where a point is in the whole dims, and an element there.
  llvm::SmallVector<mlir::Value> globalPositions(Env &env);
  llvm::SmallVector<mlir::Value> indicesOf(mlir::AffineMap map,
                                           mlir::ValueRange dimValues);

  // For what emits nests of a kind --------------------------------------------
  mlir::OpBuilder &getBuilder() { return b; }
  mlir::Location getLoc() const { return loc; }
  /// The nest that is emitted, its program, and the dims that it does not reduce.
  const LoopNest &getNest() const { return *nest; }
  const TileProgram &getProgram() const { return *program; }
  llvm::ArrayRef<unsigned> getIntoDims() const { return intoDims; }
  /// Its reductions.
  llvm::ArrayRef<Root *> getReduces() const { return reduces; }
  unsigned getLanes() const { return lanes; }
  const SpaceDim &getDim(unsigned d) const { return dims[d]; }
  /// A point of no dims.
  Env getOrigin() const;
  /// The tile that holds a value; null: none does.
  const TileBuffer *findBuffer(mlir::Value v) const;
  /// Runs `body` with values that are vectors of `count` elements along another dim, or
  /// scalars.
  void withVectors(std::optional<unsigned> dim, unsigned count,
                   llvm::function_ref<void()> body);

  /// Computes what can be where the point of `env` is.
  void emitAvailable(Env &env);
  /// A value of the program at that point: computed, or loaded.
  mlir::Value valueOf(mlir::Value v, Env &env);
  mlir::Value loadValue(mlir::Value v, Env &env);
  virtual mlir::Value loadTile(const TileBuffer &buffer, Env &env);
  virtual void storeTile(const TileBuffer &buffer, mlir::Value value, Env &env);
  /// Two states, left and right, of a reducer that is declared or has one
  /// operand. `isSome`: as of `emitCombine`.
  llvm::SmallVector<mlir::Value> combineStates(CombiningOpInterface op,
                                               llvm::ArrayRef<mlir::Value> lhs,
                                               llvm::ArrayRef<mlir::Value> rhs,
                                               bool isSome = false);
  /// Where the accumulator of operand `i` of a declared reducer starts: at its
  /// identity, or at a state.
  mlir::Value getStart(const Root &root, unsigned i, Env &env);
  /// Where the accumulators of all reductions start, one for each operand; vectors
  /// where the nest has a vector dim.
  llvm::SmallVector<mlir::Value> startReductions(Env &env);
  /// All dims are bound: stores what is kept and yielded here.
  void emitPoint(Env &env);
  /// Combines the operands of all reductions at the current point into
  /// `accumulators` (one for each operand of a reduction).
  void accumulate(Env &env, llvm::MutableArrayRef<mlir::Value> accumulators);
  /// As emitAvailable, for the roots that follow the nest's contraction alone:
  /// the operands of the contraction itself are not needed any more.
  void emitAvailableForEpilogue(Env &env);
  void emitEpilogues(Env &env);
  /// What a scan has made at this point: stored where it is kept, and used by what the
  /// nest makes of it.
  void storePrefixes(llvm::ArrayRef<mlir::Value> prefixes, Env &env);

protected:
  // Values ------------------------------------------------------------------
  mlir::Value emitOp(mlir::Operation *op, Env &env);
  llvm::SmallVector<mlir::Value>
  emitByLane(mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value emitExtract(mlir::tensor::ExtractOp extract,
                          llvm::ArrayRef<mlir::Value> operands);
  mlir::Value loadArgument(mlir::BlockArgument arg, Env &env);
  virtual mlir::Value loadAt(mlir::Value memref, mlir::AffineMap map, Env &env,
                             bool isLocal);
  mlir::Value loadContiguous(mlir::Value memref, mlir::AffineMap map,
                             llvm::ArrayRef<mlir::Value> indices, Env &env);
  virtual mlir::Value loadLanes(mlir::Value memref, mlir::AffineMap map,
                                llvm::SmallVector<mlir::Value> at, Env &env);
  mlir::Value wrapsAround(mlir::AffineMap map, llvm::ArrayRef<mlir::Value> at,
                          mlir::MemRefType type);
  virtual void storeAt(mlir::Value memref, mlir::AffineMap map,
                       mlir::Value value, Env &env, bool isLocal);
  void storeYield(const Root &root, Env &env);
  virtual void emitAssert(const Root &root, mlir::Value condition, Env &env);
  /// What is known of the alignment of vectors in a memref, where a target cares.
  virtual llvm::MaybeAlign alignmentOf(mlir::MemRefType type,
                                       mlir::AffineMap map) {
    return std::nullopt;
  }
  /// What a value is computed from inside the body and itself, in body order: arguments
  /// first.
  llvm::SmallVector<mlir::Value> coneOf(mlir::Value v) const;
  bool isBound(mlir::Value v, Env &env) const;
  bool isVector(mlir::Value v) const;
  bool isMadeHere(mlir::Value v) const;

  // Nests and reducers -------------------------------------------------------
  /// Makes `nest` the one that is emitted: what it needs, in body order.
  void selectNest(const LoopNest &nest);
  mlir::Value combine(Reducer reducer, mlir::Value lhs, mlir::Value rhs) {
    return combineValues(b, loc, reducer, lhs, rhs);
  }
  void combinePair(Reducer reducer, mlir::Value &value, mlir::Value &index,
                   mlir::Value otherValue, mlir::Value otherIndex,
                   bool isOrdered) {
    redfuse::combinePair(b, loc, reducer, value, index, otherValue, otherIndex,
                         isOrdered);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  unsigned lanes;
  llvm::MutableArrayRef<SpaceDim> dims;

  // The program and the nest being emitted.
  IndexProgramOpInterface op;
  TileProgram *program = nullptr;
  llvm::DenseMap<mlir::Value, TileBuffer> buffers;
  const LoopNest *nest = nullptr;
  /// The values that the nest's roots need, in body order.
  llvm::SmallVector<mlir::Value> needed;
  llvm::SmallVector<unsigned> intoDims;
  llvm::SmallVector<Root *> reduces;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_COMMON_TILEEMITTER_H
