//===- Redfuse.h - the redfuse dialect --------------------------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_IR_REDFUSE_H
#define REDFUSE_DIALECT_REDFUSE_IR_REDFUSE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "llvm/ADT/SmallBitVector.h"

#include "redfuse/Dialect/Redfuse/IR/RedfuseDialect.h.inc"
#include "redfuse/Dialect/Redfuse/IR/RedfuseEnums.h.inc"
#include "redfuse/Dialect/Redfuse/IR/RedfuseInterfaces.h.inc"

namespace redfuse {
/// With more headroom than this, 2^lazy leaves the range of the narrowest type
/// that a contribution may be multiplied in.
inline constexpr int64_t kMaxLazy = 8;

/// On a launch: its kernel checks something, so it stays though nobody reads its
/// results.
inline constexpr llvm::StringLiteral kAssertsAttr = "redfuse.asserts";
/// On a select in the region of a reducer: it hands on the right state as it is where
/// the left one is the identity, for which the false value may be a NaN.
inline constexpr llvm::StringLiteral kIdentityAttr = "redfuse.identity";
/// On an allocation: counters of blocks, which are 0 before the first launch and
/// which each launch leaves at 0.
inline constexpr llvm::StringLiteral kCountersAttr = "redfuse.counters";
/// On a device function: what it computes twice is computed once
/// (redfuse-reuse-values).
inline constexpr llvm::StringLiteral kReuseAttr = "redfuse.reuse";
/// On a call: the function computes one tile, and the tiles are shared by threads.
inline constexpr llvm::StringLiteral kParallelAttr = "redfuse.parallel";
} // namespace redfuse

#define GET_ATTRDEF_CLASSES
#include "redfuse/Dialect/Redfuse/IR/RedfuseAttrs.h.inc"

namespace redfuse {
// PartialReductionOpInterface declares its methods with unqualified names.
using llvm::SmallVector;
using mlir::Location;
using mlir::MergeResult;
using mlir::ReductionTilingStrategy;
using mlir::TilingResult;
using mlir::Value;
using mlir::ValueRange;
} // namespace redfuse

#define GET_OP_CLASSES
#include "redfuse/Dialect/Redfuse/IR/RedfuseOps.h.inc"

namespace redfuse {

/// What is asked of a generator: a member for each hint, empty where it chooses.
using Hints = HintsAttr::Values;
/// Those of a schedule; null is one without any.
Hints hintsOf(ScheduleAttr schedule);

/// The identity of `reducer` on `type`, or null where it has none that is one
/// constant (argmax, argmin and top-k, whose state is a pair). `operand` is the
/// position of the reduced operand.
mlir::TypedAttr getReducerIdentity(Reducer reducer, mlir::Type type);

/// Combines two values (scalars or vectors) with a reducer of one operand.
mlir::Value createCombiner(mlir::OpBuilder &builder, mlir::Location loc,
                           Reducer reducer, mlir::Value lhs, mlir::Value rhs);

/// The reducer that `op` (an arith op of two operands) combines with, if it is
/// one.
std::optional<Reducer> getReducerOf(mlir::Operation *op);

/// The identity of state `i` of an op that combines: a declared one, or that of
/// the reducer (for the index of a pair, one that never wins). Null where there
/// is none.
mlir::TypedAttr getIdentityOf(CombiningOpInterface op, unsigned i);

/// Puts the ops of a combining region here, on scalars or whatever its ops take,
/// and returns what it yields.
llvm::SmallVector<mlir::Value> inlineCombiner(mlir::OpBuilder &builder,
                                              mlir::Region &combine,
                                              mlir::ValueRange lhs,
                                              mlir::ValueRange rhs);

/// Combines two states of `op` by its reducer; not for pairs and top-k.
llvm::SmallVector<mlir::Value> combineStates(mlir::OpBuilder &builder,
                                             mlir::Location loc,
                                             CombiningOpInterface op,
                                             mlir::ValueRange lhs,
                                             mlir::ValueRange rhs);

/// A reduction by the reducer of `op`, its region included. `operands` are of
/// the types of the operands of `op`.
ReduceOp createReduce(mlir::OpBuilder &builder, mlir::Location loc,
                      CombiningOpInterface op, mlir::ValueRange operands,
                      llvm::ArrayRef<int64_t> over,
                      llvm::ArrayRef<int64_t> into);

/// Whether two ops combine in the same way, operands and dims aside.
bool haveSameReducer(CombiningOpInterface a, CombiningOpInterface b);

/// For iteration dim `dim`: an operand (inputs, then inits) and the position in
/// its shape that has this dim's extent, or nothing where no map has the plain
/// dim.
std::optional<std::pair<mlir::OpOperand *, unsigned>>
findExtent(IndexProgramOpInterface op, unsigned dim);

/// The static extents of all iteration dims; `ShapedType::kDynamic` where it is
/// not static.
llvm::SmallVector<int64_t> getStaticExtents(IndexProgramOpInterface op);

/// The extents of all iteration dims as values or attributes; 1 for a dim
/// that no operand has.
llvm::SmallVector<mlir::OpFoldResult> getExtents(mlir::OpBuilder &builder,
                                                 IndexProgramOpInterface op);

/// The dims that some reduction in the body of `op` ranges over, or that `op`
/// (a fold) carries state along.
llvm::SmallBitVector getReducedDims(IndexProgramOpInterface op);

/// Checks that `schedule` has a tile for each of `numDims` dims.
llvm::LogicalResult verifySchedule(mlir::Operation *op, ScheduleAttr schedule,
                                   unsigned numDims);

/// Checks that the grid of `schedule` is of parallel dims of `op`.
llvm::LogicalResult verifyScheduledDims(IndexProgramOpInterface op,
                                        ScheduleAttr schedule);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_IR_REDFUSE_H
