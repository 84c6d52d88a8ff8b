//===- GpuAssertions.cpp - assertions of kernels, told after the fact -----===//
//
// A thread that stopped its program would take the GPU's context with it. So a
// kernel goes on (reads stay inside their tensors), and a thread whose assertion
// fails stores the assertion's number at an address that the runtime has put into
// a global of the module: a word of the host's memory, which the next call reads.
// The messages are a global, too, each with a zero behind it.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/GPU/Common/GpuAssertions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace redfuse;

/// Global memory of a GPU, for NVVM and for AMDGPU.
static constexpr unsigned kGlobalSpace = 1;
static constexpr StringLiteral kReport = "redfuse_report",
                               kMessages = "redfuse_messages";

static LLVM::GlobalOp findOrMake(gpu::GPUModuleOp module, StringRef name,
                                 Type type, bool isConstant, Attribute value) {
  if (auto global = module.lookupSymbol<LLVM::GlobalOp>(name))
    return global;
  auto b = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::GlobalOp::create(b, module.getLoc(), type, isConstant,
                                LLVM::Linkage::External, name, value,
                                /*alignment=*/8, kGlobalSpace);
}

/// The number of a message, from 1 on.
static int64_t numberOf(gpu::GPUModuleOp module, StringRef message) {
  MLIRContext *context = module.getContext();
  auto byte = IntegerType::get(context, 8);
  LLVM::GlobalOp global =
      findOrMake(module, kMessages, LLVM::LLVMArrayType::get(byte, 0),
                 /*isConstant=*/true, StringAttr::get(context, ""));
  std::string text = cast<StringAttr>(global.getValueAttr()).str();
  int64_t number = 1;
  StringRef rest = text;
  for (; !rest.empty(); ++number) {
    auto [known, others] = rest.split('\0');
    if (known == message)
      return number;
    rest = others;
  }
  text += message;
  text.push_back('\0');
  global.setValueAttr(StringAttr::get(context, text));
  global.setGlobalType(LLVM::LLVMArrayType::get(byte, text.size()));
  return number;
}

void redfuse::reportFailure(OpBuilder &b, Location loc, Value failed,
                            StringRef text) {
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<gpu::GPUModuleOp>();
  if (!module)
    return;
  // No message has a zero inside.
  std::string message = text.str();
  message.erase(llvm::find(message, '\0'), message.end());
  int64_t number =
      numberOf(module, message.empty() ? "assertion failed" : message);
  auto branch = scf::IfOp::create(b, loc, failed, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenYield());
  LLVM::GlobalOp report =
      findOrMake(module, kReport, b.getI64Type(),
                 /*isConstant=*/false, b.getI64IntegerAttr(0));
  Value place = LLVM::LoadOp::create(b, loc, b.getI64Type(),
                                     LLVM::AddressOfOp::create(b, loc, report));
  Value word = LLVM::IntToPtrOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace), place);
  Value value = LLVM::ConstantOp::create(b, loc, b.getI32Type(),
                                         b.getI32IntegerAttr(int32_t(number)));
  LLVM::StoreOp::create(b, loc, value, word, /*alignment=*/4,
                        /*isVolatile=*/true);
}
