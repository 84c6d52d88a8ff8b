//===- RedfuseDialect.cpp - registration, attributes, reducers ------------===//
#include "Hints.h"

#include "redfuse/Dialect/Redfuse/IR/Selection.h"
#include "redfuse/Support/Chips.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse;

#include "redfuse/Dialect/Redfuse/IR/RedfuseDialect.cpp.inc"
#include "redfuse/Dialect/Redfuse/IR/RedfuseEnums.cpp.inc"
#include "redfuse/Dialect/Redfuse/IR/RedfuseInterfaces.cpp.inc"

/// Whether a hint is in its range; others than numbers are by their type.
template <typename T>
static bool checkHint(function_ref<InFlightDiagnostic()>, StringRef,
                      std::optional<T>, int64_t, int64_t, int64_t, bool) {
  return true;
}

static bool checkHint(function_ref<InFlightDiagnostic()> emitError,
                      StringRef name, std::optional<int64_t> value,
                      int64_t least, int64_t most, int64_t multiple,
                      bool isPower) {
  if (!value || (*value >= least && *value <= most && *value % multiple == 0 &&
                 (!isPower || llvm::isPowerOf2_64(*value))))
    return true;
  emitError() << "hint '" << name << "' is " << *value << "; expected "
              << HintsAttr::getExpected(name);
  return false;
}

/// `[a, b]`, or `[]`: upstream's lists have an element at least.
template <typename T>
static ParseResult parseList(AsmParser &parser, SmallVector<T> &values) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<T> value = FieldParser<T>::parse(parser);
        if (failed(value))
          return failure();
        values.push_back(*value);
        return success();
      });
}

template <typename T>
static void printList(AsmPrinter &printer, ArrayRef<T> values) {
  printer << "[";
  llvm::interleaveComma(values, printer, [&](T value) {
    printer.printStrippedAttrOrType(value);
  });
  printer << "]";
}

#define GET_ATTRDEF_CLASSES
#include "redfuse/Dialect/Redfuse/IR/RedfuseAttrs.cpp.inc"

namespace {
/// Folding leaves the constants of a body in the body, which then can move into
/// a kernel as it is.
struct KeepConstantsInBodies : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final {
    return isa<IndexProgramOpInterface>(region->getParentOp());
  }
};
} // namespace

void RedfuseDialect::initialize() {
  addInterfaces<KeepConstantsInBodies>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "redfuse/Dialect/Redfuse/IR/RedfuseAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "redfuse/Dialect/Redfuse/IR/RedfuseOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "redfuse/Dialect/Redfuse/IR/RedfuseSelection.cpp.inc"
      >();
}

