//===- FusionCost.cpp - what a fusion group costs -------------------------===//
#include "redfuse/Analysis/FusionCost.h"

#include "redfuse/Algebra/Derivation.h"
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/TileProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse;

/// The target of the module around `op`; null if it says none.
static TargetAttr findTarget(Operation *op) {
  for (Operation *p = op; p; p = p->getParentOp())
    if (auto target = p->getAttrOfType<TargetAttr>(kTargetAttr))
      return target;
  return {};
}

TargetAttr redfuse::getTargetOf(Operation *op) {
  if (TargetAttr target = findTarget(op))
    return target;
  MLIRContext *context = op->getContext();
  return TargetAttr::get(context, StringAttr::get(context, "cpu"),
                         /*units=*/2, /*vector_bits=*/256, /*l1=*/32 << 10,
                         /*l2=*/1 << 20, /*flops=*/150, /*bandwidth=*/20,
                         /*launch_ns=*/2000, /*chip=*/{});
}

const Chip *redfuse::getChipOf(Operation *op) {
  TargetAttr target = findTarget(op);
  return target && target.getChip() ? findChip(target.getChip()) : nullptr;
}

FailureOr<const Chip *> redfuse::requireChip(Operation *op) {
  if (const Chip *chip = getChipOf(op))
    return chip;
  return op->emitError() << "expected '" << kTargetAttr
                         << "' on the module to name a chip (" << listChips()
                         << "): redfuse-attach-target=chip=... puts it there";
}

double redfuse::getOpCost(Operation *op) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<IndexOp, YieldOp, arith::ConstantOp, arith::IndexCastOp>(
          [](auto) { return 0.0; })
      .Case<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp,
            arith::RemSIOp, arith::RemUIOp, math::SqrtOp, math::RsqrtOp>(
          [](auto) { return kDivisionCost; })
      .Case([](CombiningOpInterface combining) {
        if (combining.getReducer() == Reducer::TopK)
          return kDivisionCost;
        double cost = combining->getNumOperands();
        for (Region &region : combining->getRegions())
          for (Operation &inner : region.getOps())
            cost += getOpCost(&inner);
        return cost;
      })
      .Case([](tensor::ExtractOp) { return kExtractCost; })
      .Default([](Operation *other) {
        if (isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
                math::CeilOp, math::RoundEvenOp, math::RoundOp, math::TruncOp,
                math::CopySignOp, math::FPowIOp>(other))
          return kPairCost;
        return isa<math::MathDialect>(other->getDialect()) ? kFunctionCost
                                                           : 1.0;
      });
}

bool redfuse::isCheapMap(CascadeOp op) {
  double cost = 0;
  // Whether a position is inside of bounds is found once for all elements there.
  llvm::DenseSet<Value> conditions;
  auto isOfPositions = [&](Value v) {
    Operation *def = v.getDefiningOp();
    return conditions.contains(v) ||
           isa_and_nonnull<IndexOp, arith::ConstantOp>(def) ||
           (!def && cast<BlockArgument>(v).getOwner() != &op.getBody().front());
  };
  for (Operation &inner : op.getBody().front()) {
    if (isRootOp(&inner) || !isMemoryEffectFree(&inner))
      return false;
    double c = getOpCost(&inner);
    if (c >= kDivisionCost)
      return false;
    if (isa<arith::CmpIOp, arith::AndIOp>(inner) &&
        llvm::all_of(inner.getOperands(), isOfPositions))
      conditions.insert(inner.getResult(0));
    else
      cost += c;
  }
  return cost <= kCheapMapCost;
}

double redfuse::getAssumedExtent(int64_t extent) {
  return ShapedType::isDynamic(extent) ? kDynamicExtent : extent;
}

double redfuse::getTensorBytes(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  double count = 1;
  for (int64_t extent : type.getShape())
    count *= getAssumedExtent(extent);
  Type element = type.getElementType();
  return count *
         (element.isIndex()
              ? 8
              : std::max<double>(1, element.getIntOrFloatBitWidth() / 8));
}

namespace {
using VariableSet = llvm::SmallSetVector<unsigned, 8>;

/// Adds up what a group costs.
class CostBuilder {
public:
  CostBuilder(const FusionSpace &space, TargetAttr target,
              const llvm::DenseSet<Operation *> &scalar)
      : space(space), target(target), scalar(scalar) {}

