//===- OperandBox.cpp - operands that tensor maps describe ----------------===//
#include "redfuse/Codegen/GPU/Contractions/OperandBox.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Dims of a tensor map, and steps of a window, at most.
static constexpr size_t kMostDims = 5;
static constexpr int64_t kMostStep = 8;
/// A row of a box, and what strides are multiples of.
static constexpr int64_t kRowBytes = 128, kStrideBytes = 16;

namespace {
/// Multiples of dims and a constant at the end.
using Linear = SmallVector<int64_t>;

class BoxFinder {
public:
  BoxFinder(const FoundContraction &found, LaunchOp launch,
            const KernelSpace &space, unsigned sum, int64_t elementBytes)
      : op(found.op), launch(launch), space(space), form(found.form()),
        sum(sum), elementBytes(elementBytes) {}

  std::optional<OperandBox> find(const CopiedOperand &operand,
                                 ArrayRef<unsigned> rows) {
    MemRefType type = typeInLaunch(operand.source, op, launch);
    AffineMap map = op.getMapOfBodyArgument(operand.source.getArgNumber());
    std::optional<OperandBox> box;
    if (!operand.inside)
      box = findBox(*findFlatIndex(type, map), rows);
    if (!box)
      box = findWindow(operand, type, map, rows);
    if (!box || box->dims.size() > kMostDims ||
        box->offset * elementBytes % kStrideBytes != 0)
      return std::nullopt;
    for (const OperandBox::Dim &dim : ArrayRef(box->dims).drop_front())
      if (dim.stride <= 0 || dim.stride * elementBytes % kStrideBytes != 0)
        return std::nullopt;
    return box;
  }

private:
  int64_t extentOf(unsigned d) const { return space.staticExtents[d]; }
  Linear unit(unsigned d, int64_t factor = 1) const {
    Linear of(space.numDims + 1, 0);
    of[d] = factor;
    return of;
  }
  /// The least and the largest value.
  std::pair<int64_t, int64_t> boundsOf(const Linear &of) const {
    int64_t least = of.back(), most = of.back();
    for (auto [d, factor] : llvm::enumerate(ArrayRef(of).drop_back()))
      (factor < 0 ? least : most) += factor * (extentOf(d) - 1);
    return {least, most};
  }

  std::optional<OperandBox> findBox(const FlatIndex &index,
                                    ArrayRef<unsigned> rows);
  std::optional<OperandBox> findWindow(const CopiedOperand &operand,
                                       MemRefType type, AffineMap map,
                                       ArrayRef<unsigned> rows);
  std::optional<OperandBox::Window> placeWindow(Linear index, unsigned row,
                                                int64_t size, bool isWrapped);
  std::optional<Linear> linearOf(Value v);
  bool collect(Value condition);
  bool isRequired(const Linear &atLeastZero);

  IndexProgramOpInterface op;
  LaunchOp launch;
  const KernelSpace &space;
  const MatrixForm &form;
  unsigned sum;
  int64_t elementBytes;
  /// What must not be negative where an element is not padding, and whether a window
  /// has it.
  SmallVector<std::pair<Linear, bool>> conditions;
};
} // namespace

/// Rows at one stride, others each at its own.
std::optional<OperandBox> BoxFinder::findBox(const FlatIndex &index,
                                             ArrayRef<unsigned> rows) {
  if (!index.wrapped.empty())
    return std::nullopt;
  OperandBox box;
  box.offset = index.offset + index.factors.back();
  box.dims.push_back({extentOf(sum), 1, unit(sum)});
  OperandBox::Dim ofRows{1, 0, {}};
  for (unsigned d : llvm::reverse(rows)) {
    if (extentOf(d) == 1)
      continue;
    if (ofRows.stride == 0)
      ofRows.stride = index.factors[d];
    else if (index.factors[d] != ofRows.stride * ofRows.size)
      return std::nullopt;
    ofRows.size *= extentOf(d);
  }
  if (ofRows.size == 1)
    ofRows.stride = kStrideBytes / elementBytes;
  SmallVector<OperandBox::Dim> others;
  for (auto [d, factor] :
       llvm::enumerate(ArrayRef(index.factors).drop_back())) {
    if (factor == 0 || d == sum || llvm::is_contained(rows, d) ||
        extentOf(d) == 1)
      continue;
    others.push_back({extentOf(d), factor, unit(d)});
  }
  llvm::stable_sort(
      others, [](const auto &v, const auto &w) { return v.stride < w.stride; });
  box.dims.push_back(ofRows);
  for (OperandBox::Dim &dim : others) {
    // Dims that follow each other are one.
    OperandBox::Dim &last = box.dims.back();
    if (box.dims.size() > 2 && dim.stride == last.stride * last.size) {
      for (auto [factor, more] : llvm::zip_equal(last.factors, dim.factors))
        factor += more * last.size;
      last.size *= dim.size;
      continue;
    }
    box.dims.push_back(dim);
  }
  return box;
}