/// The largest number that is planned.
static constexpr int64_t kMostPlanned = 1 << 20;
/// Threads that share a tile: of 16 blocks of 1024; and elements of a vector.
static constexpr int64_t kMostTileThreads = 16 * 1024, kMostLanes = 16;
/// Blocks of a cluster, and warps of one, that make rounds: see PlanRounds.cpp.
static constexpr int64_t kMostRoundBlocks = 16, kMostRoundWarps = 32;
/// In halves of a power of 2: that sums of what is so much larger do not overflow.
static constexpr int64_t kMostThreshold = 16;

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  std::optional<ScheduleKind> kind = symbolizeScheduleKind(keyword);
  if (!kind)
    return parser.emitError(loc)
               << "expected map, resident, stream, multipass or split, got '"
               << keyword << "'",
           Attribute();
  SmallVector<int64_t> grid, tiles, stream;
  StringAttr reason;
  HintsAttr hints;
  int64_t splits = 0, lazy = 0;
  auto parseDims = [&](SmallVector<int64_t> &dims) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(dims.emplace_back());
    });
  };
  llvm::SmallDenseSet<StringRef> seen;
  while (succeeded(parser.parseOptionalComma())) {
    llvm::SMLoc entryLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return {};
    if (!seen.insert(keyword).second)
      return parser.emitError(entryLoc) << "'" << keyword << "' given twice",
             Attribute();
    if (parser.parseEqual())
      return {};
    ParseResult parsed = failure();
    if (keyword == "grid")
      parsed = parseDims(grid);
    else if (keyword == "tiles")
      parsed = parseDims(tiles);
    else if (keyword == "stream")
      parsed = parseDims(stream);
    else if (keyword == "splits")
      parsed = parser.parseInteger(splits);
    else if (keyword == "lazy")
      parsed = parser.parseInteger(lazy);
    else if (keyword == "reason")
      parsed = parser.parseAttribute(reason);
    else if (keyword == "hints")
      parsed =
          success((hints = parseHints(parser, AsmParser::Delimiter::Braces)) !=
                  nullptr);
    else
      return parser.emitError(entryLoc)
                 << "expected grid, tiles, stream, splits, lazy, hints or "
                    "reason, got '"
                 << keyword << "'",
             Attribute();
    if (failed(parsed))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ScheduleAttr>(loc, parser.getContext(), *kind, grid,
                                         tiles, stream, reason, splits, lazy,
                                         hints);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyScheduleKind(getKind());
  auto printDims = [&](StringRef name, ArrayRef<int64_t> dims) {
    if (dims.empty())
      return;
    printer << ", " << name << " = [";
    llvm::interleaveComma(dims, printer);
    printer << "]";
  };
  printDims("grid", getGrid());
  printDims("tiles", getTiles());
  printDims("stream", getStream());
  if (getSplits() != 0)
    printer << ", splits = " << getSplits();
  if (getLazy() != 0)
    printer << ", lazy = " << getLazy();
  if (getHints()) {
    printer << ", hints = {";
    printHints(printer, getHints());
    printer << "}";
  }
  if (getReason())
    printer << ", reason = " << getReason();
  printer << ">";
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ScheduleKind kind, ArrayRef<int64_t> grid,
                                   ArrayRef<int64_t> tiles,
                                   ArrayRef<int64_t> stream, StringAttr,
                                   int64_t splits, int64_t lazy, HintsAttr) {
  auto inRange = [&](int64_t d) {
    return d >= 0 && d < static_cast<int64_t>(tiles.size());
  };
  for (int64_t t : tiles)
    if (t < 0)
      return emitError() << "a tile of extent " << t
                         << "; expected 0 (the whole dim) or more";
  auto findTwice = [](ArrayRef<int64_t> dims) -> std::optional<int64_t> {
    for (auto [i, d] : llvm::enumerate(dims))
      if (llvm::is_contained(dims.take_front(i), d))
        return d;
    return std::nullopt;
  };
  if (auto d = findTwice(grid))
    return emitError() << "'grid' names dim " << *d << " twice";
  if (auto d = findTwice(stream))
    return emitError() << "'stream' names dim " << *d << " twice";
  for (int64_t d : grid) {
    if (!inRange(d))
      return emitError() << "'grid' names dim " << d << ", but 'tiles' has "
                         << tiles.size() << " entries";
    if (tiles[d] == 0)
      return emitError() << "dim " << d
                         << " is in 'grid' but its tile is the whole dim";
  }
  for (int64_t d : stream) {
    if (!inRange(d))
      return emitError() << "'stream' names dim " << d << ", but 'tiles' has "
                         << tiles.size() << " entries";
    if (llvm::is_contained(grid, d))
      return emitError() << "dim " << d << " is both in 'grid' and 'stream'";
    bool isWhole = kind == ScheduleKind::Resident;
    if (tiles[d] == 0 && !isWhole)
      return emitError() << "dim " << d
                         << " is in 'stream' but its tile is the whole dim";
    if (tiles[d] != 0 && isWhole)
      return emitError() << "a resident schedule folds whole dims, but dim "
                         << d << " has tiles of " << tiles[d];
  }
  bool isSplit = kind == ScheduleKind::Split;
  if ((isSplit || kind == ScheduleKind::Stream) && stream.empty())
    return emitError() << "a " << stringifyScheduleKind(kind)
                       << " schedule needs dims in 'stream'";
  if (kind == ScheduleKind::Map && !stream.empty())
    return emitError() << "a map has no dims in 'stream'";
  if (isSplit && splits < 1)
    return emitError() << "a split schedule needs 1 or more 'splits', got "
                       << splits;
  if (!isSplit && splits != 0)
    return emitError() << "only a split schedule has 'splits'";
  if (lazy < 0 || lazy > kMaxLazy)
    return emitError() << "'lazy' is 0 to " << kMaxLazy << " powers of 2, got "
                       << lazy;
  if (lazy != 0 && stream.empty())
    return emitError() << "only a schedule with dims in 'stream' has 'lazy'";
  return success();
}

