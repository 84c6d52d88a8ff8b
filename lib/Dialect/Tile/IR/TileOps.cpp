//===- TileOps.cpp - what ops of the tile dialect require -----------------===//
#include "redfuse/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace redfuse::tile;

//===----------------------------------------------------------------------===//
// Barriers and rings
//===----------------------------------------------------------------------===//

LogicalResult StageOp::verify() {
  int64_t offset = getOffset(), bytes = getRing().getType().getBytes();
  if (offset < 0 || offset % kTileAlignment != 0)
    return emitOpError() << "the tile must start at a multiple of "
                         << kTileAlignment << " bytes, got " << offset;
  if (offset + getType().getBytes() > bytes)
    return emitOpError() << "the tile ends at byte "
                         << offset + getType().getBytes() << " of a stage of "
                         << bytes;
  return success();
}

/// Arrivals and bytes of a phase have 20 bits.
static constexpr int64_t kMaxCount = (1 << 20) - 1;

LogicalResult InitBarrierOp::verify() {
  if (int64_t(getArrivals()) < 1 || int64_t(getArrivals()) > kMaxCount)
    return emitOpError() << "expected 1 to " << kMaxCount
                         << " arrivals a phase, got " << int64_t(getArrivals());
  return success();
}

LogicalResult ExpectOp::verify() {
  if (int64_t(getBytes()) < 0 || int64_t(getBytes()) > kMaxCount)
    return emitOpError() << "a phase counts up to " << kMaxCount
                         << " bytes, got " << int64_t(getBytes());
  return success();
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void AddressInOp::build(OpBuilder &builder, OperationState &state,
                        Value address, OpFoldResult block) {
  auto number = dyn_cast_if_present<IntegerAttr>(dyn_cast<Attribute>(block));
  build(builder, state, builder.getI32Type(), address, dyn_cast<Value>(block),
        number);
}

LogicalResult AddressInOp::verify() {
  std::optional<int64_t> number = getNumber();
  if (number.has_value() == bool(getBlock()))
    return emitOpError()
           << "expected the number of a block, a constant or a value, got "
           << (number ? "both" : "neither");
  if (number && (*number < 0 || *number > 15))
    return emitOpError() << "a cluster has up to 16 blocks, got number "
                         << *number;
  return success();
}

template <typename OpTy>
static LogicalResult verifyNamed(OpTy op) {
  int64_t barrier = op.getBarrier(), threads = op.getThreads();
  if (barrier < 0 || barrier > 15)
    return op.emitOpError() << "a block has barriers 0 to 15, got " << barrier;
  if (threads < 32 || threads > 1024 || threads % 32 != 0)
    return op.emitOpError()
           << "expected whole warps, 32 to 1024 threads, got " << threads;
  return success();
}

LogicalResult SynchronizeOp::verify() { return verifyNamed(*this); }
LogicalResult NotifyOp::verify() { return verifyNamed(*this); }

void RolesOp::build(OpBuilder &builder, OperationState &state, Value warp,
                    ArrayRef<int64_t> warps, int64_t registers,
                    ArrayRef<int64_t> budgets) {
  state.addOperands(warp);
  state.addAttribute(getWarpsAttrName(state.name),
                     builder.getDenseI64ArrayAttr(warps));
  if (registers)
    state.addAttribute(getRegistersAttrName(state.name),
                       builder.getI64IntegerAttr(registers));
  if (!budgets.empty())
    state.addAttribute(getBudgetsAttrName(state.name),
                       builder.getDenseI64ArrayAttr(budgets));
  for (size_t i = 0; i < warps.size(); ++i)
    state.addRegion()->emplaceBlock();
}

ParseResult RolesOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand warp;
  Builder &b = parser.getBuilder();
  if (parser.parseKeyword("of") || parser.parseOperand(warp) ||
      parser.resolveOperand(warp, b.getI32Type(), state.operands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("registers"))) {
    int64_t registers;
    if (parser.parseInteger(registers))
      return failure();
    state.addAttribute(getRegistersAttrName(state.name),
                       b.getI64IntegerAttr(registers));
  }
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  SmallVector<int64_t> warps, budgets;
  while (succeeded(parser.parseOptionalKeyword("role"))) {
    if (parser.parseKeyword("warps") ||
        parser.parseInteger(warps.emplace_back()))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("registers")) &&
        parser.parseInteger(budgets.emplace_back()))
      return failure();
    Region *body = state.addRegion();
    if (parser.parseRegion(*body))
      return failure();
    if (body->empty())
      body->emplaceBlock();
  }
  state.addAttribute(getWarpsAttrName(state.name),
                     b.getDenseI64ArrayAttr(warps));
  if (!budgets.empty())
    state.addAttribute(getBudgetsAttrName(state.name),
                       b.getDenseI64ArrayAttr(budgets));
  return success();
}