  GroupCost run();

private:
  /// The work of one reduction with what is computed only for it, where its
  /// result lives, and what it reduces (nothing for a scan).
  struct ReductionWork {
    VariableSet into, over;
    double work;
  };
  /// How often the values of a cascade are made, and at what price.
  struct Evaluation {
    double times = 0, work = 0;
  };
  /// A sum of products.
  struct Product {
    ReduceOp reduce;
    /// On matrix units, as far as types say; of floats that instructions multiply.
    bool isNarrow, isFloat;
    /// Not a window.
    bool isPlain;
    /// One kernel may have it and other products.
    bool isChained;
    /// Both factors are in memory, as they are or padded with a constant.
    bool isCopied;
    /// One of narrow factors is computed, and too large to be copied first.
    bool isComputed;
    /// Multiply-adds; a core packs the operands where it is alone.
    double work;
    bool isPacked;
    /// What one factor alone has of the result: rows, or columns; and those of each.
    VariableSet sides, left, right;
  };

  double points(const VariableSet &variables) const;
  VariableSet variablesOf(const FusionSpace::Instance &instance,
                          const SmallBitVector &dims) const;
  void priceProducts();
  void priceProductsOfCores();
  double getLargestInside() const;
  bool isMasked() const;
  void priceWindows();
  bool isFoldOfProduct() const;
  bool isFoldedAlong(const VariableSet &columns) const;
  bool mayBeChained(const FusionSpace::Instance &instance, ReduceOp reduce,
                    const DimSets &sets) const;
  bool isFromMemory(unsigned instance, Value v, bool isPlain) const;
  bool isPacked(unsigned instance, Value v, const VariableSet &others) const;
  bool isPackedAlone(const FusionSpace::Instance &instance, ReduceOp reduce,
                     const DimSets &sets) const;
  bool isNarrow(unsigned instance, Value v) const;
  bool isByte(unsigned instance, Value v) const;
  void addProducts(unsigned number);
  double workOf(const FusionSpace::Instance &instance,
                const DimSets &sets) const;
  void addInstance(const FusionSpace::Instance &instance);
  void addRepeats();
  void addTraffic();
  std::optional<VariableSet> findGrid() const;
  double countCuts(unsigned variable) const;
  void addParallelism();
  bool canSplitAlong(const VariableSet &dims) const;
  bool canSplit() const;
  void addTime();

  const FusionSpace &space;
  TargetAttr target;
  /// Cascades whose products are done by threads, if not alone.
  const llvm::DenseSet<Operation *> &scalar;
  GroupCost cost;
  SmallVector<ReductionWork> reductions;
  SmallVector<Product, 0> products;
  /// A reduction or scan that is no product, and the variables that it keeps.
  struct OtherRoot {
    Operation *op;
    VariableSet into;
    bool hasWindow;
  };
  SmallVector<OtherRoot> others;
  /// How much faster than other units do products and their multiplications go.
  llvm::DenseMap<Operation *, double> gains;
  llvm::MapVector<Operation *, Evaluation> evaluations;
};
} // namespace

