//===- GpuMatrix.cpp - contractions by matrix instructions ----------------===//
//
// The result of a contraction is cut into tiles of some instructions' rows and
// columns, which are dealt out to the warps. A warp walks the sum and adds products
// to its tile in registers; then its lanes go on with the elements they have.
//
// Lanes load their shares of operands from wherever they are. The instruction says
// which *part* of the rows, columns and sums a lane has; that a part is neighbours
// in memory is chosen here (row number i of part p is row p * count + i of the
// tile), so that one access moves up to 16 bytes of a share along whichever dim is
// contiguous, and a lane's results are neighbours too.
//
// Rules:
// 1. Whether a warp runs an instruction depends on the number of the warp alone.
// 2. Rows and columns beyond the end read the last ones: nobody stores what comes
//    of them. Sums beyond the end are zeros on both sides: what else is there may be
//    infinite.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"
#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// A lane's share of an operand: `count` rows (columns of a right operand).
struct GpuEmitter::OperandFragment {
  Value source;
  MatrixElement element;
  bool isSigned;
  /// The positions of the rows, one for each access.
  SmallVector<Env> rows;
  int64_t count;
  /// Elements of one access, along rows or along the sum.
  int64_t width = 1;
  bool isAlongRows = false;
};

Value GpuEmitter::partOf(LaneField field, Value lane) {
  Value part = lane;
  if (field.count == 1)
    return constantIndex(0);
  if (field.by != 1)
    part = divide(part, constantIndex(field.by), /*remainder=*/false);
  part = divide(part, constantIndex(field.count), /*remainder=*/true);
  if (field.scale != 1)
    part = arith::MulIOp::create(b, loc, part, constantIndex(field.scale));
  return part;
}

Value redfuse::convertElement(OpBuilder &b, Location loc, Value v, Type to,
                              bool isSigned) {
  Type from = getElementTypeOrSelf(v.getType());
  if (from == to)
    return v;
  Type type = to;
  if (auto vector = dyn_cast<VectorType>(v.getType()))
    type = VectorType::get(vector.getShape(), to);
  if (from.isInteger())
    return isSigned ? Value(arith::SIToFPOp::create(b, loc, type, v))
                    : Value(arith::UIToFPOp::create(b, loc, type, v));
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, loc, type, v);
  return arith::TruncFOp::create(b, loc, type, v);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The lane's share for one step of the sum that starts at `sum`: for each row its
