//===- ContractionOperands.cpp - operands on their way to shared memory ---===//
//
// The threads of a block share what a stage has of an operand in units of 16 bytes of a
// row, or of some neighbouring rows. Where elements are adjacent along the sum a thread
// loads such a unit by one access, if all extents and strides allow that. Where they are
// adjacent along rows, neighbouring threads have neighbouring rows.
//
// Rows beyond the end read the last ones: nobody stores what comes of them. Sums beyond
// the end are zeros on both sides: what else is there may be infinite.
//
//===----------------------------------------------------------------------===//
#include "ContractionEmitter.h"

#include "redfuse/Codegen/GPU/Common/InlinePtx.h"
#include "redfuse/Codegen/GPU/Contractions/Tuning.h"
#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Bytes of an element of the smallest results.
int64_t ContractionEmitter::resultBytes() {
  int64_t bits = 64;
  for (Type type : op->getResultTypes())
    bits = std::min<int64_t>(
        bits, getElementTypeOrSelf(type).getIntOrFloatBitWidth());
  return std::max<int64_t>(1, bits / 8);
}

ContractionEmitter::Side
ContractionEmitter::makeSide(Value factor, MatrixElement element, bool isSigned,
                             ArrayRef<unsigned> ofDims, bool isLeft) {
  Side side;
  side.factor = factor;
  side.element = element;
  side.isSigned = isSigned;
  for (unsigned d : ofDims)
    side.axes.push_back({d, 1});
  int64_t number = plan.getInstructions()[isLeft ? 0 : 1];
  side.rows = isLeft ? tileRows() : tileColumns();
  side.warpRows = number * (isLeft ? x.rows : x.columns);
  side.parts = isLeft ? x.leftRow.count : x.rightColumn.count;
  side.count = side.warpRows / side.parts;
  side.start =
      isLeft ? 0
             : tileRows() * kSlabBytes * plan.getSlabs() * copiesOfOperand();
  side.isWhole = points.hasWholeTiles(side.axes, side.rows);
  side.cone = coneOf(factor);
  for (Value v : side.cone)
    if (isa<BlockArgument>(v))
      side.loaded.push_back(v);
  if (isCopied) {
    side.copied = isLeft ? copiedLeft : copiedRight;
    if (side.copied.inside)
      side.insideCone = coneOf(side.copied.inside);
  }
  return side;
}

/// A dim that is part of no window (channels) is the innermost, a chunk of a stage at a
/// time, then the others (taps), then chunks: so the elements of an access have the
/// same place in the window, and the taps of a chunk find it in the L1 cache.
void ContractionEmitter::orderSums() {
  int64_t best = 0;
  for (unsigned d : form.sums) {
    int64_t extent = dims[d].staticSize.value_or(0), of = stageSums();
    while (of >= vectorSums() && extent % of != 0)
      of /= 2;
    if (extent == 0 || of < vectorSums())
      continue;
    int64_t score = 1;
    for (const Side *side : {&left, &right})
      for (Value v : side->loaded) {
        AffineMap map =
            op.getMapOfBodyArgument(cast<BlockArgument>(v).getArgNumber());
        for (AffineExpr expr : map.getResults())
          if (expr.isFunctionOfDim(d) && !isa<AffineDimExpr>(expr))
            score = 0;
        if (score != 0 && program->getContiguous(v) == d)
          score += 2;
      }
    if (score == 0 || score < best)
      continue;
    best = score;
    innerSum = d;
    chunk = of;
  }
  if (vectorSum) {
    innerSum = *vectorSum;
    chunk = stageSums();
    while (dims[innerSum].staticSize.value_or(0) % chunk != 0)
      chunk /= 2;
    return;
  }
  // Filters whose taps are neighbours in memory are read tap after tap: the L1 cache is
  // to have all taps of a chunk until the last one has been read.
  int64_t others = 1;
  bool isByTaps = false;
  for (unsigned d : form.sums)
    if (d != innerSum)
      others *= dims[d].staticSize.value_or(1);
  for (const Side *side : {&left, &right})
    for (Value v : side->loaded) {
      std::optional<unsigned> d = program->getContiguous(v);
      isByTaps |= d && *d != innerSum && llvm::is_contained(form.sums, *d);
    }
  int64_t bytes = elementBits(x.left) / 8 * others * kRowsOfTaps;
  while (isByTaps && chunk > vectorSums() && chunk * bytes > kTapsBytes)
    chunk /= 2;
  // One dim is numbered as it is.
  int64_t several = llvm::count_if(sumAxes, [&](const Axis &axis) {
    return dims[axis.dim].staticSize != 1;
  });
  if (several < 2 || best == 0) {
    innerSum = form.sums.back();
    chunk = 0;
  }
}