/// Whether neighbours along every dim of `expr` are apart in what it indexes, as
/// behind a window with strides or at a position from data: such a reduction has
/// no vectors.
static bool isScattered(AffineExpr expr) {
  return expr
      .walk([](AffineExpr e) {
        return e.getKind() == AffineExprKind::Mul || isa<AffineSymbolExpr>(e)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether matrix units of a GPU do a sum of products: of 16-bit floats, or of values
/// that the program rounds to such.
static bool isForMatrixUnits(ReduceOp reduce, const DimSets &sets,
                             function_ref<double(unsigned)> extentOf) {
  if (!isMatrixProduct(reduce, sets, extentOf))
    return false;
  Operation *mul = findProduct(reduce);
  bool isRounded = reduce->hasAttr(kNarrowedAttr);
  for (Value v : mul->getOperands()) {
    if (auto extend = v.getDefiningOp<arith::ExtFOp>())
      v = extend.getIn();
    bool isNarrow = v.getType().isF16() || v.getType().isBF16();
    if (!isNarrow && !isRounded)
      return false;
    isRounded &= isNarrow;
  }
  return true;
}

double CostBuilder::points(const VariableSet &variables) const {
  double count = 1;
  for (unsigned v : variables)
    count *= getAssumedExtent(space.getVariable(v).extent);
  return count;
}

VariableSet CostBuilder::variablesOf(const FusionSpace::Instance &instance,
                                     const SmallBitVector &dims) const {
  SmallVector<AffineExpr> exprs;
  for (unsigned d : dims.set_bits())
    exprs.push_back(instance.dims[d]);
  return space.getVariablesOf(exprs);
}

/// Whether matrix instructions multiply what a sum of products of floats has, as it is
/// or in parts.
static bool isOfFloats(ReduceOp reduce) {
  if (!reduce.getOperand(0).getType().isF32())
    return false;
  Operation *mul = findProduct(reduce);
  return llvm::all_of(mul->getOperands(), [](Value v) {
    if (auto extend = v.getDefiningOp<arith::ExtFOp>())
      v = extend.getIn();
    Type type = v.getType();
    return type.isF16() || type.isBF16() || type.isF32() ||
           isa<FloatTF32Type, Float8E4M3FNType, Float8E5M2Type>(type);
  });
}

/// The element that a producer of the group yields for what an access reads.
static Value getProducedElement(const FusionSpace &space,
                                const FusionSpace::Access &access) {
  CascadeOp producer = space.getInstances()[access.producer].op;
  unsigned number = cast<OpResult>(access.tensor).getResultNumber();
  return producer.getBody().front().getTerminator()->getOperand(number);
}

/// Whether a value is an integer of 8 bits, extended, perhaps by another cascade of the group:
/// matrix units take products of such from memory.
bool CostBuilder::isByte(unsigned instance, Value v) const {
  if (Operation *def = v.getDefiningOp())
    return isa<arith::ExtSIOp, arith::ExtUIOp>(def) &&
           def->getOperand(0).getType().isInteger(8);
  const FusionSpace::Access *access = space.findAccess(instance, v);
  return access && access->producer >= 0 &&
         isByte(access->producer, getProducedElement(space, *access));
}

/// Whether a value is a 16-bit float, extended, perhaps by another cascade of the group.
bool CostBuilder::isNarrow(unsigned instance, Value v) const {
  if (auto extend = v.getDefiningOp<arith::ExtFOp>())
    v = extend.getIn();
  if (v.getType().isF16() || v.getType().isBF16())
    return true;
  const FusionSpace::Access *access = space.findAccess(instance, v);
  if (!access || access->producer < 0)
    return false;
  return isNarrow(access->producer, getProducedElement(space, *access));
}

/// The dims of a product's result that this factor alone has.
static SmallBitVector findSide(ReduceOp reduce, const DimSets &sets,
                               unsigned factor) {
  Operation *mul = findProduct(reduce);
  SmallBitVector side = toDimSet(reduce.getInto(), sets.getNumDims());
  side &= sets[mul->getOperand(factor)];
  side.reset(sets[mul->getOperand(1 - factor)]);
  return side;
}

/// Whether an index is a dim, or a slice along one.
static bool isDimOrSlice(AffineExpr e) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(e);
  if (sum && sum.getKind() == AffineExprKind::Add &&
      isa<AffineConstantExpr>(sum.getRHS()))
    e = sum.getLHS();
  return isa<AffineDimExpr>(e);
}

/// Whether no index is a window along a summed dim.
static bool isReadPlainly(CascadeOp op, ReduceOp reduce) {
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr e : map.getResults())
      for (int64_t d : reduce.getOver())
        if (e.isFunctionOfDim(unsigned(d)) && !isDimOrSlice(e))
          return false;
  return true;
}

/// Whether a product may be a part of a chain like attention: its sums are short, or
/// it has so few columns on one side that a block has them all: what is computed for it
/// is not computed again for others, and what follows has whole rows.
bool CostBuilder::mayBeChained(const FusionSpace::Instance &instance,
                               ReduceOp reduce, const DimSets &sets) const {
  unsigned n = sets.getNumDims();
  auto count = [&](const SmallBitVector &dims) {
    return points(variablesOf(instance, dims));
  };
  if (count(toDimSet(reduce.getOver(), n)) <= kMatrixColumns)
    return true;
  Operation *mul = findProduct(reduce);
  return llvm::any_of(mul->getOperands(), [&](Value operand) {
    SmallBitVector columns = toDimSet(reduce.getInto(), n);
    columns.reset(sets[operand]);
    return count(columns) <= kMatrixColumns;
  });
}

/// Whether a value is an element of a tensor from outside, converted or padded at most:
/// then the tiles of a product are copied to shared memory, without a register between.
/// Beside a window, what is read along none (a filter) has a copy of its own if that pays
/// (`redfuse-prepack-operands`).
bool CostBuilder::isFromMemory(unsigned instance, Value v, bool isPlain) const {
  while (Operation *def = v.getDefiningOp()) {
    if (auto select = dyn_cast<arith::SelectOp>(def);
        select && select.getFalseValue().getDefiningOp<arith::ConstantOp>())
      v = select.getTrueValue();
    else if (isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp,
                 arith::SIToFPOp, arith::UIToFPOp>(def))
      v = def->getOperand(0);
    else
      return false;
  }
  const FusionSpace::Access *access = space.findAccess(instance, v);
  if (!access || access->producer < 0)
    return access;
  if (!isPlain && llvm::none_of(access->index, [&](AffineExpr e) {
        return space.getVariablesOf({e}).size() > 1;
      }))
    return true;
  return isFromMemory(access->producer, getProducedElement(space, *access),
                      isPlain);
}

/// Whether a factor is made of numbers of few bits, perhaps by another cascade of the group,
/// and there are so few rows beside it that lanes unpack what they multiply.
bool CostBuilder::isPacked(unsigned instance, Value v,
                           const VariableSet &others) const {
  if (points(others) > kFewOthers)
    return false;
  for (unsigned depth = 0; depth < 8; ++depth) {
    if (isOfPackedNumbers(v))
      return true;
    const FusionSpace::Access *access = nullptr;
    SmallVector<Value> open{v};
    while (!open.empty() && !access) {
      Value next = open.pop_back_val();
      if (Operation *def = next.getDefiningOp())
        llvm::append_range(open, def->getOperands());
      else if (const FusionSpace::Access *found =
                   space.findAccess(instance, next);
               found && found->producer >= 0)
        access = found;
    }
    if (!access)
      return false;
    instance = unsigned(access->producer);
    v = getProducedElement(space, *access);
  }
  return false;
}

/// Whether cores gain by packing the operands of a product that is alone: there is enough of
/// it, and of both sides.
bool CostBuilder::isPackedAlone(const FusionSpace::Instance &instance,
                                ReduceOp reduce, const DimSets &sets) const {
  unsigned n = sets.getNumDims();
  double sums = points(variablesOf(instance, toDimSet(reduce.getOver(), n)));
  double results = points(variablesOf(instance, toDimSet(reduce.getInto(), n)));
  return sums >= kLeastPackedSums && sums * results >= kLeastPackedProducts &&
         llvm::all_of(ArrayRef<unsigned>{0, 1}, [&](unsigned factor) {
           return points(
                      variablesOf(instance, findSide(reduce, sets, factor))) >=
                  kLeastSideOfCores;
         });
}

void CostBuilder::addProducts(unsigned number) {
  const FusionSpace::Instance &instance = space.getInstances()[number];
  CascadeOp op = instance.op;
  FailureOr<DimSets> sets =
      DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
  if (failed(sets))
    return;
  auto extentOfDim = [&](unsigned d) {
    return points(space.getVariablesOf({instance.dims[d]}));
  };
  auto intoOf = [&](ReduceOp reduce) {
    return toDimSet(reduce.getInto(), sets->getNumDims());
  };
  // Cores have kernels for products of few rows, too.
  double longestOfVector =
      target.getName() == "cpu" ? kLeastSideOfCores - 1 : kVectorExtent;
  for (Operation &inner : op.getBody().front()) {
    if (!instance.neededOps.contains(&inner))
      continue;
    auto reduce = dyn_cast<ReduceOp>(inner);
    if (!reduce ||
        !isMatrixProduct(reduce, *sets, extentOfDim, longestOfVector)) {
      if (isRootOp(&inner))
        others.push_back(
            {&inner,
             reduce ? variablesOf(instance, intoOf(reduce)) : VariableSet(),
             reduce && !isReadPlainly(op, reduce)});
      continue;
    }
    bool isPlain = isReadPlainly(op, reduce);
    SmallBitVector left = findSide(reduce, *sets, 0),
                   right = findSide(reduce, *sets, 1);
    ValueRange factors = findProduct(reduce)->getOperands();
    bool areNarrow = isForMatrixUnits(reduce, *sets, extentOfDim) ||
                     llvm::all_of(factors, [&](Value factor) {
                       return isNarrow(number, factor);
                     });
    bool areBytes = llvm::any_of(
        factors, [&](Value factor) { return isByte(number, factor); });
    auto isComputed = [&](unsigned i, const SmallBitVector &others) {
      return points(variablesOf(instance, (*sets)[factors[i]])) >
                 kSmallFactor &&
             !isFromMemory(number, factors[i], isPlain) &&
             !isPacked(number, factors[i], variablesOf(instance, others));
    };
    products.push_back(
        {reduce, areNarrow, isOfFloats(reduce) || areBytes, isPlain,
         isPlain && !scalar.contains(op) &&
             mayBeChained(instance, reduce, *sets),
         llvm::all_of(factors,
                      [&](Value factor) {
                        return isFromMemory(number, factor,
                                            /*isPlain=*/false);
                      }),
         (areNarrow || areBytes) &&
             (isComputed(0, right) || isComputed(1, left)),
         points(variablesOf(instance, intoOf(reduce))) *
             points(variablesOf(
                 instance, toDimSet(reduce.getOver(), sets->getNumDims()))),
         isPackedAlone(instance, reduce, *sets),
         variablesOf(instance, left | right), variablesOf(instance, left),
         variablesOf(instance, right)});
  }
}

/// Whether everything behind a product is reduced over its columns.
bool CostBuilder::isFoldedAlong(const VariableSet &columns) const {
  auto lacks = [&](const VariableSet &variables) {
    return llvm::none_of(columns,
                         [&](unsigned v) { return variables.contains(v); });
  };
  if (points(columns) <= kMatrixColumns ||
      !llvm::all_of(others,
                    [&](const OtherRoot &other) { return lacks(other.into); }))
    return false;
  for (auto [i, result] : llvm::enumerate(space.getOutputs())) {
    const FusionSpace::Instance &instance =
        space.getInstances()[space.getOutputInstance(i)];
    CascadeOp op = instance.op;
    AffineMap map = op.getIndexingMapsArray()[op.getInputs().size() +
                                              result.getResultNumber()];
    if (!lacks(space.getVariablesOf(
            llvm::map_to_vector(map.getResults(), [&](AffineExpr e) {
              return instance.dims[cast<AffineDimExpr>(e).getPosition()];
            }))))
      return false;
  }
  return true;
}

/// Whether it is one product of matrices in memory, and states of its rows, into which its
/// columns are folded tile by tile: the product itself is stored by nobody.
bool CostBuilder::isFoldOfProduct() const {
  if (products.size() != 1 || others.empty())
    return false;
  const Product &product = products.front();
  return product.isPlain && product.isCopied &&
         (isFoldedAlong(product.left) || isFoldedAlong(product.right));
}

/// By how they are generated. A product that is alone, with what follows element by
/// element, is a contraction on matrix units. Products of 16-bit floats may be parts of
/// a chain like attention, whose matrices between them are large: all of them together, a
/// window beside them (a depthwise convolution before a pointwise one) ends that. Or they
/// are folded into states. All others are done by threads, far slower than what threads
/// do otherwise: products of f32 beside anything else, for matrix units take an f32 only
/// in parts, and from memory.
void CostBuilder::priceProducts() {
  for (unsigned i = 0, end = space.getInstances().size(); i < end; ++i)
    addProducts(i);
  if (target.getName() == "cpu")
    return priceProductsOfCores();
  if (target.getName() != "cuda")
    return;
  const Chip *chip = target.getChip() ? findChip(target.getChip()) : nullptr;
  bool hasTiles = chip && chip->has(AsyncCopies);
  bool isSole = products.size() == 1 && others.empty();
  bool isChain =
      llvm::none_of(others, [](const OtherRoot &o) { return o.hasWindow; }) &&
      llvm::all_of(products, [](const Product &product) {
        return product.isChained || !product.isFloat;
      });
  bool isFold = isFoldOfProduct();
  for (Product &product : products) {
    double gain = 1;
    if (product.isNarrow && (isSole || isChain || isFold || !hasTiles))
      gain = kMatrixGain;
    else if (hasTiles && product.isFloat && !isSole)
      gain = 1 / kScalarProducts;
    if (hasTiles && isSole && !product.isPlain && !product.isCopied)
      gain /= kComputedWindows;
    if (hasTiles && isSole && product.isPlain && product.isComputed)
      gain /= kComputedFactors;
    gains[product.reduce] = gain;
    gains[product.reduce.getOperand(0).getDefiningOp()] = gain;
  }
  priceWindows();
}

/// On cores a product that is alone, with what follows element by element, has packed operands
/// (lib/Codegen/CPU/PackedPlan.h). One in a kernel with others, or with reductions, has not. A
/// chain like attention is not priced so where the matrix between its products is large beside
/// their work, or where one kernel leaves out a part of it, by a mask of positions.
void CostBuilder::priceProductsOfCores() {
  bool isSole = products.size() == 1 && others.empty();
  bool isChain =
      llvm::none_of(others, [](const OtherRoot &o) { return o.hasWindow; }) &&
      llvm::all_of(products, [](const Product &p) { return p.isChained; });
  double work = 0;
  for (const Product &product : products)
    work += product.work;
  if (isSole ||
      (isChain && (getLargestInside() >= kInsideOfChain * work || isMasked())))
    return;
  for (Product &product : products) {
    if (!product.isPacked)
      continue;
    double side = std::min(points(product.left), points(product.right));
    double slower = kUnpackedProducts * std::max(1.0, kFewOfSide / side);
    for (Operation *op :
         {product.reduce.getOperation(), findProduct(product.reduce)})
      gains[op] = 1 / slower;
  }
}

/// Bytes of the largest tensor that one member makes for another.
double CostBuilder::getLargestInside() const {
  double largest = 0;
  for (const FusionSpace::Access &access : space.getAccesses())
    if (access.producer >= 0)
      largest = std::max(largest, getTensorBytes(access.tensor));
  return largest;
}

/// Whether a member compares positions along two dims.
bool CostBuilder::isMasked() const {
  auto isOfPositions = [](Operation *op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (!compare)
      return false;
    llvm::SmallSetVector<Operation *, 8> seen;
    llvm::SmallDenseSet<uint64_t> dims;
    seen.insert(compare);
    for (unsigned i = 0; i < seen.size(); ++i) {
      if (auto index = dyn_cast<IndexOp>(seen[i]))
        dims.insert(index.getDim());
      for (Value operand : seen[i]->getOperands())
        if (Operation *def = operand.getDefiningOp())
          seen.insert(def);
    }
    return dims.size() > 1;
  };
  return llvm::any_of(space.getInstances(),
                      [&](const FusionSpace::Instance &instance) {
                        return llvm::any_of(instance.neededOps, isOfPositions);
                      });
}

/// Windows that another reduction folds again are read element by element, each thread its
/// own.
void CostBuilder::priceWindows() {
  for (const OtherRoot &window : others)
    if (window.hasWindow && llvm::any_of(others, [&](const OtherRoot &other) {
          return !llvm::equal(other.into, window.into);
        }))
      gains[window.op] = 1 / kFoldedWindows;
}

double CostBuilder::workOf(const FusionSpace::Instance &instance,
                           const DimSets &sets) const {
  double work = 0;
  for (Operation *inner : instance.neededOps) {
    SmallBitVector dims(sets.getNumDims());
    for (Value operand : inner->getOperands())
      dims |= sets[operand];
    if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      dims |= toDimSet(reduce.getOver(), dims.size());
      // A top-k's rank is not iterated by its input.
      dims |= toDimSet(reduce.getInto(), dims.size());
    } else if (auto index = dyn_cast<IndexOp>(inner)) {
      dims.set(index.getDim());
    } else if (auto scan = dyn_cast<ScanOp>(inner)) {
      dims.set(scan.getDim());
    }
    auto priced = gains.find(inner);
    double gain = priced == gains.end() ? 1 : priced->second;
    work += getOpCost(inner) * points(variablesOf(instance, dims)) / gain;
  }
  bool isReduced = llvm::any_of(instance.neededOps, llvm::IsaPred<ReduceOp>);
  if (isReduced && llvm::any_of(instance.dims, isScattered))
    work *= std::max<double>(1, target.getVectorBits() / 32);
  return work;
}

