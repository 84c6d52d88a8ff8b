//===- Epilogue.cpp - results of a tile -----------------------------------===//
#include "Epilogue.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace redfuse;

void Epilogue::finalize(const DenseMap<unsigned, Fragment> &states) {
  // The finalisation sees states, and tensors of its own.
  emitter.values.clear();
  auto last = cast<IndexProgramOpInterface>(plan.finalize.getOperation());
  emitter.select(last, *of.finalSets);
  for (auto [i, input] : llvm::enumerate(plan.finalize.getInputs()))
    if (input.getDefiningOp() == plan.fold)
      emitter.values[last.getProgramBody()->getArgument(i)] =
          states.lookup(cast<OpResult>(input).getResultNumber());
  storeResults();
}

/// Puts what is computed between two places of a block right in front of its first use there.
/// Bodies are emitted an op after another, each for all elements of a tile, so that the values
/// between two ops would all be in registers at a time; in this order those of a few columns
/// are.
static void computeAtUse(Block &block, Block::iterator first,
                         Block::iterator last) {
  llvm::DenseSet<Operation *> open;
  SmallVector<Operation *> users, moved;
  for (Operation &op : llvm::make_range(first, last))
    (isPure(&op) && op.getNumRegions() == 0 ? moved : users).push_back(&op);
  open.insert_range(moved);
  auto take = [&](Operation *op, Block::iterator user, auto &&take) -> void {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp();
            def && def->getBlock() == &block && open.erase(def)) {
          take(def, user, take);
          def->moveBefore(&block, user);
        }
    });
  };
  for (Operation *user : users)
    take(user, Block::iterator(user), take);
  // What others may use later.
  for (Operation *op : moved)
    if (open.erase(op)) {
      take(op, last, take);
      op->moveBefore(&block, last);
    }
}

/// Operations that a body computes results by, those of functions among them.
static int64_t countOperations(Block &body) {
  int64_t count = 0;
  for (Operation &op : body.without_terminator())
    if (isa<math::Log1pOp, math::LogOp, math::ExpM1Op, math::ErfOp,
            math::TanhOp, math::SinOp, math::CosOp, math::PowFOp>(op))
      count += kOperationsOfFunction;
    else if (isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
             !op.hasTrait<OpTrait::ConstantLike>() &&
             !isa<arith::ExtFOp, arith::TruncFOp>(op))
      ++count;
  return count;
}

void Epilogue::storeResults() {
  // A few values of each element fit in registers, and others are computed meanwhile.
  if (countOperations(*plan.last().getProgramBody()) < kLongEpilogue)
    return storeValues();
  Block &block = *b.getInsertionBlock();
  bool isFirst = b.getInsertionPoint() == block.begin();
  Block::iterator before =
      isFirst ? block.begin() : std::prev(b.getInsertionPoint());
  storeValues();
  computeAtUse(block, isFirst ? block.begin() : std::next(before),
               b.getInsertionPoint());
}

/// Calls `store` for every index along the dims of a result that its values do not depend on and
/// that no tile divides: as heads of keys that several heads of queries share are repeated.
void Epilogue::forEachRepetition(AffineMap map, function_ref<void()> store) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<unsigned> repeated;
  SmallBitVector dims = getDimsOf(simplifyForExtents(map, space.staticExtents));
  for (unsigned d : dims.set_bits()) {
    if (d == plan.m || plan.isColumn(d) ||
        llvm::is_contained(space.schedule.getGrid(), int64_t(d)))
      continue;
    auto loop =
        scf::ForOp::create(b, loc, index(0), place.extents[d], index(1));
    b.setInsertionPointToStart(loop.getBody());
    place.offsets[d] = loop.getInductionVar();
    repeated.push_back(d);
  }
  store();
  for (unsigned d : repeated)
    place.offsets[d] = nullptr;
}

