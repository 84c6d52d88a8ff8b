//===- PackedMainloop.cpp - the loops of a packed product -----------------===//
#include "PackedEmitter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

PackedEmitter::Numbered PackedEmitter::number(ArrayRef<unsigned> of) const {
  Numbered result;
  result.of.assign(of.begin(), of.end());
  result.strides.assign(of.size(), 1);
  for (int64_t i = int64_t(of.size()) - 1; i >= 0; --i) {
    const SpaceDim &dim = dims[of[i]];
    result.strides[i] = result.capacity;
    result.capacity *= dim.tile != 0 ? dim.tile : dim.staticExtent;
  }
  return result;
}

Value PackedEmitter::numberOf(const Numbered &own, const Env &env) {
  Value result;
  for (auto [d, stride] : llvm::zip_equal(own.of, own.strides)) {
    Value term = env.position[d];
    if (stride != 1)
      term = b.createOrFold<arith::MulIOp>(loc, term, constantIndex(stride));
    result = result ? b.createOrFold<arith::AddIOp>(loc, result, term) : term;
  }
  return result;
}

Value PackedEmitter::countOf(const Numbered &own) {
  Value result = constantIndex(1);
  for (unsigned d : own.of) {
    const SpaceDim &dim = dims[d];
    Value size = dim.staticSize ? constantIndex(*dim.staticSize) : dim.size;
    result = b.createOrFold<arith::MulIOp>(loc, result, size);
  }
  return result;
}

void PackedEmitter::over(ArrayRef<unsigned> of, Env &env, Body body) {
  if (of.empty())
    return body(env);
  emitFor(b, loc, constantIndex(0), dims[of.front()].size, constantIndex(1), {},
          [&](Value at, ValueRange) {
            Env inner = env;
            inner.position[of.front()] = at;
            over(of.drop_front(), inner, body);
            return SmallVector<Value>();
          });
}

//===----------------------------------------------------------------------===//
// Memory of the block's own
//===----------------------------------------------------------------------===//

/// Whether vectors along the last dim have numbers that are multiples of their length.
bool PackedEmitter::beginsAtVectors(const Numbered &own) const {
  for (auto [d, stride] : llvm::zip_equal(own.of, own.strides))
    if (d != own.of.back() && stride % lanes != 0 && dims[d].tile != 1 &&
        dims[d].staticExtent != 1)
      return false;
  return true;
}

PackedEmitter::Side PackedEmitter::makeSide(Value factor, ArrayRef<unsigned> of,
                                            int64_t step,
                                            const KernelSpace &space) {
  Side side;
  side.factor = factor;
  side.own = number(of);
  side.step = step;
  side.access = chooseAccess(found, space, factor, of, lanes);
  if ((step % lanes == 0 || lanes % step == 0) && beginsAtVectors(side.own)) {
    side.line = step;
    side.panels = llvm::divideCeil(
        llvm::alignTo(side.own.capacity, std::max<int64_t>(step, lanes)), step);
    return side;
  }
  // A vector that starts at the last number ends in the line. Lines of a power of 2
  // would meet in few places of a cache.
  int64_t rounded = llvm::divideCeil(side.own.capacity, step) * step + lanes;
  side.line = llvm::divideCeil(rounded, lanes) * lanes;
  if (side.line % 128 == 0)
    side.line += lanes;
  return side;
}

static constexpr int64_t kLineBytes = 64;

int64_t PackedEmitter::layOut(const KernelSpace &space) {
  element = found.nest().contraction->root->reduce.getOperand(0).getType();
  sums = number(form.sums);
  left = makeSide(form.left, form.rows, plan.getRegisters()[0], space);
  right = makeSide(form.right, form.columns,
                   plan.getRegisters()[1] * columnsOfVector(), space);
  int64_t lines = sums.capacity + lanes;
  int64_t rows = llvm::alignTo(left.own.capacity, left.step);
  resultLine = llvm::alignTo(right.own.capacity, right.step) + lanes;
  if (readsRows())
    left.line = 0;
  if (kind() != Microkernel::Packed)
    right.line = 0;
  int64_t elements =
      lines * (left.line * left.panels + right.line * right.panels) +
      rows * resultLine;
  return elements * bytesOf(element) + 3 * kLineBytes;
}

