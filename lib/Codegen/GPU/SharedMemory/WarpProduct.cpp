//===- WarpProduct.cpp - contractions by matrix instructions --------------===//
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
#include "WarpProduct.h"

#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// The current contraction, dealt out to as many warps as there are.
MatrixNest WarpProduct::dealOut(const MatrixForm &form) {
  MatrixNest plan(form, emitter.getProgram(), emitter.shape(),
                  emitter.threads / form.instruction.lanes);
  plan.setAxes();
  return plan;
}

/// A lane's share of an operand, of which it has `count` neighbours from `first` on
/// along the axes; they are `isWhole` if all exist.
WarpProduct::OperandFragment
WarpProduct::makeFragment(const MatrixNest &plan, Value source,
                          MatrixElement element, bool isSigned,
                          ArrayRef<Axis> axes, int64_t count, Value first,
                          bool isWhole, const Env &tile) {
  auto [width, isAlongRows] = plan.accessOf(source, axes.back().dim, count);
  OperandFragment fragment{source, element, isSigned,   {},
                           count,  width,   isAlongRows};
  int64_t step = fragment.isAlongRows ? fragment.width : 1;
  for (int64_t i = 0; i < count; i += step) {
    Value at = i == 0 ? first
                      : Value(arith::AddIOp::create(b, loc, first,
                                                    emitter.constantIndex(i)));
    if (!isWhole)
      at = arith::MinUIOp::create(
          b, loc, at,
          arith::SubIOp::create(b, loc, points.countOf(axes),
                                emitter.constantIndex(step)));
    Env env = tile;
    points.bind(env, axes, at);
    fragment.rows.push_back(std::move(env));
  }
  return fragment;
}

/// The lane's share for one step of the sum that starts at `sum`: for each row its
/// words. In the tail there are fewer sums.
SmallVector<SmallVector<Value>>
WarpProduct::loadFragment(const MatrixNest &plan,
                          const OperandFragment &fragment, Value sum,
                          bool isTail) {
  int64_t sums = plan.laneSums(), width = fragment.width;
  bool isAlongRows = fragment.isAlongRows;
  unsigned bits = elementBits(fragment.element);
  Type integer = b.getIntegerType(bits);
  // Elements of one access are those of one dim.
  std::optional<unsigned> vectorDim;
  if (width > 1)
    vectorDim = emitter.getProgram().getContiguous(fragment.source);

  Value limit = isTail ? points.countOf(plan.sums) : Value();
  Value start = arith::AddIOp::create(
      b, loc, sum,
      arith::MulIOp::create(b, loc, fragments.partOf(plan.x.sumPart, plan.lane),
                            emitter.constantIndex(sums)));
  int64_t sumWidth = isAlongRows ? 1 : width;
  // [access of rows][access of sums]: an integer, or a vector of them.
  SmallVector<SmallVector<Value>> loaded(fragment.rows.size());
  emitter.withVectors(vectorDim, width, [&] {
    for (int64_t s = 0; s < sums; s += sumWidth) {
      Value at = s == 0 ? start
                        : Value(arith::AddIOp::create(
                              b, loc, start, emitter.constantIndex(s)));
      Value exists;
      if (isTail) {
        exists =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at, limit);
        at = arith::MinUIOp::create(
            b, loc, at,
            arith::SubIOp::create(b, loc, limit,
                                  emitter.constantIndex(sumWidth)));
      }
      for (auto [row, own] : llvm::zip_equal(fragment.rows, loaded)) {
        Env env = row;
        points.bind(env, plan.sums, at);
        Value v = emitter.loadValue(fragment.source, env);
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
              emitter.constant(cast<TypedAttr>(b.getZeroAttr(v.getType()))));
        own.push_back(v);
      }
    }
  });

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

/// The words of a step: those of the left rows, then those of the columns.
SmallVector<Value> WarpProduct::loadStep(const MatrixNest &plan,
                                         const OperandFragment &left,
                                         const OperandFragment &right,
                                         Value sum, bool isTail) {
  SmallVector<Value> loaded;
  for (const OperandFragment *fragment : {&left, &right})
    for (ArrayRef<Value> row : loadFragment(plan, *fragment, sum, isTail))
      llvm::append_range(loaded, row);
  return loaded;
}