/// Binds the sum's dims at a number: a stage's `start` and an `offset` in the stage.
void ContractionEmitter::bindSums(Env &env, Value start, Value offset) {
  Value number =
      offset ? Value(arith::AddIOp::create(b, loc, start, offset)) : start;
  if (chunk == 0)
    return points.bind(env, sumAxes, number);
  // All of a stage have one chunk, which every thread finds for itself.
  bool isOfStage = offset && chunk % stageSums() == 0;
  Value size = constantIndex(chunk), of = isOfStage ? start : number;
  Axes outer{{innerSum, chunk}};
  for (const Axis &axis : sumAxes)
    if (axis.dim != innerSum)
      outer.push_back(axis);
  points.bind(env, outer, points.divide(of, size, /*remainder=*/false));
  Value in = points.divide(of, size, /*remainder=*/true);
  if (isOfStage)
    in = arith::AddIOp::create(b, loc, in, offset);
  env.position[innerSum] =
      arith::AddIOp::create(b, loc, env.position[innerSum], in);
}

/// Of the largest argument.
void ContractionEmitter::chooseAccess(Side &side) {
  BlockArgument main;
  int64_t most = 0;
  for (Value v : side.loaded) {
    SmallVector<unsigned> ofDims;
    for (unsigned d : program->getDimSets()[v].set_bits())
      ofDims.push_back(d);
    int64_t points = shape().capacityOf(ofDims);
    if (points > most) {
      most = points;
      main = cast<BlockArgument>(v);
    }
  }
  side.isAlongRows = true;
  if (!main)
    return;
  int64_t bytes = bytesOf(main.getType());
  auto widthAlong = [&](unsigned dim, int64_t atMost) {
    int64_t width = 1;
    while (2 * width <= atMost && 2 * width * bytes <= kAccessBytes &&
           isMultiple(dim, 2 * width))
      width *= 2;
    return width;
  };
  if (isByWarpgroups()) {
    side.isAlongRows = false;
    side.width = vectorSums();
    return;
  }
  auto alignedAlong = [&](unsigned dim, int64_t width) -> int64_t {
    std::optional<FlatIndex> flat = flatIndexOf(main);
    return flat && flat->wrapped.empty() ? alignedWidth(*flat, dim, width) : 1;
  };
  std::optional<unsigned> contiguous = program->getContiguous(main);
  AffineMap map = op.getMapOfBodyArgument(main.getArgNumber());
  auto isAdjacent = [&](unsigned d) {
    return map.getNumResults() > 0 &&
           map.getResults().back().isFunctionOfDim(d);
  };
  if (contiguous && llvm::is_contained(form.sums, *contiguous)) {
    bool isLast = *contiguous == innerSum;
    bool isLong = shape().capacityOf(*contiguous) >= vectorSums();
    bool isByRows = llvm::any_of(
        side.axes, [&](const Axis &axis) { return isAdjacent(axis.dim); });
    if ((isLast && isLong) || !isByRows) {
      side.isAlongRows = false;
      if (isLast)
        side.width = widthAlong(*contiguous, vectorSums());
      if (isCopied)
        side.width =
            side.copied.inside ? 1 : alignedAlong(*contiguous, side.width);
      return;
    }
  }
  if (isCopied) {
    // Where elements are adjacent along rows, those of one sum are stored together.
    side.isBySums = true;
    int64_t most = kAccessBytes / bytes;
    if (contiguous == side.axes.back().dim && !side.copied.inside)
      side.width = alignedAlong(*contiguous, widthAlong(*contiguous, most));
    while (side.width > 1 && unitsOf(side) < int64_t(threads))
      side.width /= 2;
    return;
  }
  int64_t groups = side.rows * 4 * plan.getSlabs() / kRowsOfAccess;
  if (contiguous == side.axes.back().dim && groups >= int64_t(threads))
    side.width = widthAlong(*contiguous, kRowsOfAccess);
}

std::optional<FlatIndex>
ContractionEmitter::flatIndexOf(BlockArgument argument) {
  unsigned i = argument.getArgNumber();
  auto type = cast<MemRefType>(memrefs.lookup(op->getOperand(i)).getType());
  return findFlatIndex(type, op.getMapOfBodyArgument(i));
}

