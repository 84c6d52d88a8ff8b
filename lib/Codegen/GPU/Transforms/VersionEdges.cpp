//===- VersionEdges.cpp - redfuse-version-edges ---------------------------===//
//
// What is read beside the edge of a tensor is something else: each element of a window
// has its position compared with the edges, wrapped, and a select behind its load. Most
// threads are nowhere near an edge. Here these have code of their own, without all that:
//
//     if every position that is compared lies inside:  the code, compares being true
//     else:                                             the code
//
// Positions are a few values (roots) with constants added, so that two compares of each
// root say it of all. A warp that has threads of both kinds takes both ways, one after the
// other: nothing in them may need other threads, and few warps may be such. They are few
// where a root is the same for a warp, or where what its lanes walk is long: in rows of 62,
// as wide as two warps, each warp has an edge (a maximum of windows took 2.4 times as long).
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace redfuse {
#define GEN_PASS_DEF_VERSIONEDGES
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Operations that are written twice at most: ptxas takes time for them. Estimated.
static constexpr unsigned kMostOperations = 4000;
/// Places inside of which a warp's lanes have neighbouring ones: of so many, an eighth of
/// the warps have an edge. Estimated.
static constexpr int64_t kLeastInside = 512;

namespace {
/// A position: a root with a constant added.
struct Position {
  Value root;
  int64_t offset = 0;
};

/// The values of a root for which all its compares are true.
struct Interval {
  int64_t low = INT64_MIN, high = INT64_MAX;

  bool isEmpty() const { return low > high; }
  bool isLong() const { return !isBounded() || high - low >= kLeastInside; }
  bool isBounded() const { return low != INT64_MIN && high != INT64_MAX; }
};

/// A block, and what is known of it inside.
class Inside {
public:
  Inside(Block &block) : block(block) {}

  /// Whether there are compares enough, in code that can be written twice.
  bool find(unsigned least);
  void version(RewriterBase &b);

private:
  bool addCompare(arith::CmpIOp compare);
  void addRemainder(Operation *op, Value divided, Value by);
  bool placeRoots();
  bool canRepeat() const;
  Value isInside(OpBuilder &b, Location loc) const;
  void mapKnown(OpBuilder &b, IRMapping &mapping) const;

  Block &block;
  llvm::MapVector<Value, Interval> roots;
  SmallVector<arith::CmpIOp> compares;
  /// Remainders of positions that are in one period, inside: as positions.
  llvm::MapVector<Operation *, Position> remainders;
  /// The first op that is written twice; all behind it are, but the terminator.
  Operation *start = nullptr;
};
} // namespace

static Position getPosition(Value v) {
  Position at{v};
  IntegerAttr by;
  while (auto add = at.root.getDefiningOp<arith::AddIOp>()) {
    if (!matchPattern(add.getRhs(), m_Constant(&by)))
      break;
    int64_t sum;
    if (llvm::AddOverflow(at.offset, by.getInt(), sum))
      break;
    at = {add.getLhs(), sum};
  }
  return at;
}

/// The number of a thread, as it is or with some of its bits.
static bool isThreadNumber(Value v) {
  Operation *def = v.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp, arith::AndIOp>(
          def))
    return isThreadNumber(def->getOperand(0));
  return isa_and_nonnull<gpu::ThreadIdOp>(def);
}

/// Whether a value may differ between the lanes of a warp.
static bool variesInWarp(Value root) {
  llvm::SetVector<Value> needed;
  needed.insert(root);
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *def = needed[i].getDefiningOp();
    // Arguments of the kernel, and what a loop counts.
    if (!def)
      continue;
    if (isa<gpu::ThreadIdOp>(def))
      return true;
    APInt by;
    bool isOfBits = def->getNumOperands() == 2 &&
                    isThreadNumber(def->getOperand(0)) &&
                    matchPattern(def->getOperand(1), m_ConstantInt(&by));
    // The number of a warp, not of a lane.
    if (isOfBits && ((isa<arith::ShRUIOp>(def) && by.uge(5)) ||
                     (isa<arith::DivUIOp>(def) && by.urem(32) == 0)))
      continue;
    needed.insert_range(def->getOperands());
  }
  return false;
}

/// Whether a condition, alone or with others, only selects.
static bool onlySelects(Value condition) {
  return !condition.use_empty() &&
         llvm::all_of(condition.getUses(), [](OpOperand &use) {
           if (isa<arith::AndIOp>(use.getOwner()))
             return onlySelects(use.getOwner()->getResult(0));
           return isa<arith::SelectOp>(use.getOwner()) &&
                  use.getOperandNumber() == 0;
         });
}