/// The tile's accumulators after the step that `loadStep` has loaded.
SmallVector<Value> WarpProduct::multiplyStep(const MatrixNest &plan,
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
SmallVector<Value> WarpProduct::sumProducts(const MatrixNest &plan,
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
  std::optional<int64_t> known = points.staticCountOf(plan.sums);
  int64_t step = plan.step(), words = (plan.laneRows() + plan.columnTiles) *
                                      plan.sumTiles * plan.x.wordsPerRow();
  Value count = points.countOf(plan.sums), end;
  if (known) {
    end = emitter.constantIndex(*known / step * step);
  } else {
    end = arith::MulIOp::create(
        b, loc,
        arith::DivUIOp::create(b, loc, count, emitter.constantIndex(step)),
        emitter.constantIndex(step));
  }
  bool isFar =
      !emitter.findBuffer(left.source) || !emitter.findBuffer(right.source);
  if (known && *known / step == 1)
    sums = addStep(emitter.constantIndex(0), sums, /*isTail=*/false);
  else if (known && *known / step >= kMatrixStepsAhead && isFar &&
           words <= kMatrixAhead) {
    // What comes from afar is loaded a step ahead.
    SmallVector<Value> state = load(emitter.constantIndex(0));
    int64_t ahead = state.size();
    llvm::append_range(state, sums);
    auto multiplyLoaded = [&](ArrayRef<Value> carried) {
      return multiplyStep(plan, carried.take_front(ahead),
                          carried.drop_front(ahead));
    };
    state = emitFor(b, loc, emitter.constantIndex(step), end,
                    emitter.constantIndex(step), state,
                    [&](Value sum, ValueRange carried) {
                      SmallVector<Value> current(carried), next = load(sum);
                      llvm::append_range(next, multiplyLoaded(current));
                      return next;
                    });
    sums = multiplyLoaded(state);
  } else if (!known || *known >= step)
    sums = emitFor(b, loc, emitter.constantIndex(0), end,
                   emitter.constantIndex(step), sums,
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
void WarpProduct::emitTile(const MatrixNest &plan, Value number,
                           Value rowBlocks, Value columnBlocks) {
  const MatrixForm &form = plan.form;
  const MatrixInstruction &x = plan.x;
  Value column = points.divide(number, columnBlocks, /*remainder=*/true);
  Value rest = points.divide(number, columnBlocks, /*remainder=*/false);
  Value row = points.divide(rest, rowBlocks, /*remainder=*/true);
  Env tile = emitter.getOrigin();
  points.bind(tile, plan.batch,
              points.divide(rest, rowBlocks, /*remainder=*/false));
  row = arith::MulIOp::create(b, loc, row,
                              emitter.constantIndex(plan.tileRows()));
  column = arith::MulIOp::create(b, loc, column,
                                 emitter.constantIndex(plan.tileColumns()));
  auto firstOf = [&](Value from, LaneField field, int64_t count) -> Value {
    Value part =
        arith::MulIOp::create(b, loc, fragments.partOf(field, plan.lane),
                              emitter.constantIndex(count));
    return arith::AddIOp::create(b, loc, from, part);
  };
  OperandFragment left =
      makeFragment(plan, form.left, x.left, form.leftIsSigned, plan.rows,
                   plan.laneRows(), firstOf(row, x.leftRow, plan.laneRows()),
                   points.hasWholeTiles(plan.rows, plan.tileRows()), tile);
  OperandFragment right = makeFragment(
      plan, form.right, x.right, form.rightIsSigned, plan.columns,
      plan.columnTiles, firstOf(column, x.rightColumn, plan.columnTiles),
      points.hasWholeTiles(plan.columns, plan.tileColumns()), tile);
  fragments.store(plan, tile, row, column, sumProducts(plan, left, right));
}

void WarpProduct::emit() {
  MatrixNest plan = dealOut(*emitter.getNest().contraction->matrix);
  int64_t width = plan.x.lanes, warps = emitter.threads / width;
  Value warp = points.divide(emitter.thread, emitter.constantIndex(width),
                             /*remainder=*/false);
  plan.lane = points.divide(emitter.thread, emitter.constantIndex(width),
                            /*remainder=*/true);
  auto blocksOf = [&](ArrayRef<Axis> axes, int64_t by) -> Value {
    if (std::optional<int64_t> known = points.staticCountOf(axes))
      return emitter.constantIndex(llvm::divideCeil(*known, by));
    return arith::CeilDivUIOp::create(b, loc, points.countOf(axes),
                                      emitter.constantIndex(by));
  };
  Value rowBlocks = blocksOf(plan.rows, plan.tileRows()),
        columnBlocks = blocksOf(plan.columns, plan.tileColumns());
  Value tiles = b.createOrFold<arith::MulIOp>(loc, rowBlocks, columnBlocks);
  tiles = b.createOrFold<arith::MulIOp>(loc, tiles, points.countOf(plan.batch));
  std::optional<int64_t> known, rows = points.staticCountOf(plan.rows),
                                columns = points.staticCountOf(plan.columns),
                                batch = points.staticCountOf(plan.batch);
  if (rows && columns && batch)
    known = llvm::divideCeil(*rows, plan.tileRows()) *
            llvm::divideCeil(*columns, plan.tileColumns()) * *batch;
  points.emitStridedLoop(warp, tiles, known, warps, /*unrolled=*/1, {},
                         [&](Value number, ValueRange) {
                           emitTile(plan, number, rowBlocks, columnBlocks);
                           return SmallVector<Value>();
                         });
}