int64_t ContractionEmitter::unitsOf(const Side &side) const {
  int64_t units = side.rows * 4 * plan.getSlabs();
  return side.isAlongRows ? units / side.width : units;
}

SmallVector<ContractionEmitter::Unit>
ContractionEmitter::makeUnits(const Side &side, const Env &tile) {
  SmallVector<Unit> units;
  int64_t vectors = 4 * plan.getSlabs(), of = threads, all = unitsOf(side);
  auto part = [&](Value v, int64_t by, bool isRest) -> Value {
    if (by == 1)
      return isRest ? constantIndex(0) : v;
    return points.divide(v, constantIndex(by), isRest);
  };
  auto plus = [&](Value v, int64_t more) -> Value {
    if (more == 0)
      return v;
    return arith::AddIOp::create(b, loc, v, constantIndex(more));
  };
  for (int64_t i = 0; i < std::max<int64_t>(1, all / of); ++i) {
    Unit unit;
    if (side.isAlongRows) {
      // All of a thread's units have the same sums, as far as that leaves whole
      // warps neighbouring rows: where these are is found once.
      int64_t groups = side.rows / side.width;
      int64_t lanes = std::min(groups, std::max<int64_t>(32, of / vectors));
      int64_t rounds = groups / lanes;
      unit.row = plus(part(thread, lanes, /*isRest=*/true), i % rounds * lanes);
      unit.vector = part(thread, lanes, /*isRest=*/false);
      if (all < of)
        unit.vector = part(unit.vector, vectors, /*isRest=*/true);
      unit.vector = plus(unit.vector, i / rounds * (of / lanes));
      if (side.width > 1)
        unit.row =
            arith::MulIOp::create(b, loc, unit.row, constantIndex(side.width));
    } else {
      unit.vector = part(thread, vectors, /*isRest=*/true);
      unit.row = part(thread, vectors, /*isRest=*/false);
      if (all < of)
        unit.row = part(unit.row, side.rows, /*isRest=*/true);
      unit.row = plus(unit.row, i * (of / vectors));
    }
    Value at = arith::AddIOp::create(b, loc, side.first, unit.row);
    int64_t neighbours = side.isAlongRows ? side.width : 1;
    if (!side.isWhole)
      at = arith::MinUIOp::create(
          b, loc, at,
          arith::SubIOp::create(b, loc, points.countOf(side.axes),
                                constantIndex(neighbours)));
    unit.at = tile;
    points.bind(unit.at, side.axes, at);
    units.push_back(std::move(unit));
  }
  return units;
}

/// Emits what of the factor's values can be, of `width` elements where the nest has a
/// vector dim: all of it, or what is loaded alone.
void ContractionEmitter::computeFactor(const Side &side, Env &env,
                                       bool isLoad) {
  computeValues(side, env, isLoad ? side.loaded : side.cone);
}

void ContractionEmitter::computeValues(const Side &side, Env &env,
                                       ArrayRef<Value> values) {
  std::optional<unsigned> vectorDim;
  if (side.width > 1)
    vectorDim = side.isAlongRows ? side.axes.back().dim : innerSum;
  withVectors(vectorDim, side.width, [&] {
    SmallVector<Value> all(values);
    std::swap(all, needed);
    emitAvailable(env);
    std::swap(all, needed);
  });
}

/// Starts to load the elements of a stage whose sums are those from `sum` on.
void ContractionEmitter::startUnits(const Side &side, ArrayRef<Unit> units,
                                    Value sum, const Share &share, Value stage,
                                    SmallVectorImpl<Arriving> &arriving) {
  int64_t width = side.isAlongRows ? 1 : side.width;
  OpBuilder::InsertionGuard guard(b);
  if (isCopied && unitsOf(side) < int64_t(threads)) {
    Value has = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, thread,
                                      constantIndex(unitsOf(side)));
    auto branch = scf::IfOp::create(b, loc, has, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  }
  for (const Unit &unit : units) {
    Arriving own;
    Value offset =
        arith::MulIOp::create(b, loc, unit.vector, constantIndex(vectorSums()));
    Value start = arith::AddIOp::create(b, loc, sum, offset);
    // Elements of a chunk exist or not together.
    int64_t together = chunk != 0 ? vectorSums() : width;
    Value exists;
    Env first = unit.at;
    for (int64_t s = 0; s < vectorSums(); s += width) {
      if (s % together == 0) {
        Value at = start;
        if (s != 0)
          at = arith::AddIOp::create(b, loc, at, constantIndex(s));
        if (!share.isWhole) {
          exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                         share.end);
          at = arith::MinUIOp::create(
              b, loc, at,
              arith::SubIOp::create(b, loc, share.end,
                                    constantIndex(together)));
        }
        first = unit.at;
        if (chunk != 0 && share.isWhole)
          bindSums(first, sum, offset);
        else
          bindSums(first, at);
      }
      Env env = first;
      if (s % together != 0)
        env.position[innerSum] = arith::AddIOp::create(
            b, loc, env.position[innerSum], constantIndex(s % together));
      if (isCopied) {
        startCopy(side, unit, s, env, exists, stage);
        continue;
      }
      computeFactor(side, env, /*isLoad=*/true);
      own.accesses.push_back(std::move(env));
      own.exists.push_back(exists);
    }
    arriving.push_back(std::move(own));
  }
}

