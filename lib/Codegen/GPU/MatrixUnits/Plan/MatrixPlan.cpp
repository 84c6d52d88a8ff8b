//===- MatrixPlan.cpp - which kernels matrix units can run ----------------===//
#include "MatrixPlanner.h"

#include "redfuse/Algebra/Derivation.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

Value redfuse::stripExtension(Value v) {
  if (auto extend = v.getDefiningOp<arith::ExtFOp>())
    return extend.getIn();
  return v;
}

Value redfuse::factorOf(Value v) {
  Operation *def = v.getDefiningOp();
  if (isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp,
                      arith::UIToFPOp>(def) &&
      def->getOperand(0).getType().isInteger(8))
    return def->getOperand(0);
  return stripExtension(v);
}

bool MatrixPlanner::findOps() {
  auto ops = llvm::to_vector(
      kernel.getBody().front().getOps<IndexProgramOpInterface>());
  if (ops.size() == 1 && isa<CascadeOp>(ops[0].getOperation())) {
    plan.step = ops[0];
    return true;
  }
  if (ops.size() != 2 || !isa<FoldOp>(ops[0].getOperation()) ||
      !isa<FinalizeOp>(ops[1].getOperation()))
    return refuse("the kernel is neither one cascade nor one fold with its "
                  "finalisation");
  plan.step = ops[0];
  plan.fold = cast<FoldOp>(ops[0].getOperation());
  plan.finalize = cast<FinalizeOp>(ops[1].getOperation());
  if (plan.fold.getOver().size() != 1)
    return refuse("it is folded along several dims");
  if (plan.fold.getNumResults() != plan.fold.getNumStates())
    return refuse("the fold has outputs of its own");
  plan.stream = plan.fold.getOver()[0];
  return true;
}

/// Whether an index changes along a dim that a product sums over.
bool MatrixPlanner::isOfSums(AffineExpr index) const {
  return llvm::any_of(plan.products, [&](const MatrixProduct &product) {
    ReduceOp reduce = product.reduce;
    return llvm::any_of(reduce.getOver(), [&](int64_t d) {
      return index.isFunctionOfDim(unsigned(d));
    });
  });
}

