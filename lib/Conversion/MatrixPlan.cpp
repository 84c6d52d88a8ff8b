//===- MatrixPlan.cpp - which kernels matrix units can run -----------------===//
#include "MatrixPlan.h"

#include "redfuse/Algebra/Derivation.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace redfuse;

/// The widest product, and the longest sum whose left operand fits registers.
static constexpr int64_t kMaxColumns = 256, kMaxRegisterSum = 128;
/// With fewer rows other kernels read memory as fast.
static constexpr int64_t kLeastRows = 5;
/// 32-bit registers a thread may have for fragments where three warpgroups
/// multiply: it has 160 in all.
static constexpr int64_t kRegistersOfThree = 128;
/// Columns of a step where rows are few: memory takes the time, and the first and
/// the last tile should be short.
static constexpr int64_t kFewRowsColumns = 64;
/// How much faster three warpgroups are than two, with shorter tiles of columns,
/// where the rows are whole tiles of either; and how long the streamed dim has to be
/// where predicates cut tiles.
static constexpr double kGainOfThree = 1.08;
static constexpr int64_t kLongStream = 8192;
/// The widest states and tiles for which a block has enough with half of a
/// multiprocessor's registers and shared memory.
static constexpr int64_t kHalfColumns = 128;
/// The longest list of a top-k.
static constexpr int64_t kMaxRanks = 32;

Value redfuse::stripExtension(Value v) {
  if (auto extend = v.getDefiningOp<arith::ExtFOp>())
    return extend.getIn();
  return v;
}

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

namespace {
class MatrixPlanner {
public:
  MatrixPlanner(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                const MatrixTarget &target, int64_t units, std::string &why)
      : kernel(kernel), launch(launch), space(space), units(units), why(why) {
    plan.target = target;
  }

  std::optional<MatrixPlan> run();

private:
  bool refuse(const Twine &reason) {
    why = reason.str();
    return false;
  }
  bool findOps();
  bool findProducts();
  bool chooseRows();
  bool placeOperands(MatrixProduct &product);
  bool findSource(Value v, unsigned free, unsigned sum, MatrixSource &source);
  bool findState(MatrixProduct &product);
  bool checkValues();
  bool checkResults();
  bool chooseWidths();
  int64_t registersOfOthers();
  std::optional<int64_t> streamWidth(int64_t registers, int64_t ofOthers);
  void chooseThree();
  bool hasPredicates();
  bool isWorthThree(int64_t rows, int64_t length);
  bool leavesRoom();
  bool addRanks();
  void chooseBlocks();
  void shareFold(int64_t tiles, int64_t rows);
  std::optional<int64_t> extentOf(unsigned d) const {
    int64_t extent = space.staticExtents[d];
    return ShapedType::isDynamic(extent) ? std::nullopt
                                         : std::optional<int64_t>(extent);
  }

  KernelOp kernel;
  LaunchOp launch;
  const KernelSpace &space;
  int64_t units;
  std::string &why;
  MatrixPlan plan;
  std::optional<DimSets> sets;
  /// The operands of each product as they stand in the body.
  SmallVector<std::pair<Value, Value>> operands;
};
} // namespace

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

/// Sums of products of two values with 16-bit floats on one side at least.
bool MatrixPlanner::findProducts() {
  for (auto reduce : plan.step.getProgramBody()->getOps<ReduceOp>()) {
    if (reduce.getReducer() != Reducer::Add || reduce.getOver().size() != 1 ||
        !reduce.getOperand(0).getType().isF32())
      continue;
    auto mul = reduce.getOperand(0).getDefiningOp<arith::MulFOp>();
    if (!mul)
      continue;
    Value a = mul.getLhs(), c = mul.getRhs();
    unsigned k = reduce.getOver()[0];
    const SmallBitVector &inA = (*sets)[a], &inC = (*sets)[c];
    if (!inA.test(k) || !inC.test(k))
      continue;
    bool hasRows = false, hasColumns = false;
    for (int64_t d : reduce.getInto()) {
      hasRows |= inA.test(d) && !inC.test(d);
      hasColumns |= inC.test(d) && !inA.test(d);
    }
    if (!hasRows || !hasColumns)
      continue;
    MatrixProduct product;
    product.reduce = reduce;
    product.k = k;
    plan.products.push_back(product);
    operands.push_back({a, c});
  }
  if (plan.products.empty())
    return refuse("it has no sum of products of matrices");
  return true;
}