void Epilogue::storeValues() {
  IndexProgramOpInterface last = plan.last();
  SmallVector<AffineMap> all = last.getIndexingMapsArray();
  unsigned first = all.size() - last.getProgramInits().size();
  auto yield = cast<YieldOp>(last.getProgramBody()->getTerminator());
  emitter.emitAssertions();
  for (auto [i, v] : llvm::enumerate(yield.getValues())) {
    const Fragment &value = emitter.get(v);
    Value memref = emitter.memrefs.lookup(last->getResult(i));
    AffineMap map = all[first + i];
    bool isStaged = layout.staged && i == layout.staged->number &&
                    value.kind == Fragment::Kind::Matrix;
    forEachRepetition(map, [&] {
      if (isStaged && layout.staged->isBoxed)
        storeBoxed(value);
      else if (isStaged)
        storeByRows(value, memref, map);
      else
        storeValue(memref, map, value);
    });
  }
}

void Epilogue::storeValue(Value memref, AffineMap map, const Fragment &value) {
  map = simplifyForExtents(map, space.staticExtents);
  Fragment shape = place.shapeOf(getDimsOf(map));
  Fragment whole = shape;
  for (size_t e = 0, n = place.sizeOf(shape); e < n; ++e)
    whole.values.push_back(shape.kind == Fragment::Kind::Matrix ? value.at(e)
                           : value.values.size() == 1 ? value.values[0]
                                                      : value.values[e]);
  memory.store(memref, map, whole);
}

//===----------------------------------------------------------------------===//
// By way of shared memory
//===----------------------------------------------------------------------===//

/// Puts a fragment's columns, sixteen after sixteen, into the warp's part.
void Epilogue::stage(ArrayRef<Value> values, Value into) {
  for (size_t i = 0; i < values.size(); i += 8) {
    SmallVector<Value> words;
    for (size_t k = i; k < i + 8; k += 2)
      words.push_back(memory.packPair(values[k], values[k + 1]));
    tile::StoreBlockOp::create(b, loc, words[0], words[1], words[2], words[3],
                               into, ptx.i32(0), int64_t(i) * 2);
  }
}

Value Epilogue::firstRowOfWarp() {
  Value inWarpgroup = arith::AndIOp::create(b, loc, of.ids.warp, ptx.i32(3));
  Value inBlock =
      ptx.add(ptx.mul(of.ids.consumer, 64), ptx.mul(inWarpgroup, kWarpRows));
  return arith::AddIOp::create(
      b, loc, placement.getFirstRow(),
      arith::IndexCastUIOp::create(b, loc, b.getIndexType(), inBlock));
}

/// Every warp puts its rows into its own part of shared memory, where the copy of
/// the tile before has been read, and starts the copy of these.
void Epilogue::storeBoxed(const Fragment &value) {
  const MatrixTile &staged = layout.staged->tile;
  Value lane = ptx.readLane();
  Value into = tile::ViewOp::create(b, loc, staged.type,
                                    storage.stagedAddress(staged.type));
  waitForCopies(lane);
  stage(value.values, into);
  tile::FenceCopiesOp::create(b, loc);
  NVVM::SyncWarpOp::create(b, loc, ptx.i32(-1));
  Value row = firstRowOfWarp();
  SmallVector<Value> positions;
  for (unsigned d = 0; d < space.numDims; ++d) {
    Value at = d == plan.m ? row : place.offsets[d];
    positions.push_back(at ? at
                           : Value(arith::ConstantIndexOp::create(b, loc, 0)));
  }
  SmallVector<Value> coordinates = placement.coordinatesAt(staged, positions);
  byFirstLane(lane, [&] {
    tile::CopyOutOp::create(b, loc, into, of.arguments.maps[staged.map],
                            coordinates);
    tile::CommitCopiesOp::create(b, loc);
  });
}

void Epilogue::byFirstLane(Value lane, function_ref<void()> body) {
  when(
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, ptx.i32(0)),
      body);
}

/// Until the warp's copies have read shared memory.
void Epilogue::waitForCopies(Value lane) {
  byFirstLane(lane, [&] { tile::WaitCopiesOp::create(b, loc, 0); });
  NVVM::SyncWarpOp::create(b, loc, ptx.i32(-1));
}

void Epilogue::finish() {
  if (layout.staged && layout.staged->isBoxed)
    waitForCopies(ptx.readLane());
}