/// words. In the tail there are fewer sums.
SmallVector<SmallVector<Value>>
GpuEmitter::loadFragment(const MatrixNest &plan,
                         const OperandFragment &fragment, Value sum,
                         bool isTail) {
  int64_t sums = plan.laneSums(), width = fragment.width;
  bool isAlongRows = fragment.isAlongRows;
  unsigned bits = elementBits(fragment.element);
  Type integer = b.getIntegerType(bits);
  // Elements of one access are those of one dim.
  LoopNest adapted = *nest;
  const LoopNest *whole = nest;
  adapted.vectorDim.reset();
  if (width > 1)
    adapted.vectorDim = program->getContiguous(fragment.source);
  nest = &adapted;
  lanes = width;

  Value limit = isTail ? countOf(plan.sums) : Value();
  Value start = arith::AddIOp::create(
      b, loc, sum,
      arith::MulIOp::create(b, loc, partOf(plan.x.sumPart, plan.lane),
                            constantIndex(sums)));
  int64_t sumWidth = isAlongRows ? 1 : width;
  // [access of rows][access of sums]: an integer, or a vector of them.
  SmallVector<SmallVector<Value>> loaded(fragment.rows.size());
  for (int64_t s = 0; s < sums; s += sumWidth) {
    Value at =
        s == 0 ? start
               : Value(arith::AddIOp::create(b, loc, start, constantIndex(s)));
    Value exists;
    if (isTail) {
      exists =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at, limit);
      at = arith::MinUIOp::create(
          b, loc, at,
          arith::SubIOp::create(b, loc, limit, constantIndex(sumWidth)));
    }
    for (auto [row, own] : llvm::zip_equal(fragment.rows, loaded)) {
      Env env = row;
      bindAxes(env, plan.sums, at);
      Value v = loadValue(fragment.source, env);
      v = convertElement(b, loc, v, typeOf(fragment.element, b.getContext()),
                         fragment.isSigned);
      // Zeros and words of any type.
      if (!isa<IntegerType>(getElementTypeOrSelf(v.getType())) &&
          (bits < 32 || isTail)) {
        if (auto vector = dyn_cast<VectorType>(v.getType()))
          v = vector::BitCastOp::create(
              b, loc, VectorType::get(vector.getShape(), integer), v);
        else
          v = arith::BitcastOp::create(b, loc, integer, v);
      }
      if (exists)
        v = arith::SelectOp::create(
            b, loc, exists, v,
            constant(cast<TypedAttr>(b.getZeroAttr(v.getType()))));
      own.push_back(v);
    }
  }
  nest = whole;
  lanes = wideLanes;

  // Words: neighbouring sums of a row.
  int64_t perWord = std::max<int64_t>(1, 32 / bits);
  SmallVector<SmallVector<Value>> words(fragment.count);
  auto elementOf = [&](int64_t row, int64_t s) -> Value {
    Value access =
        isAlongRows ? loaded[row / width][s] : loaded[row][s / width];
    if (width == 1)
      return access;
    return vector::ExtractOp::create(b, loc, access,
                                     isAlongRows ? row % width : s % width);
  };
  for (int64_t row = 0; row < fragment.count; ++row) {
    if (bits >= 32) {
      for (int64_t s = 0; s < sums; ++s) {
        Value v = elementOf(row, s);
        if (v.getType().isInteger())
          v = arith::BitcastOp::create(
              b, loc, typeOf(fragment.element, b.getContext()), v);
        words[row].push_back(v);
      }
      continue;
    }
    if (!isAlongRows && width >= perWord) {
      for (Value access : loaded[row]) {
        int64_t count = width / perWord;
        Value all = vector::BitCastOp::create(
            b, loc, VectorType::get({count}, b.getI32Type()), access);
        for (int64_t i = 0; i < count; ++i)
          words[row].push_back(vector::ExtractOp::create(b, loc, all, i));
      }
      continue;
    }
    for (int64_t s = 0; s < sums; s += perWord) {
      SmallVector<Value> elements;
      for (int64_t i = 0; i < perWord; ++i)
        elements.push_back(elementOf(row, s + i));
      Value all = vector::FromElementsOp::create(
          b, loc, VectorType::get({perWord}, integer), elements);
      all = vector::BitCastOp::create(
          b, loc, VectorType::get({1}, b.getI32Type()), all);
      words[row].push_back(vector::ExtractOp::create(b, loc, all, 0));
    }
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Goes on with what a lane has of a tile from `row` and `column` on.
void GpuEmitter::storeFragments(const MatrixNest &plan, const Env &tile,
                                Value row, Value column,
                                ArrayRef<Value> accumulators) {
  const MatrixInstruction &x = plan.x;
  const Contraction &c = *nest->contraction;
  Value result = c.root->reduce.getResult(0);
  unsigned fast = plan.columns.back().dim;
  int64_t width = plan.columnTiles;
  while (width > 1 && !isMultiple(fast, width))
    width /= 2;
  LoopNest adapted = *nest;
  const LoopNest *whole = nest;
  adapted.vectorDim.reset();
  if (width > 1)
    adapted.vectorDim = fast;
  nest = &adapted;
  lanes = width;

  // [row tile][column tile][element]
  int64_t perTile = accumulators.size() / (plan.rowTiles * plan.columnTiles);
  SmallVector<SmallVector<Value>> elements;
  for (int64_t i = 0; i < plan.rowTiles * plan.columnTiles; ++i)
    elements.push_back(
        x.getElements(b, loc, accumulators.slice(i * perTile, perTile)));
  Value rowPart = partOf(x.resultRow, plan.lane);
  Value columnPart = partOf(x.resultColumn, plan.lane);
  bool rowsAreWhole = hasWholeTiles(plan.rows, plan.tileRows()),
       columnsAreWhole = hasWholeTiles(plan.columns, plan.tileColumns());
  auto positionOf = [&](Value first, Value part, int64_t add, int64_t count,
                        int64_t i) {
    Value at = part;
    if (add != 0)
      at = arith::AddIOp::create(b, loc, at, constantIndex(add));
    at = arith::MulIOp::create(b, loc, at, constantIndex(count));
    at = arith::AddIOp::create(b, loc, at, first);
    return i == 0 ? at
                  : Value(arith::AddIOp::create(b, loc, at, constantIndex(i)));
  };
  bool isTaken =
      llvm::any_of(nest->roots, [&](Root *root) { return root != c.root; });
  for (int64_t rt = 0; rt < plan.rowTiles; ++rt)
    for (auto [e, place] : llvm::enumerate(x.results)) {
      OpBuilder::InsertionGuard guard(b);
      Value r = positionOf(row, rowPart, place.rowPart, plan.laneRows(),
                           rt * x.rowsPerLane + place.row);
      if (!rowsAreWhole) {
        Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                             r, countOf(plan.rows));
        auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
        b.setInsertionPoint(branch.thenYield());
      }
      Env rowEnv = tile;
      bindAxes(rowEnv, plan.rows, r);
      for (int64_t ct = 0; ct < plan.columnTiles; ct += width) {
        OpBuilder::InsertionGuard guard(b);
        Value at = positionOf(column, columnPart, place.columnPart,
                              plan.columnTiles, ct);
        if (!columnsAreWhole) {
          Value exists = arith::CmpIOp::create(
              b, loc, arith::CmpIPredicate::ult, at, countOf(plan.columns));
          auto branch = scf::IfOp::create(b, loc, exists, /*withElse=*/false);
          b.setInsertionPoint(branch.thenYield());
        }
        Env env = rowEnv;
        bindAxes(env, plan.columns, at);
        SmallVector<Value> own;
        for (int64_t i = 0; i < width; ++i)
          own.push_back(elements[rt * plan.columnTiles + ct + i][e]);
        Value v = own.front();
        if (width > 1)
          v = vector::FromElementsOp::create(
              b, loc, VectorType::get({width}, v.getType()), own);
        env.values[result] = v;
        if (isTaken) {
          emitAvailableForEpilogue(env);
          emitEpilogues(env);
        } else {
          storeTile(buffers.find(result)->second, v, env);
        }
      }
    }
  nest = whole;
  lanes = wideLanes;
}

