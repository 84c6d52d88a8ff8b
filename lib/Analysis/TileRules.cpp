//===- TileRules.cpp - who may touch what, and when -----------------------===//
#include "redfuse/Analysis/TileRules.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "redfuse/Dialect/Tile/IR/Tile.h"

using namespace mlir;
namespace tile = redfuse::tile;

namespace {

/// All names of one thing: values that loops and conditions pass on.
class Names {
public:
  void add(Value v) {
    if (v && !contains(v))
      values.push_back(v);
  }
  void add(const Names &others) {
    for (Value v : others.values)
      add(v);
  }
  bool contains(Value v) const { return llvm::is_contained(values, v); }
  /// What is `from[i]` is `to[i]`, too.
  void rename(ValueRange from, ValueRange to) {
    Names added;
    for (auto [f, t] : llvm::zip(from, to))
      if (contains(f))
        added.add(t);
    add(added);
  }
  /// What a region defines is another value the next time; but for what `from`
  /// passes on as `to`.
  void leave(Region &region, ValueRange from, ValueRange to) {
    Names kept;
    for (auto [f, t] : llvm::zip(from, to))
      if (contains(f))
        kept.add(t);
    for (Value v : values)
      if (!region.isAncestor(v.getParentRegion()))
        kept.add(v);
    *this = kept;
  }

private:
  SmallVector<Value, 2> values;
};

/// A product that may run.
struct RunningProduct {
  Operation *op = nullptr;
  Names stages, result;
};

/// What a warp has read of a stage, and who may not have it yet.
struct UnsettledRead {
  Operation *op = nullptr;
  Names stage, operand;
};

/// What may be the case at one place.
struct TileState {
  /// In the order of their start, the last one at the end.
  SmallVector<RunningProduct> running;
  SmallVector<UnsettledRead> unsettled;

  void forAllNames(function_ref<void(Names &)> change) {
    for (RunningProduct &product : running) {
      change(product.stages);
      change(product.result);
    }
    for (UnsettledRead &read : unsettled) {
      change(read.stage);
      change(read.operand);
    }
  }
  void rename(ValueRange from, ValueRange to) {
    forAllNames([&](Names &names) { names.rename(from, to); });
  }
  void leave(Region &region, ValueRange from, ValueRange to) {
    forAllNames([&](Names &names) { names.leave(region, from, to); });
  }

  /// Either of two states: the n-th last product is that of one or of the other.
  void join(const TileState &other) {
    size_t more = other.running.size() > running.size()
                      ? other.running.size() - running.size()
                      : 0;
    running.insert(running.begin(), other.running.begin(),
                   other.running.begin() + more);
    size_t size = running.size(), common = other.running.size() - more;
    for (size_t i = 0; i < common; ++i) {
      RunningProduct &mine = running[size - 1 - i];
      const RunningProduct &its = other.running[other.running.size() - 1 - i];
      mine.stages.add(its.stages);
      mine.result.add(its.result);
    }
    for (const UnsettledRead &read : other.unsettled) {
      auto same = llvm::find_if(
          unsettled, [&](const UnsettledRead &r) { return r.op == read.op; });
      if (same == unsettled.end()) {
        unsettled.push_back(read);
        continue;
      }
      same->stage.add(read.stage);
      same->operand.add(read.operand);
    }
  }
};

class RuleChecker {
public:
  LogicalResult check(Block &block, TileState &state) {
    for (Operation &op : block)
      if (failed(check(op, state)))
        return failure();
    return success();
  }

private:
  /// The number of the stage that a tile or a barrier is of.
  static Value stageOf(Value v) {
    if (auto stage = v.getDefiningOp<tile::StageOp>())
      return stage.getStage();
    if (auto empty = v.getDefiningOp<tile::EmptyOp>())
      return empty.getStage();
    return {};
  }

  LogicalResult check(Operation &op, TileState &state) {
    if (auto product = dyn_cast<tile::MultiplyOp>(op)) {
      RunningProduct made;
      made.op = &op;
      made.stages.add(stageOf(product.getRight()));
      made.stages.add(stageOf(product.getLeft()));
      made.result.add(product.getResult());
      state.running.push_back(made);
      return success();
    }
    if (auto wait = dyn_cast<tile::WaitProductsOp>(op))
      return checkWait(wait, state);
    if (auto read = dyn_cast<tile::ReadOperandOp>(op)) {
      UnsettledRead made;
      made.op = &op;
      made.stage.add(stageOf(read.getTile()));
      made.operand.add(read.getResult());
      state.unsettled.push_back(made);
      return success();
    }
    if (auto settle = dyn_cast<tile::SettleOp>(op)) {
      llvm::erase_if(state.unsettled, [&](const UnsettledRead &read) {
        return llvm::any_of(settle.getValues(),
                            [&](Value v) { return read.operand.contains(v); });
      });
      return success();
    }
    if (auto arrival = dyn_cast<tile::ArriveOp>(op))
      return checkArrival(arrival, state);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return checkFor(loop, state);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return checkWhile(loop, state);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return checkIf(branch, state);
    // Others, roles among them: each region by itself.
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        TileState inside = state;
        if (failed(check(block, inside)))
          return failure();
      }
    return success();
  }