/// Whether a number of an attribute is in its range.
static LogicalResult checkRange(function_ref<InFlightDiagnostic()> emitError,
                                StringRef name, int64_t value, int64_t least,
                                int64_t most = kMostPlanned) {
  if (value >= least && value <= most)
    return success();
  return emitError() << "'" << name << "' is " << value << "; expected from "
                     << least << " to " << most;
}

static LogicalResult checkPower(function_ref<InFlightDiagnostic()> emitError,
                                StringRef name, int64_t value, int64_t most) {
  if (value > 0 && value <= most && llvm::isPowerOf2_64(value))
    return success();
  return emitError() << "'" << name << "' is " << value
                     << "; expected a power of 2 up to " << most;
}

LogicalResult
RoundsPlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       int64_t cluster, int64_t warps, int64_t gridParts,
                       int64_t warpParts) {
  return success(
      succeeded(checkPower(emitError, "cluster", cluster, kMostRoundBlocks)) &&
      succeeded(checkRange(emitError, "warps", warps, 1, kMostRoundWarps)) &&
      succeeded(checkRange(emitError, "grid_parts", gridParts, 1)) &&
      succeeded(checkRange(emitError, "warp_parts", warpParts, 1)));
}

/// Of rates, in units of which the fastest GPU has some 10^6.
static constexpr int64_t kMostRate = (int64_t(1) << 31) - 1;

LogicalResult RatesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t launch, int64_t round, int64_t memory,
                                int64_t vector, int64_t matrix) {
  return success(
      succeeded(checkRange(emitError, "launch", launch, 1, kMostRate)) &&
      succeeded(checkRange(emitError, "round", round, 1, kMostRate)) &&
      succeeded(checkRange(emitError, "memory", memory, 1, kMostRate)) &&
      succeeded(checkRange(emitError, "vector", vector, 1, kMostRate)) &&
      succeeded(checkRange(emitError, "matrix", matrix, 1, kMostRate)));
}

LogicalResult DimShareAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t lanes, int64_t repeats,
                                   int64_t threads, int64_t bit, int64_t run) {
  if (run > 0 && repeats % run != 0)
    return emitError() << "expected 'repeats' of whole runs of " << run
                       << " vectors, got " << repeats;
  return success(
      succeeded(checkPower(emitError, "lanes", lanes, kMostLanes)) &&
      succeeded(checkRange(emitError, "run", run, 1)) &&
      succeeded(checkRange(emitError, "repeats", repeats, 1)) &&
      succeeded(checkPower(emitError, "threads", threads, kMostTileThreads)) &&
      succeeded(checkRange(emitError, "bit", bit, 0,
                           llvm::Log2_64(kMostTileThreads))));
}

LogicalResult
InputTileAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t argument, AffineMapAttr map, int64_t bytes) {
  if (!map)
    return emitError() << "expected a 'map' from iteration dims to indices";
  return success(
      succeeded(checkRange(emitError, "argument", argument, 0)) &&
      succeeded(checkRange(emitError, "bytes", bytes, 0, int64_t(1) << 40)));
}

LogicalResult RegisterLayoutAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, int64_t threads,
    int64_t cluster, int64_t lanes, ArrayRef<DimShareAttr> dims, int64_t blocks,
    int64_t sharedBytes, int64_t loopingBlocks, ArrayRef<InputTileAttr>,
    ArrayRef<int64_t>, ArrayRef<InputTileAttr>, int64_t aheadTiles,
    ArrayRef<InputTileAttr>, ArrayRef<RegisterChoice>) {
  if (failed(checkPower(emitError, "threads", threads, kMostTileThreads)) ||
      failed(checkPower(emitError, "cluster", cluster, threads)) ||
      failed(checkPower(emitError, "lanes", lanes, kMostLanes)) ||
      failed(checkRange(emitError, "blocks", blocks, 0)) ||
      failed(checkRange(emitError, "shared_bytes", sharedBytes, 0)) ||
      failed(checkRange(emitError, "looping_blocks", loopingBlocks, 0)) ||
      failed(checkRange(emitError, "ahead_tiles", aheadTiles, 0)))
    return failure();
  for (auto [d, dim] : llvm::enumerate(dims)) {
    if (dim.getLanes() != 1 && dim.getLanes() != lanes)
      return emitError() << "dim " << d << " has vectors of " << dim.getLanes()
                         << " lanes; expected 1 or 'lanes', " << lanes;
    if ((dim.getThreads() << dim.getBit()) > threads)
      return emitError() << "dim " << d << " takes bits that the numbers of "
                         << threads << " threads do not have";
  }
  return success();
}

