//===- SharedCopies.cpp - work on values of which lanes have copies -------===//
//
// Lanes that have combined what each has by shuffles all have the result, and
// compute the same of it. Where a function takes many instructions (a hyperbolic
// tangent, a logarithm) and there are several such results, each of these lanes
// computes it of another one, and asks the others for theirs:
//
//   y0 = f(x0), y1 = f(x1)  ->  y = f(lane & 1 ? x1 : x0),
//                               y0 = y of lane & ~1, y1 = y of lane | 1
//
// Which lanes have copies follows from the code: combining a value with that of the
// lane at a distance, by what commutes, makes a copy in both.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/GPU/Transforms/SharedCopies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Takes many instructions more than a choice and a shuffle.
static bool isCostly(Operation &op) {
  return isa<math::TanhOp, math::ErfOp, math::ErfcOp, math::LogOp,
             math::Log1pOp, math::Log2Op, math::Log10Op, math::ExpM1Op,
             math::SinOp, math::CosOp, math::TanOp, math::AtanOp, math::SinhOp,
             math::CoshOp, math::CbrtOp>(op) &&
         op.getResult(0).getType().isF32();
}

static bool isArithmetic(Operation &op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op.getDialect()) &&
         op.getNumRegions() == 0;
}

namespace {
class Copies {
public:
  Copies(gpu::GPUFuncOp func, int64_t warp)
      : func(func), all(unsigned(warp) - 1) {}
  void run();

private:
  void note(Operation &op);
  unsigned bitsOf(Value v) const { return bits.lookup(v); }
  bool canMove(Value v, Operation *before) const;
  void move(Value v, Operation *before);
  void share(Block &block);
  void shareGroup(ArrayRef<Operation *> ops, unsigned among);
  Value laneIn(OpBuilder &b, Location loc);

  gpu::GPUFuncOp func;
  unsigned all;
  /// In which bits of its number a lane may differ from those with the same value.
  DenseMap<Value, unsigned> bits;
  Value lane;
};
} // namespace

/// What lanes have copies of the results.
void Copies::note(Operation &op) {
  unsigned same = all;
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    // Lanes that differ in one bit ask lanes that differ in it, at one distance.
    APInt distance;
    bool isExchange =
        shuffle.getMode() == gpu::ShuffleMode::XOR &&
        matchPattern(shuffle.getOffset(), m_ConstantInt(&distance));
    bits[shuffle.getShuffleResult()] =
        isExchange ? bitsOf(shuffle.getValue()) : 0;
    return;
  }
  if (!isArithmetic(op)) {
    for (Value v : op.getResults())
      bits[v] = 0;
    return;
  }
  for (Value v : op.getOperands())
    same &= bitsOf(v);
  // Of a value and that of the lane at a distance.
  if (isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp,
          arith::MaxNumFOp, arith::MinNumFOp, arith::AddIOp, arith::MaxSIOp,
          arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(op))
    for (auto [own, other] : {std::pair(op.getOperand(0), op.getOperand(1)),
                              std::pair(op.getOperand(1), op.getOperand(0))}) {
      auto strip = [](Value v) {
        while (auto cast = v.getDefiningOp<arith::BitcastOp>())
          v = cast.getIn();
        return v;
      };
      auto shuffle = strip(other).getDefiningOp<gpu::ShuffleOp>();
      APInt distance;
      if (shuffle && shuffle.getMode() == gpu::ShuffleMode::XOR &&
          strip(shuffle.getValue()) == strip(own) &&
          matchPattern(shuffle.getOffset(), m_ConstantInt(&distance)) &&
          distance.isPowerOf2())
        same = bitsOf(own) | (unsigned(distance.getZExtValue()) & all);
    }
  for (Value v : op.getResults())
    bits[v] = same;
}

/// Whether what `v` is made of can be made before `before`, of the same block.
bool Copies::canMove(Value v, Operation *before) const {
  Operation *def = v.getDefiningOp();
  if (!def || def->getBlock() != before->getBlock() ||
      def->isBeforeInBlock(before))
    return true;
  return def != before && isArithmetic(*def) &&
         llvm::all_of(def->getOperands(),
                      [&](Value o) { return canMove(o, before); });
}

void Copies::move(Value v, Operation *before) {
  Operation *def = v.getDefiningOp();
  if (!def || def->getBlock() != before->getBlock() ||
      def->isBeforeInBlock(before))
    return;
  for (Value o : def->getOperands())
    move(o, before);
  def->moveBefore(before);
}

