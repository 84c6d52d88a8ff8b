//===- ContractionEmitter.cpp - values of a contraction -------------------===//
#include "ContractionEmitter.h"
#include "WordMath.h"

#include "redfuse/Codegen/GPU/Common/InlinePtx.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace redfuse;

void ContractionEmitter::emitOf(const LoopNest &of, function_ref<void()> body) {
  selectNest(of);
  body();
  nest = nullptr;
}

void ContractionEmitter::compute(const OperandSide &side, Env &env,
                                 ArrayRef<Value> values) {
  std::optional<unsigned> vectorDim;
  if (side.width > 1)
    vectorDim = side.accessDim;
  withVectors(vectorDim, unsigned(side.width), [&] {
    SmallVector<Value> all(values);
    std::swap(all, needed);
    emitAvailable(env);
    std::swap(all, needed);
  });
}

void ContractionEmitter::copy(const OperandSide &side, Env &env, Value argument,
                              Value to, Value bytes) {
  started = Copy{to, bytes};
  compute(side, env, argument);
  started.reset();
}

int64_t ContractionEmitter::resultBytes() const {
  int64_t bits = 64;
  for (Type type : op->getResultTypes())
    bits = std::min<int64_t>(
        bits, getElementTypeOrSelf(type).getIntOrFloatBitWidth());
  return std::max<int64_t>(1, bits / 8);
}

std::optional<FlatIndex>
ContractionEmitter::flatIndexOf(BlockArgument argument) const {
  unsigned i = argument.getArgNumber();
  IndexProgramOpInterface of = op;
  auto type = cast<MemRefType>(memrefs.lookup(of->getOperand(i)).getType());
  return findFlatIndex(type, of.getMapOfBodyArgument(i));
}

std::pair<Value, Value> ContractionEmitter::wordsOf(ArrayRef<int64_t> factors,
                                                    const Env &env) {
  WordMath in(*this);
  Value sums, others = in.i32(factors.back());
  for (auto [d, factor] : llvm::enumerate(factors.drop_back())) {
    if (factor == 0 || !env.position[d])
      continue;
    Value own = arith::MulIOp::create(b, loc, in.asWord(env.position[d]),
                                      in.i32(factor));
    Value &of = llvm::is_contained(tiling.form.sums, d) ? sums : others;
    of = of ? in.add(of, own) : own;
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
  WordMath in(*this);
  if (!most || *most >= 3 * modulus)
    return arith::RemUIOp::create(b, loc, v, in.i32(modulus));
  for (int64_t times = *most / modulus; times > 0; --times)
    v = arith::MinUIOp::create(
        b, loc, v, arith::SubIOp::create(b, loc, v, in.i32(modulus)));
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
      (started || flat->factors[*nest->vectorDim] != 1 ||
       !flat->wrapped.empty()))
    flat.reset();
  if (!flat) {
    assert(!started && "a copy without a place");
    return GpuEmitter::loadAt(memref, map, env, isLocal);
  }
  WordMath in(*this);
  if (started && tiling.elementWords() > 1 && flat->wrapped.empty()) {
    copyElements(memref, flat->offset, wideIndexOf(*flat, env),
                 isVector ? int64_t(lanes) : 1);
    return zeroOf(type.getElementType(), isVector);
  }
  Value sums, others;
  auto addTo = [&](Value &to, Value v) { to = to ? in.add(to, v) : v; };
  for (const FlatIndex::Wrapped &part : flat->wrapped) {
    auto [ofOthers, ofSums] = wordsOf(part.factors, env);
    Value v = ofSums ? in.add(ofOthers, ofSums) : ofOthers;
    v = wrap(v, mostOf(part.factors), part.modulus);
    addTo(ofSums ? sums : others,
          arith::MulIOp::create(b, loc, v, in.i32(part.stride)));
  }
  auto [linearOthers, linearSums] = wordsOf(flat->factors, env);
  addTo(others, linearOthers);
  if (linearSums)
    addTo(sums, linearSums);
  Value at = sums ? in.add(others, sums) : others;
  Type element = type.getElementType();
  if (started) {
    // Nothing is loaded: the value is never asked for.
    copyElements(memref, flat->offset,
                 arith::ExtUIOp::create(b, loc, b.getI64Type(), at),
                 isVector ? int64_t(lanes) : 1);
    return zeroOf(element, isVector);
  }
  auto flatType =
      MemRefType::get({flat->last + 1}, element,
                      StridedLayoutAttr::get(b.getContext(), flat->offset, {1}),
                      type.getMemorySpace());
  Value elements = memref::ReinterpretCastOp::create(
      b, loc, flatType, memref, flat->offset, ArrayRef<int64_t>{flat->last + 1},
      ArrayRef<int64_t>{1});
  Value index = in.asIndex(at);
  if (!isVector)
    return memref::LoadOp::create(b, loc, elements, ValueRange(index));
  return vector::LoadOp::create(
      b, loc, VectorType::get({int64_t(lanes)}, element), elements,
      ValueRange(index), /*nontemporal=*/false, alignmentOf(type, map));
}