/// The dim that all products have as rows: in one operand of each, and reduced by
/// nothing.
bool MatrixPlanner::chooseRows() {
  SmallBitVector reduced(space.numDims);
  for (auto reduce : plan.step.getProgramBody()->getOps<ReduceOp>())
    for (int64_t d : reduce.getOver())
      reduced.set(d);
  if (plan.stream)
    reduced.set(*plan.stream);
  double best = -1;
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (reduced.test(d))
      continue;
    bool inAll = true, isFirstLeft = true;
    for (auto [product, pair] : llvm::zip_equal(plan.products, operands)) {
      bool inA = (*sets)[pair.first].test(d),
           inC = (*sets)[pair.second].test(d);
      inAll &= inA != inC && llvm::is_contained(product.reduce.getInto(), d);
      // The other one must be in memory as it is.
      Value other = stripExtension(inA ? pair.second : pair.first);
      inAll &= isa<BlockArgument>(other) && isHalf(other.getType());
      isFirstLeft &= inA;
    }
    double score =
        double(extentOf(d).value_or(1 << 20)) + (isFirstLeft ? .5 : 0);
    if (inAll && score > best) {
      best = score;
      plan.m = d;
    }
  }
  if (best < 0)
    return refuse("no dim is the rows of every product, with 16-bit floats in "
                  "memory on the other side");
  for (auto [product, pair] : llvm::zip_equal(plan.products, operands))
    if (!(*sets)[pair.first].test(plan.m))
      std::swap(pair.first, pair.second);
  return true;
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
  if (!type || type.getRank() > 5 || type.getRank() < 2 ||
      !type.getLayout().isIdentity())
    return refuse("a matrix is not contiguous, or has more than 5 dims");
  int64_t last = type.getShape().back();
  if (ShapedType::isDynamic(last) || last % 8 != 0)
    return refuse("rows of a matrix are no multiple of 16 bytes");
  std::optional<unsigned> freeAt, sumAt;
  for (auto [i, e] : llvm::enumerate(map.getResults())) {
    if (!e.isFunctionOfDim(free) && !e.isFunctionOfDim(sum))
      continue;
    auto d = dyn_cast<AffineDimExpr>(e);
    if (!d || (d.getPosition() == free ? freeAt : sumAt))
      return refuse("a matrix is read along a diagonal or by an expression");
    (d.getPosition() == free ? freeAt : sumAt) = i;
  }
  if (!freeAt || !sumAt)
    return refuse("a matrix lacks a dim");
  source = {tensor, map, *freeAt, *sumAt};
  if (*freeAt + 1 != map.getNumResults() && *sumAt + 1 != map.getNumResults())
    return refuse("neither dim of a matrix is contiguous");
  return true;
}

