//===- InlinePtx.cpp - instructions as text -------------------------------===//
#include "redfuse/Codegen/GPU/Common/InlinePtx.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace redfuse;

SmallVector<Value> redfuse::emitPtx(OpBuilder &b, Location loc, StringRef text,
                                    StringRef constraints, ValueRange operands,
                                    TypeRange results, bool hasEffects) {
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

std::string redfuse::registerList(size_t first, size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

std::string redfuse::repeatConstraint(StringRef what, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? "," : "") + what.str();
  return text;
}

std::string redfuse::tieConstraints(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? "," : "") + std::to_string(i);
  return text;
}

std::string redfuse::joinConstraints(ArrayRef<std::string> parts) {
  std::string all;
  for (const std::string &part : parts) {
    if (part.empty())
      continue;
    all += (all.empty() ? "" : ",") + part;
  }
  return all;
}

Value redfuse::packPair(OpBuilder &b, Location loc, Type element, Value low,
                        Value high) {
  StringRef text = element.isF16() ? "cvt.rn.f16x2.f32 $0, $1, $2;"
                                   : "cvt.rn.bf16x2.f32 $0, $1, $2;";
  return emitPtx(b, loc, text, "=r,f,f", {high, low}, b.getI32Type(),
                 /*hasEffects=*/false)[0];
}

Value redfuse::readLane(OpBuilder &b, Location loc) {
  return emitPtx(b, loc, "mov.u32 $0, %laneid;", "=r", {}, b.getI32Type())[0];
}