/// Takes a compare of a position with a constant, unless it contradicts others.
bool Inside::addCompare(arith::CmpIOp compare) {
  IntegerAttr with;
  if (!compare.getLhs().getType().isIndex() ||
      !matchPattern(compare.getRhs(), m_Constant(&with)) ||
      !onlySelects(compare))
    return false;
  Position at = getPosition(compare.getLhs());
  if (at.root.getDefiningOp<arith::RemSIOp>() ||
      at.root.getDefiningOp<arith::RemUIOp>() ||
      matchPattern(at.root, m_Constant()))
    return false;
  int64_t bound;
  if (llvm::SubOverflow(with.getInt(), at.offset, bound) ||
      std::abs(bound) > (int64_t(1) << 48))
    return false;
  Interval made = roots.lookup(at.root);
  auto atLeast = [&](int64_t n) { made.low = std::max(made.low, n); };
  auto atMost = [&](int64_t n) { made.high = std::min(made.high, n); };
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sge:
    atLeast(bound);
    break;
  case arith::CmpIPredicate::sgt:
    atLeast(bound + 1);
    break;
  case arith::CmpIPredicate::sle:
    atMost(bound);
    break;
  case arith::CmpIPredicate::slt:
    atMost(bound - 1);
    break;
  case arith::CmpIPredicate::ult:
    // Of no negative one.
    atLeast(-at.offset);
    atMost(bound - 1);
    break;
  default:
    return false;
  }
  if (made.isEmpty())
    return false;
  roots[at.root] = made;
  compares.push_back(compare);
  return true;
}

/// Inside, all positions may be in one period.
void Inside::addRemainder(Operation *op, Value divided, Value by) {
  IntegerAttr period;
  Position at = getPosition(divided);
  auto it = roots.find(at.root);
  if (it == roots.end() || !it->second.isBounded() ||
      !matchPattern(by, m_Constant(&period)) || period.getInt() <= 0)
    return;
  int64_t n = period.getInt(), low = it->second.low + at.offset,
          high = it->second.high + at.offset;
  if (low < 0 || low / n != high / n)
    return;
  remainders.insert({op, {at.root, at.offset - low / n * n}});
}

/// What may be written twice, for threads of one warp.
static bool isRepeatable(Operation *op) {
  if (isa<arith::ArithDialect, math::MathDialect, vector::VectorDialect,
          scf::SCFDialect>(op->getDialect()) ||
      isa<memref::LoadOp, memref::StoreOp, gpu::ThreadIdOp, gpu::BlockIdOp>(op))
    return true;
  // Of the order of launches, which each thread takes part in once either way.
  auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
  return assembly && assembly.getAsmString().starts_with("griddepcontrol.");
}

bool Inside::canRepeat() const {
  unsigned count = 0;
  for (Operation *op = start; op != block.getTerminator();
       op = op->getNextNode()) {
    WalkResult result = op->walk([&](Operation *inner) {
      return ++count > kMostOperations || !isRepeatable(inner)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return false;
  }
  return true;
}

/// Moves what roots are computed of before what is written twice.
bool Inside::placeRoots() {
  llvm::SetVector<Operation *> needed;
  for (auto &[root, interval] : roots)
    if (Operation *def = root.getDefiningOp(); def && def->getBlock() == &block)
      needed.insert(def);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!isPure(needed[i]) || needed[i]->getNumRegions() != 0)
      return false;
    for (Value v : needed[i]->getOperands())
      if (Operation *def = v.getDefiningOp(); def && def->getBlock() == &block)
        needed.insert(def);
  }
  for (Operation &op : llvm::make_early_inc_range(
           llvm::make_range(start->getIterator(), block.end()))) {
    if (!needed.contains(&op))
      continue;
    if (&op == start)
      start = op.getNextNode();
    else
      op.moveBefore(start);
  }
  return true;
}

bool Inside::find(unsigned least) {
  for (auto compare : block.getOps<arith::CmpIOp>())
    addCompare(compare);
  if (compares.size() < least || llvm::any_of(roots, [](const auto &each) {
        return !each.second.isLong() && variesInWarp(each.first);
      }))
    return false;
  for (Operation &op : block) {
    if (auto rem = dyn_cast<arith::RemSIOp>(op))
      addRemainder(&op, rem.getLhs(), rem.getRhs());
    else if (auto rem = dyn_cast<arith::RemUIOp>(op))
      addRemainder(&op, rem.getLhs(), rem.getRhs());
  }
  // From the first op that is another one inside, or reads.
  for (Operation &op : block) {
    if (llvm::is_contained(compares, dyn_cast<arith::CmpIOp>(op)) ||
        remainders.contains(&op) || isa<memref::LoadOp, vector::LoadOp>(op)) {
      start = &op;
      break;
    }
  }
  return start && canRepeat() && placeRoots();
}