bool MatrixPlanner::placeOperands(MatrixProduct &product) {
  auto [a, c] = operands[&product - plan.products.data()];
  const SmallBitVector &inA = (*sets)[a], &inC = (*sets)[c];
  std::optional<unsigned> n;
  for (int64_t d : product.reduce.getInto()) {
    if (inA.test(d) || !inC.test(d))
      continue;
    if (n)
      return refuse("the right operand has two dims of columns");
    n = d;
  }
  if (!n)
    return refuse("the right operand has no columns");
  product.n = *n;
  product.isBack = plan.stream && product.k == *plan.stream;
  if (plan.stream && !product.isBack && product.n != *plan.stream)
    return refuse("a product is the same in all steps");
  Value right = stripExtension(c);
  product.element = right.getType();
  if (!findSource(right, product.n, product.k, product.right))
    return false;
  // The left operand: of the same type, or rounded to it where the program
  // did so too.
  product.left = a;
  Value narrow = stripExtension(a);
  bool isNarrow = narrow != a && narrow.getType() == product.element;
  if (!isNarrow) {
    auto narrowed = product.reduce->getAttrOfType<TypeAttr>(kNarrowedAttr);
    if (!narrowed || narrowed.getValue() != product.element || !product.isBack)
      return refuse("the left operand of a product has more digits than the "
                    "right one");
  }
  std::optional<int64_t> k = extentOf(product.k);
  bool inRegisters =
      product.isBack || (k && *k <= kMaxRegisterSum && plan.fold);
  if (!product.isBack && plan.fold && k && *k > kMaxRegisterSum &&
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
  } else if (inRegisters && !product.isBack && isNarrow &&
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
      for (Value v : {c, stripExtension(c), product.reduce.getOperand(0)})
        isMatrixOnly[v] = true;
      if (product.tiledLeft)
        for (Value v : {a, stripExtension(a)})
          isMatrixOnly[v] = true;
    }
    auto fits = [&](Value v) {
      if (isMatrixOnly.lookup(v))
        return true;
      unsigned columns = 0;
      for (unsigned d : dims[v].set_bits())
        columns += d != plan.m && plan.isColumn(d);
      for (unsigned d : dims[v].set_bits())
        if (d != plan.m && !plan.isColumn(d) &&
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
  for (AffineMap map : ArrayRef(maps).take_back(last.getProgramInits().size()))
    if (!getDimsOf(map).test(plan.m))
      return refuse("a result has no rows");
  for (int64_t extent : space.staticExtents)
    if (extent == 0)
      return refuse("a dim is empty");
  return true;
}

bool MatrixPlanner::chooseWidths() {
  auto pad = [](int64_t extent, int64_t to) {
    return std::max<int64_t>(to, llvm::alignTo(extent, to));
  };
  SmallBitVector isReduced(space.numDims);
  for (auto reduce : plan.step.getProgramBody()->getOps<ReduceOp>())
    isReduced.set(reduce.getOver()[0]);
  for (MatrixProduct &product : plan.products) {
    for (unsigned d : {product.n, product.k}) {
      if (d == plan.stream || (d == product.k && product.tiledLeft))
        continue;
      std::optional<int64_t> extent = extentOf(d);
      bool isGrid =
          space.schedule && llvm::is_contained(space.schedule.getGrid(), d);
      int64_t width;
      if (extent && *extent <= kMaxColumns)
        width = pad(*extent, 16);
      else if (isGrid && !isReduced.test(d))
        width = 128;
      else
        return refuse("a dim of columns is dynamic or longer than 256");
      plan.widths[d] = width;
    }
  }
  if (!plan.target.hasWarpgroups)
    return chooseByWarps(plan, space, units, why);
  if (!plan.stream) {
    int64_t registers = 0;
    for (MatrixProduct &product : plan.products)
      registers += plan.widths[product.n] / 2;
    if (registers > plan.target.fragmentRegisters)
      return refuse("the fragments of its products do not fit registers");
    return true;
  }
  if (std::optional<int64_t> width =
          streamWidth(plan.target.fragmentRegisters, registersOfOthers())) {
    plan.widths[*plan.stream] = *width;
    return true;
  }
  return refuse("its states do not fit registers");
}

/// What a step takes of registers besides products: matrices that are no factors, which
/// ptxas loads long before they are used, and positions. Beside left operands in
/// registers ptxas finds room for positions and masks.
int64_t MatrixPlanner::registersOfOthers() {
  constexpr int64_t kOfPosition = 12, kOfMatrix = 24;
  bool isResident =
      llvm::any_of(plan.products, [](const MatrixProduct &product) {
        return product.isResident;
      });
  llvm::DenseSet<Value> factors;
  for (auto [left, right] : operands) {
    factors.insert(stripExtension(left));
    factors.insert(stripExtension(right));
  }
  auto isMatrix = [&](Value v) {
    return (*sets)[v].test(plan.m) && (*sets)[v].test(*plan.stream);
  };
  int64_t registers = 0, inputs = plan.fold.getInputs().size();
  Block *body = plan.step.getProgramBody();
  for (BlockArgument arg : body->getArguments().take_front(inputs))
    if (!factors.contains(arg) && isMatrix(arg) &&
        (isResident || isa<FloatType>(arg.getType())))
      registers += kOfMatrix;
  if (!isResident)
    return registers;
  for (Operation &op : *body)
    if (isa<arith::CmpIOp, arith::SIToFPOp, arith::UIToFPOp>(op) &&
        isMatrix(op.getResult(0)))
      registers += kOfPosition;
  return registers;
}

/// The columns of a step: as many as registers and shared memory have room for. Where
/// left operands are in registers, others take some where the last step is cut.
std::optional<int64_t> MatrixPlanner::streamWidth(int64_t registers,
                                                  int64_t ofOthers) {
  int64_t resident = 0, widest = 0;
  for (MatrixProduct &product : plan.products) {
    int64_t other = product.isBack      ? plan.widths[product.n]
                    : product.tiledLeft ? kSumTile
                                        : plan.widths[product.k];
    widest = std::max<int64_t>(widest, llvm::alignTo(other, 64));
    if (product.isBack)
      registers -= plan.widths[product.n] / 2;
    else if (product.isResident)
      resident += plan.rows() * llvm::alignTo(plan.widths[product.k], 64) * 2;
    else if (!product.tiledLeft)
      registers -= plan.widths[product.k] / 4;
  }
  // Scores, and what is packed of them; several maps of scores more. Two slots for
  // each product.
  int64_t fronts = 0;
  for (MatrixProduct &product : plan.products)
    fronts += !product.isBack;
  int64_t longest = extentOf(*plan.stream).value_or(128);
  int64_t wanted = space.schedule ? space.schedule.getHint("columns") : 0;
  for (int64_t width : {128, 112, 96, 80, 64, 48, 32, 16}) {
    if (width > std::max<int64_t>(16, llvm::alignTo(longest, 16)) ||
        (wanted && width > std::max<int64_t>(wanted, 16)))
      continue;
    bool isCut = resident || longest % width != 0;
    if (width / 4 + std::max<int64_t>(fronts, 1) * width / 2 >
        registers - (isCut ? ofOthers : 0))
      continue;
    if (resident &&
        resident + 2 * int64_t(plan.products.size()) * width * widest * 2 >
            plan.target.sharedBytes)
      continue;
    return width;
  }
  return std::nullopt;
}

/// Three warpgroups with 64 rows each, instead of two: while one computes, two
/// multiply. Their left operands stay in shared memory, and a step is shorter.
void MatrixPlanner::chooseThree() {
  int64_t wantedRows = space.schedule.getHint("rows");
  bool isAsked = wantedRows > 128;
  if (space.schedule.getHint("operand") == 2 || isAsked || !wantedRows)
    for (MatrixProduct &product : plan.products)
      if (!product.isBack && !product.keptLeft)
        return;
  if (!plan.stream || plan.shares() > 1 || plan.consumers != 2)
    return;
  if (space.schedule.getHint("operand") == 2)
    for (MatrixProduct &product : plan.products)
      product.isResident = product.keptLeft.has_value();
  std::optional<int64_t> rows = extentOf(plan.m),
                         length = extentOf(*plan.stream);
  if (wantedRows ? !isAsked : !rows || !length)
    return;
  if (!isAsked && !isWorthThree(*rows, *length))
    return;
  MatrixPlan two = plan;
  plan.consumers = 3;
  for (MatrixProduct &product : plan.products)
    product.isResident = product.keptLeft.has_value();
  // Predicates take some.
  std::optional<int64_t> width = streamWidth(
      kRegistersOfThree - (hasPredicates() ? 4 : 0), /*ofOthers=*/0);
  // With fewer columns the matrix unit waits for the exponentials.
  if (width && (isAsked || *width >= std::min<int64_t>(80, *length)))
    plan.widths[*plan.stream] = *width;
  else
    plan = two;
}

/// Whether values depend on comparisons along the streamed dim.
bool MatrixPlanner::hasPredicates() {
  return llvm::any_of(plan.step.getProgramBody()->getOps<arith::SelectOp>(),
                      [&](arith::SelectOp select) {
                        return (*sets)[select.getCondition()].test(
                            *plan.stream);
                      });
}

/// By the rows of all rounds of tiles, or of all tiles where they are unequal.
bool MatrixPlanner::isWorthThree(int64_t rows, int64_t length) {
  bool isCut = hasPredicates();
  if (isCut && length < kLongStream)
    return false;
  int64_t others = 1;
  for (int64_t d : space.schedule.getGrid())
    if (unsigned(d) != plan.m) {
      std::optional<int64_t> extent = extentOf(d);
      if (!extent)
        return false;
      others *= *extent;
    }
  auto rowsOfAll = [&](int64_t tile) {
    int64_t tiles = others * llvm::divideCeil(rows, tile);
    return double(tile) *
           (isCut ? tiles : units * llvm::divideCeil(tiles, units));
  };
  return rowsOfAll(192) < kGainOfThree * rowsOfAll(128);
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

/// How many blocks divide the streamed dim of a tile of results between them. The
/// last of them reads the states of all.
void MatrixPlanner::shareFold(int64_t tiles, int64_t rows) {
  if (space.schedule.getKind() != ScheduleKind::Stream ||
      llvm::any_of(space.staticExtents, ShapedType::isDynamic))
    return;
  SharedFold fold;
  fold.tiles = tiles;
  fold.rows = plan.rows();
  for (auto [s, arg] :
       llvm::enumerate(plan.step.getProgramBody()->getArguments().drop_front(
           plan.fold.getInputs().size()))) {
    Type type = arg.getType();
    if (!type.isF32() && !type.isF64() && !type.isInteger(32) &&
        !type.isInteger(64))
      return;
    double size = rows * double(bytesOf(type));
    fold.isForClusters &= type.isF32() && (*sets)[arg].test(plan.m);
    for (unsigned d : (*sets)[arg].set_bits())
      if (plan.isColumn(d))
        size *= plan.widths[d];
    fold.stateBytes += size;
  }
  for (MatrixProduct &product : plan.products)
    fold.sizes.push_back(plan.widths[product.n] *
                         double(product.tiledLeft ? *extentOf(product.k)
                                                  : plan.widths[product.k]));
  fold.steps = llvm::divideCeil(space.staticExtents[*plan.stream],
                                plan.widths[*plan.stream]);
  fold.blocksOfUnit = plan.isHalf ? 2 : 1;
  Segments segments =
      chooseSegments(fold, plan.target, units, space.schedule.getHint("split"),
                     space.schedule.getHint("cluster"));
  plan.segments = segments.count;
  plan.cluster = segments.cluster;
}

/// How many rows a block has, and how many blocks share a sum. Few tiles would
/// leave multiprocessors idle, and their share of the bandwidth with them.
void MatrixPlanner::chooseBlocks() {
  std::optional<int64_t> rows = extentOf(plan.m);
  int64_t wantedRows = space.schedule.getHint("rows");
  int64_t wantedSplit = space.schedule.getHint("split");
  if (plan.target.hasWarpgroups)
    plan.consumers =
        (wantedRows ? wantedRows <= 64 : rows && *rows <= 64) ? 1 : 2;
  if (!rows)
    return;
  int64_t others = 1, shortest = std::numeric_limits<int64_t>::max();
  for (int64_t d : space.schedule.getGrid())
    if (unsigned(d) != plan.m) {
      std::optional<int64_t> extent = extentOf(d);
      if (!extent)
        return;
      others *= plan.isColumn(d) ? llvm::divideCeil(*extent, plan.widths[d])
                                 : *extent;
    }
  if (plan.stream && plan.consumers == 1 && !space.schedule.getHint("columns"))
    plan.widths[*plan.stream] =
        std::min(plan.widths[*plan.stream], kFewRowsColumns);
  if (plan.stream)
    return shareFold(others * llvm::divideCeil(*rows, plan.rows()),
                     std::min(*rows, plan.rows()));
  if (!plan.target.hasWarpgroups)
    return;
  for (MatrixProduct &product : plan.products) {
    std::optional<int64_t> k = extentOf(product.k);
    if (!product.tiledLeft || !k)
      return;
    shortest = std::min<int64_t>(shortest, llvm::divideCeil(*k, kSumTile));
  }
  SmallVector<SharedSum> sums;
  for (MatrixProduct &product : plan.products)
    sums.push_back({*extentOf(product.k), plan.widths[product.n]});
  double best = std::numeric_limits<double>::infinity();
  for (int64_t consumers : {2, 1})
    for (int64_t split : {1, 2, 4, 8}) {
      int64_t tiles = others * llvm::divideCeil(*rows, 64 * consumers);
      if (split > shortest || (split > 1 && tiles * split > units))
        continue;
      if ((wantedRows && consumers != (wantedRows <= 64 ? 1 : 2)) ||
          (wantedSplit && split != wantedSplit))
        continue;
      // Clusters are placed whole: registers should be left for a second block on
      // a multiprocessor.
      if (!wantedRows && split > 1 && consumers == 2 &&
          llvm::any_of(sums,
                       [](const SharedSum &sum) { return sum.columns > 64; }))
        continue;
      double cycles = cyclesOfShared(sums, tiles, consumers, split, units);
      if (cycles < best) {
        best = cycles;
        plan.consumers = consumers;
        plan.split = split;
      }
    }
  if (plan.split > 1)
    for (auto &[d, width] : plan.widths)
      width = llvm::alignTo(width, 4 * plan.split);
}

/// Whether the next launch's blocks should find a place beside these: where one cluster
/// has all segments of a tile, half of the multiprocessors copy nothing while it merges.
bool MatrixPlanner::leavesRoom() {
  return plan.cluster > 1 && plan.groups() == 1 &&
         llvm::all_of(plan.products, [&](const MatrixProduct &product) {
           unsigned d = product.isBack ? product.n : product.k;
           return !product.tiledLeft && plan.widths.lookup(d) <= kHalfColumns;
         });
}

std::optional<MatrixPlan> MatrixPlanner::run() {
  if (!findOps())
    return std::nullopt;
  FailureOr<DimSets> dims = DimSets::compute(plan.step);
  if (failed(dims)) {
    refuse("the body is ill-formed");
    return std::nullopt;
  }
  sets = *dims;
  if (!findProducts() || !chooseRows())
    return std::nullopt;
  for (MatrixProduct &product : plan.products)
    if (!placeOperands(product) || (product.isBack && !findState(product)))
      return std::nullopt;
  if (!plan.target.hasWarpgroups && !placeByWarps(plan, why))
    return std::nullopt;
  if (!chooseWidths() || !addRanks() || !checkValues())
    return std::nullopt;
  std::optional<int64_t> rows = extentOf(plan.m);
  if (rows && *rows < kLeastRows) {
    refuse("it has fewer than 5 rows");
    return std::nullopt;
  }
  if (!checkResults())
    return std::nullopt;
  chooseBlocks();
  if (!plan.target.hasWarpgroups)
    return plan;
  chooseThree();
  int64_t blocks = space.schedule.getHint("blocks");
  plan.isHalf = plan.stream && plan.consumers == 1 &&
                (blocks ? blocks == 2 : leavesRoom());
  return plan;
}

std::optional<MatrixPlan> redfuse::planMatrix(KernelOp kernel, LaunchOp launch,
                                              const KernelSpace &space,
                                              const MatrixTarget &target,
                                              int64_t units, std::string &why) {
  return MatrixPlanner(kernel, launch, space, target, units, why).run();
}
