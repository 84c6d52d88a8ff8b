//===- MatrixChoices.cpp - tiles, operands and blocks of a plan -----------===//
#include "MatrixPlanner.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/StreamMasks.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace redfuse;

/// Columns that a tile of a product may have: a thread holds a scale of each column beside the
/// sums, where columns have any.
int64_t MatrixPlanner::mostColumnsOf(const MatrixProduct &product) const {
  return product.scale && (*sets)[product.scale].test(product.n)
             ? kMaxScaledColumns
             : kMaxColumns;
}

bool MatrixPlanner::chooseWidths() {
  auto pad = [](int64_t extent, int64_t to) {
    return std::max<int64_t>(to, llvm::alignTo(extent, to));
  };
  SmallBitVector isReduced(space.numDims);
  for (auto reduce : plan.step.getProgramBody()->getOps<ReduceOp>())
    for (int64_t d : reduce.getOver())
      isReduced.set(d);
  for (MatrixProduct &product : plan.products) {
    for (unsigned d : {product.n, product.k}) {
      if (d == plan.stream || (d == product.k && product.tiledLeft))
        continue;
      std::optional<int64_t> extent = extentOf(d);
      bool isGrid =
          space.schedule && llvm::is_contained(space.schedule.getGrid(), d);
      int64_t width;
      if (extent && *extent <= mostColumnsOf(product))
        width = pad(*extent, 16);
      else if (isGrid && !isReduced.test(d))
        width = 128;
      else
        return refuse("a dim of columns is dynamic or longer than 256");
      plan.widths[d] = width;
    }
  }
  if (!plan.target.hasWgmma)
    return chooseForMmaSync(plan, space, units, why);
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
  bool isResident =
      llvm::any_of(plan.products, [](const MatrixProduct &product) {
        return product.isResident;
      });
  llvm::DenseSet<Value> factors;
  for (auto [left, right] : operands) {
    factors.insert(factorOf(left));
    factors.insert(factorOf(right));
  }
  auto isMatrix = [&](Value v) {
    return (*sets)[v].test(plan.m) && (*sets)[v].test(*plan.stream);
  };
  int64_t registers = 0, inputs = plan.fold.getInputs().size();
  Block *body = plan.step.getProgramBody();
  for (BlockArgument arg : body->getArguments().take_front(inputs))
    if (!factors.contains(arg) && isMatrix(arg) &&
        (isResident || isa<FloatType>(arg.getType())))
      registers += kMatrixRegisters;
  if (!isResident)
    return registers;
  for (Operation &op : *body)
    if (isa<arith::CmpIOp, arith::SIToFPOp, arith::UIToFPOp>(op) &&
        isMatrix(op.getResult(0)))
      registers += kPositionRegisters;
  return registers;
}