Value Inside::isInside(OpBuilder &b, Location loc) const {
  Value all;
  auto add = [&](arith::CmpIPredicate kind, Value root, int64_t bound) {
    Value is = arith::CmpIOp::create(
        b, loc, kind, root, arith::ConstantIndexOp::create(b, loc, bound));
    all = all ? arith::AndIOp::create(b, loc, all, is).getResult() : is;
  };
  for (const auto &[root, interval] : roots) {
    if (interval.low != INT64_MIN)
      add(arith::CmpIPredicate::sge, root, interval.low);
    if (interval.high != INT64_MAX)
      add(arith::CmpIPredicate::sle, root, interval.high);
  }
  return all;
}

/// What compares and remainders are, inside.
void Inside::mapKnown(OpBuilder &b, IRMapping &mapping) const {
  for (arith::CmpIOp compare : compares)
    mapping.map(
        compare.getResult(),
        arith::ConstantOp::create(b, compare.getLoc(), b.getBoolAttr(true)));
  for (const auto &[op, at] : remainders) {
    Location loc = op->getLoc();
    Value place = arith::AddIOp::create(
        b, loc, at.root, arith::ConstantIndexOp::create(b, loc, at.offset));
    mapping.map(op->getResult(0), place);
    // It is not negative, so that what else is made of it needs no care.
    for (Operation *user : op->getUsers()) {
      auto compare = dyn_cast<arith::CmpIOp>(user);
      if (compare && compare.getLhs() == op->getResult(0) &&
          compare.getPredicate() == arith::CmpIPredicate::slt &&
          matchPattern(compare.getRhs(), m_Zero()))
        mapping.map(compare.getResult(),
                    arith::ConstantOp::create(b, loc, b.getBoolAttr(false)));
    }
  }
}

void Inside::version(RewriterBase &b) {
  Location loc = start->getLoc();
  Operation *end = block.getTerminator();
  SmallVector<Operation *> ops;
  for (Operation *op = start; op != end; op = op->getNextNode())
    ops.push_back(op);
  SmallVector<Value> results;
  for (Operation *op : ops)
    for (Value v : op->getResults())
      if (llvm::is_contained(end->getOperands(), v))
        results.push_back(v);
  b.setInsertionPoint(start);
  auto branch = scf::IfOp::create(b, loc, ValueRange(results).getTypes(),
                                  isInside(b, loc), /*withElseRegion=*/true);
  auto open = [&](Region &region) {
    if (!region.empty() && region.front().mightHaveTerminator())
      region.front().getTerminator()->erase();
    b.setInsertionPointToEnd(&region.front());
  };
  open(branch.getThenRegion());
  IRMapping mapping;
  mapKnown(b, mapping);
  for (Operation *op : ops) {
    bool isKnown =
        op->getNumResults() == 1 && mapping.contains(op->getResult(0));
    if (!isKnown)
      b.clone(*op, mapping);
  }
  scf::YieldOp::create(b, loc, llvm::map_to_vector(results, [&](Value v) {
                         return mapping.lookupOrDefault(v);
                       }));
  open(branch.getElseRegion());
  for (Operation *op : ops)
    op->moveBefore(b.getInsertionBlock(), b.getInsertionBlock()->end());
  b.setInsertionPointToEnd(&branch.getElseRegion().front());
  scf::YieldOp::create(b, loc, results);
  for (auto [v, result] : llvm::zip_equal(results, branch.getResults()))
    end->replaceUsesOfWith(v, result);
}

namespace {
struct VersionEdges : redfuse::impl::VersionEdgesBase<VersionEdges> {
  using VersionEdgesBase::VersionEdgesBase;

  void runOnOperation() override {
    getOperation()->walk([&](gpu::GPUFuncOp func) { versionOne(func); });
  }

  /// The first block that is worth it.
  void versionOne(gpu::GPUFuncOp func) {
    IRRewriter b(&getContext());
    func.walk([&](Block *block) {
      if (!block->mightHaveTerminator())
        return WalkResult::advance();
      Inside inside(*block);
      if (!inside.find(least))
        return WalkResult::advance();
      inside.version(b);
      return WalkResult::interrupt();
    });
  }
};
} // namespace
