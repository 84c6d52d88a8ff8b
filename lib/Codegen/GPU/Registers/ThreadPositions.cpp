//===- ThreadPositions.cpp - which positions of a tile a thread has -------===//
#include "ThreadPositions.h"

using namespace mlir;
using namespace redfuse;

Value ThreadPositions::word(int64_t value) {
  return emitter.constant(b.getI32IntegerAttr(value));
}

Value ThreadPositions::getThreadWord() {
  if (!threadWord) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(thread);
    threadWord = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), thread);
  }
  return threadWord;
}

Value ThreadPositions::getLane() {
  return arith::AndIOp::create(b, loc, getThreadWord(), word(layout.warp - 1));
}

Value ThreadPositions::isFirstOf(unsigned bits) {
  Value &first = firsts[bits];
  if (first)
    return first;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(getThreadWord());
  Value own = arith::AndIOp::create(b, loc, threadWord, word(bits));
  return first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, own,
                                       word(0));
}

Value ThreadPositions::moveBits(Value v, unsigned mask, bool isCompressed) {
  Value result;
  unsigned packed = 0;
  for (unsigned bit = 0; bit < 32;) {
    if (!(mask >> bit & 1)) {
      ++bit;
      continue;
    }
    unsigned length = llvm::countr_one(mask >> bit);
    unsigned from = isCompressed ? packed : bit;
    unsigned to = isCompressed ? bit : packed;
    Value part = v;
    if (from != 0)
      part = arith::ShRUIOp::create(b, loc, part, word(from));
    part = arith::AndIOp::create(
        b, loc, part, word(llvm::maskTrailingOnes<uint32_t>(length)));
    if (to != 0)
      part = arith::ShLIOp::create(b, loc, part, word(to));
    result = result ? Value(arith::OrIOp::create(b, loc, result, part)) : part;
    packed += length;
    bit += length;
  }
  return result ? result : word(0);
}

/// The bits of `v` that `mask` has, side by side.
Value ThreadPositions::compress(Value v, unsigned mask) {
  OpBuilder::InsertionGuard guard(b);
  if (v == threadWord)
    b.setInsertionPointAfterValue(v);
  return moveBits(v, mask, /*isCompressed=*/false);
}

/// The reverse: the low bits of `v` at the places of `mask`.
Value ThreadPositions::deposit(Value v, unsigned mask) {
  return moveBits(v, mask, /*isCompressed=*/true);
}

void ThreadPositions::setPrivate(ArrayRef<int64_t> ofDims) {
  privateDims.assign(ofDims.begin(), ofDims.end());
  privateBits = getBits(privateDims);
}

Value ThreadPositions::getPrivateNumber() {
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(),
                                      compress(getThreadWord(), privateBits));
}

unsigned ThreadPositions::getCombinedBits(ArrayRef<unsigned> over) const {
  unsigned bits = 0;
  for (unsigned d : over)
    if (!llvm::is_contained(privateDims, d))
      bits |= layout.dims[d].getBits();
  return bits;
}

std::optional<unsigned>
ThreadPositions::laneDimOf(ArrayRef<unsigned> ofDims) const {
  for (unsigned d : ofDims)
    if (layout.dims[d].lanes > 1)
      return d;
  return std::nullopt;
}

unsigned ThreadPositions::getBits(ArrayRef<unsigned> ofDims) const {
  unsigned bits = 0;
  for (unsigned d : ofDims)
    bits |= layout.dims[d].getBits();
  return bits;
}

int64_t ThreadPositions::countElements(ArrayRef<unsigned> ofDims) const {
  int64_t count = 1;
  for (unsigned d : ofDims)
    count *= layout.dims[d].repeats;
  return count;
}

int64_t ThreadPositions::indexOf(ArrayRef<unsigned> ofDims,
                                 ArrayRef<int64_t> local) const {
  int64_t index = 0;
  for (unsigned d : ofDims)
    index = index * layout.dims[d].repeats + local[d];
  return index;
}