/// Whether all rows begin at known multiples of 16 bytes, with their elements side by side.
static bool beginsAtPieces(MemRefType type) {
  int64_t piece = 16 / bytesOf(type.getElementType());
  if (type.getLayout().isIdentity()) {
    int64_t last = type.getShape().back();
    return !ShapedType::isDynamic(last) && last % piece == 0;
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  strides.back() = offset;
  return llvm::all_of(strides, [&](int64_t elements) {
    return !ShapedType::isDynamic(elements) && elements % piece == 0;
  });
}

/// Whether tiles of v can be copied as boxes of a tensor map.
bool MatrixPlanner::findSource(Value v, unsigned free, unsigned sum,
                               MatrixSource &source) {
  auto arg = cast<BlockArgument>(v);
  AffineMap map = simplifyForExtents(
      plan.step.getMapOfBodyArgument(arg.getArgNumber()), space.staticExtents);
  auto tensor =
      dyn_cast<BlockArgument>(plan.step->getOperand(arg.getArgNumber()));
  if (!tensor)
    return refuse("a matrix is made inside the kernel");
  auto type =
      dyn_cast<MemRefType>(launch->getOperand(tensor.getArgNumber()).getType());
  if (!type || type.getRank() > 5 || type.getRank() < 2)
    return refuse("a matrix has one dim, or more than 5");
  if (!plan.target.hasWgmma && !type.getLayout().isIdentity())
    return refuse("a matrix is not contiguous");
  if (!beginsAtPieces(type))
    return refuse("rows of a matrix are no multiple of 16 bytes");
  std::optional<unsigned> freeAt, sumAt;
  for (auto [i, e] : llvm::enumerate(map.getResults())) {
    // Contractions gather what is read through a window, along any dims.
    if (!plan.stream && !isa<AffineDimExpr>(e) && isOfSums(e))
      return refuse("a matrix is read through a window");
    if (!e.isFunctionOfDim(free) && !e.isFunctionOfDim(sum))
      continue;
    auto d = dyn_cast<AffineDimExpr>(e);
    if (!d || (d.getPosition() == free ? freeAt : sumAt))
      return refuse("a matrix is read along a diagonal or by an expression");
    (d.getPosition() == free ? freeAt : sumAt) = i;
  }
  if (!freeAt || !sumAt)
    return refuse("a matrix lacks a dim");
  // Copies of tensor maps put zeros behind what is summed; those of warps only behind
  // the tensor, and what lies between may be no number.
  int64_t summed = space.staticExtents[sum];
  if (!plan.target.hasWgmma && type.getDimSize(*sumAt) != summed &&
      !ShapedType::isDynamic(summed) && summed % plan.sumTile() != 0)
    return refuse("a matrix goes on behind what is summed, within a tile");
  source = {tensor, map, *freeAt, *sumAt};
  if (*freeAt + 1 != map.getNumResults() && *sumAt + 1 != map.getNumResults())
    return refuse("neither dim of a matrix is contiguous");
  return true;
}

/// What the unit takes a factor for.
static Type elementOf(Value factor) {
  Type type = factorOf(factor).getType();
  if (!type.isInteger())
    return type;
  bool isSigned = isa<arith::ExtSIOp, arith::SIToFPOp>(factor.getDefiningOp());
  return IntegerType::get(type.getContext(), 8,
                          isSigned ? IntegerType::Signed
                                   : IntegerType::Unsigned);
}

bool MatrixPlanner::placeOperands(MatrixProduct &product) {
  auto [a, c] = operands[&product - plan.products.data()];
  std::optional<unsigned> n = columnsOf(product.reduce, a, c);
  if (!n)
    return refuse("the right operand has no columns");
  product.n = *n;
  product.isSecond = plan.stream && product.k == *plan.stream;
  if (plan.stream && !product.isSecond && product.n != *plan.stream)
    return refuse("a product is the same in all steps");
  Value right = factorOf(c);
  bool areOfBytes = areBytes(product, a, c);
  product.element = elementOf(c);
  if (!findSource(right, product.n, product.k, product.right))
    return false;
  product.right.element = product.element;
  // The left operand: of the same type, or rounded to it where the program
  // did so too.
  product.left = a;
  Value narrow = factorOf(a);
  bool isNarrow =
      narrow != a && (narrow.getType() == product.element || areOfBytes);
  if (!isNarrow) {
    auto narrowed = product.reduce->getAttrOfType<TypeAttr>(kNarrowedAttr);
    if (!narrowed || narrowed.getValue() != product.element ||
        !product.isSecond)
      return refuse("the left operand of a product has more digits than the "
                    "right one");
  }
  std::optional<int64_t> k = extentOf(product.k);
  bool isOneSum = product.outerSums.empty();
  bool inRegisters =
      product.isSecond || (k && *k <= kMaxRegisterSum && plan.fold && isOneSum);
  if (!product.isSecond && plan.fold && isOneSum && k && *k > kMaxRegisterSum &&
      *k <= kMaxColumns && isNarrow && isa<BlockArgument>(narrow)) {
    MatrixSource source;
    std::string reason = why;
    if (findSource(narrow, plan.m, product.k, source) &&
        source.sum + 1 == source.map.getNumResults()) {
      product.keptLeft = source;
      product.isResident = true;
      return true;
    }
    why = reason;
  }
  if (!inRegisters && isNarrow && isa<BlockArgument>(narrow)) {
    product.tiledLeft.emplace();
    if (!findSource(narrow, plan.m, product.k, *product.tiledLeft))
      return false;
    product.tiledLeft->element = elementOf(a);
    auto isAlongSum = [](const MatrixSource &source) {
      return source.sum + 1 == source.map.getNumResults();
    };
    if (areOfBytes &&
        !(isAlongSum(product.right) && isAlongSum(*product.tiledLeft)))
      return refuse("factors of 8 bits do not lie along the sum in memory");
  } else if (inRegisters && !product.isSecond && isNarrow &&
             isa<BlockArgument>(narrow)) {
    MatrixSource source;
    std::string reason = why;
    // Rows of 16 bytes along the sum; else it is loaded element by element.
    if (findSource(narrow, plan.m, product.k, source) &&
        source.sum + 1 == source.map.getNumResults())
      product.keptLeft = source;
    why = reason;
  } else if (!inRegisters) {
    // A product of what was computed in the block, along a dim that it has whole.
    if (!isOneSum)
      return refuse("the left operand of a sum over several dims is computed");
    if (!k || *k > kMaxColumns)
      return refuse("the left operand of a product is computed and too long to "
                    "be kept");
  }
  return true;
}

/// A back product is added to what a state becomes without it.
bool MatrixPlanner::findState(MatrixProduct &product) {
  auto yield = cast<YieldOp>(plan.step.getProgramBody()->getTerminator());
  Value result = product.reduce.getResult(0);
  for (auto [i, v] : llvm::enumerate(yield.getValues())) {
    auto add = v.getDefiningOp<arith::AddFOp>();
    if (!add || (add.getLhs() != result && add.getRhs() != result))
      continue;
    if (!result.hasOneUse() || !add->hasOneUse())
      return refuse("what a product adds to a state is used elsewhere");
    auto zero = dyn_cast<FloatAttr>(plan.fold.getIdentities()[i]);
    if (!zero || !zero.getValue().isZero())
      return refuse("a product is added to a state that does not start at 0");
    product.state = i;
    product.carried = add.getLhs() == result ? add.getRhs() : add.getLhs();
    return true;
  }
  return refuse("a product over the streamed dim is not added to a state");
}

/// Every value must fit a fragment.
bool MatrixPlanner::checkValues() {
  auto check = [&](IndexProgramOpInterface op, const DimSets &dims) {
    DenseMap<Value, bool> isMatrixOnly;
    for (MatrixProduct &product : plan.products) {
      // Operands that never become fragments.
      auto [a, c] = operands[&product - plan.products.data()];
      for (Value v : {c, factorOf(c), product.reduce.getOperand(0)})
        isMatrixOnly[v] = true;
      if (product.scale)
        for (Value v :
             product.reduce.getOperand(0).getDefiningOp()->getOperands())
          if (v != product.scale)
            isMatrixOnly[v] = true;
      if (product.tiledLeft)
        for (Value v : {a, factorOf(a)})
          isMatrixOnly[v] = true;
    }
    // Scales are those of a block of the sum at a time.
    SmallBitVector ofScales(space.numDims);
    for (const MatrixProduct &product : plan.products)
      if (product.scale)
        for (unsigned d : product.outerSums)
          ofScales.set(d);
    auto fits = [&](Value v) {
      if (isMatrixOnly.lookup(v))
        return true;
      unsigned columns = 0;
      for (unsigned d : dims[v].set_bits())
        columns += d != plan.m && plan.isColumn(d);
      for (unsigned d : dims[v].set_bits())
        if (d != plan.m && !plan.isColumn(d) && !ofScales.test(d) &&
            !(space.schedule &&
              llvm::is_contained(space.schedule.getGrid(), d)))
          return refuse("a value has a dim that is neither of the grid nor of "
                        "a product");
      if (columns > 1)
        return refuse("a value has two dims of columns");
      return true;
    };
    for (BlockArgument arg : op.getProgramBody()->getArguments())
      if (!arg.use_empty() && !fits(arg))
        return false;
    for (Operation &inner : *op.getProgramBody()) {
      // What is asserted of rows is told once for each.
      if (auto assertion = dyn_cast<cf::AssertOp>(inner)) {
        for (unsigned d : dims[assertion.getArg()].set_bits())
          if (d != plan.m &&
              (plan.isColumn(d) ||
               !(space.schedule &&
                 llvm::is_contained(space.schedule.getGrid(), d))))
            return refuse("it asserts something of its columns");
        continue;
      }
      if (isa<tensor::ExtractOp, ScanOp, MergeTopkOp, CombineOp>(inner) ||
          (inner.getNumRegions() != 0 && !isa<ReduceOp>(inner)))
        return refuse("it has '" + inner.getName().getStringRef() + "'");
      if (auto reduce = dyn_cast<ReduceOp>(inner)) {
        if (reduce.isDeclared() && reduce.getOrdered())
          return refuse("it has a reducer that is not commutative");
        if (llvm::is_contained(reduce.getOver(), plan.m))
          return refuse("a reduction is over the rows");
        bool isProduct = llvm::any_of(plan.products, [&](MatrixProduct &p) {
          return p.reduce == reduce;
        });
        if (!isProduct && (reduce.getOver().size() != 1 ||
                           !plan.isColumn(reduce.getOver()[0])))
          return refuse("a reduction is over a dim that is no column");
      }
      for (Value v : inner.getResults())
        if (!fits(v))
          return false;
    }
    return true;
  };
  if (!check(plan.step, *sets))
    return false;
  if (!plan.finalize)
    return true;
  auto finalize = cast<IndexProgramOpInterface>(plan.finalize.getOperation());
  FailureOr<DimSets> own = DimSets::compute(finalize);
  return succeeded(own) && check(finalize, *own);
}

/// Blocks have rows of their own, and every result has them.
bool MatrixPlanner::checkResults() {
  if (!space.schedule ||
      !llvm::is_contained(space.schedule.getGrid(), int64_t(plan.m)))
    return refuse("the rows are not divided between blocks");
  IndexProgramOpInterface last =
      plan.finalize
          ? cast<IndexProgramOpInterface>(plan.finalize.getOperation())
          : plan.step;
  SmallVector<AffineMap> maps = last.getIndexingMapsArray();
  for (AffineMap map :
       ArrayRef(maps).take_back(last.getProgramInits().size())) {
    SmallBitVector dims =
        getDimsOf(simplifyForExtents(map, space.staticExtents));
    if (!getDimsOf(map).test(plan.m))
      return refuse("a result has no rows");
    if (llvm::count_if(dims.set_bits(), [&](unsigned d) {
          return d != plan.m && plan.isColumn(d);
        }) > 1)
      return refuse("a result has two dims of columns");
  }
  for (int64_t extent : space.staticExtents)
    if (extent == 0)
      return refuse("a dim is empty");
  return true;
}

/// Ranks are columns too.
bool MatrixPlanner::addRanks() {
  for (auto reduce : plan.step.getProgramBody()->getOps<ReduceOp>()) {
    if (reduce.getReducer() != Reducer::TopK)
      continue;
    Type value = reduce.getOperand(0).getType(),
         number = reduce.getOperand(1).getType();
    if (!isa<FloatType>(value) || value.getIntOrFloatBitWidth() > 32 ||
        (!number.isIndex() && number.getIntOrFloatBitWidth() < 32))
      return refuse(
          "a top-k is of other than floats of up to 32 bits, numbered "
          "by 32 bits or 64");
    if (reduce.getOver()[0] == plan.stream)
      return refuse("a top-k is over the streamed dim");
    for (unsigned d : (*sets)[reduce.getResult(0)].set_bits()) {
      if ((*sets)[reduce.getOperand(0)].test(d) ||
          (*sets)[reduce.getOperand(1)].test(d))
        continue;
      std::optional<int64_t> count = extentOf(d);
      if (!count || *count > kMaxRanks)
        return refuse(
            "a top-k has an unknown number of ranks, or more than 32");
      plan.widths[d] = llvm::alignTo(*count, 8);
    }
  }
  return true;
}

bool MatrixPlanner::matchProducts() {
  if (!findOps())
    return false;
  FailureOr<DimSets> dims = DimSets::compute(plan.step);
  if (failed(dims))
    return refuse("the body is ill-formed");
  sets = *dims;
  if (!findProducts() || !chooseRows())
    return false;
  for (MatrixProduct &product : plan.products)
    if (!placeOperands(product) || (product.isSecond && !findState(product)))
      return false;
  Type element = plan.products.front().element;
  plan.elementBytes = bytesOf(element);
  plan.isOfIntegers = element.isInteger();
  for (const MatrixProduct &product : plan.products) {
    if (bytesOf(product.element) != plan.elementBytes)
      return refuse("some of its products are of 8 bits, others of 16");
    if (product.element.isInteger() != plan.isOfIntegers ||
        (plan.isOfIntegers && !product.tiledLeft))
      return refuse("some of its products are of integers, others of floats");
  }
  return plan.target.hasWgmma || placeForMmaSync(plan, why);
}

bool MatrixPlanner::checkBody() {
  if (!addRanks() || !checkValues())
    return false;
  std::optional<int64_t> rows = extentOf(plan.m);
  int64_t least = plan.stream ? kLeastStreamedRows : kLeastRows;
  if (rows && *rows < least)
    return refuse("it has fewer than " + std::to_string(least) + " rows");
  return checkResults();
}

std::optional<PlannedMatrix>
redfuse::planMatrix(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                    const MatrixTarget &target, int64_t units,
                    std::string &why) {
  return MatrixPlanner(kernel, launch, space, target, why).choose(units);
}

std::optional<PlannedMatrix> redfuse::readPlan(KernelOp kernel, LaunchOp launch,
                                               const KernelSpace &space,
                                               const MatrixTarget &target,
                                               MatrixPlanAttr record,
                                               std::string &why) {
  return MatrixPlanner(kernel, launch, space, target, why).read(record);
}
