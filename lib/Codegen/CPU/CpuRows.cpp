//===- CpuRows.cpp - reductions that fold several rows together -----------===//
//
// What limits a reduction of more than the caches hold is how much memory a core waits
// for at a time. Several rows are several streams. Sums of columns add up whole pieces of
// rows in memory of the block's own, which stays in the nearest cache: a column alone would
// touch a page for each element.
//
//===----------------------------------------------------------------------===//
#include "Tuning.h"

#include "CpuEmitter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace redfuse;

/// Whether two accumulators of `reduce` are combined by one op.
static bool isSimple(ReduceOp reduce) {
  return !reduce.isDeclared() && !isPair(reduce.getReducer()) &&
         reduce.getReducer() != Reducer::TopK;
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Whether the nest folds nothing but columns, whose results have memory.
bool CpuEmitter::foldsColumns() const {
  if (!nest->vectorDim || nest->over.empty() || nest->isOrdered ||
      llvm::is_contained(nest->over, *nest->vectorDim))
    return false;
  // One vector of columns is summed in registers.
  std::optional<int64_t> columns =
      getConstantIntValue(dims[*nest->vectorDim].capacity);
  if (columns && *columns <= int64_t(lanes))
    return false;
  // Of fewer rows each column's accumulator would be moved for every one.
  const SpaceDim &rows = dims[nest->over.back()];
  if (rows.staticSize && *rows.staticSize < int64_t(kRowsOfColumns))
    return false;
  return llvm::all_of(nest->roots, [&](Root *root) {
    return root->kind == Root::Kind::Reduce && isSimple(root->reduce) &&
           !root->continued && buffers.contains(root->reduce.getResult(0)) &&
           buffers.find(root->reduce.getResult(0))->second.dims.back() ==
               *nest->vectorDim;
  });
}

/// Folds `count` rows from `first` on into what `into` has of each column.
void CpuEmitter::foldRows(unsigned dim, Env &env, Value first, int64_t count,
                          ArrayRef<TileBuffer> into) {
  SmallVector<Env> rows;
  for (int64_t r = 0; r < count; ++r) {
    rows.push_back(env);
    rows.back().position[dim] =
        r == 0 ? first
               : Value(arith::AddIOp::create(b, loc, first, constantIndex(r)));
    emitAvailable(rows.back());
  }
  unsigned column = *nest->vectorDim;
  emitVectorLoop(column, env, [&](Env &at) {
    SmallVector<SmallVector<Value>> elements(reduces.size());
    for (const Env &row : rows) {
      Env point = row;
      point.position[column] = at.position[column];
      point.mask = at.mask;
      point.lanesLeft = at.lanesLeft;
      emitAvailable(point);
      for (auto [own, root] : llvm::zip_equal(elements, reduces))
        own.push_back(asVector(valueOf(root->reduce.getOperand(0), point)));
    }
    for (auto [own, root, buffer] : llvm::zip_equal(elements, reduces, into)) {
      Reducer reducer = root->reduce.getReducer();
      // In pairs: the order that loses least.
      while (own.size() > 1) {
        SmallVector<Value> half;
        for (size_t i = 0; i + 1 < own.size(); i += 2)
          half.push_back(combine(reducer, own[i], own[i + 1]));
        if (own.size() % 2 == 1)
          half.push_back(own.back());
        own = std::move(half);
      }
      Value before = loadTile(buffer, at);
      storeTile(buffer, combine(reducer, before, own.front()), at);
    }
  });
}

void CpuEmitter::emitColumnsOver(unsigned i, Env env,
                                 ArrayRef<TileBuffer> partial) {
  unsigned d = nest->over[i];
  Value zero = constantIndex(0), one = constantIndex(1);
  if (i + 1 < nest->over.size()) {
    emitFor(b, loc, zero, dims[d].size, one, {}, [&](Value at, ValueRange) {
      Env inner = env;
      inner.position[d] = at;
      emitAvailable(inner);
      emitColumnsOver(i + 1, inner, partial);
      return SmallVector<Value>();
    });
    return;
  }
  SmallVector<TileBuffer> results;
  for (Root *root : reduces)
    results.push_back(buffers.find(root->reduce.getResult(0))->second);
  auto fold = [&](Value begin, Value end, ArrayRef<TileBuffer> into) {
    Value rows = constantIndex(kRowsOfColumns);
    Value length = b.createOrFold<arith::SubIOp>(loc, end, begin);
    Value whole = b.createOrFold<arith::AddIOp>(
        loc, begin,
        b.createOrFold<arith::MulIOp>(
            loc, b.createOrFold<arith::DivUIOp>(loc, length, rows), rows));
    emitFor(b, loc, begin, whole, rows, {}, [&](Value at, ValueRange) {
      foldRows(d, env, at, kRowsOfColumns, into);
      return SmallVector<Value>();
    });
    if (getConstantIntValue(whole) && getConstantIntValue(end) &&
        getConstantIntValue(whole) == getConstantIntValue(end))
      return;
    emitFor(b, loc, whole, end, one, {}, [&](Value at, ValueRange) {
      foldRows(d, env, at, 1, into);
      return SmallVector<Value>();
    });
  };
  Value size =
      dims[d].staticSize ? constantIndex(*dims[d].staticSize) : dims[d].size;
  if (partial.empty())
    return fold(zero, size, results);
  // Of so many rows a sum of their own is made; see emitSummed.
  Value step = constantIndex(kAddends * kRowsOfColumns);
  emitFor(b, loc, zero, size, step, {}, [&](Value begin, ValueRange) {
    for (auto [root, buffer] : llvm::zip_equal(reduces, partial))
      emitVectorLoop(*nest->vectorDim, env, [&](Env &at) {
        storeTile(buffer, constant(getIdentityOf(root->reduce, 0)), at);
      });
    Value end = arith::MinSIOp::create(
        b, loc, arith::AddIOp::create(b, loc, begin, step), size);
    fold(begin, end, partial);
    emitVectorLoop(*nest->vectorDim, env, [&](Env &at) {
      for (auto [root, own, all] : llvm::zip_equal(reduces, partial, results))
        storeTile(all,
                  combine(root->reduce.getReducer(), loadTile(all, at),
                          loadTile(own, at)),
                  at);
    });
    return SmallVector<Value>();
  });
}

void CpuEmitter::emitColumns(Env &env) {
  unsigned column = *nest->vectorDim;
  for (Root *root : reduces)
    emitVectorLoop(column, env, [&](Env &at) {
      storeTile(buffers.find(root->reduce.getResult(0))->second,
                constant(getIdentityOf(root->reduce, 0)), at);
    });
  // Memory for sums of parts, where there are more addends than one should have.
  double rows = 1;
  for (unsigned d : nest->over)
    rows *= dims[d].staticSize ? double(*dims[d].staticSize)
                               : double(kAddends * kRowsOfColumns + 1);
  bool isSum = llvm::any_of(reduces, [](Root *root) {
    return root->reduce.getReducer() == Reducer::Add &&
           isa<FloatType>(root->reduce.getOperand(0).getType());
  });
  std::optional<int64_t> capacity = getConstantIntValue(dims[column].capacity);
  SmallVector<TileBuffer> partial;
  if (isSum && rows > double(kAddends * kRowsOfColumns) && capacity &&
      *capacity <= kPartialColumns)
    for (Root *root : reduces) {
      auto type =
          MemRefType::get({*capacity}, root->reduce.getOperand(0).getType());
      TileBuffer buffer;
      buffer.memref = memref::AllocaOp::create(b, loc, type);
      buffer.dims = {column};
      partial.push_back(buffer);
    }
  emitColumnsOver(0, env, partial);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The dim whose positions are folded together, where vectors are parts of rows.
std::optional<unsigned> CpuEmitter::rowsTogether() const {
  if (!nest->vectorDim || nest->over.size() != 1 || nest->isOrdered ||
      nest->over.front() != *nest->vectorDim || intoDims.empty() ||
      reduces.empty() || nest->roots.size() != 1 ||
      !isSimple(nest->roots.front()->reduce))
    return std::nullopt;
  const SpaceDim &rows = dims[intoDims.back()];
  if (rows.staticSize && *rows.staticSize < int64_t(kRowsTogether))
    return std::nullopt;
  return intoDims.back();
}

/// All rows of a tile that has them as its dim `d`, `count` at a time. Each is folded in the
/// order in which emitReduction folds one: a row does not know of others.
void CpuEmitter::emitRowsTogether(unsigned d, Env &env, unsigned count) {
  const SpaceDim &rows = dims[d], &elements = dims[*nest->vectorDim];
  bool isShort = elements.staticSize &&
                 *elements.staticSize < 2 * kCopies * int64_t(lanes);
  unsigned copies = isShort ? 1 : kCopies;
  Value zero = constantIndex(0), step = constantIndex(count);
  Value size = rows.staticSize ? constantIndex(*rows.staticSize) : rows.size;
  auto roundDown = [&](Value v, int64_t by) -> Value {
    Value of = constantIndex(by);
    return b.createOrFold<arith::MulIOp>(
        loc, b.createOrFold<arith::DivUIOp>(loc, v, of), of);
  };
  Value whole = roundDown(size, count);
  emitFor(b, loc, zero, whole, step, {}, [&](Value first, ValueRange) {
    SmallVector<Env> own;
    Accumulators state;
    for (unsigned r = 0; r < count; ++r) {
      own.push_back(env);
      own.back().position[d] =
          arith::AddIOp::create(b, loc, first, constantIndex(r));
      emitAvailable(own.back());
      for (unsigned c = 0; c < copies; ++c)
        llvm::append_range(state, startReductions(own.back()));
    }
    // One vector of each row, added to what is `stride` apart in `next`.
    auto point = [&](const Env &at, MutableArrayRef<Value> next,
                     unsigned stride) {
      for (unsigned r = 0; r < count; ++r) {
        Env inner = own[r];
        inner.position[*nest->vectorDim] = at.position[*nest->vectorDim];
        inner.mask = at.mask;
        inner.lanesLeft = at.lanesLeft;
        emitAvailable(inner);
        accumulate(inner, next.slice(r * stride, 1));
      }
    };
    auto pointAt = [&](Value position, MutableArrayRef<Value> next,
                       unsigned stride) {
      Env at = env;
      at.position[*nest->vectorDim] = position;
      point(at, next, stride);
    };
    Value length = elements.staticSize ? constantIndex(*elements.staticSize)
                                       : elements.size;
    Value position = zero;
    if (copies > 1) {
      int64_t each = int64_t(lanes) * copies;
      Value end = roundDown(length, each);
      state = emitSummed(
          {zero, end, elements.staticSize, each}, 1, env, state,
          [&](Value at, ValueRange carried) {
            Accumulators next(carried);
            for (unsigned c = 0; c < copies; ++c) {
              Value here = at;
              if (c != 0)
                here =
                    arith::AddIOp::create(b, loc, at, constantIndex(c * lanes));
              pointAt(here, MutableArrayRef(next).drop_front(c), copies);
            }
            return next;
          });
      position = end;
    }
    // What is left of each row goes to its first accumulator.
    Accumulators firsts;
    for (unsigned r = 0; r < count; ++r)
      firsts.push_back(state[r * copies]);
    Value end = roundDown(length, lanes);
    std::optional<int64_t> left = elements.staticSize;
    if (copies > 1)
      left = 1;
    firsts = emitSummed({position, end, left, int64_t(lanes)}, 1, env, firsts,
                        [&](Value at, ValueRange carried) {
                          Accumulators next(carried);
                          pointAt(at, next, 1);
                          return next;
                        });
    if (!elements.staticSize || *elements.staticSize % lanes != 0) {
      Value ragged = arith::SubIOp::create(b, loc, length, end);
      Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                        ragged, zero);
      auto branch = scf::IfOp::create(b, loc, ValueRange(firsts).getTypes(),
                                      any, /*withElse=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc, firsts);
      b.setInsertionPointToStart(branch.thenBlock());
      Env tail = inTail(env, *nest->vectorDim, end, ragged);
      Accumulators next(firsts);
      point(tail, next, 1);
      scf::YieldOp::create(b, loc, next);
      firsts.assign(branch.result_begin(), branch.result_end());
    }
    for (unsigned r = 0; r < count; ++r) {
      state[r * copies] = firsts[r];
      finishReduction(own[r], ArrayRef(state).slice(r * copies, copies),
                      copies);
    }
    return SmallVector<Value>();
  });
  if (rows.staticSize && *rows.staticSize % count == 0)
    return;
  emitFor(b, loc, whole, size, constantIndex(1), {}, [&](Value at, ValueRange) {
    Env inner = env;
    inner.position[d] = at;
    emitAvailable(inner);
    emitReduction(inner);
    return SmallVector<Value>();
  });
}