/// The value of multiples of dims and a constant in two parts: of the constant and of dims that do not
/// change in the loop over the sum, and, if there are any, of those that do.
std::pair<Value, Value> ContractionEmitter::wordsOf(ArrayRef<int64_t> factors,
                                                    const Env &env) {
  Value sums, others = i32(factors.back());
  for (auto [d, factor] : llvm::enumerate(factors.drop_back())) {
    if (factor == 0 || !env.position[d])
      continue;
    Value own =
        arith::MulIOp::create(b, loc, asWord(env.position[d]), i32(factor));
    Value &of = llvm::is_contained(form.sums, d) ? sums : others;
    of = of ? add(of, own) : own;
  }
  return {others, sums};
}

/// What they come to at most, if that is known.
std::optional<int64_t>
ContractionEmitter::mostOf(ArrayRef<int64_t> factors) const {
  int64_t most = factors.back();
  for (auto [d, factor] : llvm::enumerate(factors.drop_back())) {
    if (factor < 0)
      return std::nullopt;
    most += factor * std::max<int64_t>(0, shape().capacityOf(d) - 1);
  }
  return most;
}

/// v mod `modulus` of what is not negative. A place in a padded dim is rarely
/// more than one extent too large: v - modulus of less is a very large number.
Value ContractionEmitter::wrap(Value v, std::optional<int64_t> most,
                               int64_t modulus) {
  if (!most || *most >= 3 * modulus)
    return arith::RemUIOp::create(b, loc, v, i32(modulus));
  for (int64_t times = *most / modulus; times > 0; --times)
    v = arith::MinUIOp::create(b, loc, v,
                               arith::SubIOp::create(b, loc, v, i32(modulus)));
  return v;
}

/// Elements of an argument are at a sum of what the sum's dims add to its address, which
/// all rows share, and of what the others add, which does not change in the loop.
Value ContractionEmitter::loadAt(Value memref, AffineMap map, Env &env,
                                 bool isLocal) {
  auto type = cast<MemRefType>(memref.getType());
  bool isVector = nest->vectorDim && env.position[*nest->vectorDim] &&
                  getDimsOf(map).test(*nest->vectorDim);
  std::optional<FlatIndex> flat;
  if (!isLocal && !env.mask)
    flat = findFlatIndex(type, map);
  if (flat && isVector &&
      alignedWidth(*flat, *nest->vectorDim, lanes) != int64_t(lanes) &&
      (copy || flat->factors[*nest->vectorDim] != 1 || !flat->wrapped.empty()))
    flat.reset();
  if (!flat) {
    assert(!copy && "a copy without a place");
    return GpuEmitter::loadAt(memref, map, env, isLocal);
  }
  Value sums, others;
  auto add32 = [&](Value &to, Value v) { to = to ? add(to, v) : v; };
  for (const FlatIndex::Wrapped &part : flat->wrapped) {
    auto [ofOthers, ofSums] = wordsOf(part.factors, env);
    Value v = ofSums ? add(ofOthers, ofSums) : ofOthers;
    v = wrap(v, mostOf(part.factors), part.modulus);
    add32(ofSums ? sums : others,
          arith::MulIOp::create(b, loc, v, i32(part.stride)));
  }
  auto [linearOthers, linearSums] = wordsOf(flat->factors, env);
  add32(others, linearOthers);
  if (linearSums)
    add32(sums, linearSums);
  Value at = sums ? add(others, sums) : others;
  Type element = type.getElementType();
  if (copy) {
    // Nothing is loaded: the value is never asked for.
    copyElements(memref, flat->offset, at, isVector ? int64_t(lanes) : 1);
    return constant(b.getZeroAttr(
        isVector ? Type(VectorType::get({int64_t(lanes)}, element)) : element));
  }
  auto flatType =
      MemRefType::get({flat->last + 1}, element,
                      StridedLayoutAttr::get(b.getContext(), flat->offset, {1}),
                      type.getMemorySpace());
  Value elements = memref::ReinterpretCastOp::create(
      b, loc, flatType, memref, flat->offset, ArrayRef<int64_t>{flat->last + 1},
      ArrayRef<int64_t>{1});
  Value index = asIndex(at);
  if (!isVector)
    return memref::LoadOp::create(b, loc, elements, ValueRange(index));
  return vector::LoadOp::create(
      b, loc, VectorType::get({int64_t(lanes)}, element), elements,
      ValueRange(index), /*nontemporal=*/false, alignmentOf(type, map));
}

