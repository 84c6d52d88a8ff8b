//===- FoldStates.h - states of folds in registers and memory ---*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_FOLDSTATES_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_FOLDSTATES_H

#include "ThreadExchange.h"
#include "TileRegisters.h"

namespace redfuse {

struct CommonPivot;

/// The states of folds, which are tiles: how those of several threads become one, and
/// how others get them.
class FoldStates {
public:
  FoldStates(mlir::OpBuilder &b, mlir::Location loc,
             const RegisterLayout &layout, ThreadPositions &positions,
             TileRegisters &registers, ThreadExchange &exchange,
             SharedWords &words, TileEmitter &emitter)
      : b(b), loc(loc), layout(layout), positions(positions),
        registers(registers), exchange(exchange), words(words),
        emitter(emitter) {}

  llvm::SmallVector<mlir::Value> take(FoldOp fold);
  void set(FoldOp fold, llvm::ArrayRef<mlir::Value> elements);
  /// Before anything is folded.
  void fill(FoldOp fold);
  /// Merges the states that the threads along private dims have. `isForFirst`: only
  /// the first of these threads needs the result.
  void merge(FoldOp fold, bool isForFirst = false);
  /// The states of `fold` become those of `other` merged after them.
  void mergeWith(FoldOp fold, llvm::ArrayRef<mlir::Value> other);
  /// Stores the states of `fold`, which all threads have, in words from `place`
  /// on, and reads them back.
  void store(FoldOp fold, mlir::Value memory, mlir::Value place);
  llvm::SmallVector<mlir::Value> load(FoldOp fold, mlir::Value memory,
                                      mlir::Value place);
  int64_t countWords(FoldOp fold);

private:
  using Parts = SharedWords::Parts;

  llvm::SmallVector<mlir::Value>
  evaluateMerge(FoldOp fold, llvm::ArrayRef<mlir::Value> left,
                llvm::ArrayRef<mlir::Value> right);
  void mergeLanes(FoldOp fold, const CommonPivot &how, Parts &states,
                  unsigned bits);
  bool combineByShares(Parts &parts, llvm::ArrayRef<mlir::Operation *> combines,
                       unsigned bits);
  llvm::SmallVector<RegisterArray>
  evaluateIn(mlir::Block &block,
             llvm::DenseMap<mlir::Value, RegisterArray> known,
             llvm::ArrayRef<mlir::Value> wanted);
  llvm::SmallVector<mlir::Value> elementsLike(const RegisterArray &from,
                                              mlir::Value to);
  llvm::SmallVector<RegisterArray>
  unflatten(FoldOp fold, llvm::ArrayRef<mlir::Value> elements);
  template <typename Body>
  void forStateElements(FoldOp fold, Body body);
  mlir::Value placeOf(mlir::Type type, unsigned bits, int64_t first,
                      mlir::Value place);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const RegisterLayout &layout;
  ThreadPositions &positions;
  TileRegisters &registers;
  ThreadExchange &exchange;
  SharedWords &words;
  TileEmitter &emitter;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_FOLDSTATES_H
