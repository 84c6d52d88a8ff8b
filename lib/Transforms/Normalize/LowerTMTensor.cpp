//===- LowerTMTensor.cpp - sorts, top-k, scans and scatters as loops ------===//
#include "GroupUpdates.h"
#include "NormalizeCommon.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWERTMTENSOR
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
namespace tm_tensor = redfuse::tm_tensor;

namespace {

/// The loops of an op along one dimension: a loop for each other dim, carrying
/// the tensors that are written. On a GPU, where one thread would run all of them,
/// a thread for each row, which carries the row alone.
struct Rows {
  Rows(OpBuilder &b, Operation *op, Value shaped, int64_t dimension)
      : b(b), loc(op->getLoc()), dimension(dimension),
        isParallel(redfuse::getTargetOf(op).getName() != "cpu") {
    zero = arith::ConstantIndexOp::create(b, loc, 0);
    one = arith::ConstantIndexOp::create(b, loc, 1);
    int64_t rank = cast<RankedTensorType>(shaped.getType()).getRank();
    for (int64_t d = 0; d < rank; ++d) {
      Value size = tensor::DimOp::create(b, loc, shaped, d);
      if (d != dimension)
        sizes.push_back(size);
      else
        length = size;
    }
  }

  /// Builds the loops; `row` gets the tensors so far and returns them written.
  SmallVector<Value> build(ValueRange tensors,
                           function_ref<SmallVector<Value>(ValueRange)> row) {
    SmallVector<Value> lows(sizes.size(), zero), steps(sizes.size(), one);
    if (sizes.empty())
      return row(tensors);
    if (isParallel)
      return buildParallel(tensors, row);
    scf::LoopNest nest = scf::buildLoopNest(
        b, loc, lows, sizes, steps, tensors,
        [&](OpBuilder &inner, Location, ValueRange ivs,
            ValueRange carried) -> scf::ValueVector {
          OpBuilder::InsertionGuard guard(b);
          b.restoreInsertionPoint(inner.saveInsertionPoint());
          outer.assign(ivs.begin(), ivs.end());
          SmallVector<Value> written = row(carried);
          inner.restoreInsertionPoint(b.saveInsertionPoint());
          return scf::ValueVector(written.begin(), written.end());
        });
    return llvm::to_vector_of<Value>(nest.results);
  }