void CostBuilder::addInstance(const FusionSpace::Instance &instance) {
  CascadeOp op = instance.op;
  FailureOr<DimSets> sets =
      DimSets::compute(cast<IndexProgramOpInterface>(op.getOperation()));
  if (failed(sets))
    return;
  double work = workOf(instance, *sets);
  cost.work += work;
  for (Operation *inner : instance.neededOps) {
    SmallBitVector kept, over(sets->getNumDims());
    if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      kept = toDimSet(reduce.getInto(), sets->getNumDims());
      over = toDimSet(reduce.getOver(), sets->getNumDims());
    } else if (auto scan = dyn_cast<ScanOp>(inner)) {
      kept = (*sets)[inner->getResult(0)];
      kept.reset(scan.getDim());
    } else {
      continue;
    }
    reductions.push_back(
        {variablesOf(instance, kept), variablesOf(instance, over), work});
  }
  if (isCheapMap(op))
    return;
  // How many values are made, against how many there are.
  double made = points(space.getVariablesOf(instance.dims)), there = 1;
  for (int64_t extent : getStaticExtents(op))
    there *= getAssumedExtent(extent);
  Evaluation &all = evaluations[op];
  all.times += there > 0 ? made / there : 1;
  all.work += work;
}

void CostBuilder::addRepeats() {
  double wasted = 0, most = 0;
  for (auto &[op, all] : evaluations) {
    double more = all.times > 1 ? all.work * (1 - 1 / all.times) : 0;
    wasted += more;
    if (more > most) {
      most = more;
      cost.repeated = op;
      cost.times = all.times;
    }
  }
  if (wasted > 0)
    cost.repeats = cost.work / (cost.work - wasted);
}