/// An index as multiples of dims.
std::optional<Linear> BoxFinder::linearOf(Value v) {
  if (auto index = v.getDefiningOp<IndexOp>())
    return unit(index.getDim());
  APInt number;
  if (matchPattern(v, m_ConstantInt(&number)))
    return unit(space.numDims, number.getSExtValue());
  Operation *def = v.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(def))
    return std::nullopt;
  std::optional<Linear> left = linearOf(def->getOperand(0)),
                        right = linearOf(def->getOperand(1));
  if (!left || !right)
    return std::nullopt;
  if (isa<arith::MulIOp>(def)) {
    if (!matchPattern(def->getOperand(1), m_ConstantInt(&number)))
      return std::nullopt;
    for (int64_t &factor : *left)
      factor *= number.getSExtValue();
    return left;
  }
  for (auto [factor, more] : llvm::zip_equal(*left, *right))
    factor += isa<arith::AddIOp>(def) ? more : -more;
  return left;
}

/// Writes a condition as numbers that are not negative; false where it is something else.
bool BoxFinder::collect(Value condition) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return collect(both.getLhs()) && collect(both.getRhs());
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return false;
  std::optional<Linear> left = linearOf(compare.getLhs()),
                        right = linearOf(compare.getRhs());
  if (!left || !right)
    return false;
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = compare.getPredicate();
  if (predicate == Predicate::slt || predicate == Predicate::sle)
    std::swap(left, right);
  else if (predicate != Predicate::sgt && predicate != Predicate::sge)
    return false;
  for (auto [factor, less] : llvm::zip_equal(*left, *right))
    factor -= less;
  if (predicate == Predicate::slt || predicate == Predicate::sgt)
    left->back() -= 1;
  conditions.push_back({std::move(*left), false});
  return true;
}

/// Whether an element is padding where that number is negative, and nowhere else for
/// the same reason.
bool BoxFinder::isRequired(const Linear &atLeastZero) {
  bool is = boundsOf(atLeastZero).first >= 0;
  for (auto &[condition, isMet] : conditions)
    if (condition == atLeastZero)
      is = isMet = true;
  return is;
}

/// The places of a window along a dim of `size` elements at `index`, of which `row` has the
/// places. Where it is wrapped, what lies outside is padding.
std::optional<OperandBox::Window> BoxFinder::placeWindow(Linear index,
                                                         unsigned row,
                                                         int64_t size,
                                                         bool isWrapped) {
  OperandBox::Window window;
  int64_t constant = index.back();
  window.step = index[row];
  window.lower = constant;
  bool isFound = !isWrapped;
  for (int64_t wraps = 0; isWrapped && !isFound && wraps < 3; ++wraps) {
    // In the tensor from 0 to `size`.
    index.back() = constant - wraps * size;
    Linear fromEnd(index);
    for (int64_t &factor : fromEnd)
      factor = -factor;
    fromEnd.back() += size - 1;
    SmallVector<std::pair<Linear, bool>> before = conditions;
    isFound = isRequired(index) && isRequired(fromEnd);
    if (!isFound)
      conditions = before;
    window.lower = index.back();
  }
  if (!isFound || window.step < 1 || window.step > kMostStep)
    return std::nullopt;
  window.upper = window.lower + (extentOf(row) - 1) * window.step - (size - 1);
  window.offset = std::move(index);
  window.offset[row] = 0;
  window.offset.back() = 0;
  return window;
}

