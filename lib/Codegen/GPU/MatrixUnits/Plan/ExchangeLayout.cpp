//===- ExchangeLayout.cpp - what blocks of a tile exchange ----------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/ExchangeLayout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

/// Eight rows of four threads with two elements each fall on all banks once.
int64_t PartialSumLayout::stride(unsigned product) const {
  return plan.widths.lookup(plan.products[product].n) * 4 + 32;
}

int64_t PartialSumLayout::offset(unsigned product) const {
  int64_t offset = 0;
  for (unsigned i = 0; i < product; ++i)
    offset += plan.rows() * stride(i);
  return offset;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

FragmentLayout StateLayout::layoutOfRows(int64_t rows) const {
  for (int64_t lanes : {32, 16, 8, 4}) {
    if (4 * plan.consumers * 32 / lanes < rows)
      continue;
    if (llvm::all_of(plan.widths, [&](auto &entry) {
          return entry.first == plan.stream || entry.second % (2 * lanes) == 0;
        }))
      return {1, unsigned(lanes)};
  }
  return {unsigned(plan.consumerRows / 32), 4};
}

int64_t StateLayout::rowsOfMerge() const {
  int64_t rows = llvm::divideCeil(rowsOfTile(), plan.cluster);
  return llvm::alignTo(rows, 32 / layoutOfMerge().lanes);
}

FragmentLayout StateLayout::layoutOfMerge() const {
  return layoutOfRows(llvm::divideCeil(rowsOfTile(), plan.cluster));
}

/// Two floats, of which one counts, where a state has one for each row.
int64_t StateLayout::receivedStride(unsigned state) const {
  FoldOp fold = plan.fold;
  AffineMap map = fold.getIndexingMapsArray()[fold.getInputs().size() + state];
  SmallBitVector used = getDimsOf(simplifyForExtents(map, space.staticExtents));
  for (unsigned d : used.set_bits())
    if (plan.isColumn(d))
      return plan.widths.lookup(d) * 4;
  return 8;
}

int64_t StateLayout::receivedOffset(unsigned state) const {
  int64_t offset = 0;
  for (unsigned s = 0; s < state; ++s)
    offset += plan.cluster * rowsOfMerge() * receivedStride(s);
  return offset;
}

int64_t StateLayout::receivedBytes() const {
  FoldOp fold = plan.fold;
  return plan.cluster > 1 ? receivedOffset(fold.getNumStates()) : 0;
}

int64_t StateLayout::storedOffset(unsigned state) const {
  FoldOp fold = plan.fold;
  int64_t offset = 0;
  for (unsigned s = 0; s < state; ++s) {
    auto type = cast<RankedTensorType>(fold->getResult(s).getType());
    offset += llvm::alignTo(
        type.getNumElements() * bytesOf(type.getElementType()), 64);
  }
  return offset;
}

int64_t StateLayout::storedBytes() const {
  FoldOp fold = plan.fold;
  return storedOffset(fold.getNumStates());
}