void RolesOp::print(OpAsmPrinter &p) {
  p << " of " << getWarp();
  if (auto registers = getRegisters())
    p << " registers " << int64_t(*registers);
  p.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getRegistersAttrName(), getWarpsAttrName(), getBudgetsAttrName()});
  p.increaseIndent();
  for (auto [i, body] : llvm::enumerate(getBodies())) {
    p.printNewline();
    p << "role warps " << getWarps()[i];
    if (auto budgets = getBudgets())
      p << " registers " << (*budgets)[i];
    p << " ";
    p.printRegion(body, /*printEntryBlockArgs=*/false);
  }
  p.decreaseIndent();
}

LogicalResult RolesOp::verify() {
  ArrayRef<int64_t> warps = getWarps();
  if (warps.empty())
    return emitOpError("expected one role or more");
  if (warps.size() != getBodies().size())
    return emitOpError() << "has " << getBodies().size() << " bodies for "
                         << warps.size() << " roles";
  int64_t all = 0;
  for (int64_t count : warps) {
    if (count < 1)
      return emitOpError() << "a role has one warp or more, got " << count;
    all += count;
  }
  if (all > 32)
    return emitOpError() << "a block has up to 32 warps, got " << all;
  if (auto function = (*this)->getParentOfType<FunctionOpInterface>())
    if (auto size =
            function->getAttrOfType<DenseI32ArrayAttr>("known_block_size");
        size && size.size() == 3) {
      int64_t threads = int64_t(size[0]) * size[1] * size[2];
      if (threads != 32 * all)
        return emitOpError() << "roles of " << all << " warps in a block of "
                             << threads << " threads";
    }
  auto budgets = getBudgets();
  if (!budgets && !getRegisters())
    return success();
  if (!budgets || !getRegisters() || budgets->size() != warps.size())
    return emitOpError(
        "expected registers of the kernel and of each role, or of none");
  int64_t registers = *getRegisters(), sum = 0;
  for (auto [count, budget] : llvm::zip_equal(warps, *budgets)) {
    if (budget < kMinRegisters || budget > kMaxRegisters || budget % 8 != 0)
      return emitOpError() << "a thread's registers must be a multiple of 8 "
                              "from "
                           << kMinRegisters << " to " << kMaxRegisters
                           << ", got " << budget;
    if (count % 4 != 0)
      return emitOpError() << "registers are those of whole warpgroups, of 4 "
                              "warps each; got a role of "
                           << count;
    sum += count * budget;
  }
  if (sum > all * registers)
    return emitOpError() << "roles take " << sum * 32 << " registers of "
                         << all * registers * 32 << " that the block has";
  return success();
}

//===----------------------------------------------------------------------===//
// Words of shared memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyWords(Operation *op, TypeRange types,
                                 int64_t offset) {
  size_t count = types.size();
  if (count != 1 && count != 2 && count != 4)
    return op->emitOpError() << "expected 1, 2 or 4 words, got " << count;
  if (!llvm::all_equal(types))
    return op->emitOpError("words must be of one type");
  if (offset < 0 || offset % int64_t(4 * count) != 0)
    return op->emitOpError() << "the offset must be a multiple of " << 4 * count
                             << " bytes, got " << offset;
  return success();
}

LogicalResult StoreOp::verify() {
  return verifyWords(*this, getWords().getTypes(), getOffset());
}