Value ContractionEmitter::loadNeighbours(BlockArgument argument, const Env &env,
                                         int64_t count, int64_t from) {
  FlatIndex flat = *flatIndexOf(argument);
  Value memref = memrefs.lookup(op->getOperand(argument.getArgNumber()));
  auto type = cast<MemRefType>(memref.getType());
  WordMath in(*this);
  auto [others, sums] = wordsOf(flat.factors, env);
  Value at = in.add(sums ? in.add(others, sums) : others, in.i32(from));
  auto flatType =
      MemRefType::get({flat.last + 1}, type.getElementType(),
                      StridedLayoutAttr::get(b.getContext(), flat.offset, {1}),
                      type.getMemorySpace());
  Value elements = memref::ReinterpretCastOp::create(
      b, loc, flatType, memref, flat.offset, ArrayRef<int64_t>{flat.last + 1},
      ArrayRef<int64_t>{1});
  return vector::LoadOp::create(
      b, loc, VectorType::get({count}, type.getElementType()), elements,
      ValueRange(in.asIndex(at)), /*nontemporal=*/false, llvm::Align(16));
}

Value ContractionEmitter::zeroOf(Type element, bool isVector) {
  return constant(b.getZeroAttr(
      isVector ? Type(VectorType::get({int64_t(lanes)}, element)) : element));
}

/// The index in 64 bits: rows that a thread copies are at constant distances, which
/// instructions add to one address. (Registers are few beside sums of f64.)
Value ContractionEmitter::wideIndexOf(const FlatIndex &flat, const Env &env) {
  Value index = constantIndex(flat.factors.back());
  for (auto [d, factor] : llvm::enumerate(ArrayRef(flat.factors).drop_back()))
    if (factor != 0 && env.position[d])
      index = b.createOrFold<arith::AddIOp>(
          loc, index,
          b.createOrFold<arith::MulIOp>(loc, env.position[d],
                                        constantIndex(factor)));
  return arith::IndexCastUIOp::create(b, loc, b.getI64Type(), index);
}

/// Starts the copy of so many elements from that index on (i64).
void ContractionEmitter::copyElements(Value memref, int64_t offset, Value at,
                                      int64_t count) {
  Type wide = b.getI64Type();
  int64_t size = tiling.elementBytes();
  Value start = arith::IndexCastUIOp::create(
      b, loc, wide,
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref));
  Value bytes =
      arith::MulIOp::create(b, loc, at, constant(b.getI64IntegerAttr(size)));
  start = arith::AddIOp::create(
      b, loc,
      arith::AddIOp::create(b, loc, start,
                            constant(b.getI64IntegerAttr(size * offset))),
      bytes);
  // Units of f64 take so long that the L2 cache's rate is enough: past the L1 cache.
  bool isPast = size == 8 && size * count == 16;
  std::string text = std::string("cp.async.") + (isPast ? "cg" : "ca") +
                     ".shared.global [$0], [$1], " +
                     std::to_string(size * count);
  SmallVector<Value> operands{started->to, start};
  if (started->bytes)
    operands.push_back(started->bytes);
  emitPtx(b, loc, text + (started->bytes ? ", $2;" : ";"),
          started->bytes ? "r,l,r" : "r,l", operands);
}