LogicalResult
ContractionPlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                            MmaKind kind, ArrayRef<int64_t> warps,
                            ArrayRef<int64_t> instructions, int64_t slabs,
                            int64_t stages, int64_t splits, bool boxes) {
  bool isByWarpgroups = kind == MmaKind::Wgmma;
  constexpr int64_t most = 32;
  auto check = [&](StringRef name, int64_t value,
                   int64_t most) -> LogicalResult {
    if (value >= 1 && value <= most && llvm::isPowerOf2_64(value))
      return success();
    return emitError() << "'" << name << "' has " << value
                       << "; expected a power of 2 up to " << most;
  };
  if (warps.size() < 2 || warps.size() > 3 || instructions.size() != 2)
    return emitError() << "'warps' and 'instructions' are two numbers each, "
                          "along rows and columns, and 'warps' may have one "
                          "along the sum; got "
                       << warps.size() << " and " << instructions.size();
  int64_t all = 1;
  for (int64_t count : warps) {
    if (failed(check("warps", count, 8)))
      return failure();
    all *= count;
  }
  for (int64_t count : instructions)
    if (failed(check("instructions", count, isByWarpgroups ? most : 8)))
      return failure();
  if (all > 8)
    return emitError() << "a block has at most 8 warps, not " << all;
  int64_t slices = warps.size() > 2 ? warps[2] : 1;
  if (slices > 1 && (isByWarpgroups || splits > 1 || slabs < 2 * slices))
    return emitError() << "the sum of a tile is shared by warps of "
                          "'mma_sync' or by blocks, and each warp adds two "
                          "slabs of a stage or more";
  if (instructions[0] * instructions[1] > most)
    return emitError() << "a warp's tile has at most " << most
                       << " instructions, not "
                       << instructions[0] * instructions[1];
  if (isByWarpgroups &&
      (warps[0] % 4 != 0 || instructions[0] != 1 || slabs != 2))
    return emitError() << "a warpgroup is four warps along rows, with one "
                          "instruction each, and reads two slabs";
  if (boxes && !isByWarpgroups)
    return emitError() << "'boxes' are for units of warpgroups ('wgmma')";
  if (failed(check("slabs", slabs, 4 * slices)) ||
      failed(checkRange(emitError, "stages", stages, 2)) ||
      failed(checkRange(emitError, "splits", splits, 1)))
    return failure();
  return success();
}

LogicalResult
PackingPlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        ArrayRef<int64_t> tiles, ArrayRef<int64_t> registers,
                        Microkernel) {
  for (int64_t tile : tiles)
    if (failed(checkRange(emitError, "tiles", tile, 0)))
      return failure();
  if (registers.size() != 2)
    return emitError() << "'registers' is two numbers, of rows and of vectors "
                          "of columns; got "
                       << registers.size();
  for (int64_t number : registers)
    if (number < 1 || number > 32)
      return emitError() << "'registers' has " << number
                         << "; expected 1 to 32";
  return success();
}

