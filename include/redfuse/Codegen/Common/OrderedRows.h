//===- OrderedRows.h - scans and sorted lists -------------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_COMMON_ORDEREDROWS_H
#define REDFUSE_CODEGEN_COMMON_ORDEREDROWS_H

#include "redfuse/Codegen/Common/TileEmitter.h"

namespace redfuse {

/// Whether lhs goes before rhs in a top-k: NaN is the largest, and two of them are
/// equal.
mlir::Value isLarger(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lhs,
                     mlir::Value rhs);

/// Emits nests whose rows are walked in order, by one thread each.
class OrderedRows {
public:
  explicit OrderedRows(TileEmitter &emitter)
      : emitter(emitter), b(emitter.getBuilder()), loc(emitter.getLoc()) {}

  /// One row of a scan, element after element; with a vector dim, a row a lane.
  void emitScan(Env &env);
  /// Makes the sorted list at a point of the nest's kept dims.
  void emitTopK(Env &point);
  /// Makes one sorted list of two.
  void emitTopKMerge(Env &point);

private:
  mlir::Value isEmptySlot(mlir::Value index);

  TileEmitter &emitter;
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_COMMON_ORDEREDROWS_H