void PackedEmitter::setScratch(Value bytes) {
  int64_t start = 0;
  auto cut = [&](ArrayRef<int64_t> shape) -> Value {
    auto type = MemRefType::get(shape, element);
    Value view = memref::ViewOp::create(b, loc, type, bytes,
                                        constantIndex(start), ValueRange());
    start +=
        llvm::alignTo(type.getNumElements() * bytesOf(element), kLineBytes);
    return view;
  };
  int64_t lines = sums.capacity + lanes;
  for (Side *side : {&left, &right})
    if (side->line != 0)
      side->buffer = cut({side->panels, lines, side->line});
  int64_t rows = llvm::alignTo(left.own.capacity, left.step);
  results = cut({rows, resultLine});
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A sum of nothing is zero, although no part of it writes that.
void PackedEmitter::clearIfEmpty() {
  Value count = constantIndex(1);
  for (unsigned d : sums.of)
    if (dims[d].staticExtent <= 0) // or open
      count = b.createOrFold<arith::MulIOp>(loc, count, dims[d].extent);
  if (getConstantIntValue(count) == 1)
    return;
  Value isEmpty = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, count,
                                        constantIndex(0));
  auto branch = scf::IfOp::create(b, loc, isEmpty, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  auto type = VectorType::get({lanes}, element);
  Value zero = constant(cast<TypedAttr>(b.getZeroAttr(type)));
  emitFor(b, loc, constantIndex(0), countOf(left.own), constantIndex(1), {},
          [&](Value row, ValueRange) {
            emitFor(b, loc, constantIndex(0), countOf(right.own),
                    constantIndex(lanes), {}, [&](Value column, ValueRange) {
                      vector::StoreOp::create(b, loc, zero, results,
                                              ValueRange{row, column});
                      return SmallVector<Value>();
                    });
            return SmallVector<Value>();
          });
}

/// One after another, the parts of the sum that are packed at a time.
void PackedEmitter::overSums(unsigned i, Value isFirst) {
  if (i == sums.of.size()) {
    if (!readsRows())
      pack(left);
    if (kind() == Microkernel::Packed)
      pack(right);
    multiply(isFirst);
    return;
  }
  SpaceDim &dim = dims[sums.of[i]];
  bool isWhole = dim.tile == 0 || (!ShapedType::isDynamic(dim.staticExtent) &&
                                   dim.staticExtent <= dim.tile);
  if (isWhole)
    return overSums(i + 1, isFirst);
  SpaceDim whole = dim;
  emitFor(b, loc, constantIndex(0), dim.extent, constantIndex(dim.tile), {},
          [&](Value at, ValueRange) {
            startTile(b, loc, dim, at, whole.staticExtent);
            Value first = arith::CmpIOp::create(
                b, loc, arith::CmpIPredicate::eq, at, constantIndex(0));
            if (isFirst)
              first = arith::AndIOp::create(b, loc, isFirst, first);
            overSums(i + 1, first);
            return SmallVector<Value>();
          });
  dim = whole;
}

/// Columns that are no whole panel have a microkernel of fewer vectors, and rows that are
/// none, where they are not packed, one of fewer rows.
void PackedEmitter::multiply(Value isFirst) {
  int64_t vectors = plan.getRegisters()[1], unit = columnsOfVector();
  Value rows = countOf(left.own), step = constantIndex(left.step);
  std::optional<int64_t> known = getConstantIntValue(rows);
  auto overRows = [&](Value column, int64_t of, bool isLast) {
    bool hasRest = readsRows() && known && *known % left.step != 0;
    Value end = hasRest ? constantIndex(*known / left.step * left.step) : rows;
    emitFor(b, loc, constantIndex(0), end, step, {},
            [&](Value row, ValueRange) {
              emitMicrokernel(row, column, left.step, of, isFirst, isLast);
              return SmallVector<Value>();
            });
    if (hasRest)
      emitMicrokernel(end, column, *known % left.step, of, isFirst, isLast);
  };
  Value count = countOf(right.own), panel = constantIndex(right.step);
  Value whole = b.createOrFold<arith::MulIOp>(
      loc, b.createOrFold<arith::DivUIOp>(loc, count, panel), panel);
  emitFor(b, loc, constantIndex(0), whole, panel, {},
          [&](Value column, ValueRange) {
            overRows(column, vectors, /*isLast=*/false);
            return SmallVector<Value>();
          });
  if (std::optional<int64_t> columns = getConstantIntValue(count)) {
    if (int64_t left = *columns % right.step)
      overRows(whole, llvm::divideCeil(left, unit), /*isLast=*/true);
    return;
  }
  Value left = arith::SubIOp::create(b, loc, count, whole);
  for (int64_t of = 1; of <= vectors; ++of) {
    auto compare = [&](arith::CmpIPredicate how, int64_t columns) {
      return arith::CmpIOp::create(b, loc, how, left,
                                   constantIndex(columns * unit));
    };
    Value isIt = arith::AndIOp::create(
        b, loc, compare(arith::CmpIPredicate::sgt, of - 1),
        compare(arith::CmpIPredicate::sle, of));
    auto branch = scf::IfOp::create(b, loc, isIt, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    overRows(whole, of, /*isLast=*/true);
  }
}

Value PackedEmitter::multiplyAdd(Value x, Value y, Value sum) {
  if (isa<FloatType>(element))
    return vector::FMAOp::create(b, loc, x, y, sum);
  return arith::AddIOp::create(b, loc, sum,
                               arith::MulIOp::create(b, loc, x, y));
}

/// Elements of rows times vectors of columns.
PackedEmitter::SumsOfTile PackedEmitter::multiplyPanels(Value row, Value column,
                                                        int64_t rows,
                                                        int64_t vectors,
                                                        bool isLast) {
  auto type = VectorType::get({lanes}, element);
  Value zero = constant(cast<TypedAttr>(b.getZeroAttr(type)));
  // Where a line of the operand has what is read of it.
  auto startOf = [&](const Side &side, Value number) {
    Value none = constantIndex(0);
    if (side.panels == 1)
      return std::pair(none, number);
    Value panel =
        arith::DivUIOp::create(b, loc, number, constantIndex(side.step));
    return std::pair(panel, none);
  };
  Value leftPanel, leftStart, rightPanel, rightStart;
  SmallVector<Env> ofRows, ofColumns;
  if (readsRows())
    ofRows = pointsOf(left, row, rows);
  else
    std::tie(leftPanel, leftStart) = startOf(left, row);
  if (kind() == Microkernel::Packed)
    std::tie(rightPanel, rightStart) = startOf(right, column);
  else
    ofColumns = pointsOfVectors(column, vectors, isLast);
  // What a side has at a number of the sum.
  auto read = [&](Env at, const Side &side, Value line,
                  std::optional<unsigned> along) {
    at.position[sums.of.back()] = line;
    return computeFactor(side, at, along);
  };
  SmallVector<Value> state(rows * vectors, zero);
  state = emitFor(
      b, loc, constantIndex(0), countOf(sums), constantIndex(1), state,
      [&](Value line, ValueRange carried) {
        SmallVector<Value> next(carried), loaded;
        for (int64_t v = 0; v < vectors; ++v)
          loaded.push_back(
              kind() == Microkernel::Packed
                  ? vector::LoadOp::create(
                        b, loc, type, right.buffer,
                        ValueRange{rightPanel, line,
                                   plus(rightStart, v * lanes)})
                  : read(ofColumns[v], right, line, right.own.of.back()));
        for (int64_t r = 0; r < rows; ++r) {
          Value factor =
              readsRows()
                  ? read(ofRows[r], left, line, std::nullopt)
                  : asVector(memref::LoadOp::create(
                        b, loc, left.buffer,
                        ValueRange{leftPanel, line, plus(leftStart, r)}));
          for (int64_t v = 0; v < vectors; ++v) {
            Value &sum = next[r * vectors + v];
            sum = multiplyAdd(factor, loaded[v], sum);
          }
        }
        return next;
      });
  SumsOfTile result;
  for (int64_t r = 0; r < rows; ++r)
    result.emplace_back(ArrayRef(state).slice(r * vectors, vectors));
  return result;
}

void PackedEmitter::emitMicrokernel(Value row, Value column, int64_t rows,
                                    int64_t vectors, Value isFirst,
                                    bool isLast) {
  SumsOfTile tile = kind() == Microkernel::Inner
                        ? multiplyAlongSum(row, column, rows, vectors)
                        : multiplyPanels(row, column, rows, vectors, isLast);
  // What the parts of the sum before it have made is added.
  auto store = [&](bool isAdded) {
    for (auto [r, ofRow] : llvm::enumerate(tile)) {
      int64_t past = 0;
      for (Value sum : ofRow) {
        auto type = cast<VectorType>(sum.getType());
        SmallVector<Value> at{plus(row, r), plus(column, past)};
        if (isAdded)
          sum = combine(Reducer::Add,
                        vector::LoadOp::create(b, loc, type, results, at), sum);
        vector::StoreOp::create(b, loc, sum, results, at);
        past += type.getNumElements();
      }
    }
  };
  if (!isFirst)
    return store(/*isAdded=*/false);
  auto branch = scf::IfOp::create(b, loc, isFirst, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  store(/*isAdded=*/false);
  b.setInsertionPoint(branch.elseYield());
  store(/*isAdded=*/true);
}

/// What is computed of the sums, along the last dim of the columns.
void PackedEmitter::emitEpilogue() {
  Value result = nest->contraction->root->reduce.getResult(0);
  unsigned last = right.own.of.back();
  SmallVector<unsigned> outer(form.batch);
  llvm::append_range(outer, left.own.of);
  llvm::append_range(outer, ArrayRef(right.own.of).drop_back());
  auto type = VectorType::get({lanes}, element);
  std::function<void(unsigned, Env)> into = [&](unsigned i, Env env) {
    emitAvailableForEpilogue(env);
    if (i < outer.size()) {
      emitFor(b, loc, constantIndex(0), dims[outer[i]].size, constantIndex(1),
              {}, [&](Value at, ValueRange) {
                Env inner = env;
                inner.position[outer[i]] = at;
                into(i + 1, inner);
                return SmallVector<Value>();
              });
      return;
    }
    emitVectorLoop(last, env, [&](Env &at) {
      at.values[result] = vector::LoadOp::create(
          b, loc, type, results,
          ValueRange{numberOf(left.own, at), numberOf(right.own, at)});
      emitAvailableForEpilogue(at);
      emitEpilogues(at);
    });
  };
  Env env;
  env.position.assign(dims.size(), Value());
  into(0, env);
}

void PackedEmitter::emitTile() {
  selectNest(found.nest());
  for (Side *side : {&left, &right}) {
    side->cone = coneOf(side->factor);
    side->main = program->findMainArgument(side->factor);
    side->isFlat = side->access == PackAccess::Transposed &&
                   sums.of.size() > 1 &&
                   isFlat(found, side->main, side->factor) && isAdjacent(*side);
  }
  clearIfEmpty();
  overSums(0, Value());
  emitEpilogue();
  nest = nullptr;
}
