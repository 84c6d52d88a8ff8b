//===- RowCopies.cpp - copies of rows, by shared kernels ------------------===//
#include "RowCopies.h"

#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

std::optional<RowCopy> RowCopy::find(memref::CopyOp copy) {
  auto source = dyn_cast<MemRefType>(copy.getSource().getType()),
       target = dyn_cast<MemRefType>(copy.getTarget().getType());
  if (!source || !target || !source.hasStaticShape() ||
      !target.hasStaticShape() || !source.getElementType().isIntOrFloat())
    return std::nullopt;
  int64_t bytes = source.getElementTypeBitWidth() / 8;
  if (bytes == 0 || !llvm::isPowerOf2_64(bytes) ||
      source.getElementTypeBitWidth() % 8 != 0)
    return std::nullopt;
  SmallVector<int64_t> from, to;
  RowCopy found;
  if (failed(source.getStridesAndOffset(from, found.sourceOffset)) ||
      failed(target.getStridesAndOffset(to, found.targetOffset)) ||
      ShapedType::isDynamic(found.sourceOffset) ||
      ShapedType::isDynamic(found.targetOffset) ||
      llvm::any_of(llvm::concat<int64_t>(from, to), ShapedType::isDynamic))
    return std::nullopt;
  // The last dims that are one piece on both sides, and those in front of them that
  // are evenly spaced rows.
  ArrayRef<int64_t> shape = source.getShape();
  found.rows = found.columns = 1;
  size_t d = shape.size();
  for (; d > 0; --d) {
    int64_t extent = shape[d - 1];
    if (extent == 1)
      continue;
    if (from[d - 1] != found.columns || to[d - 1] != found.columns)
      break;
    if (llvm::MulOverflow(found.columns, extent, found.columns) ||
        found.columns > INT32_MAX / 2)
      return std::nullopt;
  }
  found.sourcePitch = found.targetPitch = found.columns;
  for (; d > 0; --d) {
    int64_t extent = shape[d - 1];
    if (extent == 1)
      continue;
    if (found.rows == 1) {
      found.sourcePitch = from[d - 1];
      found.targetPitch = to[d - 1];
    } else if (from[d - 1] != found.sourcePitch * found.rows ||
               to[d - 1] != found.targetPitch * found.rows) {
      return std::nullopt;
    }
    if (llvm::MulOverflow(found.rows, extent, found.rows) ||
        found.rows > INT32_MAX / 2)
      return std::nullopt;
  }
  if (found.rows == 0 || found.columns == 0)
    return std::nullopt;
  found.areShort = found.rows > 1 && found.columns * bytes < kLeastRowBytes;
  found.lanes = std::max<int64_t>(1, kAccessBytes / bytes);
  for (int64_t number : {found.columns, found.sourcePitch, found.targetPitch,
                         found.sourceOffset, found.targetOffset})
    while (number % found.lanes != 0)
      found.lanes /= 2;
  found.moves = kMovesOfCopyingThread;
  if (found.rows * found.columns < kManyMapPoints ||
      (!found.areShort && found.columns < found.getBlockColumns()))
    found.moves = 1;
  // Numbers of moves, and of threads behind the last one, are words.
  int64_t most = INT32_MAX - found.getBlockColumns();
  if (found.getBlocks() > INT32_MAX ||
      (found.areShort && found.rows * found.columns > most))
    return std::nullopt;
  return found;
}

int64_t RowCopy::getBlockColumns() const { return kMapThreads * lanes * moves; }

int64_t RowCopy::getBlocksOfRow() const {
  return llvm::divideCeil(columns, getBlockColumns());
}

int64_t RowCopy::getBlocks() const {
  return areShort ? llvm::divideCeil(rows * columns, getBlockColumns())
                  : rows * getBlocksOfRow();
}

/// Rows of any length and pitch.
static MemRefType rowsOf(Type element) {
  constexpr int64_t open = ShapedType::kDynamic;
  return MemRefType::get(
      {open, open}, element,
      StridedLayoutAttr::get(element.getContext(), open, {open, 1}));
}