LogicalResult MatrixPlanAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, MmaKind kind, int64_t rowDim,
    ArrayRef<int64_t> tiles, int64_t consumers, int64_t consumerRows,
    ArrayRef<OperandPlace>, int64_t sumSplits, int64_t splits, int64_t cluster,
    int64_t blocks, int64_t stages, bool, TileScheduling, int64_t cached,
    int64_t ahead, bool, int64_t threshold, ArrayRef<int64_t> clusterShape) {
  auto check = [&](StringRef name, int64_t value,
                   ArrayRef<int64_t> allowed) -> LogicalResult {
    if (llvm::is_contained(allowed, value))
      return success();
    auto diag = emitError()
                << "'" << name << "' is " << value << "; expected one of ";
    llvm::interleaveComma(allowed, diag);
    return diag;
  };
  auto inRange = [&](StringRef name, int64_t value, int64_t least,
                     int64_t most = kMostPlanned) {
    return checkRange(emitError, name, value, least, most);
  };
  if (rowDim < 0 || rowDim >= int64_t(tiles.size()))
    return emitError() << "'row_dim' is " << rowDim << ", but 'tiles' has "
                       << tiles.size() << " entries";
  for (int64_t tile : tiles)
    if (failed(inRange("tiles", tile, 0)))
      return failure();
  if (kind == MmaKind::MmaSync
          ? failed(check("consumers", consumers, {1, 2}))
          : failed(check("consumers", consumers, {1, 2, 3})))
    return failure();
  if (failed(check("consumer_rows", consumerRows, {64, 128})) ||
      failed(check("sum_splits", sumSplits, {1, 2, 4, 8})) ||
      failed(inRange("splits", splits, 1)) ||
      failed(check("cluster", cluster, {1, 2, 4, 8})) ||
      failed(check("blocks", blocks, {1, 2})) ||
      failed(inRange("stages", stages, 1)) ||
      failed(inRange("cached", cached, 0)) ||
      failed(inRange("ahead", ahead, 0)) ||
      failed(inRange("threshold", threshold, 0, kMostThreshold)) ||
      (!clusterShape.empty() && failed(check("the length of 'cluster_shape'",
                                             clusterShape.size(), {2}))))
    return failure();
  for (int64_t blocks : clusterShape)
    if (failed(check("cluster_shape", blocks, {1, 2})))
      return failure();
  if (!clusterShape.empty() &&
      (kind != MmaKind::Wgmma || sumSplits > 1 || cluster > 1))
    return emitError() << "blocks of a cluster ('cluster_shape') copy for each "
                          "other with wgmma, where each has a tile of its own";
  if (splits % cluster != 0)
    return emitError() << splits << " splits are no clusters of " << cluster;
  if (sumSplits > 1 && splits > 1)
    return emitError()
           << "blocks share sums ('sum_splits') or a fold ('splits'), "
              "not both";
  return success();
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringAttr name, int64_t units,
                                 int64_t vectorBits, int64_t l1, int64_t l2,
                                 int64_t flops, int64_t bandwidth,
                                 int64_t launchNs, StringAttr chip) {
  if (chip) {
    const Chip *known = findChip(chip);
    if (!known || known->family != name.getValue())
      return emitError() << "'" << name.getValue() << "' has no chip '"
                         << chip.getValue() << "'; known are " << listChips();
  }
  for (int64_t v : {units, vectorBits, l1, l2, flops, bandwidth})
    if (v <= 0)
      return emitError() << "expected positive capacities and rates, got " << v;
  if (launchNs < 0)
    return emitError() << "expected a launch cost of 0 or more, got "
                       << launchNs;
  return success();
}

//===----------------------------------------------------------------------===//
// Reducers
//===----------------------------------------------------------------------===//

