//===- CpuKernel.cpp - the function of a kernel on a CPU ------------------===//
#include "CpuKernel.h"

#include "Tuning.h"

using namespace mlir;
using namespace redfuse;

Value CpuKernelGenerator::reserveScratch(Value bytes) {
  auto module = kernel->getParentOfType<ModuleOp>();
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  StringRef name = "redfuse_rt_scratch_view";
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto declaration = func::FuncOp::create(
        b, loc, name, b.getFunctionType({b.getIndexType()}, {type}));
    declaration.setPrivate();
  }
  return func::CallOp::create(b, loc, name, TypeRange{type}, bytes)
      .getResult(0);
}

void CpuKernelGenerator::makeBuffers() {
  SmallVector<TileRequest, 0> requests = requestTiles();
  if (requests.empty())
    return;
  SmallVector<Value> offsets;
  Value total = layOutTiles(requests, offsets);
  cutTiles(requests, offsets, reserveScratch(total));
}

/// The product of a vector and a matrix is a sum of columns, or of rows.
LogicalResult CpuKernelGenerator::analyse() {
  TileProgram::Options options;
  options.hasVectorProducts = false;
  options.mostStride = kMostStride;
  options.scansLanes = !keepsOrder;
  options.hasScanEpilogues = true;
  return makePrograms(options);
}

std::unique_ptr<CpuEmitter> CpuKernelGenerator::makeEmitter() {
  return std::make_unique<CpuEmitter>(b, loc, lanes, dims);
}

FailureOr<func::FuncOp> CpuKernelGenerator::run() {
  if (failed(analyse()))
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
  emitter = makeEmitter();
  emitter->entry = entry;
  bindOperands(operands);
  makeBuffers();

  auto loop =
      scf::ForOp::create(b, loc, entry->getArgument(0), entry->getArgument(1),
                         arith::ConstantIndexOp::create(b, loc, 1));
  func::ReturnOp::create(b, loc);
  b.setInsertionPointToStart(loop.getBody());
  if (failed(runBlock(loop.getInductionVar())))
    return failure();
  return func;
}