//===----------------------------------------------------------------------===//
// The tiling
//===----------------------------------------------------------------------===//

int64_t GpuEmitter::threadsOf(const LoopNest &ofNest) const {
  const MatrixForm &form = *ofNest.contraction->matrix;
  auto count = [&](ArrayRef<unsigned> ofDims) {
    Axes axes;
    for (unsigned d : ofDims)
      axes.push_back({d, 1});
    return capacityOf(axes);
  };
  int64_t tiles =
      count(form.batch) *
      llvm::divideCeil(count(form.rows), form.instruction.rows) *
      llvm::divideCeil(count(form.columns), form.instruction.columns);
  return std::min<int64_t>(tiles, 1024) * form.instruction.lanes;
}

/// The current contraction, dealt out to as many warps as there are.
GpuEmitter::MatrixNest GpuEmitter::dealOut(const MatrixForm &form) {
  MatrixNest plan(form, *program, shape(), threads / form.instruction.lanes);
  setAxes(plan);
  return plan;
}

void GpuEmitter::setAxes(MatrixNest &plan) const {
  for (auto [axes, ofDims] : {std::pair(&plan.batch, &plan.form.batch),
                              {&plan.rows, &plan.form.rows},
                              {&plan.columns, &plan.form.columns},
                              {&plan.sums, &plan.form.sums}})
    for (unsigned d : *ofDims)
      axes->push_back({d, 1});
}

/// Whether tiles of so many end where the axes do.
bool GpuEmitter::hasWholeTiles(ArrayRef<Axis> axes, int64_t by) {
  std::optional<int64_t> count = staticCountOf(axes);
  return count && *count % by == 0;
}

/// A lane's share of an operand, of which it has `count` neighbours from `first` on
/// along the axes; they are `isWhole` if all exist.
GpuEmitter::OperandFragment
GpuEmitter::makeFragment(const MatrixNest &plan, Value source,
                         MatrixElement element, bool isSigned,
                         ArrayRef<Axis> axes, int64_t count, Value first,
                         bool isWhole, const Env &tile) {
  auto [width, isAlongRows] = plan.accessOf(source, axes.back().dim, count);
  OperandFragment fragment{source, element, isSigned,   {},
                           count,  width,   isAlongRows};
  int64_t step = fragment.isAlongRows ? fragment.width : 1;
  for (int64_t i = 0; i < count; i += step) {
    Value at =
        i == 0 ? first
               : Value(arith::AddIOp::create(b, loc, first, constantIndex(i)));
    if (!isWhole)
      at = arith::MinUIOp::create(
          b, loc, at,
          arith::SubIOp::create(b, loc, countOf(axes), constantIndex(step)));
    Env env = tile;
    bindAxes(env, axes, at);
    fragment.rows.push_back(std::move(env));
  }
  return fragment;
}