/// The columns of a step: as many as registers and shared memory have room for. Where
/// left operands are in registers, others take some where the last step is cut.
std::optional<int64_t> MatrixPlanner::streamWidth(int64_t registers,
                                                  int64_t ofOthers) {
  int64_t resident = 0, widest = 0;
  for (MatrixProduct &product : plan.products) {
    int64_t other = product.isSecond    ? plan.widths[product.n]
                    : product.tiledLeft ? plan.sumTile()
                                        : plan.widths[product.k];
    widest = std::max<int64_t>(widest, llvm::alignTo(other, 64));
    if (product.isSecond)
      registers -= plan.widths[product.n] / 2;
    else if (product.isResident)
      resident += plan.rows() * llvm::alignTo(plan.widths[product.k], 64) * 2;
    else if (!product.tiledLeft)
      registers -= plan.widths[product.k] / 4;
  }
  // Scores, and what is packed of them; several maps of scores more. Two stages for
  // each product.
  int64_t firsts = 0;
  for (MatrixProduct &product : plan.products)
    firsts += !product.isSecond;
  int64_t longest = extentOf(*plan.stream).value_or(128);
  int64_t wanted = hintsOf(space.schedule).columns.value_or(0);
  // Products of long sums read less of the L2 cache in wide steps; nothing of them is packed.
  if (plan.foldsTiledSums() && firsts == 1 && longest > kMaxColumns &&
      !wanted && !ofOthers && registers >= kMaxColumns * 3 / 4)
    return kMaxColumns;
  for (int64_t width : {128, 112, 96, 80, 64, 48, 32, 16}) {
    if (width > std::max<int64_t>(16, llvm::alignTo(longest, 16)) ||
        (wanted && width > std::max<int64_t>(wanted, 16)))
      continue;
    bool isCut = resident || longest % width != 0;
    if (width / 4 + std::max<int64_t>(firsts, 1) * width / 2 >
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
  Hints hints = hintsOf(space.schedule);
  int64_t wantedRows = hints.rows.value_or(0);
  bool isAsked = wantedRows > 128;
  bool isShared = hints.operand == LeftOperand::Shared;
  if (isShared || isAsked || !wantedRows)
    for (MatrixProduct &product : plan.products)
      if (!product.isSecond && !product.keptLeft)
        return;
  if (!plan.stream || plan.shares() > 1 || plan.consumers != 2)
    return;
  if (isShared)
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

std::optional<SharedFold> MatrixPlanner::shareable(int64_t tiles,
                                                   int64_t rows) {
  if (space.schedule.getKind() != ScheduleKind::Stream ||
      llvm::any_of(space.staticExtents, ShapedType::isDynamic))
    return std::nullopt;
  SharedFold fold;
  fold.tiles = tiles;
  fold.rows = plan.rows();
  for (auto [s, arg] :
       llvm::enumerate(plan.step.getProgramBody()->getArguments().drop_front(
           plan.fold.getInputs().size()))) {
    Type type = arg.getType();
    if (!type.isF32() && !type.isF64() && !type.isBF16() && !type.isF16() &&
        !type.isInteger(32) && !type.isInteger(64))
      return std::nullopt;
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
  return fold;
}

/// How many blocks divide the streamed dim of a tile of results between them. The
/// last of them reads the states of all.
void MatrixPlanner::shareFold(int64_t tiles, int64_t rows) {
  std::optional<SharedFold> fold = shareable(tiles, rows);
  if (!fold)
    return;
  Hints hints = hintsOf(space.schedule);
  Splits splits =
      chooseSplits(*fold, plan.target, units, hints.splits.value_or(0),
                   hints.cluster.value_or(0));
  plan.splits = splits.count;
  plan.cluster = splits.cluster;
}

/// The same where each step makes products of long sums, as a plain product does: blocks that
/// run at a time should have few rows between them, whose operands stay in the L2 cache, and
/// pairs of rows copy columns for each other.
void MatrixPlanner::shareTiledFold(int64_t tiles, int64_t rows) {
  int64_t elements = 0;
  for (const MatrixProduct &product : plan.products)
    elements += *extentOf(product.k);
  plan.cachedBytes = kTiledFoldBytes;
  double best = std::numeric_limits<double>::infinity();
  int64_t width = plan.widths[*plan.stream], chosen = width;
  for (; width >= kLeastColumns; width /= 2) {
    plan.widths[*plan.stream] = width;
    std::optional<SharedFold> fold = shareable(tiles, rows);
    if (!fold)
      break;
    int64_t least = llvm::divideCeil(
        units, std::min(tiles, plan.rowTilesInCache(elements)));
    auto [count, cycles] = chooseRounds(*fold, plan.target, units, least);
    if (cycles >= kWorthOtherTiles * best)
      continue;
    best = cycles;
    chosen = width;
    plan.splits = count;
  }
  plan.widths[*plan.stream] = chosen;
  plan.clusterRows = canMulticast() && tiles % 2 == 0 &&
                             elements >= kLongTiledSum * plan.sumTile()
                         ? 2
                         : 1;
}

std::optional<int64_t>
MatrixPlanner::sumTilesOf(const MatrixProduct &product) const {
  std::optional<int64_t> extent = extentOf(product.k);
  if (!extent)
    return std::nullopt;
  int64_t count = llvm::divideCeil(*extent, plan.sumTile());
  for (unsigned d : product.outerSums) {
    std::optional<int64_t> outer = extentOf(d);
    if (!outer)
      return std::nullopt;
    count *= *outer;
  }
  return count;
}

/// Tiles of results with the same rows and columns.
int64_t MatrixPlanner::countBatch() const {
  int64_t count = 1;
  for (int64_t d : space.schedule.getGrid())
    if (unsigned(d) != plan.m && !plan.isColumn(d))
      count *= *extentOf(d);
  return count;
}

/// A product as its price sees it; extents of rows and columns are known.
SharedSum MatrixPlanner::sharedSumOf(const MatrixProduct &product) const {
  int64_t tiles = *sumTilesOf(product);
  double length = product.outerSums.empty() ? double(*extentOf(product.k))
                                            : double(tiles * plan.sumTile());
  double bytes = double(plan.elementBytes) * length * double(countBatch()),
         rows = bytes * double(*extentOf(plan.m));
  return {tiles, plan.widths.lookup(product.n),
          rows + bytes * double(*extentOf(product.n)), rows};
}

/// How many rows a block has, and how many blocks share a sum. Few tiles would
/// leave multiprocessors idle, and their share of the bandwidth with them.
void MatrixPlanner::chooseBlocks() {
  std::optional<int64_t> rows = extentOf(plan.m);
  Hints hints = hintsOf(space.schedule);
  int64_t wantedRows = hints.rows.value_or(0);
  int64_t wantedSplit = hints.splits.value_or(0);
  if (plan.target.hasWgmma)
    plan.consumers =
        (wantedRows ? wantedRows <= 64 : rows && *rows <= 64) ? 1 : 2;
  if (!rows)
    return;
  for (int64_t d : space.schedule.getGrid())
    if (!extentOf(d))
      return;
  // Tiles for the same rows.
  auto countOthers = [&] {
    int64_t others = 1;
    for (int64_t d : space.schedule.getGrid())
      if (unsigned(d) != plan.m)
        others *= plan.isColumn(d)
                      ? llvm::divideCeil(*extentOf(d), plan.widths[d])
                      : *extentOf(d);
    return others;
  };
  int64_t shortest = std::numeric_limits<int64_t>::max();
  if (plan.stream && plan.consumers == 1 && !hints.columns)
    plan.widths[*plan.stream] =
        std::min(plan.widths[*plan.stream], kFewRowsColumns);
  if (plan.stream) {
    int64_t tiles = countOthers() * llvm::divideCeil(*rows, plan.rows());
    int64_t own = std::min(*rows, plan.rows());
    bool isAsked = hints.columns || hints.splits || hints.cluster;
    bool isKnown = llvm::none_of(space.staticExtents, ShapedType::isDynamic);
    if (plan.foldsTiledSums() && plan.consumers == 2 && isKnown && !isAsked)
      return shareTiledFold(tiles, own);
    return shareFold(tiles, own);
  }
  if (!plan.target.hasWgmma)
    return;
  for (MatrixProduct &product : plan.products) {
    std::optional<int64_t> count = sumTilesOf(product);
    if (!product.tiledLeft || !count)
      return;
    shortest = std::min(shortest, *count);
  }
  // Wide tiles move fewer bytes for each product; narrow ones are more, where blocks that
  // share a sum are too few for all multiprocessors.
  MatrixProduct &first = plan.products.front();
  SmallVector<int64_t> widths{plan.widths[first.n]};
  bool isWide =
      *extentOf(first.n) > kMaxColumns && mostColumnsOf(first) == kMaxColumns;
  if (plan.products.size() == 1 && isWide)
    widths.push_back(kMaxColumns);
  // What else is reduced needs whole rows.
  bool isAlone =
      llvm::hasSingleElement(plan.step.getProgramBody()->getOps<ReduceOp>());
  for (int64_t width = widths.front() / 2;
       isAlone && !hints.columns && width >= kLeastColumns && width % 16 == 0;
       width /= 2)
    widths.push_back(width);
  std::tuple<int64_t, int64_t, int64_t> chosen{widths.front(), plan.consumers,
                                               plan.sumSplits};
  double best = std::numeric_limits<double>::infinity();
  for (int64_t width : widths) {
    plan.widths[first.n] = width;
    SmallVector<SharedSum> sums;
    for (MatrixProduct &product : plan.products)
      sums.push_back(sharedSumOf(product));
    for (int64_t consumers : {2, 1})
      for (int64_t split : {1, 2, 4, 8}) {
        int64_t tiles = countOthers() * llvm::divideCeil(*rows, 64 * consumers);
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
        // One warpgroup is enough for few rows; wide tiles of them where there are many.
        if (!wantedRows && *rows <= 64 && consumers == 2)
          continue;
        if (width == kMaxColumns && isWide &&
            (split > 1 ||
             (consumers == 1 && (*rows > 64 || tiles < kManyTiles * units))))
          continue;
        if (width < widths.front() && split == 1)
          continue;
        SharedTiles shared{tiles, consumers, split};
        plan.consumers = consumers;
        plan.sumSplits = split;
        std::tie(shared.clusterRows, shared.clusterColumns) = findCluster();
        double cycles = cyclesOfShared(sums, shared, units);
        if (cycles < best) {
          best = cycles;
          chosen = {width, consumers, split};
        }
      }
  }
  std::tie(plan.widths[first.n], plan.consumers, plan.sumSplits) = chosen;
  if (plan.products.size() == 1 && isWide && isAlone && !wantedRows &&
      !wantedSplit && !hints.columns)
    chooseFullRounds(best);
  std::tie(plan.clusterRows, plan.clusterColumns) = findCluster();
  if (plan.sumSplits > 1)
    for (auto &[d, width] : plan.widths)
      width = llvm::alignTo(width, 4 * plan.sumSplits);
}

/// Tiles of other sizes for a plain product, where those of 128 rows would leave most
/// multiprocessors idle in the last round: three warpgroups of rows, or fewer columns.
void MatrixPlanner::chooseFullRounds(double cycles) {
  MatrixProduct &product = plan.products.front();
  SharedSum sum = sharedSumOf(product);
  auto cyclesOf = [&](int64_t width, int64_t consumers) {
    int64_t tiles = countBatch() *
                    llvm::divideCeil(*extentOf(plan.m), 64 * consumers) *
                    llvm::divideCeil(*extentOf(product.n), width);
    sum.columns = width;
    SharedTiles shared{tiles, consumers, 1};
    // Clusters of one round are those of tiles that leave few multiprocessors idle.
    if (tiles <= units)
      return cyclesOfShared(sum, shared, units);
    MatrixPlan before = plan;
    plan.widths[product.n] = width;
    plan.consumers = consumers;
    plan.sumSplits = 1;
    std::tie(shared.clusterRows, shared.clusterColumns) = findCluster();
    plan = before;
    return cyclesOfShared(sum, shared, units);
  };
  if (plan.sumSplits == 1)
    cycles = cyclesOf(sum.columns, plan.consumers);
  double best = cycles * kWorthOtherTiles;
  int64_t leastPadded = 0;
  bool isStoredPlainly =
      llvm::all_of(product.reduce->getUsers(), [](Operation *user) {
        return isa<YieldOp>(user) ||
               (isa<arith::TruncFOp>(user) &&
                llvm::all_of(user->getUsers(), llvm::IsaPred<YieldOp>));
      });
  int64_t leastOfThree = isStoredPlainly ? kPlainSumOfThree : kSumOfThree;
  for (int64_t consumers : {2, 3})
    for (int64_t width : {192, 160, 224, 144, 176, 208, 240, 128, 256}) {
      if (consumers == 3 &&
          (width > kColumnsOfThree || plan.addsTilesInRegisters() ||
           sum.tiles * plan.sumTile() < leastOfThree))
        continue;
      double now = cyclesOf(width, consumers);
      // Of those that take as long, one that stores the fewest columns beyond the last.
      int64_t padded = llvm::alignTo(*extentOf(product.n), width);
      if (now > best || (now == best && padded >= leastPadded))
        continue;
      best = now;
      leastPadded = padded;
      plan.widths[product.n] = width;
      plan.consumers = consumers;
      plan.sumSplits = 1;
    }
}

/// Whether blocks with neighbouring tiles of results read the same tiles of operands at the same
/// time, and can copy a part each for all of them.
bool MatrixPlanner::canMulticast() const {
  // Blocks with splits have one tile each; others might take different ones next.
  if (plan.stream)
    return plan.target.hasWgmma && plan.foldsTiledSums() &&
           plan.products.size() == 1 && plan.splits > 1 && plan.cluster == 1 &&
           plan.widths.lookup(*plan.stream) % 16 == 0 &&
           llvm::none_of(space.staticExtents, ShapedType::isDynamic) &&
           llvm::none_of(findStreamMasks(plan, *sets),
                         [](const StreamMask &mask) { return mask.maySkip; }) &&
           llvm::is_contained(space.schedule.getGrid(), int64_t(plan.m));
  if (!plan.target.hasWgmma || plan.shares() > 1)
    return false;
  unsigned n = plan.products.front().n;
  SmallVector<unsigned> dims{plan.m, n};
  for (int64_t d : space.schedule.getGrid())
    dims.push_back(unsigned(d));
  // Parts are whole swizzles of eight rows.
  return llvm::is_contained(space.schedule.getGrid(), int64_t(n)) &&
         llvm::is_contained(space.schedule.getGrid(), int64_t(plan.m)) &&
         plan.widths.lookup(n) % 16 == 0 &&
         llvm::all_of(dims, [&](unsigned d) { return extentOf(d); }) &&
         llvm::all_of(plan.products, [&](const MatrixProduct &product) {
           return product.tiledLeft && product.n == n;
         });
}

/// Blocks that copy for each other read less of the L2 cache. Where tiles are small, its rate
/// limits those that run at a time; where there are several rounds of large ones, a pair of
/// rows is a little faster.
std::pair<int64_t, int64_t> MatrixPlanner::findCluster() {
  constexpr std::pair<int64_t, int64_t> kNone{1, 1};
  Hints hints = hintsOf(space.schedule);
  if (!canMulticast() || hints.cluster == 1)
    return kNone;
  unsigned n = plan.products.front().n;
  int64_t width = plan.widths.lookup(n);
  auto clusters = [&](int64_t rows, int64_t columns) {
    int64_t count = 1;
    for (int64_t d : space.schedule.getGrid()) {
      int64_t tile = plan.tileOf(d) * (unsigned(d) == plan.m ? rows : 1) *
                     (unsigned(d) == n ? columns : 1);
      count *= llvm::divideCeil(*extentOf(d), tile);
    }
    return count;
  };
  if (hints.cluster)
    return *hints.cluster >= 4    ? std::pair(2, 2)
           : width >= plan.rows() ? std::pair(2, 1)
                                  : std::pair(1, 2);
  int64_t tiles = clusters(1, 1);
  double copied = double(plan.rows() + width) * kSumBytes / kTileCacheBytes;
  double computed =
      double(plan.products.size() * plan.consumers * width) *
      (plan.addsTilesInRegisters() ? kCyclesOfByteColumn : kCyclesOfColumn);
  int64_t sum = std::numeric_limits<int64_t>::max();
  for (const MatrixProduct &product : plan.products)
    sum = std::min(sum, *sumTilesOf(product));
  if (tiles <= units) {
    if (copied < kCacheBound * computed || sum < kLongTiledSum)
      return kNone;
    // Not all clusters of four that could find a place.
    if (clusters(2, 2) <= units / 4 - kClustersWithoutPlace)
      return {2, 2};
    if (clusters(2, 1) <= units / 2)
      return {2, 1};
    return kNone;
  }
  // Tiles that do not exist should not take a round more.
  if (sum >= kLongTiledSum && llvm::divideCeil(clusters(2, 1), units / 2) <=
                                  llvm::divideCeil(tiles, units))
    return {2, 1};
  return kNone;
}

/// Whether the next launch's blocks should find a place beside these: where one cluster
/// has all splits of a tile, half of the multiprocessors copy nothing while it merges.
bool MatrixPlanner::leavesRoom() {
  return plan.cluster > 1 && plan.clusters() == 1 &&
         llvm::all_of(plan.products, [&](const MatrixProduct &product) {
           unsigned d = product.isSecond ? product.n : product.k;
           return !product.tiledLeft && plan.widths.lookup(d) <= kHalfColumns;
         });
}

/// Whether a warpgroup mostly waits between its tiles: sums are short, and it loads itself
/// what it multiplies, or what is done with the sums. With two blocks one waits while the
/// other computes.
bool MatrixPlanner::waitsBetweenTiles() {
  if (plan.shares() > 1 || plan.multicast() > 1)
    return false;
  if (std::optional<int64_t> length =
          plan.stream ? extentOf(*plan.stream) : int64_t(0);
      !length || (plan.stream && *length > plan.widths[*plan.stream]))
    return false;
  int64_t tiles = 1;
  for (int64_t d : space.schedule.getGrid()) {
    std::optional<int64_t> extent = extentOf(d);
    if (!extent)
      return false;
    tiles *= llvm::divideCeil(*extent, plan.tileOf(d));
  }
  return tiles > 2 * units &&
         llvm::all_of(plan.products, [&](const MatrixProduct &product) {
           std::optional<int64_t> sums = sumTilesOf(product);
           return sums && *sums <= kShortSumTiles &&
                  plan.widths.lookup(product.n) <= kHalfColumns;
         });
}

std::optional<PlannedMatrix> MatrixPlanner::choose(int64_t ofChip) {
  units = ofChip;
  if (!matchProducts() || !chooseWidths() || !checkBody())
    return std::nullopt;
  chooseBlocks();
  Hints hints = hintsOf(space.schedule);
  if (plan.target.hasWgmma) {
    chooseThree();
    plan.isHalf = plan.consumers == 1 &&
                  (hints.blocks ? hints.blocks == 2
                                : leavesRoom() || waitsBetweenTiles());
  }
  plan.stages = hints.stages.value_or(0);
  if (hints.staged)
    plan.isStaged = *hints.staged;
  std::optional<SharedLayout> layout = layOut();
  if (!layout)
    return std::nullopt;
  decideRest(plan, space, *layout,
             /*isUnequal=*/!findStreamMasks(plan, *sets).empty());
  return PlannedMatrix{plan, *layout};
}