void ThreadPositions::forElements(ArrayRef<unsigned> ofDims,
                                  function_ref<void(ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> local(dims.size(), 0);
  for (int64_t i = 0, n = countElements(ofDims); i < n; ++i) {
    int64_t rest = i;
    for (unsigned d : llvm::reverse(ofDims)) {
      local[d] = rest % layout.dims[d].repeats;
      rest /= layout.dims[d].repeats;
    }
    body(local);
  }
}

/// The first position of this thread along a dim.
Value ThreadPositions::getStart(unsigned d) {
  Value &start = starts[d];
  if (start)
    return start;
  const DimShare &share = layout.dims[d];
  if (share.threads == 1)
    return start = emitter.constantIndex(0);
  Value number = compress(getThreadWord(), share.getBits());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(number);
  if (share.getPiece() != 1)
    number = arith::MulIOp::create(b, loc, number, word(share.getPiece()));
  return start = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), number);
}

bool ThreadPositions::hasBeyond(unsigned d) const {
  return llvm::any_of(llvm::seq<int64_t>(0, layout.dims[d].repeats),
                      [&](int64_t repeat) { return isBeyond(d, repeat); });
}

/// How many neighbours of a thread exist together: a run where tiles are of whole ones,
/// else a vector.
int64_t ThreadPositions::getWhole(unsigned d) const {
  const DimShare &share = layout.dims[d];
  int64_t extent = dims[d].staticExtent;
  bool isOfWhole =
      !ShapedType::isDynamic(extent) && extent % share.getPiece() == 0;
  return isOfWhole ? share.getPiece() : share.lanes;
}

/// Where in its run begins what exists together with a thread's `repeat`-th vector.
int64_t ThreadPositions::startInRun(unsigned d, int64_t repeat) const {
  const DimShare &share = layout.dims[d];
  int64_t inRun = repeat % share.run * share.lanes;
  return inRun - inRun % getWhole(d);
}

/// Whether some thread's `repeat`-th vector may lie beyond the end of the tile.
bool ThreadPositions::isBeyond(unsigned d, int64_t repeat) const {
  const DimShare &share = layout.dims[d];
  int64_t lastRun = ((repeat / share.run + 1) * share.threads - 1);
  return !dims[d].staticSize ||
         lastRun * share.getPiece() + startInRun(d, repeat) + getWhole(d) >
             *dims[d].staticSize;
}

/// The first position of what exists together with this thread's `repeat`-th vector.
Value ThreadPositions::startOfWhole(unsigned d, int64_t repeat) {
  const DimShare &share = layout.dims[d];
  return b.createOrFold<arith::AddIOp>(
      loc, getStart(d),
      emitter.constantIndex(repeat / share.run * share.threads *
                                share.getPiece() +
                            startInRun(d, repeat)));
}

Value ThreadPositions::maskOf(unsigned d, int64_t repeat) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                               startOfWhole(d, repeat), dims[d].size);
}

Value ThreadPositions::maskOf(const Env &env, ArrayRef<unsigned> ofDims) {
  Value mask;
  for (unsigned d : ofDims) {
    if (!isBeyond(d, env.local[d]))
      continue;
    Value own = maskOf(d, env.local[d]);
    mask = mask ? Value(arith::AndIOp::create(b, loc, mask, own)) : own;
  }
  return mask;
}

void ThreadPositions::bind(Env &env, unsigned d, int64_t repeat) {
  const DimShare &share = layout.dims[d];
  Value at = startOfWhole(d, repeat);
  if (isBeyond(d, repeat)) {
    Value last = b.createOrFold<arith::SubIOp>(
        loc, dims[d].size, emitter.constantIndex(getWhole(d)));
    at = arith::MinSIOp::create(b, loc, at, last);
  }
  if (int64_t rest = repeat % share.run * share.lanes - startInRun(d, repeat))
    at = b.createOrFold<arith::AddIOp>(loc, at, emitter.constantIndex(rest));
  env.position[d] = at;
  env.local[d] = repeat;
}

void ThreadPositions::forPoints(const Env &from, ArrayRef<unsigned> ofDims,
                                function_ref<void(Env &)> body) {
  int64_t count = countElements(ofDims);
  for (int64_t i = 0; i < count; ++i) {
    Env env = from;
    int64_t rest = i;
    for (unsigned d : llvm::reverse(ofDims)) {
      bind(env, d, rest % layout.dims[d].repeats);
      rest /= layout.dims[d].repeats;
    }
    body(env);
  }
}

Env ThreadPositions::getOrigin() const {
  Env env;
  env.position.assign(dims.size(), Value());
  env.local.assign(dims.size(), 0);
  return env;
}