  SmallVector<Value>
  buildParallel(ValueRange tensors,
                function_ref<SmallVector<Value>(ValueRange)> row) {
    auto loop = scf::ForallOp::create(b, loc, getAsOpFoldResult(sizes), tensors,
                                      std::nullopt);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    outer = llvm::to_vector(loop.getInductionVars());
    // The row of each tensor; of one without the dim, its element.
    SmallVector<Value> rows;
    SmallVector<SmallVector<OpFoldResult>> offsets, sizesOf, strides;
    for (Value shared : loop.getRegionIterArgs()) {
      auto type = cast<RankedTensorType>(shared.getType());
      bool hasDim = type.getRank() > static_cast<int64_t>(outer.size());
      offsets.push_back(getAsOpFoldResult(outer));
      sizesOf.emplace_back(outer.size(), b.getIndexAttr(1));
      SmallVector<int64_t> shape;
      if (hasDim) {
        offsets.back().insert(offsets.back().begin() + dimension,
                              b.getIndexAttr(0));
        sizesOf.back().insert(sizesOf.back().begin() + dimension,
                              tensor::getMixedSize(b, loc, shared, dimension));
        shape.push_back(type.getDimSize(dimension));
      }
      strides.emplace_back(type.getRank(), b.getIndexAttr(1));
      rows.push_back(tensor::ExtractSliceOp::create(
          b, loc, RankedTensorType::get(shape, type.getElementType()), shared,
          offsets.back(), sizesOf.back(), strides.back()));
    }
    SmallVector<Value> written = row(rows);
    b.setInsertionPointToStart(loop.getTerminator().getBody());
    for (auto [i, part] : llvm::enumerate(written))
      tensor::ParallelInsertSliceOp::create(b, loc, part,
                                            loop.getRegionIterArgs()[i],
                                            offsets[i], sizesOf[i], strides[i]);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// The indices of position `at` of the row in `tensor`, which has all dims or is
  /// the row.
  SmallVector<Value> indices(Value tensor, Value at) const {
    if (cast<RankedTensorType>(tensor.getType()).getRank() <=
        static_cast<int64_t>(outer.size()))
      return {at};
    SmallVector<Value> all(outer);
    all.insert(all.begin() + dimension, at);
    return all;
  }
  /// Those of the row's element in `tensor`, which lacks the dim.
  SmallVector<Value> indices(Value tensor) const {
    return cast<RankedTensorType>(tensor.getType()).getRank() == 0
               ? SmallVector<Value>()
               : outer;
  }
  Value get(Value tensor, Value at) const {
    return tensor::ExtractOp::create(b, loc, tensor, indices(tensor, at));
  }
  Value set(Value tensor, Value at, Value element) const {
    return tensor::InsertOp::create(b, loc, element, tensor,
                                    indices(tensor, at));
  }
  SmallVector<Value> getAll(ValueRange tensors, Value at) const {
    return llvm::map_to_vector(tensors,
                               [&](Value tensor) { return get(tensor, at); });
  }
  SmallVector<Value> setAll(ValueRange tensors, Value at,
                            ValueRange elements) const {
    SmallVector<Value> written;
    for (auto [tensor, element] : llvm::zip_equal(tensors, elements))
      written.push_back(set(tensor, at, element));
    return written;
  }

  OpBuilder &b;
  Location loc;
  int64_t dimension;
  bool isParallel;
  Value zero, one, length;
  SmallVector<Value> sizes, outer;
};

/// `for at in [low, high)`, carrying tensors.
SmallVector<Value>
buildFor(Rows &rows, Value low, Value high, ValueRange tensors,
         function_ref<SmallVector<Value>(Value, ValueRange)> step) {
  OpBuilder &b = rows.b;
  auto loop = scf::ForOp::create(b, rows.loc, low, high, rows.one, tensors);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> written =
      step(loop.getInductionVar(), loop.getRegionIterArgs());
  if (loop.getBody()->empty() ||
      !loop.getBody()->back().hasTrait<OpTrait::IsTerminator>())
    scf::YieldOp::create(b, rows.loc, written);
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// Moves elements of `tensors` up by one, from `end` downwards, as long as
/// `before` says that the elements at hand go before the one below; then writes
/// the elements into the gap.
SmallVector<Value>
buildInsertion(Rows &rows, Value end, ValueRange tensors, ValueRange elements,
               function_ref<Value(ValueRange placed)> before) {
  OpBuilder &b = rows.b;
  Location loc = rows.loc;
  SmallVector<Value> state{end};
  state.append(tensors.begin(), tensors.end());
  SmallVector<Type> types = llvm::to_vector(ValueRange(state).getTypes());
  SmallVector<Location> locs(types.size(), loc);
  auto loop = scf::WhileOp::create(b, loc, types, state);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *test = b.createBlock(&loop.getBefore(), {}, types, locs);
    Value at = test->getArgument(0);
    Value inside =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, at, rows.zero);
    auto compare = scf::IfOp::create(b, loc, b.getI1Type(), inside,
                                     /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(compare.thenBlock());
      Value below = arith::SubIOp::create(b, loc, at, rows.one);
      Value moves =
          before(rows.getAll(test->getArguments().drop_front(), below));
      scf::YieldOp::create(b, loc, moves);
      b.setInsertionPointToStart(compare.elseBlock());
      scf::YieldOp::create(b, loc, inside);
    }
    scf::ConditionOp::create(b, loc, compare.getResult(0),
                             test->getArguments());
    Block *move = b.createBlock(&loop.getAfter(), {}, types, locs);
    Value here = move->getArgument(0);
    Value below = arith::SubIOp::create(b, loc, here, rows.one);
    ValueRange carried = move->getArguments().drop_front();
    SmallVector<Value> next{below};
    next.append(rows.setAll(carried, here, rows.getAll(carried, below)));
    scf::YieldOp::create(b, loc, next);
  }
  return rows.setAll(loop.getResults().drop_front(), loop.getResult(0),
                     elements);
}

struct LowerSort : OpRewritePattern<tm_tensor::SortOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tm_tensor::SortOp op,
                                PatternRewriter &rewriter) const override {
    Rows rows(rewriter, op, op.getOutputs().front(), op.getDimension());
    SmallVector<Value> sorted =
        rows.build(op.getOutputs(), [&](ValueRange tensors) {
          return buildFor(
              rows, rows.one, rows.length, tensors,
              [&](Value at, ValueRange carried) {
                SmallVector<Value> elements = rows.getAll(carried, at);
                auto before = [&](ValueRange placed) -> Value {
                  SmallVector<Value> pairs;
                  for (auto [a, b] : llvm::zip_equal(placed, elements))
                    pairs.append({a, b});
                  Value stays =
                      redfuse::inlineRegion(rewriter, op.getRegion(), pairs);
                  Value yes =
                      arith::ConstantIntOp::create(rewriter, op.getLoc(), 1, 1);
                  return arith::XOrIOp::create(rewriter, op.getLoc(), stays,
                                               yes);
                };
                return buildInsertion(rows, at, carried, elements, before);
              });
        });
    rewriter.replaceOp(op, sorted);
    return success();
  }
};

