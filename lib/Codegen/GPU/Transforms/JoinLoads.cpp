//===- JoinLoads.cpp - neighbours of 16 bits by one load ------------------===//
//
// Where each thread reads a row of neighbours of its own (a window as long as its step is
// wide), a warp's loads of one element have their sectors to themselves: the L1 cache
// looks at each of them as often as the row has elements. As vectors it looks at them once
// or twice.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace redfuse {
#define GEN_PASS_DEF_JOINLOADS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Elements of 16 bits that a vector has, and a rest from which on a row gets one more,
/// which overlaps the one before: it takes two loads.
static constexpr int64_t kWidth = 8, kLeastRest = 4;
/// Elements from one thread's row to the next, from which on lanes share few sectors: a
/// warp's elements of 16 bits lie in two lines or more.
static constexpr int64_t kLeastStep = 4;

namespace {
/// Loads of an array that differ in their last index alone, by constants.
struct Row {
  memref::LoadOp first;
  /// What the last index has beside the constant; null if nothing.
  Value base;
  SmallVector<std::pair<int64_t, memref::LoadOp>> loads;
};

class Joiner {
public:
  void run(Block &block);

private:
  bool dependsOnThread(Value v);
  bool isFarApart(Value v);
  void note(memref::LoadOp load);
  void join();
  void join(Row &row);

  SmallVector<Row, 0> rows;
  llvm::DenseMap<Value, bool> ofThread;
};
} // namespace

/// An index as a value and a constant that is added to it.
static std::pair<Value, int64_t> splitIndex(Value index) {
  int64_t offset = 0;
  APInt value;
  while (auto sum = index.getDefiningOp<arith::AddIOp>()) {
    if (!matchPattern(sum.getRhs(), m_ConstantInt(&value)))
      break;
    offset += value.getSExtValue();
    index = sum.getLhs();
  }
  if (matchPattern(index, m_ConstantInt(&value)))
    return {nullptr, offset + value.getSExtValue()};
  return {index, offset};
}

bool Joiner::dependsOnThread(Value v) {
  auto [it, isNew] = ofThread.try_emplace(v, true);
  if (!isNew)
    return it->second;
  Operation *op = v.getDefiningOp();
  bool depends = !op || isa<gpu::ThreadIdOp, gpu::LaneIdOp>(op) ||
                 op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
                 llvm::any_of(op->getOperands(), [&](Value operand) {
                   return dependsOnThread(operand);
                 });
  // Counters of loops are the same for all threads.
  if (auto argument = dyn_cast<BlockArgument>(v))
    if (auto loop =
            dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp()))
      depends = !llvm::is_contained(
          loop.getLoopInductionVars().value_or(SmallVector<Value>()), v);
  return ofThread[v] = depends;
}

/// Whether threads next to each other have values of an index that are far apart.
bool Joiner::isFarApart(Value v) {
  if (!dependsOnThread(v))
    return false;
  if (auto sum = v.getDefiningOp<arith::AddIOp>()) {
    bool left = dependsOnThread(sum.getLhs()),
         right = dependsOnThread(sum.getRhs());
    return (!left || isFarApart(sum.getLhs())) &&
           (!right || isFarApart(sum.getRhs()));
  }
  APInt factor;
  auto product = v.getDefiningOp<arith::MulIOp>();
  return product && matchPattern(product.getRhs(), m_ConstantInt(&factor)) &&
         factor.sge(kLeastStep);
}

/// Adds the load to its row, if it may be one of a vector.
void Joiner::note(memref::LoadOp load) {
  MemRefType type = load.getMemRefType();
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() != 16 || type.getRank() == 0 ||
      load.getNontemporal() || type.getMemorySpace() ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return;
  auto [base, constant] = splitIndex(load.getIndices().back());
  for (Row &row : rows)
    if (row.base == base && row.first.getMemRef() == load.getMemRef() &&
        llvm::equal(row.first.getIndices().drop_back(),
                    load.getIndices().drop_back())) {
      row.loads.push_back({constant, load});
      return;
    }
  rows.push_back({load, base, {{constant, load}}});
}

/// Vectors instead of what the row reads of neighbours.
void Joiner::join(Row &row) {
  if (row.loads.size() < size_t(kWidth) || !row.base || !isFarApart(row.base))
    return;
  llvm::stable_sort(row.loads, llvm::less_first());
  OpBuilder b(row.first);
  Location loc = row.first.getLoc();
  SmallVector<Value> indices(row.first.getIndices());
  auto vector =
      VectorType::get({kWidth}, row.first.getMemRefType().getElementType());
  auto loadFrom = [&](int64_t from) -> Value {
    indices.back() = arith::AddIOp::create(
        b, loc, row.base, arith::ConstantIndexOp::create(b, loc, from));
    return vector::LoadOp::create(b, loc, vector, row.first.getMemRef(),
                                  indices, /*nontemporal=*/false,
                                  llvm::Align(2));
  };
  SmallVector<memref::LoadOp> joined;
  for (size_t begin = 0, end; begin < row.loads.size(); begin = end) {
    int64_t first = row.loads[begin].first, last = first;
    for (end = begin;
         end < row.loads.size() && row.loads[end].first <= last + 1; ++end)
      last = row.loads[end].first;
    int64_t count = last + 1 - first, whole = count / kWidth * kWidth;
    llvm::DenseMap<int64_t, Value> vectors;
    for (auto [at, load] : ArrayRef(row.loads).slice(begin, end - begin)) {
      int64_t from = first + (at - first) / kWidth * kWidth;
      if (at - first >= whole) {
        if (count < kWidth || count - whole < kLeastRest)
          continue;
        from = last + 1 - kWidth;
      }
      Value &part = vectors[from];
      if (!part)
        part = loadFrom(from);
      load.replaceAllUsesWith(
          vector::ExtractOp::create(b, loc, part, at - from).getResult());
      joined.push_back(load);
    }
  }
  for (memref::LoadOp load : joined)
    load.erase();
}

void Joiner::join() {
  for (Row &row : rows)
    join(row);
  rows.clear();
  // What is erased is no key.
  ofThread.clear();
}

/// Loads are joined up to the next op that may write.
void Joiner::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      note(load);
    else if (op.getNumRegions() != 0 ||
             !(isMemoryEffectFree(&op) || isa<vector::LoadOp>(op)))
      join();
  }
  join();
}

namespace {
struct JoinLoads : redfuse::impl::JoinLoadsBase<JoinLoads> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) { blocks.push_back(block); });
    Joiner joiner;
    for (Block *block : blocks)
      joiner.run(*block);
  }
};
} // namespace