/// Starts `copy` of so many words from that index on (i32).
void ContractionEmitter::copyElements(Value memref, int64_t offset, Value at,
                                      int64_t count) {
  Type wide = b.getI64Type();
  Value start = arith::IndexCastUIOp::create(
      b, loc, wide,
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref));
  Value bytes =
      arith::MulIOp::create(b, loc, arith::ExtUIOp::create(b, loc, wide, at),
                            constant(b.getI64IntegerAttr(elementBytes())));
  start = arith::AddIOp::create(
      b, loc,
      arith::AddIOp::create(
          b, loc, start,
          constant(b.getI64IntegerAttr(elementBytes() * offset))),
      bytes);
  std::string text = "cp.async.ca.shared.global [$0], [$1], " +
                     std::to_string(elementBytes() * count);
  SmallVector<Value> operands{copy->to, start};
  if (copy->bytes)
    operands.push_back(copy->bytes);
  emitPtx(b, loc, text + (copy->bytes ? ", $2;" : ";"),
          copy->bytes ? "r,l,r" : "r,l", operands);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// What the numbers of rows are xored with where all rows of a sum are together: lanes
/// that read at once have different `part`s (of four) of a slab's sums.
Value ContractionEmitter::swizzleOf(const Side &side, Value part) {
  if (side.count < 8)
    return bits(part, 0, 3, 3);
  return add(bits(part, 0, 1, 2), bits(part, 1, 1, 4));
}

/// The word in a stage where a thread's unit has its sum of that number.
Value ContractionEmitter::wordOfCopy(const Side &side, const Unit &unit,
                                     int64_t sum) {
  Value row = asWord(unit.row), vector = asWord(unit.vector);
  if (!side.isBySums)
    return add(placeOf(side, row, vector), i32(sum));
  Value number =
      add(arith::MulIOp::create(b, loc, vector, i32(vectorSums())), i32(sum));
  Value in = arith::XOrIOp::create(b, loc, row, swizzleOf(side, vector));
  return add(add(arith::MulIOp::create(b, loc, number, i32(side.rows)), in),
             i32(side.start / 4));
}

void ContractionEmitter::startCopy(const Side &side, const Unit &unit,
                                   int64_t sum, Env &env, Value exists,
                                   Value stage) {
  Value there = exists;
  if (side.copied.inside) {
    computeValues(side, env, side.insideCone);
    Value inside = valueOf(side.copied.inside, env);
    there =
        there ? Value(arith::AndIOp::create(b, loc, there, inside)) : inside;
  }
  Copy own;
  if (there)
    own.bytes = arith::SelectOp::create(
        b, loc, there, i32(elementBytes() * side.width), i32(0));
  Value word = add(stage, wordOfCopy(side, unit, sum));
  Value shared = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, words));
  own.to = add(shared, arith::MulIOp::create(b, loc, word, i32(4)));
  copy = own;
  computeValues(side, env, {Value(side.copied.source)});
  if (side.copied.rest) {
    copy->to = add(own.to, i32(side.rows * kSlabBytes * plan.getSlabs()));
    computeValues(side, env, {Value(side.copied.rest)});
  }
  copy.reset();
}

/// 16 bytes of a row as words.
Value ContractionEmitter::wordsOfVector(const Side &side,
                                        ArrayRef<Value> elements) {
  auto type = VectorType::get({4}, b.getI32Type());
  Value all = elements.front();
  if (elements.size() > 1) {
    auto own = VectorType::get({int64_t(elements.size())}, all.getType());
    all = vector::FromElementsOp::create(b, loc, own, elements);
  }
  return vector::BitCastOp::create(b, loc, type, all);
}