struct LowerTopk : OpRewritePattern<tm_tensor::TopkOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tm_tensor::TopkOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ValueRange inputs = op.getInputs();
    Rows rows(rewriter, op, inputs.front(), op.getDimension());
    Value k = tensor::DimOp::create(rewriter, loc, op.getOutputs().front(),
                                    op.getDimension());
    // Nothing can be placed in an output of extent zero.
    Value none = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                       k, rows.zero);
    Value length =
        arith::SelectOp::create(rewriter, loc, none, rows.zero, rows.length);
    Value last = arith::SubIOp::create(rewriter, loc, k, rows.one);
    Type indexType = getElementTypeOrSelf(op.getOutputs()[1].getType());
    auto place = [&](Value at, ValueRange carried) {
      Value value = rows.get(inputs[0], at);
      auto before = [&](ValueRange placed) -> Value {
        return redfuse::inlineRegion(rewriter, op.getRegion(),
                                     {value, placed[0]});
      };
      // A full output drops its last element, if that goes after the new one.
      Value room = arith::CmpIOp::create(rewriter, loc,
                                         arith::CmpIPredicate::ult, at, k);
      auto test = scf::IfOp::create(rewriter, loc, rewriter.getI1Type(), room,
                                    /*withElseRegion=*/true);
      {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(test.thenBlock());
        scf::YieldOp::create(rewriter, loc, room);
        rewriter.setInsertionPointToStart(test.elseBlock());
        scf::YieldOp::create(rewriter, loc,
                             before(rows.getAll(carried.take_front(), last)));
      }
      auto insert = scf::IfOp::create(rewriter, loc, carried.getTypes(),
                                      test.getResult(0),
                                      /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(insert.thenBlock());
      Value index;
      if (inputs.size() == 2)
        index = rows.get(inputs[1], at);
      else
        index = indexType.isIndex()
                    ? at
                    : arith::IndexCastOp::create(rewriter, loc, indexType, at);
      Value end = arith::MinUIOp::create(rewriter, loc, at, last);
      scf::YieldOp::create(
          rewriter, loc,
          buildInsertion(rows, end, carried, {value, index}, before));
      rewriter.setInsertionPointToStart(insert.elseBlock());
      scf::YieldOp::create(rewriter, loc, carried);
      return llvm::to_vector_of<Value>(insert.getResults());
    };
    SmallVector<Value> written =
        rows.build(op.getOutputs(), [&](ValueRange tensors) {
          return buildFor(rows, rows.zero, length, tensors, place);
        });
    rewriter.replaceOp(op, written);
    return success();
  }
};

