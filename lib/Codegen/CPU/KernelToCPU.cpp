//===- KernelToCPU.cpp - redfuse.kernel to a function over blocks ---------===//
//
// A kernel becomes `func @kernel(%begin, %end, operands...)`, which runs the
// blocks [begin, end) of its grid one after another; its launch becomes a call
// with `redfuse.parallel` over all blocks, which the runtime spreads over its
// threads. Within a block every tensor that the kernel makes for itself is a
// tile in the thread's scratch memory.
//
//===----------------------------------------------------------------------===//
#include "CpuEmitter.h"
#include "redfuse/Codegen/Common/KernelGenerator.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_KERNELTOCPU
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
/// Generates the function of one kernel.
class CpuKernelGenerator : public KernelGenerator {
public:
  using KernelGenerator::KernelGenerator;
  FailureOr<func::FuncOp> run();

private:
  void makeBuffers();
};
} // namespace

/// Reserves scratch for every tile of the kernel and cuts it.
void CpuKernelGenerator::makeBuffers() {
  SmallVector<TileRequest, 0> requests = requestTiles();
  if (requests.empty())
    return;
  SmallVector<Value> offsets;
  Value total = layOutTiles(requests, offsets);
  auto module = kernel->getParentOfType<ModuleOp>();
  auto scratchType = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  StringRef scratchName = "redfuse_rt_scratch_view";
  if (!module.lookupSymbol(scratchName)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto declaration = func::FuncOp::create(
        b, loc, scratchName,
        b.getFunctionType({b.getIndexType()}, {scratchType}));
    declaration.setPrivate();
  }
  Value scratch =
      func::CallOp::create(b, loc, scratchName, TypeRange{scratchType}, total)
          .getResult(0);
  cutTiles(requests, offsets, scratch);
}

FailureOr<func::FuncOp> CpuKernelGenerator::run() {
  if (failed(makePrograms()))
    return failure();
  auto module = kernel->getParentOfType<ModuleOp>();
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types(2, b.getIndexType());
  llvm::append_range(types, launch->getOperandTypes());
  // The kernel's own symbol goes away with it.
  auto func = func::FuncOp::create(b, loc, kernel.getSymName(),
                                   b.getFunctionType(types, {}));
  func.setPrivate();
  func->setAttr("redfuse.kernel_body", b.getUnitAttr());
  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  ValueRange operands = entry->getArguments().drop_front(2);
  makeSpace(operands);
  emitter = std::make_unique<CpuEmitter>(b, loc, lanes, dims);
  emitter->entry = entry;
  bindOperands(operands);
  makeBuffers();

  auto loop =
      scf::ForOp::create(b, loc, entry->getArgument(0), entry->getArgument(1),
                         arith::ConstantIndexOp::create(b, loc, 1));
  func::ReturnOp::create(b, loc);
  b.setInsertionPointToStart(loop.getBody());
  if (failed(emitBlock(loop.getInductionVar())))
    return failure();
  return func;
}

namespace {
struct KernelToCPU : public redfuse::impl::KernelToCPUBase<KernelToCPU> {
  using KernelToCPUBase::KernelToCPUBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t bits =
        vectorBits > 0 ? vectorBits : getTargetOf(module).getVectorBits();
    if (failed(generateLaunches(module, [&](KernelLaunch &from) {
          return generate(from, std::max<int64_t>(1, bits / 32));
        })))
      return signalPassFailure();
    eraseKernels(module);
  }

  static LogicalResult generate(KernelLaunch &from, unsigned lanes) {
    LaunchOp launch = from.launch;
    FailureOr<func::FuncOp> func =
        CpuKernelGenerator(from.kernel, launch, from.space, lanes).run();
    if (failed(func))
      return failure();
    func->setSymName(from.name);
    OpBuilder b(launch);
    Value zero = arith::ConstantIndexOp::create(b, launch.getLoc(), 0);
    SmallVector<Value> operands{zero, countBlocks(b, launch, from.space)};
    llvm::append_range(operands, launch->getOperands());
    auto call = func::CallOp::create(b, launch.getLoc(), *func, operands);
    call->setAttr(kParallelAttr, b.getUnitAttr());
    launch.erase();
    return success();
  }
};
} // namespace
