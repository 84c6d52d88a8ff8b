//===- Ptx.cpp - builders for kernels on matrix units ---------------------===//
#include "redfuse/Codegen/GPU/Common/Ptx.h"

#include "redfuse/Codegen/GPU/Common/InlinePtx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;

Value Ptx::i32(int64_t value) {
  return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
}

Value Ptx::i64(int64_t value) {
  return arith::ConstantIntOp::create(b, loc, b.getI64Type(), value);
}

Value Ptx::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}

Value Ptx::add(Value x, int64_t y) {
  if (y == 0)
    return x;
  return add(x, x.getType().isInteger(64) ? i64(y) : i32(y));
}

Value Ptx::mul(Value x, int64_t y) {
  return b.createOrFold<arith::MulIOp>(loc, x, i32(y));
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Value Ptx::barrierAt(Value address) {
  return tile::BarrierOp::create(b, loc, address);
}

void Ptx::initBarrier(Value barrier, int64_t count) {
  tile::InitBarrierOp::create(b, loc, barrier, count);
}

void Ptx::fenceBarriers() { tile::FenceBarriersOp::create(b, loc); }

void Ptx::wait(Value barrier, Value parity) {
  tile::WaitBarrierOp::create(b, loc, barrier, parity);
}

void Ptx::arrive(Value barrier, Value lane) {
  tile::ArriveOp::create(b, loc, barrier, lane, /*rank=*/Value());
}

void Ptx::arriveInCluster(Value barrier, Value lane, Value rank,
                          int64_t blocks) {
  tile::ArriveOp::create(b, loc, barrier, lane, rank, blocks);
}

void Ptx::expect(Value barrier, int64_t bytes) {
  tile::ExpectOp::create(b, loc, barrier, bytes);
}

void Ptx::synchronize(int64_t barrier, int64_t threads) {
  tile::SynchronizeOp::create(b, loc, barrier, threads);
}

void Ptx::synchronizeCluster() { tile::SynchronizeClusterOp::create(b, loc); }

void Ptx::finishReads(ValueRange words) {
  // The condition makes the instruction, which is none that branches, depend on the
  // values.
  std::string text = "{\n.reg .b32 t;\n.reg .pred p;\nmov.b32 t, $0;\n";
  SmallVector<Value> values;
  for (auto [i, word] : llvm::enumerate(words)) {
    values.push_back(word.getType().isF32() ? Value(arith::BitcastOp::create(
                                                  b, loc, b.getI32Type(), word))
                                            : word);
    if (i > 0)
      text += "xor.b32 t, t, $" + std::to_string(i) + ";\n";
  }
  text += "setp.eq.u32 p, t, 0x7fc1fabc;\n@p nanosleep.u32 0;\n}";
  emitPtx(b, loc, text, repeatConstraint("r", values.size()), values);
}

void Ptx::startLeaving() {
  emitPtx(b, loc, "bar.warp.sync -1;\nbarrier.cluster.arrive.relaxed.aligned;",
          "", {});
}

void Ptx::leaveCluster() {
  emitPtx(b, loc, "bar.warp.sync -1;\nbarrier.cluster.wait.aligned;", "", {});
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

void Ptx::storePair(Value address, int64_t offset, Value x, Value y) {
  tile::StoreOp::create(b, loc, address, offset, ValueRange{x, y});
}

void Ptx::storeWord(Value address, Value word) {
  tile::StoreOp::create(b, loc, address, 0, word);
}

Value Ptx::loadWord(Value address) {
  return tile::LoadOp::create(b, loc, b.getI32Type(), address, 0,
                              /*cluster=*/false)
      .getResult(0);
}

Value Ptx::addressIn(Value address, OpFoldResult block) {
  return tile::AddressInOp::create(b, loc, address, block);
}

void Ptx::send(Value address, int64_t offset, Value barrier,
               ArrayRef<Value> words) {
  bool isPair = words.size() == 2;
  std::string text = llvm::formatv(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v{0}.f32 "
      "[$0+{1}], {{{2}}, [$1];",
      words.size(), offset, isPair ? "$2, $3" : "$2, $3, $4, $5");
  SmallVector<Value> operands{address, barrier};
  llvm::append_range(operands, words);
  emitPtx(b, loc, text, isPair ? "r,r,f,f" : "r,r,f,f,f,f", operands);
}

SmallVector<Value> Ptx::loadPair(Value address, int64_t offset, bool isOwn) {
  SmallVector<Type> types(2, b.getF32Type());
  return tile::LoadOp::create(b, loc, types, address, offset,
                              /*cluster=*/!isOwn)
      .getResults();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value Ptx::multiply(int64_t columns, int64_t sum, Value accumulators,
                    Factor left, Factor right, int64_t rows) {
  auto tile = cast<tile::SharedType>(right.value.getType());
  Type sums = isa<IntegerType>(tile.getElement()) ? Type(b.getI32Type())
                                                  : b.getF32Type();
  auto type = tile::AccumulatorsType::get(b.getContext(), rows, columns, sums);
  return tile::MultiplyOp::create(b, loc, type, left.value, left.part,
                                  left.isByRows, right.value, right.isByRows,
                                  sum, accumulators);
}

Value Ptx::accumulate(ValueRange elements, int64_t rows) {
  auto type = tile::AccumulatorsType::get(b.getContext(), rows,
                                          int64_t(elements.size()) * 128 / rows,
                                          elements.front().getType());
  return tile::AccumulatorsOp::create(b, loc, type, elements);
}

SmallVector<Value> Ptx::waitProducts(int64_t pending, ValueRange accumulators,
                                     ValueRange alive) {
  return tile::WaitProductsOp::create(b, loc, pending, accumulators, alive)
      .getResults();
}

SmallVector<Value> Ptx::settle(ValueRange values) {
  return tile::SettleOp::create(b, loc, values.getTypes(), values).getResults();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value Ptx::exp2(Value x) {
  return emitPtx(b, loc, "ex2.approx.ftz.f32 $0, $1;", "=f,f", x,
                 b.getF32Type(), /*hasEffects=*/false)[0];
}

Value Ptx::coarseLog2(Value x) {
  // The upper three bytes are the fraction of a number from 2^23 on.
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), x);
  Value number = emitPtx(b, loc, "prmt.b32 $0, $1, 0x4b000000, 0x7321;", "=r,r",
                         bits, b.getI32Type(), /*hasEffects=*/false)[0];
  return arith::BitcastOp::create(b, loc, b.getF32Type(), number);
}

Value Ptx::saturatedFma(Value x, Value by, Value from) {
  return emitPtx(b, loc, "fma.rn.ftz.sat.f32 $0, $1, $2, $3;", "=f,f,f,f",
                 {x, by, from}, b.getF32Type(), /*hasEffects=*/false)[0];
}

Value Ptx::toFloat(Value count) {
  constexpr int32_t kBitsOf2To23 = 0x4b000000;
  Value bits = arith::OrIOp::create(
      b, loc, count,
      arith::ConstantIntOp::create(b, loc, kBitsOf2To23, /*width=*/32));
  Value number = arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
  return arith::SubFOp::create(
      b, loc, number,
      arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0x1p23)));
}

Value Ptx::divide(Value x, Value y) {
  return emitPtx(b, loc, "div.full.f32 $0, $1, $2;", "=f,f,f", {x, y},
                 b.getF32Type(), /*hasEffects=*/false)[0];
}

Value Ptx::pack(Type element, Value low, Value high) {
  return packPair(b, loc, element, low, high);
}

Value Ptx::readLane() { return redfuse::readLane(b, loc); }

Value Ptx::shuffleXor(Value value, int64_t mask) {
  return NVVM::ShflOp::create(b, loc, value.getType(), i32(-1), value,
                              i32(mask), i32(31), NVVM::ShflKind::bfly,
                              UnitAttr());
}

Value Ptx::isAny(Value condition) {
  return NVVM::VoteSyncOp::create(b, loc, b.getI1Type(), i32(-1), condition,
                                  NVVM::VoteSyncKind::any);
}

Value Ptx::first(Value value) {
  return NVVM::ShflOp::create(b, loc, value.getType(), i32(-1), value, i32(0),
                              i32(31), NVVM::ShflKind::idx, UnitAttr());
}
