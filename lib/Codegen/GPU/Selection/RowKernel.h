//===- RowKernel.h - what all kernels that select have ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_SELECTION_ROWKERNEL_H
#define REDFUSE_LIB_CODEGEN_GPU_SELECTION_ROWKERNEL_H

#include "TeamSort.h"

#include "redfuse/Codegen/Common/OrderedWords.h"
#include "redfuse/Codegen/GPU/Selection/Selection.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace redfuse {

/// A kernel of an op: its function, arguments and launch, and how it reads rows and
/// stores ranks.
class RowKernel {
public:
  /// `more`: what the kernel gets beside the op's operands.
  RowKernel(SelectOp op, const OrderedWords &words,
            mlir::gpu::GPUModuleOp device, llvm::StringRef name,
            int64_t threads, mlir::ValueRange more = {});

  /// Launches it before `at`, or before the op.
  void launch(mlir::Value blocks, int64_t sharedBytes,
              mlir::Operation *at = nullptr);

  /// Lets threads have so many registers that this many blocks fit.
  void limitRegisters(int64_t blocks) {
    func->setAttr("nvvm.minctasm", b.getI32IntegerAttr(int32_t(blocks)));
  }

  /// How many rows the op has: a number of the host's, before the op.
  static mlir::Value countRows(mlir::OpBuilder &b, SelectOp op);

  /// Shared memory for words, from a byte on; the kernel's own counters: i32.
  mlir::Value shareWords(int64_t byte);
  mlir::Value shareCounter(int64_t byte);
  /// One more than the counter; what it was before.
  mlir::Value count(mlir::Value counter);

  /// The indices of a row but the last one.
  llvm::SmallVector<mlir::Value> indicesOf(mlir::Value row);
  /// The element at a position, and its word.
  mlir::Value elementAt(llvm::ArrayRef<mlir::Value> row, mlir::Value position);
  mlir::Value wordAt(llvm::ArrayRef<mlir::Value> row, mlir::Value position);
  /// Stores the words of some ranks, from 0 on, each where its condition holds.
  void storeRanks(llvm::ArrayRef<mlir::Value> row,
                  llvm::ArrayRef<mlir::Value> ranks,
                  llvm::ArrayRef<mlir::Value> found,
                  llvm::ArrayRef<mlir::Value> conditions);

  mlir::OpBuilder b;
  mlir::Location loc;
  SelectionOps ops;
  const OrderedWords &words;
  int64_t threads;
  llvm::SmallVector<mlir::Value> more;
  /// In the kernel, i32: the thread, its block, elements of a row, rows, ranks that
  /// are stored.
  mlir::Value thread, block, length, rows, ranks;
  /// How many ranks are stored, if that is known.
  std::optional<int64_t> knownRanks;

private:
  SelectOp op;
  mlir::gpu::GPUFuncOp func;
  llvm::SmallVector<mlir::Value> operands;
  mlir::Value input, values, positions, shared;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_SELECTION_ROWKERNEL_H