gpu::GPUFuncOp RowCopies::make(Location loc, Type element, const RowCopy &rows,
                               gpu::GPUModuleOp device, StringRef name) {
  OpBuilder k = OpBuilder::atBlockEnd(device.getBody());
  Type word = k.getI32Type(), index = k.getIndexType();
  MemRefType type = rowsOf(element);
  auto func = gpu::GPUFuncOp::create(
      k, loc, name, k.getFunctionType({type, type, word, word}, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), k.getUnitAttr());
  Block *entry = &func.getBody().front();
  k.setInsertionPointToStart(entry);
  k.setInsertionPoint(gpu::ReturnOp::create(k, loc));
  // Of short rows the moves of one and of all, else columns and blocks of a row.
  Value source = entry->getArgument(0), target = entry->getArgument(1),
        size = entry->getArgument(2), count = entry->getArgument(3);
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantIntOp::create(k, loc, word, n);
  };
  auto asIndex = [&](Value v) -> Value {
    return arith::IndexCastUIOp::create(k, loc, index, v);
  };
  Value block = arith::IndexCastUIOp::create(
      k, loc, word, gpu::BlockIdOp::create(k, loc, gpu::Dimension::x));
  Value thread = arith::IndexCastUIOp::create(
      k, loc, word, gpu::ThreadIdOp::create(k, loc, gpu::Dimension::x));
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddIOp::create(k, loc, x, y);
  };
  auto times = [&](Value x, int64_t n) -> Value {
    return arith::MulIOp::create(k, loc, x, number(n));
  };
  auto divide = [&](Value x, Value by) -> Value {
    return arith::DivUIOp::create(k, loc, x, by);
  };
  auto rest = [&](Value x, Value by) -> Value {
    return arith::RemUIOp::create(k, loc, x, by);
  };
  /// Whether a thread has a move `i`, and the row and column of it.
  struct Move {
    Value exists, row, column;
  };
  auto placeOf = [&](int64_t i) -> Move {
    int64_t ofThreads = i * kMapThreads;
    auto isBelow = arith::CmpIPredicate::ult;
    if (rows.areShort) {
      Value at = add(add(times(block, kMapThreads * rows.moves), thread),
                     number(ofThreads));
      return {arith::CmpIOp::create(k, loc, isBelow, at, count),
              asIndex(divide(at, size)),
              asIndex(times(rest(at, size), rows.lanes))};
    }
    Value column = add(add(times(rest(block, count), rows.getBlockColumns()),
                           times(thread, rows.lanes)),
                       number(ofThreads * rows.lanes));
    return {arith::CmpIOp::create(k, loc, isBelow, column, size),
            asIndex(divide(block, count)), asIndex(column)};
  };
  auto access = VectorType::get({rows.lanes}, element);
  auto aligned =
      llvm::MaybeAlign(rows.lanes * element.getIntOrFloatBitWidth() / 8);
  // All loads come first: they are on their way together.
  SmallVector<Move> moves;
  SmallVector<Value> moved;
  for (int64_t i = 0; i < rows.moves; ++i) {
    Move move = moves.emplace_back(placeOf(i));
    auto branch =
        scf::IfOp::create(k, loc, access, move.exists, /*withElse=*/true);
    OpBuilder in = branch.getThenBodyBuilder(),
              out = branch.getElseBodyBuilder();
    scf::YieldOp::create(
        in, loc,
        vector::LoadOp::create(in, loc, access, source,
                               ValueRange{move.row, move.column},
                               /*nontemporal=*/false, aligned)
            ->getResults());
    scf::YieldOp::create(
        out, loc,
        arith::ConstantOp::create(out, loc, out.getZeroAttr(access))
            ->getResults());
    moved.push_back(branch.getResult(0));
  }
  for (auto [move, values] : llvm::zip_equal(moves, moved)) {
    auto branch = scf::IfOp::create(k, loc, move.exists, /*withElse=*/false);
    OpBuilder in = branch.getThenBodyBuilder();
    vector::StoreOp::create(in, loc, values, target,
                            ValueRange{move.row, move.column},
                            /*nontemporal=*/false, aligned);
  }
  return func;
}

bool RowCopies::launch(memref::CopyOp copy, gpu::GPUModuleOp device,
                       llvm::function_ref<std::string()> makeName) {
  std::optional<RowCopy> rows = RowCopy::find(copy);
  if (!rows)
    return false;
  OpBuilder b(copy);
  Location loc = copy.getLoc();
  Type element = cast<MemRefType>(copy.getSource().getType()).getElementType();
  gpu::GPUFuncOp &kernel =
      kernels[{element, rows->lanes, rows->moves, rows->areShort}];
  if (!kernel)
    kernel = make(loc, element, *rows, device, makeName());
  auto asRows = [&](Value v, int64_t offset, int64_t pitch) -> Value {
    Value view = memref::ReinterpretCastOp::create(
        b, loc,
        MemRefType::get(
            {rows->rows, rows->columns}, element,
            StridedLayoutAttr::get(b.getContext(), offset, {pitch, 1})),
        v, offset, ArrayRef<int64_t>{rows->rows, rows->columns},
        ArrayRef<int64_t>{pitch, 1});
    return memref::CastOp::create(b, loc, rowsOf(element), view);
  };
  auto word = [&](int64_t n) -> Value {
    return arith::ConstantIntOp::create(b, loc, b.getI32Type(), n);
  };
  auto count = [&](int64_t n) -> Value {
    return arith::ConstantIndexOp::create(b, loc, n);
  };
  Value one = count(1);
  SmallVector<Value> arguments = {
      asRows(copy.getSource(), rows->sourceOffset, rows->sourcePitch),
      asRows(copy.getTarget(), rows->targetOffset, rows->targetPitch),
      word(rows->areShort ? rows->columns / rows->lanes : rows->columns),
      word(rows->areShort ? rows->rows * rows->columns / rows->lanes
                          : rows->getBlocksOfRow())};
  gpu::LaunchFuncOp::create(
      b, loc, kernel, gpu::KernelDim3{count(rows->getBlocks()), one, one},
      gpu::KernelDim3{count(kMapThreads), one, one}, word(0), arguments);
  copy.erase();
  return true;
}