/// The words of a step: those of the left rows, then those of the columns.
SmallVector<Value> GpuEmitter::loadStep(const MatrixNest &plan,
                                        const OperandFragment &left,
                                        const OperandFragment &right, Value sum,
                                        bool isTail) {
  SmallVector<Value> loaded;
  for (const OperandFragment *fragment : {&left, &right})
    for (ArrayRef<Value> row : loadFragment(plan, *fragment, sum, isTail))
      llvm::append_range(loaded, row);
  return loaded;
}

/// The tile's accumulators after the step that `loadStep` has loaded.
SmallVector<Value> GpuEmitter::multiplyStep(const MatrixNest &plan,
                                            ArrayRef<Value> loaded,
                                            ArrayRef<Value> state) {
  const MatrixInstruction &x = plan.x;
  SmallVector<Value> next(state);
  int64_t perTile = state.size() / (plan.rowTiles * plan.columnTiles),
          words = x.wordsPerRow();
  auto wordsOf = [&](int64_t row, int64_t st) {
    return loaded.slice((row * plan.sumTiles + st) * words, words);
  };
  for (int64_t st = 0; st < plan.sumTiles; ++st)
    for (int64_t rt = 0; rt < plan.rowTiles; ++rt)
      for (int64_t ct = 0; ct < plan.columnTiles; ++ct) {
        SmallVector<ArrayRef<Value>> rows;
        for (int64_t i = 0; i < x.rowsPerLane; ++i)
          rows.push_back(wordsOf(rt * x.rowsPerLane + i, st));
        int64_t from = (rt * plan.columnTiles + ct) * perTile;
        SmallVector<Value> sumsOf =
            x.multiply(b, loc, rows, wordsOf(plan.laneRows() + ct, st),
                       ArrayRef(next).slice(from, perTile));
        llvm::copy(sumsOf, next.begin() + from);
      }
  return next;
}

