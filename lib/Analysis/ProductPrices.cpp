//===- ProductPrices.cpp - what products of a fusion group cost -----------===//
#include "CostBuilder.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace redfuse;

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

/// Whether no index is a window along a summed dim.
static bool isReadPlainly(CascadeOp op, ReduceOp reduce) {
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr e : map.getResults())
      for (int64_t d : reduce.getOver())
        if (e.isFunctionOfDim(unsigned(d)) &&
            !isa<AffineDimExpr>(withoutOffset(e)))
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
  for (unsigned i = 0; i < space.getOutputs().size(); ++i)
    if (!lacks(variablesOfOutput(i)))
      return false;
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