struct LowerScan : OpRewritePattern<tm_tensor::ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tm_tensor::ScanOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value input = op.getInputs().front();
    Rows rows(rewriter, op, input, op.getDimension());
    bool inclusive = op.getInclusive();
    auto step = [&](Value at, ValueRange carried) {
      Value running = carried[0];
      Value first = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, at, rows.zero);
      auto value = scf::IfOp::create(
          rewriter, loc, getElementTypeOrSelf(running.getType()), first,
          /*withElseRegion=*/true);
      {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(value.thenBlock());
        Value start = inclusive
                          ? rows.get(input, at)
                          : tensor::ExtractOp::create(rewriter, loc, carried[1],
                                                      rows.indices(carried[1]))
                                .getResult();
        scf::YieldOp::create(rewriter, loc, start);
        rewriter.setInsertionPointToStart(value.elseBlock());
        Value before = arith::SubIOp::create(rewriter, loc, at, rows.one);
        Value element = rows.get(input, inclusive ? at : before);
        scf::YieldOp::create(
            rewriter, loc,
            redfuse::inlineRegion(rewriter, op.getRegion(),
                                  {rows.get(running, before), element}));
      }
      Value result = value.getResult(0);
      return SmallVector<Value>{
          rows.set(running, at, result),
          tensor::InsertOp::create(rewriter, loc, result, carried[1],
                                   rows.indices(carried[1]))};
    };
    SmallVector<Value> written =
        rows.build(op.getOutputs(), [&](ValueRange tensors) {
          return buildFor(rows, rows.zero, rows.length, tensors, step);
        });
    rewriter.replaceOp(op, written);
    return success();
  }
};

/// Updates one after another, each element of a slice after another. On a GPU,
/// where one thread would run all of it, a thread for each element of the dims
/// that no position speaks of: its updates never meet another's.
struct LowerScatter : OpRewritePattern<tm_tensor::ScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tm_tensor::ScatterOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value output = op.getOutputs()[0];
    if (redfuse::getTargetOf(op).getName() != "cpu")
      if (FailureOr<Value> grouped = redfuse::groupUpdates(op, rewriter);
          succeeded(grouped)) {
        rewriter.replaceOp(op, *grouped);
        return success();
      }
    Value count = tensor::DimOp::create(rewriter, loc, op.getInputs()[0], 0);
    SmallVector<int64_t> spread;
    if (redfuse::getTargetOf(op).getName() != "cpu") {
      for (int64_t d = op.getFirstSliceDim(), rank = getType(op).getRank();
           d < rank; ++d)
        if (!llvm::is_contained(op.getDimensionMap(), d))
          spread.push_back(d);
      // Threads go on where an assertion fails: there is no place at all here.
      Value none = arith::ConstantIndexOp::create(rewriter, loc, 0);
      for (int64_t d : op.getDimensionMap()) {
        if (getType(op).getDimSize(d) > 0)
          continue;
        Value extent = tensor::DimOp::create(rewriter, loc, output, d);
        Value isEmpty = arith::CmpIOp::create(
            rewriter, loc, arith::CmpIPredicate::eq, extent, none);
        count = arith::SelectOp::create(rewriter, loc, isEmpty, none, count);
      }
    }
    rewriter.replaceOp(
        op, spread.empty() ? buildUpdates(op, rewriter, output, count, {}, {})
                           : buildSpread(op, rewriter, output, count, spread));
    return success();
  }