/// Indices that wrap around.
static double countWraps(ArrayRef<AffineExpr> index) {
  double count = 0;
  for (AffineExpr expr : index)
    expr.walk([&](AffineExpr e) {
      count += e.getKind() == AffineExprKind::Mod ||
               e.getKind() == AffineExprKind::FloorDiv;
    });
  return count;
}

/// Bytes that come from memory and go there, each once. What a GPU reads at several places
/// is in a cache, and takes instructions.
void CostBuilder::addTraffic() {
  llvm::DenseMap<Value, double> reads;
  for (const FusionSpace::Access &access : space.getAccesses()) {
    if (access.producer >= 0)
      continue;
    if (reads.contains(access.tensor) && target.getName() == "cuda")
      cost.work += (kReadAgain + kWrappedIndex * countWraps(access.index)) *
                   points(space.getVariablesOf(access.index));
    double elements = 1, bytes = getTensorBytes(access.tensor);
    for (int64_t e : cast<RankedTensorType>(access.tensor.getType()).getShape())
      elements *= getAssumedExtent(e);
    double touched = bytes / std::max<double>(1, elements) *
                     points(space.getVariablesOf(access.index));
    double &read = reads[access.tensor];
    read = std::min(bytes, read + touched);
  }
  for (auto &[tensor, bytes] : reads)
    cost.bytes += bytes;
  for (Value result : space.getOutputs())
    cost.bytes += getTensorBytes(result);
}

