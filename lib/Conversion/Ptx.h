//===- Ptx.h - instructions of sm_90a ---------------------------*- C++ -*-===//
//
// Matrix products of a warpgroup, barriers in shared memory, tile copies by
// tensor map. Addresses are 32-bit addresses of shared memory. What is read after
// a wait is an operand and a result of the wait: nothing can be moved above it.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CONVERSION_PTX_H
#define REDFUSE_LIB_CONVERSION_PTX_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace redfuse {

/// One operand of a product in shared memory: rows of 128 bytes, swizzled, in
/// panels of 64 elements.
struct TileLayout {
  /// The rows of a panel.
  int64_t rows = 0;
  /// The summed dim is the contiguous one.
  bool isSumContiguous = true;

  /// Bytes from one panel to the next.
  int64_t panelBytes() const { return rows * 128; }
  /// What is added to the descriptor (units of 16 bytes) for step `k` of 16
  /// summed elements.
  int64_t stepOffset(int64_t k) const;
  /// The constant bits of a descriptor.
  uint64_t descriptorBits() const;
};

/// A product of 64 rows by `n` columns over `steps` times 16 summed elements.
struct ProductShape {
  int64_t n = 0, steps = 0;
  /// bf16 or f16.
  mlir::Type element;
};

class Ptx {
public:
  Ptx(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y);
  mlir::Value mul(mlir::Value x, int64_t y);

  // Barriers ------------------------------------------------------------------
  void initBarrier(mlir::Value barrier, int64_t count);
  void fenceBarriers();
  /// Waits until the phase of that parity is over.
  void wait(mlir::Value barrier, mlir::Value parity);
  /// One arrival of a warp, by its lane 0.
  void arrive(mlir::Value barrier, mlir::Value lane);
  /// One arrival of this thread that announces bytes.
  void expect(mlir::Value barrier, int64_t bytes);

  /// All threads of that many of the block, by a barrier of that number.
  void synchronize(int64_t barrier, int64_t threads);
  /// All threads of all blocks of the cluster; what they stored can be read.
  void synchronizeCluster();

  // Shared memory -------------------------------------------------------------
  void storePair(mlir::Value address, int64_t offset, mlir::Value x,
                 mlir::Value y);
  void storeWord(mlir::Value address, mlir::Value word);
  mlir::Value loadWord(mlir::Value address);
  /// The address of the same place in a block of the cluster.
  mlir::Value addressIn(mlir::Value address, int64_t block);
  /// Two f32 at an address of any block of the cluster.
  llvm::SmallVector<mlir::Value> loadPair(mlir::Value address, int64_t offset);

  // Copies --------------------------------------------------------------------
  /// Loads a box at `coordinates` (innermost first) of a tensor map.
  void loadTile(mlir::Value address, mlir::Value map,
                mlir::ValueRange coordinates, mlir::Value barrier);

  // Products ------------------------------------------------------------------
  /// Descriptors have 18 bits of an address; in a cluster there are more, which say
  /// which block it is.
  mlir::Value descriptor(mlir::Value address, const TileLayout &layout);
  bool isInCluster = false;
  /// Starts a product with both operands in shared memory; without accumulators
  /// it starts from zero.
  llvm::SmallVector<mlir::Value>
  multiply(const ProductShape &shape, mlir::ValueRange accumulators,
           mlir::Value a, const TileLayout &aLayout, mlir::Value c,
           const TileLayout &cLayout);
  /// The same with the left operand in registers, four a step.
  llvm::SmallVector<mlir::Value> multiply(const ProductShape &shape,
                                          mlir::ValueRange accumulators,
                                          mlir::ValueRange a, mlir::Value c,
                                          const TileLayout &cLayout);
  /// Waits until at most `pending` groups of products run; `values` are theirs,
  /// `alive` are what they read.
  llvm::SmallVector<mlir::Value> waitProducts(int64_t pending,
                                              mlir::ValueRange values,
                                              mlir::ValueRange alive = {});

  /// What all lanes of the warp have loaded into registers is there.
  llvm::SmallVector<mlir::Value> settle(mlir::ValueRange values);

  // Scalars -------------------------------------------------------------------
  mlir::Value exp2(mlir::Value x);
  /// x / y with an error of at most two units in the last place.
  mlir::Value divide(mlir::Value x, mlir::Value y);
  /// A 16 x 16 block of a tile as a left operand: four registers. `address` is
  /// this lane's row of 16 bytes.
  llvm::SmallVector<mlir::Value> loadBlock(mlir::Value address);
  /// Two f32 as one register of two 16-bit floats.
  mlir::Value pack(mlir::Type element, mlir::Value low, mlir::Value high);
  /// The thread's number in its warp, read here and now: what is made of it is not
  /// kept in registers from before.
  mlir::Value readLane();
  mlir::Value shuffleXor(mlir::Value value, int64_t mask);
  /// Whether it is true for any thread of the warp.
  mlir::Value isAny(mlir::Value condition);
  /// The value of the warp's first thread.
  mlir::Value first(mlir::Value value);
  void setRegisters(int64_t count, bool more);

private:
  llvm::SmallVector<mlir::Value> emit(llvm::StringRef text,
                                      llvm::StringRef constraints,
                                      mlir::ValueRange operands,
                                      mlir::TypeRange results = {},
                                      bool hasEffects = true);
  llvm::SmallVector<mlir::Value>
  multiply(const ProductShape &shape, mlir::ValueRange accumulators,
           mlir::ValueRange a, const TileLayout *aLayout, mlir::Value c,
           const TileLayout &cLayout);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_PTX_H
