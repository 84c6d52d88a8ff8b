//===- Ptx.cpp - instructions of sm_90a that no dialect has whole ----------===//
#include "Ptx.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

int64_t TileLayout::stepOffset(int64_t k) const {
  // 16 summed elements are 32 bytes of a row, four steps a panel; or 16 rows.
  int64_t bytes =
      isSumContiguous ? k / 4 * panelBytes() + k % 4 * 32 : k * 16 * 128;
  return bytes >> 4;
}

uint64_t TileLayout::descriptorBits() const {
  // Start address, leading and stride byte offsets, 128-byte swizzle. The
  // leading offset steps from panel to panel where the summed dim is the rows.
  uint64_t leading = isSumContiguous ? 16 : panelBytes(), stride = 8 * 128;
  return uint64_t(1) << 62 | (stride >> 4) << 32 | (leading >> 4) << 16;
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

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

SmallVector<Value> Ptx::emit(StringRef text, StringRef constraints,
                             ValueRange operands, TypeRange results,
                             bool hasEffects) {
  std::string clobbers = constraints.str();
  if (hasEffects)
    clobbers += clobbers.empty() ? "~{memory}" : ",~{memory}";
  Type type = results.size() == 1 ? results.front() : Type();
  if (results.size() > 1)
    type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                            llvm::to_vector(results));
  auto op = LLVM::InlineAsmOp::create(
      b, loc, type ? TypeRange(type) : TypeRange(), operands, text, clobbers,
      hasEffects, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  if (results.size() <= 1)
    return llvm::to_vector_of<Value>(op->getResults());
  SmallVector<Value> values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(
        b, loc, op->getResult(0), ArrayRef<int64_t>{int64_t(i)}));
  return values;
}

static std::string repeat(StringRef what, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (text.empty() ? "" : ",") + what.str();
  return text;
}

/// `{$first, ..., }`: a vector of registers.
static std::string registers(size_t first, size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

/// Results that start as the operands of the same number.
static std::string tied(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? "," : "") + std::to_string(i);
  return text;
}