/// The dims of every output.
std::optional<VariableSet> CostBuilder::findGrid() const {
  std::optional<VariableSet> grid;
  for (auto [i, result] : llvm::enumerate(space.getOutputs())) {
    const FusionSpace::Instance &instance =
        space.getInstances()[space.getOutputInstance(i)];
    CascadeOp op = instance.op;
    AffineMap map = op.getIndexingMapsArray()[op.getInputs().size() +
                                              result.getResultNumber()];
    VariableSet own;
    for (AffineExpr e : map.getResults())
      for (unsigned v : space.getVariablesOf(
               instance.dims[cast<AffineDimExpr>(e).getPosition()]))
        own.insert(v);
    if (!grid)
      grid = own;
    else
      grid->remove_if([&](unsigned v) { return !own.contains(v); });
  }
  return grid;
}

/// The blocks that a kernel may be cut into along a dim of every output: a reduction that
/// lacks it is repeated for its every tile, which may cost too much (1).
double CostBuilder::countCuts(unsigned variable) const {
  double extent = getAssumedExtent(space.getVariable(variable).extent),
         again = 0;
  for (const ReductionWork &reduction : reductions)
    if (!reduction.into.contains(variable))
      again += reduction.work;
  // Matrix units take tiles of a chain's rows, not one row each; what is reduced between
  // its products may be split over blocks besides.
  bool isOfTiles =
      products.size() > 1 && others.empty() &&
      llvm::any_of(products, [&](const Product &product) {
        return product.isNarrow && product.sides.contains(variable);
      });
  if (again == 0)
    return std::max(1.0, isOfTiles ? std::ceil(extent / kMatrixRows) : extent);
  double cuts = std::ceil(extent / kCutTile);
  return again * (cuts - 1) > kAffordableRepeats * cost.work
             ? 1
             : std::max(1.0, cuts);
}