LogicalResult LoadOp::verify() {
  return verifyWords(*this, getWords().getTypes(), getOffset());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// A box is of 256 elements at most along each dim.
static constexpr int64_t kMaxBox = 256;

static LogicalResult verifyCopy(Operation *op, SharedType tile,
                                size_t coordinates) {
  if (coordinates < 1 || coordinates > 5)
    return op->emitOpError() << "a tensor map has 1 to 5 dims, got "
                             << coordinates << " coordinates";
  if (tile.getRows() > kMaxBox)
    return op->emitOpError()
           << "a box has up to " << kMaxBox << " rows, got " << tile.getRows();
  return success();
}

LogicalResult ArriveOp::verify() {
  // As many as a cluster has at most, and a warp lanes for.
  if (!getRank() && getBlocks() != 1)
    return emitOpError()
           << "arrives at one block's barrier without a rank, got "
           << getBlocks();
  if (getBlocks() < 1 || getBlocks() > 8)
    return emitOpError() << "arrives at the barriers of 1 to 8 blocks, got "
                         << getBlocks();
  return success();
}

LogicalResult CopyOp::verify() {
  size_t offsets = getOffsets().size(), rank = getCoordinates().size();
  if (bool(getRow()) != bool(getBlocks()))
    return emitOpError() << "has a row where it has blocks, and none without";
  if (offsets != 0 && (offsets > 3 || offsets + 2 != rank))
    return emitOpError()
           << "a window has an offset for each of the one to three "
              "dims between the first and the last, got "
           << offsets << " and " << rank << " coordinates";
  return verifyCopy(*this, getTile().getType(), rank);
}

LogicalResult PrefetchOp::verify() {
  return verifyCopy(*this, cast<SharedType>(getTile()),
                    getCoordinates().size());
}

LogicalResult CopyOutOp::verify() {
  return verifyCopy(*this, getTile().getType(), getCoordinates().size());
}

static LogicalResult verifyPending(Operation *op, int64_t pending) {
  if (pending < 0 || pending > 7)
    return op->emitOpError()
           << "waits until 0 to 7 groups run, got " << pending;
  return success();
}

LogicalResult WaitCopiesOp::verify() {
  return verifyPending(*this, getPending());
}

LogicalResult CopyRowsOp::verify() {
  auto type = cast<MemRefType>(getSource().getType());
  SharedType tile = getTile().getType();
  int64_t rank = type.getRank(), along = getAlong();
  if (int64_t(getIndices().size()) != rank)
    return emitOpError() << "expected " << rank << " indices, got "
                         << getIndices().size();
  if (along < 0 || along + 1 >= rank)
    return emitOpError() << "rows must be a dim before the last of " << rank
                         << ", got " << along;
  if (type.getElementType() != tile.getElement())
    return emitOpError() << "copies elements of " << type.getElementType()
                         << " to a tile of " << tile.getElement();
  int64_t bytes = tile.getElement().getIntOrFloatBitWidth() / 8;
  if (!type.getLayout().isIdentity() || type.isDynamicDim(rank - 1) ||
      type.getDimSize(rank - 1) * bytes % 16 != 0)
    return emitOpError() << "expected a contiguous tensor with rows of a "
                            "multiple of 16 bytes, got "
                         << type;
  if (getThreads() < 8 || getThreads() > 1024 || getThreads() % 8 != 0)
    return emitOpError() << "threads must be a multiple of 8 up to 1024, got "
                         << getThreads();
  return success();
}

LogicalResult WaitRowsOp::verify() {
  return verifyPending(*this, getPending());
}

/// Rows start in the tile, and blocks of 16 elements end in it.
LogicalResult StoreBlockOp::verify() {
  SharedType tile = getTile().getType();
  if (tile.getElement().getIntOrFloatBitWidth() != 16)
    return emitOpError() << "expected elements of 16 bits, got "
                         << tile.getElement();
  int64_t column = getColumn();
  if (column < 0 || column % 16 != 0 || column + 16 > tile.getColumns())
    return emitOpError() << "expected a multiple of 16 below "
                         << tile.getColumns() << " as column, got " << column;
  return success();
}

//===----------------------------------------------------------------------===//
// Products of a warp
//===----------------------------------------------------------------------===//

LogicalResult MmaOp::verify() {
  if (getLeft().empty() || getRight().empty() || getSums().empty())
    return emitOpError("expected words of both operands, and sums");
  if (getLeft().size() % getRight().size() != 0)
    return emitOpError() << "the lane's rows have " << getLeft().size()
                         << " words, its column " << getRight().size()
                         << "; expected as many for each row";
  auto verifyWords = [&](ValueRange words, Type element) -> LogicalResult {
    if (!element.isIntOrFloat() || element.isSignlessInteger())
      return emitOpError() << "elements must be floats, si8 or ui8, got "
                           << element;
    unsigned bits = element.getIntOrFloatBitWidth();
    for (Type type : words.getTypes())
      if (bits < 32 ? !type.isInteger(32) : type != element)
        return emitOpError()
               << "elements of " << element << " come as "
               << (bits < 32 ? "i32" : "they are") << ", got " << type;
    return success();
  };
  if (failed(verifyWords(getLeft(), getLeftElement())) ||
      failed(verifyWords(getRight(), getRightElement())))
    return failure();
  for (Type type : getSums().getTypes()) {
    Type element = type;
    if (auto vector = dyn_cast<VectorType>(type))
      element = vector.getElementType();
    if (!element.isF32() && !element.isF64() && !element.isInteger(32))
      return emitOpError() << "sums must be f32, f64 or i32, got " << type;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

LogicalResult PackOp::verify() {
  if (int64_t(getValues().size()) != 2 * getType().getSize())
    return emitOpError() << "a thread has " << 2 * getType().getSize()
                         << " elements of it, got " << getValues().size();
  return success();
}

LogicalResult ReadOperandOp::verify() {
  SharedType tile = getTile().getType();
  if (tile.getElement() != getType().getElement())
    return emitOpError() << "reads elements of " << tile.getElement() << " as "
                         << getType().getElement();
  if (getType().getRows() != 64)
    return emitOpError() << "reads 64 rows, got " << getType().getRows();
  if (tile.getRows() < 64 || getType().getColumns() > tile.getColumns())
    return emitOpError() << "a tile of " << tile.getRows() << " x "
                         << tile.getColumns() << " does not have the 64 x "
                         << getType().getColumns() << " of the operand";
  return success();
}

LogicalResult SettleOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                         ValueRange operands, DictionaryAttr,
                                         OpaqueProperties, RegionRange,
                                         SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

LogicalResult SettleOp::verify() {
  if (getValues().empty())
    return emitOpError("expected one value or more");
  return success();
}

LogicalResult MultiplyOp::verify() {
  AccumulatorsType result = getType();
  SharedType right = getRight().getType();
  int64_t sum = getSum();
  Type element = right.getElement();
  auto isInteger = [](Type type) {
    return type.isSignedInteger(8) || type.isUnsignedInteger(8);
  };
  auto isByte = [&](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type) || isInteger(type);
  };
  if (!element.isBF16() && !element.isF16() && !element.isF32() &&
      !isByte(element))
    return emitOpError()
           << "elements must be bf16, f16, f32, f8E4M3FN, f8E5M2, si8 or ui8, "
              "got "
           << element;
  if (isInteger(element) != result.getElement().isInteger(32))
    return emitOpError() << "sums of " << element << " are of "
                         << (isInteger(element) ? "i32" : "f32") << ", got "
                         << result.getElement();
  // An instruction has 32 bytes of the sum.
  int64_t step = 32 * 8 / element.getIntOrFloatBitWidth();
  if (sum < step || sum % step != 0)
    return emitOpError() << "sums over a multiple of " << step << ", got "
                         << sum;
  if ((element.isF32() || isByte(element)) &&
      (!isa<SharedType>(getLeft().getType()) || getLeftRows() ||
       getRightRows()))
    return emitOpError() << "operands of " << element
                         << " are in shared memory, and the sum runs along "
                            "their columns";
  // The extents of an operand: of the sum, and the other one.
  auto verifyTile = [&](SharedType tile, bool isByRows, int64_t free,
                        StringRef side) -> LogicalResult {
    int64_t sums = tile.getColumns(), others = tile.getRows();
    if (isByRows)
      std::swap(sums, others);
    if (sum > sums)
      return emitOpError() << "sums over " << sum << " elements, of which the "
                           << side << " operand has " << sums;
    if (free > others)
      return emitOpError() << "the result has " << free << " "
                           << (side == "left" ? "rows" : "columns") << ", the "
                           << side << " operand " << others;
    return success();
  };
  if (failed(verifyTile(right, getRightRows(), result.getColumns(), "right")))
    return failure();
  if (auto left = dyn_cast<SharedType>(getLeft().getType())) {
    if (left.getElement() != element &&
        !(isByte(left.getElement()) && isByte(element) &&
          isInteger(left.getElement()) == isInteger(element)))
      return emitOpError() << "operands are of " << left.getElement()
                           << " and of " << element;
    if (failed(verifyTile(left, getLeftRows(), result.getRows(), "left")))
      return failure();
  } else {
    auto operand = cast<OperandType>(getLeft().getType());
    if (operand.getElement() != element)
      return emitOpError() << "operands are of " << operand.getElement()
                           << " and of " << element;
    if (operand.getRows() != result.getRows())
      return emitOpError() << "the result has " << result.getRows()
                           << " rows, the left operand " << operand.getRows();
    if (operand.getColumns() != sum)
      return emitOpError() << "sums over " << sum
                           << " elements, of which the left operand has "
                           << operand.getColumns();
    if (getPart() || getLeftRows())
      return emitOpError("a left operand in registers is taken as it is");
  }
  if (getAccumulators() && getAccumulators().getType() != result)
    return emitOpError() << "adds to " << getAccumulators().getType()
                         << ", and gives " << result;
  return success();
}

LogicalResult WaitProductsOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  for (Value v : adaptor.getAccumulators()) {
    auto type = cast<AccumulatorsType>(v.getType());
    types.append(type.getSize(), type.getElement());
  }
  return success();
}

LogicalResult WaitProductsOp::verify() {
  return verifyPending(*this, getPending());
}