TypedAttr redfuse::getReducerIdentity(Reducer reducer, Type type) {
  Builder b(type.getContext());
  if (auto ft = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &sem = ft.getFloatSemantics();
    // Some formats of 8 bits and less have no zero, no sign or no infinity.
    if (!APFloat::semanticsHasZero(sem) ||
        !APFloat::semanticsHasSignedRepr(sem))
      return {};
    auto extreme = [&](bool negative) {
      return b.getFloatAttr(type, APFloat::semanticsHasInf(sem)
                                      ? APFloat::getInf(sem, negative)
                                      : APFloat::getLargest(sem, negative));
    };
    switch (reducer) {
    case Reducer::Add:
      return b.getFloatAttr(type, APFloat::getZero(sem));
    case Reducer::Mul:
      return b.getFloatAttr(type, APFloat(sem, 1));
    case Reducer::MaximumF:
    case Reducer::MaxNumF:
    case Reducer::ArgMax:
    case Reducer::TopK:
      return extreme(/*negative=*/true);
    case Reducer::MinimumF:
    case Reducer::MinNumF:
    case Reducer::ArgMin:
      return extreme(/*negative=*/false);
    default:
      return {};
    }
  }
  if (!type.isIntOrIndex())
    return {};
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (width == 0)
    return {};
  switch (reducer) {
  case Reducer::Add:
  case Reducer::Or:
  case Reducer::Xor:
  case Reducer::MaxUI:
    return b.getIntegerAttr(type, APInt::getZero(width));
  case Reducer::Mul:
    return b.getIntegerAttr(type, APInt(width, 1));
  case Reducer::And:
  case Reducer::MinUI:
    return b.getIntegerAttr(type, APInt::getAllOnes(width));
  case Reducer::MaxSI:
  case Reducer::ArgMax:
  case Reducer::TopK:
    return b.getIntegerAttr(type, APInt::getSignedMinValue(width));
  case Reducer::MinSI:
  case Reducer::ArgMin:
    return b.getIntegerAttr(type, APInt::getSignedMaxValue(width));
  default:
    return {};
  }
}

Value redfuse::createCombiner(OpBuilder &b, Location loc, Reducer reducer,
                              Value lhs, Value rhs) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(lhs.getType()));
  switch (reducer) {
  case Reducer::Add:
    return isFloat ? Value(arith::AddFOp::create(b, loc, lhs, rhs))
                   : Value(arith::AddIOp::create(b, loc, lhs, rhs));
  case Reducer::Mul:
    return isFloat ? Value(arith::MulFOp::create(b, loc, lhs, rhs))
                   : Value(arith::MulIOp::create(b, loc, lhs, rhs));
  case Reducer::MaximumF:
    return arith::MaximumFOp::create(b, loc, lhs, rhs);
  case Reducer::MinimumF:
    return arith::MinimumFOp::create(b, loc, lhs, rhs);
  case Reducer::MaxNumF:
    return arith::MaxNumFOp::create(b, loc, lhs, rhs);
  case Reducer::MinNumF:
    return arith::MinNumFOp::create(b, loc, lhs, rhs);
  case Reducer::MaxSI:
    return arith::MaxSIOp::create(b, loc, lhs, rhs);
  case Reducer::MinSI:
    return arith::MinSIOp::create(b, loc, lhs, rhs);
  case Reducer::MaxUI:
    return arith::MaxUIOp::create(b, loc, lhs, rhs);
  case Reducer::MinUI:
    return arith::MinUIOp::create(b, loc, lhs, rhs);
  case Reducer::And:
    return arith::AndIOp::create(b, loc, lhs, rhs);
  case Reducer::Or:
    return arith::OrIOp::create(b, loc, lhs, rhs);
  case Reducer::Xor:
    return arith::XOrIOp::create(b, loc, lhs, rhs);
  case Reducer::ArgMax:
  case Reducer::ArgMin:
  case Reducer::TopK:
  case Reducer::Declared:
    break;
  }
  llvm_unreachable("this reducer has no combiner of one operand");
}

std::optional<Reducer> redfuse::getReducerOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Reducer>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Reducer::Add; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Reducer::Mul; })
      .Case([](arith::MaximumFOp) { return Reducer::MaximumF; })
      .Case([](arith::MinimumFOp) { return Reducer::MinimumF; })
      .Case([](arith::MaxNumFOp) { return Reducer::MaxNumF; })
      .Case([](arith::MinNumFOp) { return Reducer::MinNumF; })
      .Case([](arith::MaxSIOp) { return Reducer::MaxSI; })
      .Case([](arith::MinSIOp) { return Reducer::MinSI; })
      .Case([](arith::MaxUIOp) { return Reducer::MaxUI; })
      .Case([](arith::MinUIOp) { return Reducer::MinUI; })
      .Case([](arith::AndIOp) { return Reducer::And; })
      .Case([](arith::OrIOp) { return Reducer::Or; })
      .Case([](arith::XOrIOp) { return Reducer::Xor; })
      .Default([](Operation *) { return std::nullopt; });
}