void CostBuilder::addParallelism() {
  std::optional<VariableSet> grid = findGrid();
  for (unsigned v : grid ? *grid : VariableSet())
    cost.parallelism *= countCuts(v);
}

/// Whether blocks can fold a split each along `dims`. What reductions are over beside
/// these is whole in every block: its threads must hold it. So are the states, and the
/// last block to finish merges those of all. What is reduced of merged states alone (the mean
/// of the losses of rows) would wait for that, which no split does.
bool CostBuilder::canSplitAlong(const VariableSet &dims) const {
  VariableSet grid = findGrid().value_or(VariableSet());
  grid.remove_if([&](unsigned v) {
    return countCuts(v) <
           getAssumedExtent(space.getVariable(v).extent) / kCutTile;
  });
  return llvm::all_of(reductions, [&](const ReductionWork &reduction) {
    double whole = 1;
    size_t numShared = 0;
    for (unsigned v : reduction.over) {
      int64_t extent = space.getVariable(v).extent;
      if (dims.contains(v))
        ++numShared;
      else
        whole *= ShapedType::isDynamic(extent) ? kHeldElements + 1 : extent;
    }
    VariableSet states = reduction.into;
    states.remove_if([&](unsigned v) { return grid.contains(v); });
    bool isBefore = llvm::all_of(
        dims, [&](unsigned v) { return reduction.into.contains(v); });
    return whole <= kHeldElements &&
           (numShared == 0
                ? isBefore
                : numShared == dims.size() && points(states) <= kSplitStates);
  });
}