/// Computes the operand of what has been loaded, and stores it.
void ContractionEmitter::finishUnits(const Side &side, ArrayRef<Unit> units,
                                     ArrayRef<Arriving> arriving, Value stage) {
  OpBuilder::InsertionGuard guard(b);
  if (unitsOf(side) < int64_t(threads)) {
    Value has = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, thread,
                                      constantIndex(unitsOf(side)));
    auto branch = scf::IfOp::create(b, loc, has, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  }
  Type element = typeOf(side.element, b.getContext());
  int64_t width = side.width;
  for (auto [unit, own] : llvm::zip_equal(units, arriving)) {
    SmallVector<Value> made;
    for (auto [loaded, exists] : llvm::zip_equal(own.accesses, own.exists)) {
      Env env = loaded;
      computeFactor(side, env, /*isLoad=*/false);
      Value v = valueOf(side.factor, env);
      v = convertElement(b, loc, v, element, side.isSigned);
      if (width > 1 && !isa<VectorType>(v.getType()))
        v = vector::BroadcastOp::create(
            b, loc, VectorType::get({width}, v.getType()), v);
      if (exists)
        v = arith::SelectOp::create(
            b, loc, exists, v,
            constant(cast<TypedAttr>(b.getZeroAttr(v.getType()))));
      made.push_back(v);
    }
    int64_t rows = side.isAlongRows ? width : 1;
    for (int64_t row = 0; row < rows; ++row) {
      SmallVector<Value> elements;
      if (made.size() == 1 && rows == 1)
        elements = made;
      else
        for (Value v : made)
          for (int64_t i = 0; i < (side.isAlongRows ? 1 : width); ++i)
            elements.push_back(width == 1 ? v
                                          : Value(vector::ExtractOp::create(
                                                b, loc, v, i + row)));
      Value at = unit.row;
      if (row != 0)
        at = arith::AddIOp::create(b, loc, at, constantIndex(row));
      Value place = add(stage, placeOf(side, asWord(at), asWord(unit.vector)));
      vector::StoreOp::create(b, loc, wordsOfVector(side, elements), words,
                              ValueRange(asIndex(place)),
                              /*nontemporal=*/false, llvm::Align(16));
    }
  }
}

/// The word in a stage where 16 bytes of a row of the tile are.
Value ContractionEmitter::placeOf(const Side &side, Value row, Value vector) {
  if (isByWarpgroups()) {
    // Rows of 128 bytes, of which 16 bytes are xored with the row's number.
    Value at = arith::XOrIOp::create(b, loc, vector, bits(row, 0, 7, 0));
    return add(add(arith::MulIOp::create(b, loc, row, i32(32)),
                   arith::MulIOp::create(b, loc, at, i32(4))),
               i32(side.start / 4));
  }
  auto log = [](int64_t n) { return int64_t(llvm::Log2_64(n)); };
  int64_t ofWarp = log(side.warpRows), ofPart = log(side.count);
  // The part, and the number in it.
  Value p = bits(row, ofPart, side.parts - 1, 0),
        j = bits(row, 0, side.count - 1, 0);
  Value slab = bits(vector, 2, plan.getSlabs() - 1, 0);
  auto exclusive = [&](Value v, Value w) -> Value {
    return arith::XOrIOp::create(b, loc, v, w);
  };
  Value half = bits(exclusive(exclusive(p, j), slab), 0, 1, 4);
  Value spread = bits(j, 1, 1, 0);
  spread = exclusive(
      spread, bits(exclusive(p, bits(j, 2, side.count - 1, 0)), 0, 1, 1));
  Value in = bits(exclusive(bits(vector, 0, 3, 0), spread), 0, 3, 2);
  // Lines of 32 words: two slots each, `parts` of them for each number in a part.
  Value line = add(bits(p, 1, side.parts - 1, 5),
                   arith::MulIOp::create(b, loc, j, i32(side.parts * 16)));
  Value ofWarps = bits(row, ofWarp, side.rows - 1, 0);
  line = add(line,
             arith::MulIOp::create(b, loc, ofWarps, i32(side.warpRows * 16)));
  Value start =
      arith::MulIOp::create(b, loc, slab, i32(side.rows * kSlabBytes / 4));
  return add(add(add(line, half), add(in, start)), i32(side.start / 4));
}