std::optional<OperandBox> BoxFinder::findWindow(const CopiedOperand &operand,
                                                MemRefType type, AffineMap map,
                                                ArrayRef<unsigned> rows) {
  OperandBox box;
  conditions.clear();
  if (operand.inside && !collect(operand.inside))
    return std::nullopt;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, box.offset)))
    return std::nullopt;
  int64_t rank = type.getRank();
  auto channel = dyn_cast<AffineDimExpr>(map.getResults().back());
  if (rank < 2 || !channel || channel.getPosition() != sum)
    return std::nullopt;
  box.dims.push_back({type.getShape().back(), 1, unit(sum)});
  SmallVector<unsigned> left;
  for (unsigned d : rows)
    if (extentOf(d) > 1)
      left.push_back(d);
  bool hasImages = false;
  for (int64_t i = rank - 2; i >= 0; --i) {
    AffineExpr expr = map.getResult(i);
    int64_t size = type.getDimSize(i);
    auto mod = dyn_cast<AffineBinaryOpExpr>(expr);
    bool isWrapped = mod && mod.getKind() == AffineExprKind::Mod;
    if (isWrapped) {
      auto by = dyn_cast<AffineConstantExpr>(mod.getRHS());
      if (!by || by.getValue() != size)
        return std::nullopt;
      expr = mod.getLHS();
    }
    Linear index;
    if (failed(getFlattenedAffineExpr(expr, space.numDims, 0, &index)) ||
        index.size() != space.numDims + 1)
      return std::nullopt;
    for (unsigned d = 0; d < space.numDims; ++d)
      if (extentOf(d) == 1)
        index[d] = 0;
    if (size == 1 && !isWrapped &&
        boundsOf(index) == std::pair<int64_t, int64_t>())
      continue;
    // Rows have one dim of the tensor each, in its order; the rest is of the sum.
    if (left.empty() || hasImages)
      return std::nullopt;
    unsigned row = left.pop_back_val();
    int64_t step = index[row];
    bool isPlain = !isWrapped && index == unit(row) && size == extentOf(row);
    for (unsigned d = 0; d < space.numDims; ++d)
      if (d != row && index[d] != 0 &&
          (index[d] < 0 || !llvm::is_contained(form.sums, d)))
        return std::nullopt;
    if (isPlain && left.empty() && !box.windows.empty()) {
      hasImages = true;
      box.dims.push_back({size, strides[i], unit(row)});
      continue;
    }
    std::optional<OperandBox::Window> window =
        placeWindow(index, row, size, isWrapped);
    if (!window)
      return std::nullopt;
    OperandBox::Dim dim{size, strides[i], unit(row, step)};
    dim.factors.back() = window->lower;
    box.dims.push_back(std::move(dim));
    box.windows.push_back(std::move(*window));
  }
  if (!left.empty() || box.windows.empty() ||
      llvm::any_of(conditions, [&](const auto &condition) {
        return !condition.second && boundsOf(condition.first).first < 0;
      }))
    return std::nullopt;
  if (!hasImages)
    box.dims.push_back({1, box.dims.back().size * box.dims.back().stride,
                        Linear(space.numDims + 1, 0)});
  // All dims of a window have 16 bits together.
  size_t count = box.windows.size();
  if (count > 3)
    return std::nullopt;
  int64_t room = int64_t(1) << (16 / count), half = room / 2;
  for (const OperandBox::Window &window : box.windows)
    if (window.lower < -half || window.lower >= half || window.upper < -half ||
        window.upper >= half || boundsOf(window.offset).second >= room)
      return std::nullopt;
  return box;
}

std::optional<std::pair<OperandBox, OperandBox>>
redfuse::findOperandBoxes(const FoundContraction &found, LaunchOp launch,
                          const KernelSpace &space,
                          const WarpgroupOperands &operands) {
  const MatrixForm &form = found.form();
  if (llvm::any_of(space.staticExtents, ShapedType::isDynamic))
    return std::nullopt;
  BoxFinder finder(found, launch, space, operands.sum,
                   elementBits(form.instruction.left) / 8);
  std::optional<OperandBox> left = finder.find(operands.left, form.rows);
  if (!left)
    return std::nullopt;
  std::optional<OperandBox> right = finder.find(operands.right, form.columns);
  if (!right)
    return std::nullopt;
  return std::pair(std::move(*left), std::move(*right));
}

int64_t redfuse::countBoxSteps(const FoundContraction &found,
                               const KernelSpace &space,
                               const WarpgroupOperands &operands) {
  const MatrixForm &form = found.form();
  int64_t steps = 1;
  for (unsigned d : form.sums) {
    int64_t extent = space.staticExtents[d];
    if (d == operands.sum)
      extent = llvm::divideCeil(extent * elementBits(form.instruction.left) / 8,
                                kRowBytes);
    steps *= extent;
  }
  return steps;
}