/// Whether blocks can fold a split each of what some reduction is over, or of what it
/// is over beside the dims of another one (`redfuse-nest-reductions`).
bool CostBuilder::canSplit() const {
  return llvm::any_of(reductions, [&](const ReductionWork &longer) {
    return canSplitAlong(longer.over) ||
           llvm::any_of(reductions, [&](const ReductionWork &nested) {
             VariableSet rest = longer.over;
             rest.remove_if(
                 [&](unsigned v) { return nested.over.contains(v); });
             return !rest.empty() && canSplitAlong(rest);
           });
  });
}

void CostBuilder::addTime() {
  double units = target.getUnits();
  double moving = cost.bytes / target.getBandwidth();
  double rate = target.getFlops();
  // A GPU's blocks can fold a split each and merge in the same launch, where
  // reading the data is what takes the time.
  if (target.getName() == "cuda" && moving > cost.work / rate && canSplit())
    cost.parallelism = std::max(cost.parallelism, units);
  // The share of the units that work: blocks come in rounds.
  double busy =
      cost.parallelism / (units * std::ceil(cost.parallelism / units));
  // One unit alone cannot draw the whole bandwidth, but more than its share.
  double drawn = std::min(1.0, kBandwidthOfOne * busy);
  cost.timeIfBusy = target.getLaunchNs() + std::max(cost.work / rate, moving);
  cost.time = target.getLaunchNs() +
              std::max(cost.work / (rate * busy), moving / drawn);
}

GroupCost CostBuilder::run() {
  priceProducts();
  for (const FusionSpace::Instance &instance : space.getInstances())
    addInstance(instance);
  addRepeats();
  addTraffic();
  addParallelism();
  addTime();
  return cost;
}

GroupCost redfuse::getGroupCost(const FusionSpace &space, TargetAttr target,
                                const llvm::DenseSet<Operation *> &scalar) {
  return CostBuilder(space, target, scalar).run();
}