private:
  static RankedTensorType getType(tm_tensor::ScatterOp op) {
    return cast<RankedTensorType>(op.getOutputs()[0].getType());
  }

  /// A parallel loop over the dims `spread` of `output`; each iteration updates
  /// what has its indices there.
  static Value buildSpread(tm_tensor::ScatterOp op, OpBuilder &b, Value output,
                           Value count, ArrayRef<int64_t> spread) {
    Location loc = op.getLoc();
    RankedTensorType type = getType(op);
    SmallVector<OpFoldResult> extents =
        tensor::getMixedSizes(b, loc, op.getInputs()[0]);
    SmallVector<OpFoldResult> counts;
    for (int64_t d : spread)
      counts.push_back(extents[1 + d - op.getFirstSliceDim()]);
    auto loop =
        scf::ForallOp::create(b, loc, counts, ValueRange(output), std::nullopt);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value shared = loop.getRegionIterArgs()[0];
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, shared);
    SmallVector<int64_t> shape;
    for (auto [d, iv] : llvm::zip_equal(spread, loop.getInductionVars())) {
      offsets[d] = iv;
      sizes[d] = b.getIndexAttr(1);
    }
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (!llvm::is_contained(spread, d))
        shape.push_back(type.getDimSize(d));
    Value part = tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(shape, type.getElementType()), shared,
        offsets, sizes, strides);
    Value written =
        buildUpdates(op, b, part, count, spread, loop.getInductionVars());
    b.setInsertionPointToStart(loop.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(b, loc, written, shared, offsets,
                                          sizes, strides);
    return loop.getResult(0);
  }

  /// The first `count` updates of `output`, which lacks the dims `fixed`: there
  /// every slice is read at `at`.
  static Value buildUpdates(tm_tensor::ScatterOp op, OpBuilder &b, Value output,
                            Value count, ArrayRef<int64_t> fixed,
                            ValueRange at) {
    Location loc = op.getLoc();
    Value updates = op.getInputs()[0], positions = op.getInputs()[1];
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    int64_t rank = getType(op).getRank(), first = op.getFirstSliceDim();
    // The loops: the updates, then the dims of a slice that are not fixed.
    SmallVector<Value> sizes{count};
    for (int64_t d = first; d < rank; ++d)
      if (!llvm::is_contained(fixed, d))
        sizes.push_back(tensor::DimOp::create(b, loc, updates, 1 + d - first));
    SmallVector<Value> lows(sizes.size(), zero), steps(sizes.size(), one);
    scf::LoopNest nest = scf::buildLoopNest(
        b, loc, lows, sizes, steps, output,
        [&](OpBuilder &inner, Location, ValueRange ivs,
            ValueRange carried) -> scf::ValueVector {
          SmallVector<Value> source{ivs.front()}, place;
          ValueRange free = ivs.drop_front(), given = at;
          for (int64_t d = 0; d < rank; ++d) {
            bool isFixed = llvm::is_contained(fixed, d);
            Value index;
            if (d >= first) {
              ValueRange &from = isFixed ? given : free;
              source.push_back(index = from.front());
              from = from.drop_front();
            }
            const auto *named = llvm::find(op.getDimensionMap(), d);
            if (named != op.getDimensionMap().end()) {
              Value number = arith::ConstantIndexOp::create(
                  inner, loc, named - op.getDimensionMap().begin());
              Value start = tensor::ExtractOp::create(
                  inner, loc, positions, ValueRange{ivs.front(), number});
              if (!start.getType().isIndex())
                start = arith::IndexCastOp::create(inner, loc,
                                                   inner.getIndexType(), start);
              index = index ? arith::AddIOp::create(inner, loc, index, start)
                            : start;
              Value extent =
                  tensor::DimOp::create(inner, loc, output, place.size());
              Value isInside = arith::CmpIOp::create(
                  inner, loc, arith::CmpIPredicate::ult, index, extent);
              cf::AssertOp::create(inner, loc, isInside,
                                   redfuse::describeFailure(
                                       op, "a position outside the output"));
              // A GPU's threads go on where an assertion fails.
              index =
                  arith::SelectOp::create(inner, loc, isInside, index, zero);
            }
            if (!isFixed)
              place.push_back(index);
          }
          Value update = tensor::ExtractOp::create(inner, loc, updates, source);
          Value old = tensor::ExtractOp::create(inner, loc, carried[0], place);
          Value written =
              redfuse::inlineRegion(inner, op.getRegion(), {update, old});
          return {
              tensor::InsertOp::create(inner, loc, written, carried[0], place)};
        });
    return nest.results.front();
  }
};

/// A declared reducer of an op that stays a loop.
struct LowerCombine : OpRewritePattern<redfuse::CombineOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(redfuse::CombineOp op,
                                PatternRewriter &rewriter) const override {
    if (isa<redfuse::IndexProgramOpInterface>(op->getParentOp()))
      return rewriter.notifyMatchFailure(op, "in the body of a redfuse op");
    rewriter.replaceOp(op,
                       redfuse::inlineCombiner(rewriter, op.getCombine(),
                                               op.getLeft(), op.getRight()));
    return success();
  }
};

struct LowerTMTensor : redfuse::impl::LowerTMTensorBase<LowerTMTensor> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateLowerTMTensorPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateLowerTMTensorPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerSort, LowerTopk, LowerScan, LowerScatter, LowerCombine>(
      patterns.getContext());
}