  LogicalResult checkWait(tile::WaitProductsOp wait, TileState &state) {
    size_t pending = std::min<size_t>(wait.getPending(), state.running.size());
    auto rest = llvm::drop_begin(state.running, state.running.size() - pending);
    for (const RunningProduct &product : rest)
      for (Value v : wait.getAccumulators())
        if (product.result.contains(v)) {
          InFlightDiagnostic diagnostic =
              wait.emitOpError()
              << "gives elements of a product that may still run: it is among "
                 "the last "
              << pending;
          diagnostic.attachNote(product.op->getLoc()) << "started here";
          return diagnostic;
        }
    state.running.erase(state.running.begin(), state.running.end() - pending);
    return success();
  }

  LogicalResult checkArrival(tile::ArriveOp arrival, TileState &state) {
    auto empty = arrival.getBarrier().getDefiningOp<tile::EmptyOp>();
    if (!empty)
      return success();
    for (const RunningProduct &product : state.running)
      if (product.stages.contains(empty.getStage())) {
        InFlightDiagnostic diagnostic = arrival.emitOpError(
            "releases a stage that a running product may still read; wait "
            "for the product first");
        diagnostic.attachNote(product.op->getLoc()) << "started here";
        return diagnostic;
      }
    for (const UnsettledRead &read : state.unsettled)
      if (read.stage.contains(empty.getStage())) {
        InFlightDiagnostic diagnostic = arrival.emitOpError(
            "releases a stage that the warp may still read; settle what it "
            "reads first");
        diagnostic.attachNote(read.op->getLoc()) << "read here";
        return diagnostic;
      }
    return success();
  }

  LogicalResult checkFor(scf::ForOp loop, TileState &state) {
    Region &body = loop.getRegion();
    ValueRange yielded = loop.getBody()->getTerminator()->getOperands();
    TileState inside = state, after = state;
    after.rename(loop.getInitArgs(), loop.getResults());
    inside.rename(loop.getInitArgs(), loop.getRegionIterArgs());
    // The second time with what the first one left.
    for (int round = 0; round < 2; ++round) {
      if (failed(check(*loop.getBody(), inside)))
        return failure();
      TileState end = inside;
      end.leave(body, yielded, loop.getResults());
      after.join(end);
      inside.leave(body, yielded, loop.getRegionIterArgs());
    }
    state = after;
    return success();
  }

  LogicalResult checkWhile(scf::WhileOp loop, TileState &state) {
    scf::ConditionOp condition = loop.getConditionOp();
    ValueRange yielded = loop.getYieldOp()->getOperands();
    TileState inside = state, after;
    inside.rename(loop.getInits(), loop.getBeforeArguments());
    for (int round = 0; round < 2; ++round) {
      if (failed(check(*loop.getBeforeBody(), inside)))
        return failure();
      TileState end = inside;
      end.leave(loop.getBefore(), condition.getArgs(), loop.getResults());
      if (round == 0)
        after = end;
      else
        after.join(end);
      inside.leave(loop.getBefore(), condition.getArgs(),
                   loop.getAfterArguments());
      if (failed(check(*loop.getAfterBody(), inside)))
        return failure();
      inside.leave(loop.getAfter(), yielded, loop.getBeforeArguments());
    }
    state = after;
    return success();
  }

  LogicalResult checkIf(scf::IfOp branch, TileState &state) {
    TileState otherwise = state;
    auto take = [&](Region &region, TileState &inside) {
      if (region.empty())
        return success();
      Block &block = region.front();
      if (failed(check(block, inside)))
        return failure();
      inside.leave(region, block.getTerminator()->getOperands(),
                   branch.getResults());
      return success();
    };
    if (failed(take(branch.getThenRegion(), state)) ||
        failed(take(branch.getElseRegion(), otherwise)))
      return failure();
    state.join(otherwise);
    return success();
  }
};

} // namespace

LogicalResult redfuse::tile::checkRules(Operation *root) {
  for (Region &region : root->getRegions())
    for (Block &block : region) {
      TileState state;
      if (failed(RuleChecker().check(block, state)))
        return failure();
    }
  return success();
}
