//===- NormalizeTables.cpp - tables of positions as positions -------------===//
//
// What takes a view apart by its strides leaves tables of indices behind. One
// that is a sum of multiples of its own positions is computed where it is read,
// which shows later patterns that a gather by it is a slice.
//
//===----------------------------------------------------------------------===//
#include "NormalizeCommon.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

/// The integers of a constant tensor, in order.
static FailureOr<SmallVector<int64_t>> getIntegers(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  ElementsAttr elements;
  if (!type || !matchPattern(tensor, m_Constant(&elements)) ||
      !type.getElementType().isInteger())
    return failure();
  SmallVector<int64_t> numbers;
  if (auto dense = dyn_cast<DenseIntElementsAttr>(elements)) {
    for (const APInt &number : dense.getValues<APInt>())
      numbers.push_back(number.getSExtValue());
    return numbers;
  }
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob || !type.getElementType().isInteger(64) ||
      blob->getData().size() != type.getNumElements() * sizeof(int64_t))
    return failure();
  numbers.resize(type.getNumElements());
  std::memcpy(numbers.data(), blob->getData().data(), blob->getData().size());
  return numbers;
}

namespace {

/// first + sum over the dims of step * position.
struct Ramp {
  int64_t first, least;
  SmallVector<int64_t> steps;
};

FailureOr<Ramp> getRamp(Value tensor) {
  FailureOr<SmallVector<int64_t>> numbers = getIntegers(tensor);
  if (failed(numbers) || numbers->empty())
    return failure();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  Ramp ramp{numbers->front(), *llvm::min_element(*numbers), {}};
  ramp.steps.resize(shape.size());
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t d = int64_t(shape.size()) - 1, stride = 1; d >= 0; --d) {
    strides[d] = stride;
    if (shape[d] > 1)
      ramp.steps[d] = (*numbers)[stride] - ramp.first;
    stride *= shape[d];
  }
  for (auto [at, number] : llvm::enumerate(*numbers)) {
    int64_t expected = ramp.first;
    for (size_t d = 0; d < shape.size(); ++d)
      expected += int64_t(at) / strides[d] % shape[d] * ramp.steps[d];
    if (expected != number)
      return failure();
  }
  return ramp;
}

struct InlineRamps : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not on tensors");
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(input);
      AffineMap map = op.getMatchingIndexingMap(input);
      if (argument.use_empty() || !map.isProjectedPermutation())
        continue;
      FailureOr<Ramp> ramp = getRamp(input->get());
      if (failed(ramp))
        continue;
      inlineRamp(op, argument, map, *ramp, rewriter);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "reads no table of positions");
  }

private:
  static void inlineRamp(linalg::GenericOp op, BlockArgument argument,
                         AffineMap map, const Ramp &ramp,
                         PatternRewriter &rewriter) {
    Location loc = op.getLoc();
    rewriter.setInsertionPointToStart(op.getBody());
    Value sum;
    for (auto [expr, step] : llvm::zip_equal(map.getResults(), ramp.steps)) {
      if (step == 0)
        continue;
      Value term = linalg::IndexOp::create(
          rewriter, loc, cast<AffineDimExpr>(expr).getPosition());
      if (step != 1)
        term = arith::MulIOp::create(
            rewriter, loc, term,
            arith::ConstantIndexOp::create(rewriter, loc, step));
      sum = sum ? arith::AddIOp::create(rewriter, loc, sum, term).getResult()
                : term;
    }
    if (!sum || ramp.first) {
      Value first = arith::ConstantIndexOp::create(rewriter, loc, ramp.first);
      sum = sum ? arith::AddIOp::create(rewriter, loc, sum, first).getResult()
                : first;
    }
    Value number =
        arith::IndexCastOp::create(rewriter, loc, argument.getType(), sum);
    // Negative positions count from the end; here are none.
    if (ramp.least >= 0)
      for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
        auto compare = dyn_cast<arith::CmpIOp>(user);
        if (compare && compare.getPredicate() == arith::CmpIPredicate::slt &&
            compare.getLhs() == argument &&
            matchPattern(compare.getRhs(), m_Zero()))
          rewriter.replaceOpWithNewOp<arith::ConstantIntOp>(compare, 0, 1);
      }
    rewriter.replaceAllUsesWith(argument, number);
  }
};

} // namespace

void redfuse::populateTablePatterns(RewritePatternSet &patterns) {
  patterns.add<InlineRamps>(patterns.getContext());
  // To the type of a table and back.
  arith::IndexCastOp::getCanonicalizationPatterns(patterns,
                                                  patterns.getContext());
}