/// The number of the lane, made where everything can use it.
Value Copies::laneIn(OpBuilder &b, Location loc) {
  if (lane)
    return lane;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&func.getBody().front());
  Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  thread = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), thread);
  return lane = arith::AndIOp::create(
             b, loc, thread,
             arith::ConstantIntOp::create(b, loc, b.getI32Type(), all));
}

/// Ops of one kind in the order of the block, whose operands can be made before the
/// first; lanes that differ in `among` alone have the same operands.
void Copies::shareGroup(ArrayRef<Operation *> ops, unsigned among) {
  Operation *first = ops.front();
  for (Operation *op : ops)
    move(op->getOperand(0), first);
  OpBuilder b(first);
  Location loc = first->getLoc();
  Type i32 = b.getI32Type();
  auto word = [&](int64_t v) -> Value {
    return arith::ConstantIntOp::create(b, loc, i32, v);
  };
  Value number = laneIn(b, loc);
  // The bits of a lane by which lanes choose one of the ops.
  SmallVector<unsigned> choosing;
  for (unsigned bit = 1; (int64_t(1) << choosing.size()) < int64_t(ops.size());
       bit *= 2)
    if (among & bit)
      choosing.push_back(bit);
  SmallVector<Value> left;
  for (Operation *op : ops)
    left.push_back(op->getOperand(0));
  unsigned used = 0;
  for (unsigned bit : choosing) {
    used |= bit;
    Value own = arith::AndIOp::create(b, loc, number, word(bit));
    Value isSecond =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, own, word(0));
    SmallVector<Value> next;
    for (size_t i = 0; i < left.size(); i += 2)
      next.push_back(
          i + 1 == left.size()
              ? left[i]
              : arith::SelectOp::create(b, loc, isSecond, left[i + 1], left[i])
                    .getResult());
    left = std::move(next);
  }
  Operation *made = b.clone(*first);
  made->setOperand(0, left.front());
  Value mine = arith::BitcastOp::create(b, loc, i32, made->getResult(0));
  Value others = arith::AndIOp::create(b, loc, number, word(all & ~used));
  for (auto [i, op] : llvm::enumerate(ops)) {
    unsigned at = 0;
    for (auto [t, bit] : llvm::enumerate(choosing))
      at |= i >> t & 1 ? bit : 0;
    Value from = arith::OrIOp::create(b, loc, others, word(at));
    Value got = gpu::ShuffleOp::create(b, loc, i32, b.getI1Type(), mine, from,
                                       word(all + 1), gpu::ShuffleMode::IDX)
                    .getShuffleResult();
    op->getResult(0).replaceAllUsesWith(
        arith::BitcastOp::create(b, loc, b.getF32Type(), got));
  }
  for (Operation *op : ops)
    op->erase();
}

void Copies::share(Block &block) {
  SmallVector<Operation *> costly;
  bool hasShuffles = false;
  for (Operation &op : block) {
    // All lanes of a warp come where they shuffle.
    hasShuffles |= isa<gpu::ShuffleOp>(op);
    if (hasShuffles && isCostly(op) && bitsOf(op.getOperand(0)) != 0)
      costly.push_back(&op);
  }
  while (!costly.empty()) {
    Operation *first = costly.front();
    unsigned among = bitsOf(first->getOperand(0));
    size_t most = size_t(1) << llvm::popcount(among);
    SmallVector<Operation *> together, rest;
    for (Operation *op : costly)
      if (together.size() < most && op->getName() == first->getName() &&
          op->getAttrDictionary() == first->getAttrDictionary() &&
          bitsOf(op->getOperand(0)) == among &&
          canMove(op->getOperand(0), first))
        together.push_back(op);
      else
        rest.push_back(op);
    if (together.size() > 1)
      shareGroup(together, among);
    costly = std::move(rest);
  }
}

void Copies::run() {
  for (Value v : func.getBody().front().getArguments())
    bits[v] = all;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { note(*op); });
  SmallVector<Block *> blocks;
  func.walk([&](Block *block) { blocks.push_back(block); });
  for (Block *block : blocks)
    share(*block);
}

void redfuse::shareCopies(gpu::GPUFuncOp func, int64_t warp) {
  if (llvm::isPowerOf2_64(warp) && warp <= 64)
    Copies(func, warp).run();
}
