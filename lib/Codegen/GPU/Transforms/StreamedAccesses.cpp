//===- StreamedAccesses.cpp - accesses that leave no trace in the L1 ------===//
#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace redfuse {
#define GEN_PASS_DEF_STREAMEDACCESSES
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// How many words of 32 bits a value has, if it is moved as such: 1, 2 or 4.
static std::optional<unsigned>
countWordsMoved(Type type, std::optional<uint64_t> alignment) {
  int64_t bits = 0;
  if (auto v = dyn_cast<VectorType>(type))
    bits = v.getNumElements() * v.getElementTypeBitWidth();
  else if (type.isIntOrFloat())
    bits = type.getIntOrFloatBitWidth();
  if (bits != 32 && bits != 64 && bits != 128)
    return std::nullopt;
  // Numbers are where their type wants them to be.
  if (isa<VectorType>(type) && (!alignment || *alignment * 8 < uint64_t(bits)))
    return std::nullopt;
  return bits / 32;
}

/// `{$0, $1}`, or `$0` of one word.
static std::string placeholders(unsigned first, unsigned words) {
  std::string text;
  for (unsigned i = 0; i < words; ++i)
    text += (i == 0 ? "$" : ", $") + std::to_string(first + i);
  return words == 1 ? text : "{" + text + "}";
}

static std::string suffix(unsigned words) {
  return words == 1 ? ".b32 " : ".v" + std::to_string(words) + ".b32 ";
}

static Operation *emitAssembly(OpBuilder &b, Location loc, TypeRange results,
                               ValueRange operands, StringRef text,
                               StringRef constraints) {
  // Not moved over waits for other kernels, and not repeated.
  return LLVM::InlineAsmOp::create(
      b, loc, results, operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
}

/// A pointer to global memory; null where it is known to be another's.
static Value asGlobal(OpBuilder &b, Location loc, Value pointer) {
  auto type = cast<LLVM::LLVMPointerType>(pointer.getType());
  if (type.getAddressSpace() == 1)
    return pointer;
  if (type.getAddressSpace() != 0)
    return Value();
  return LLVM::AddrSpaceCastOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 1), pointer);
}

static void lowerLoad(LLVM::LoadOp load) {
  std::optional<unsigned> words =
      countWordsMoved(load.getType(), load.getAlignment());
  OpBuilder b(load);
  Location loc = load.getLoc();
  Value pointer = words ? asGlobal(b, loc, load.getAddr()) : Value();
  if (!pointer)
    return;
  Type i32 = b.getI32Type();
  std::string constraints;
  for (unsigned i = 0; i < *words; ++i)
    constraints += "=r,";
  Type result = *words == 1
                    ? i32
                    : Type(LLVM::LLVMStructType::getLiteral(
                          b.getContext(), SmallVector<Type>(*words, i32)));
  Value made = emitAssembly(b, loc, result, pointer,
                            "ld.global.L1::no_allocate" + suffix(*words) +
                                placeholders(0, *words) + ", [$" +
                                std::to_string(*words) + "];",
                            constraints + "l")
                   ->getResult(0);
  if (*words > 1) {
    auto type = VectorType::get({*words}, i32);
    Value all = LLVM::PoisonOp::create(b, loc, type);
    for (unsigned i = 0; i < *words; ++i) {
      Value at = LLVM::ConstantOp::create(b, loc, i32, b.getI32IntegerAttr(i));
      all = LLVM::InsertElementOp::create(
          b, loc, all, LLVM::ExtractValueOp::create(b, loc, made, i), at);
    }
    made = all;
  }
  if (made.getType() != load.getType())
    made = LLVM::BitcastOp::create(b, loc, load.getType(), made);
  load.replaceAllUsesWith(made);
  load.erase();
}

static void lowerStore(LLVM::StoreOp store) {
  Value value = store.getValue();
  std::optional<unsigned> words =
      countWordsMoved(value.getType(), store.getAlignment());
  OpBuilder b(store);
  Location loc = store.getLoc();
  Value pointer = words ? asGlobal(b, loc, store.getAddr()) : Value();
  if (!pointer)
    return;
  Type i32 = b.getI32Type(),
       type = *words == 1 ? i32 : Type(VectorType::get({*words}, i32));
  if (value.getType() != type)
    value = LLVM::BitcastOp::create(b, loc, type, value);
  SmallVector<Value> operands{pointer};
  std::string constraints = "l";
  for (unsigned i = 0; i < *words; ++i) {
    constraints += ",r";
    operands.push_back(
        *words == 1
            ? value
            : LLVM::ExtractElementOp::create(
                  b, loc, value,
                  LLVM::ConstantOp::create(b, loc, i32, b.getI32IntegerAttr(i)))
                  .getResult());
  }
  emitAssembly(b, loc, {}, operands,
               "st.global.L1::no_allocate" + suffix(*words) + "[$0], " +
                   placeholders(1, *words) + ";",
               constraints + ",~{memory}");
  store.erase();
}

/// What a loop says of itself has become what the branch back has beside its
/// attributes.
static void annotate(LLVM::BrOp branch) {
  constexpr StringLiteral name = "llvm.loop_annotation";
  if (auto loop = branch->getAttrOfType<LLVM::LoopAnnotationAttr>(name)) {
    branch->removeDiscardableAttr(name);
    branch.setLoopAnnotationAttr(loop);
  }
}

namespace {
struct StreamedAccesses
    : redfuse::impl::StreamedAccessesBase<StreamedAccesses> {
  using StreamedAccessesBase::StreamedAccessesBase;

  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto load = dyn_cast<LLVM::LoadOp>(op);
          load && load.getNontemporal() && !load.getVolatile_())
        lowerLoad(load);
      else if (auto store = dyn_cast<LLVM::StoreOp>(op);
               store && store.getNontemporal() && !store.getVolatile_())
        lowerStore(store);
      else if (auto branch = dyn_cast<LLVM::BrOp>(op))
        annotate(branch);
    });
  }
};
} // namespace