/// The sums of a tile: whole steps, then what is left.
SmallVector<Value> GpuEmitter::sumProducts(const MatrixNest &plan,
                                           const OperandFragment &left,
                                           const OperandFragment &right) {
  SmallVector<Value> sums, zero = plan.x.makeZero(b, loc);
  for (int64_t i = 0; i < plan.rowTiles * plan.columnTiles; ++i)
    llvm::append_range(sums, zero);
  auto load = [&](Value sum) {
    return loadStep(plan, left, right, sum, /*isTail=*/false);
  };
  auto addStep = [&](Value sum, ArrayRef<Value> state, bool isTail) {
    return multiplyStep(plan, loadStep(plan, left, right, sum, isTail), state);
  };
  std::optional<int64_t> known = staticCountOf(plan.sums);
  int64_t step = plan.step(), words = (plan.laneRows() + plan.columnTiles) *
                                      plan.sumTiles * plan.x.wordsPerRow();
  Value count = countOf(plan.sums), end;
  if (known) {
    end = constantIndex(*known / step * step);
  } else {
    end = arith::MulIOp::create(
        b, loc, arith::DivUIOp::create(b, loc, count, constantIndex(step)),
        constantIndex(step));
  }
  bool isFar =
      !buffers.contains(left.source) || !buffers.contains(right.source);
  if (known && *known / step == 1)
    sums = addStep(constantIndex(0), sums, /*isTail=*/false);
  else if (known && *known / step >= kMatrixStepsAhead && isFar &&
           words <= kMatrixAhead) {
    // What comes from afar is loaded a step ahead.
    SmallVector<Value> state = load(constantIndex(0));
    int64_t ahead = state.size();
    llvm::append_range(state, sums);
    auto multiplyLoaded = [&](ArrayRef<Value> carried) {
      return multiplyStep(plan, carried.take_front(ahead),
                          carried.drop_front(ahead));
    };
    state = emitFor(b, loc, constantIndex(step), end, constantIndex(step),
                    state, [&](Value sum, ValueRange carried) {
                      SmallVector<Value> current(carried), next = load(sum);
                      llvm::append_range(next, multiplyLoaded(current));
                      return next;
                    });
    sums = multiplyLoaded(state);
  } else if (!known || *known >= step)
    sums = emitFor(b, loc, constantIndex(0), end, constantIndex(step), sums,
                   [&](Value sum, ValueRange carried) {
                     return addStep(sum, SmallVector<Value>(carried),
                                    /*isTail=*/false);
                   });
  if (known) {
    if (*known % step != 0)
      sums = addStep(end, sums, /*isTail=*/true);
    return sums;
  }
  Value isLeft =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, end, count);
  auto branch = scf::IfOp::create(b, loc, ValueRange(sums).getTypes(), isLeft,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, addStep(end, sums, /*isTail=*/true));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, sums);
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// The tile of that number, the columns of a row of tiles first.
void GpuEmitter::emitMatrixTile(const MatrixNest &plan, Value number,
                                Value rowBlocks, Value columnBlocks) {
  const MatrixForm &form = plan.form;
  const MatrixInstruction &x = plan.x;
  Value column = divide(number, columnBlocks, /*remainder=*/true);
  Value rest = divide(number, columnBlocks, /*remainder=*/false);
  Value row = divide(rest, rowBlocks, /*remainder=*/true);
  Env tile;
  tile.position.assign(dims.size(), Value());
  bindAxes(tile, plan.batch, divide(rest, rowBlocks, /*remainder=*/false));
  row = arith::MulIOp::create(b, loc, row, constantIndex(plan.tileRows()));
  column =
      arith::MulIOp::create(b, loc, column, constantIndex(plan.tileColumns()));
  auto firstOf = [&](Value from, LaneField field, int64_t count) -> Value {
    Value part = arith::MulIOp::create(b, loc, partOf(field, plan.lane),
                                       constantIndex(count));
    return arith::AddIOp::create(b, loc, from, part);
  };
  OperandFragment left =
      makeFragment(plan, form.left, x.left, form.leftIsSigned, plan.rows,
                   plan.laneRows(), firstOf(row, x.leftRow, plan.laneRows()),
                   hasWholeTiles(plan.rows, plan.tileRows()), tile);
  OperandFragment right = makeFragment(
      plan, form.right, x.right, form.rightIsSigned, plan.columns,
      plan.columnTiles, firstOf(column, x.rightColumn, plan.columnTiles),
      hasWholeTiles(plan.columns, plan.tileColumns()), tile);
  storeFragments(plan, tile, row, column, sumProducts(plan, left, right));
}

void GpuEmitter::emitMatrixContraction() {
  MatrixNest plan = dealOut(*nest->contraction->matrix);
  int64_t width = plan.x.lanes, warps = threads / width;
  Value warp = divide(thread, constantIndex(width), /*remainder=*/false);
  plan.lane = divide(thread, constantIndex(width), /*remainder=*/true);
  auto blocksOf = [&](ArrayRef<Axis> axes, int64_t by) -> Value {
    if (std::optional<int64_t> known = staticCountOf(axes))
      return constantIndex(llvm::divideCeil(*known, by));
    return arith::CeilDivUIOp::create(b, loc, countOf(axes), constantIndex(by));
  };
  Value rowBlocks = blocksOf(plan.rows, plan.tileRows()),
        columnBlocks = blocksOf(plan.columns, plan.tileColumns());
  Value tiles = b.createOrFold<arith::MulIOp>(loc, rowBlocks, columnBlocks);
  tiles = b.createOrFold<arith::MulIOp>(loc, tiles, countOf(plan.batch));
  std::optional<int64_t> known, rows = staticCountOf(plan.rows),
                                columns = staticCountOf(plan.columns),
                                batch = staticCountOf(plan.batch);
  if (rows && columns && batch)
    known = llvm::divideCeil(*rows, plan.tileRows()) *
            llvm::divideCeil(*columns, plan.tileColumns()) * *batch;
  emitStridedLoop(warp, tiles, known, warps, /*unrolled=*/1, {},
                  [&](Value number, ValueRange) {
                    emitMatrixTile(plan, number, rowBlocks, columnBlocks);
                    return SmallVector<Value>();
                  });
}