static void append(std::string &constraints, StringRef more) {
  if (more.empty())
    return;
  if (!constraints.empty())
    constraints += ",";
  constraints += more;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Ptx::initBarrier(Value barrier, int64_t count) {
  emit("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r", {barrier, i32(count)});
}

void Ptx::fenceBarriers() {
  emit("fence.mbarrier_init.release.cluster;", "", {});
}

void Ptx::wait(Value barrier, Value parity) {
  emit("{\n.reg .pred p;\nL_WAIT:\n"
       "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n"
       "@p bra L_DONE;\nbra L_WAIT;\nL_DONE:\n}",
       "r,r", {barrier, parity});
}

void Ptx::arrive(Value barrier, Value lane) {
  emit("{\n.reg .pred p;\nsetp.eq.u32 p, $1, 0;\n"
       "@p mbarrier.arrive.shared::cta.b64 _, [$0];\n}",
       "r,r", {barrier, lane});
}

void Ptx::expect(Value barrier, int64_t bytes) {
  emit("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r",
       {barrier, i32(bytes)});
}

void Ptx::synchronize(int64_t barrier, int64_t threads) {
  emit("bar.sync $0, $1;", "n,n", {i32(barrier), i32(threads)});
}

void Ptx::synchronizeCluster() {
  // A warp arrives once: a thread that comes later must not arrive again.
  emit("bar.warp.sync -1;\nbarrier.cluster.arrive.release.aligned;\n"
       "barrier.cluster.wait.acquire.aligned;",
       "", {});
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

void Ptx::storePair(Value address, int64_t offset, Value x, Value y) {
  emit("st.shared.v2.f32 [$0+" + std::to_string(offset) + "], " +
           registers(1, 2) + ";",
       "r,f,f", {address, x, y});
}

void Ptx::storeWord(Value address, Value word) {
  emit("st.shared.u32 [$0], $1;", "r,r", {address, word});
}

Value Ptx::loadWord(Value address) {
  return emit("ld.shared.u32 $0, [$1];", "=r,r", address, b.getI32Type())[0];
}

Value Ptx::addressIn(Value address, int64_t block) {
  return emit("mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r",
              {address, i32(block)}, b.getI32Type(), /*hasEffects=*/false)[0];
}

SmallVector<Value> Ptx::loadPair(Value address, int64_t offset) {
  return emit("ld.shared::cluster.v2.f32 " + registers(0, 2) + ", [$2+" +
                  std::to_string(offset) + "];",
              "=f,=f,r", address, SmallVector<Type>(2, b.getF32Type()));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void Ptx::loadTile(Value address, Value map, ValueRange coordinates,
                   Value barrier) {
  SmallVector<Value> operands{address, map, barrier};
  llvm::append_range(operands, coordinates);
  std::string text =
      llvm::formatv("cp.async.bulk.tensor.{0}d.shared::cluster.global.tile."
                    "mbarrier::complete_tx::bytes [$0], [$1, ",
                    coordinates.size())
          .str();
  text += registers(3, coordinates.size()) + "], [$2];";
  emit(text, "r,l,r," + repeat("r", coordinates.size()), operands);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value Ptx::descriptor(Value address, const TileLayout &layout) {
  if (isInCluster)
    address = arith::AndIOp::create(b, loc, address, i32((1 << 18) - 1));
  Value units = arith::ShRUIOp::create(b, loc, address, i32(4));
  Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), units);
  return arith::OrIOp::create(b, loc, wide, i64(layout.descriptorBits()));
}

SmallVector<Value> Ptx::multiply(const ProductShape &shape,
                                 ValueRange accumulators, Value a,
                                 const TileLayout &aLayout, Value c,
                                 const TileLayout &cLayout) {
  return multiply(shape, accumulators, ValueRange(a), &aLayout, c, cLayout);
}

SmallVector<Value> Ptx::multiply(const ProductShape &shape,
                                 ValueRange accumulators, ValueRange a, Value c,
                                 const TileLayout &cLayout) {
  return multiply(shape, accumulators, a, nullptr, c, cLayout);
}

SmallVector<Value> Ptx::multiply(const ProductShape &shape,
                                 ValueRange accumulators, ValueRange a,
                                 const TileLayout *aLayout, Value c,
                                 const TileLayout &cLayout) {
  // One piece of text for all steps: ptxas then sees no copies between them.
  size_t n = shape.n / 2, first = accumulators.empty() ? n : 2 * n;
  size_t right = first + a.size();
  std::string text = "{\n.reg .pred p, q;\n.reg .b64 da, db;\n"
                     "setp.ne.b32 p, 1, 0;\nsetp.ne.b32 q, 0, 0;\n"
                     "wgmma.fence.sync.aligned;\n";
  std::string kind = shape.element.isF16() ? "f16" : "bf16";
  for (int64_t k = 0; k < shape.steps; ++k) {
    std::string left, db = "$" + std::to_string(right);
    if (int64_t offset = cLayout.stepOffset(k)) {
      text += llvm::formatv("add.s64 db, {0}, {1};\n", db, offset);
      db = "db";
    }
    if (!aLayout) {
      left = registers(first + 4 * k, 4);
    } else {
      left = "$" + std::to_string(first);
      if (int64_t offset = aLayout->stepOffset(k)) {
        text += llvm::formatv("add.s64 da, {0}, {1};\n", left, offset);
        left = "da";
      }
    }
    text += llvm::formatv(
        "wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} ", shape.n, kind);
    text += registers(0, n) + ", " + left + ", " + db + ", " +
            (k == 0 && accumulators.empty() ? "q" : "p") + ", 1, 1";
    if (aLayout)
      text += aLayout->isSumContiguous ? ", 0" : ", 1";
    text += cLayout.isSumContiguous ? ", 0;\n" : ", 1;\n";
  }
  text += "wgmma.commit_group.sync.aligned;\n}";
  // Without accumulators the results are written before the last operand is
  // read.
  std::string constraints = repeat(accumulators.empty() ? "=&f" : "=f", n);
  if (!accumulators.empty())
    append(constraints, tied(n));
  append(constraints, repeat(aLayout ? "l" : "r", a.size()));
  append(constraints, "l");
  SmallVector<Value> operands(accumulators);
  llvm::append_range(operands, a);
  operands.push_back(c);
  return emit(text, constraints, operands,
              SmallVector<Type>(n, b.getF32Type()));
}

SmallVector<Value> Ptx::waitProducts(int64_t pending, ValueRange values,
                                     ValueRange alive) {
  std::string constraints = repeat("=f", values.size());
  append(constraints, tied(values.size()));
  append(constraints, repeat("r", alive.size()));
  SmallVector<Value> operands(values);
  llvm::append_range(operands, alive);
  return emit(
      llvm::formatv("wgmma.wait_group.sync.aligned {0};", pending).str(),
      constraints, operands, llvm::to_vector(values.getTypes()));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value Ptx::exp2(Value x) {
  return emit("ex2.approx.ftz.f32 $0, $1;", "=f,f", x, b.getF32Type(),
              /*hasEffects=*/false)[0];
}

Value Ptx::divide(Value x, Value y) {
  return emit("div.full.f32 $0, $1, $2;", "=f,f,f", {x, y}, b.getF32Type(),
              /*hasEffects=*/false)[0];
}

SmallVector<Value> Ptx::loadBlock(Value address) {
  return emit("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, "
              "[$4];",
              "=r,=r,=r,=r,r", address, SmallVector<Type>(4, b.getI32Type()));
}

SmallVector<Value> Ptx::settle(ValueRange values) {
  // The conditional use makes the instruction depend on the values.
  std::string constraints = repeat("=r", values.size());
  append(constraints, tied(values.size()));
  std::string text = "{\n.reg .b32 t;\n.reg .pred p;\nmov.b32 t, $0;\n";
  for (size_t i = 1; i < values.size(); ++i)
    text += "xor.b32 t, t, $" + std::to_string(i) + ";\n";
  text += "setp.eq.u32 p, t, 0x7fc1fabc;\n@p bar.warp.sync -1;\n"
          "bar.warp.sync -1;\n}";
  return emit(text, constraints, values, llvm::to_vector(values.getTypes()));
}

Value Ptx::pack(Type element, Value low, Value high) {
  StringRef text = element.isF16() ? "cvt.rn.f16x2.f32 $0, $1, $2;"
                                   : "cvt.rn.bf16x2.f32 $0, $1, $2;";
  return emit(text, "=r,f,f", {high, low}, b.getI32Type(),
              /*hasEffects=*/false)[0];
}

Value Ptx::readLane() {
  return emit("mov.u32 $0, %laneid;", "=r", {}, b.getI32Type())[0];
}

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

void Ptx::setRegisters(int64_t count, bool more) {
  emit(llvm::formatv("setmaxnreg.{0}.sync.aligned.u32 {1};",
                     more ? "inc" : "dec", count)
           .str(),
       "", {});
}
