//===- ReuseValues.cpp - keep in registers what a thread has already ------===//
//
// A GPU thread that walks the same points in several nests loads the same
// elements again, and reads back from tiles what it wrote itself. Where that
// code stands in one block (the emitter unrolls short walks), the values are
// still in registers.
//
// 1. A kernel marked `redfuse.reuse` has no two operands that share memory: what
//    it only reads never changes, so a load with the same indices as one that
//    dominates it is that value.
// 2. An element of a tile is written once between two barriers, by the thread
//    that owns the point. A load with the indices of a store is that value as
//    long as the tile was not written between later barriers.
// 3. A tile that nothing reads is not written, if it is no other block's memory.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/Passes.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"

namespace redfuse {
#define GEN_PASS_DEF_REUSEVALUES
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
/// An access to an element or a vector of a memref.
struct MemoryAccess {
  Value memref;
  SmallVector<Value> indices;
  Type type;

  bool operator==(const MemoryAccess &other) const {
    return memref == other.memref && indices == other.indices &&
           type == other.type;
  }
};
} // namespace

static std::optional<MemoryAccess> loadOf(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return MemoryAccess{load.getMemRef(), SmallVector<Value>(load.getIndices()),
                        load.getType()};
  if (auto load = dyn_cast<vector::LoadOp>(op))
    return MemoryAccess{load.getBase(), SmallVector<Value>(load.getIndices()),
                        load.getVectorType()};
  return std::nullopt;
}

static std::optional<MemoryAccess> storeOf(Operation *op) {
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return MemoryAccess{store.getMemRef(),
                        SmallVector<Value>(store.getIndices()),
                        store.getValueToStore().getType()};
  if (auto store = dyn_cast<vector::StoreOp>(op))
    return MemoryAccess{store.getBase(), SmallVector<Value>(store.getIndices()),
                        store.getVectorType()};
  return std::nullopt;
}

static Value storedValue(Operation *op) {
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return store.getValueToStore();
  return cast<vector::StoreOp>(op).getValueToStore();
}

/// Whether all that happens to `memref` is loads (rule 1).
static bool isOnlyRead(Value memref) {
  return llvm::all_of(memref.getUsers(), [](Operation *user) {
    if (isa<UnrealizedConversionCastOp>(user))
      return isOnlyRead(user->getResult(0));
    return isa<memref::LoadOp, vector::LoadOp, memref::DimOp>(user);
  });
}

static void reuseInputs(gpu::GPUFuncOp func) {
  DominanceInfo dominance(func);
  for (BlockArgument arg : func.getArguments()) {
    if (!isa<MemRefType>(arg.getType()) || !isOnlyRead(arg))
      continue;
    SmallVector<std::pair<MemoryAccess, Operation *>> loads;
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      std::optional<MemoryAccess> access = loadOf(op);
      if (!access || access->memref != arg)
        return;
      for (auto &[known, load] : loads)
        if (known == *access && dominance.dominates(load, op)) {
          op->getResult(0).replaceAllUsesWith(load->getResult(0));
          return;
        }
      loads.push_back({*access, op});
    });
  }
}

namespace {
/// What a tile holds at known places, in one block of code (rule 2).
struct Known {
  /// The stretch between barriers in which it was stored.
  unsigned stretch = 0;
  SmallVector<std::pair<MemoryAccess, Value>> values;
};
} // namespace

static void reuseTiles(Block &block) {
  llvm::MapVector<Value, Known> known;
  unsigned stretch = 0;
  auto isTile = [](Value memref) {
    return memref.getDefiningOp<memref::ViewOp>() != nullptr;
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<gpu::BarrierOp>(op)) {
      ++stretch;
      continue;
    }
    if (op.getNumRegions() != 0) {
      // What is stored inside is not known here; barriers inside count too.
      op.walk([&](Operation *inner) {
        if (std::optional<MemoryAccess> store = storeOf(inner))
          known.erase(store->memref);
      });
      ++stretch;
      continue;
    }
    if (std::optional<MemoryAccess> store = storeOf(&op)) {
      if (!isTile(store->memref))
        continue;
      Known &tile = known[store->memref];
      if (tile.stretch != stretch)
        tile.values.clear();
      tile.stretch = stretch;
      tile.values.push_back({*store, storedValue(&op)});
      continue;
    }
    std::optional<MemoryAccess> load = loadOf(&op);
    if (!load)
      continue;
    auto it = known.find(load->memref);
    if (it == known.end())
      continue;
    for (auto &[access, value] : it->second.values)
      if (access == *load) {
        op.getResult(0).replaceAllUsesWith(value);
        op.erase();
        break;
      }
  }
}

/// Rule 3.
static void eraseUnread(gpu::GPUFuncOp func) {
  SmallVector<memref::ViewOp>
      views; // Stores go, too: no walk may be under way.
  func.walk([&](memref::ViewOp view) { views.push_back(view); });
  for (memref::ViewOp view : views) {
    // Other blocks may read memory that the kernel was given.
    if (isa<BlockArgument>(view.getSource()) ||
        !llvm::all_of(view->getUsers(), [&](Operation *user) {
          std::optional<MemoryAccess> store = storeOf(user);
          return store && store->memref == view.getResult() &&
                 storedValue(user) != view.getResult();
        }))
      continue;
    for (Operation *user : llvm::make_early_inc_range(view->getUsers()))
      user->erase();
    view.erase();
  }
}

namespace {
struct ReuseValues : redfuse::impl::ReuseValuesBase<ReuseValues> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp func) {
      if (func->hasAttr(redfuse::kReuseAttr))
        reuseInputs(func);
      func.walk([](Block *block) { reuseTiles(*block); });
      eraseUnread(func);
    });
  }
};
} // namespace
