//===- Explain.cpp - decisions as JSON, for C -----------------------------===//
#include "redfuse-c/Redfuse.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "redfuse/Analysis/DimSets.h"
#include "redfuse/Analysis/Refusal.h"
#include "redfuse/Dialect/Redfuse.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace redfuse;
namespace json = llvm::json;

static std::string nameOfDim(int64_t d) { return "d" + std::to_string(d); }

static json::Array namesOf(ArrayRef<int64_t> dims) {
  json::Array names;
  for (int64_t d : dims)
    names.push_back(nameOfDim(d));
  return names;
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string textOf(Attribute attr) {
  if (auto s = dyn_cast<StringAttr>(attr))
    return s.str();
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  return text;
}

/// The argument of the function that a launch's operand is a view of.
static BlockArgument argumentBehind(Value v) {
  while (Operation *def = v.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
             tensor::ExtractSliceOp, tensor::ReshapeOp>(def))
      return {};
    v = def->getOperand(0);
  }
  auto arg = dyn_cast<BlockArgument>(v);
  return arg && isa<func::FuncOp>(arg.getOwner()->getParentOp())
             ? arg
             : BlockArgument();
}

/// The strings of one entry of a certificate.
static json::Array linesOf(DictionaryAttr certificate, StringRef entry) {
  json::Array lines;
  if (certificate)
    if (auto array = certificate.getAs<ArrayAttr>(entry))
      for (Attribute line : array)
        lines.push_back(textOf(line));
  return lines;
}

static json::Object explainProgram(IndexProgramOpInterface op) {
  json::Array dims;
  for (auto [d, extent] : llvm::enumerate(getStaticExtents(op)))
    dims.push_back(json::Object{
        {"name", nameOfDim(d)},
        {"extent", ShapedType::isDynamic(extent) ? json::Value(nullptr)
                                                 : json::Value(extent)}});
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  json::Array stages;
  for (auto reduce : op.getProgramBody()->getOps<ReduceOp>()) {
    json::Object stage{
        {"reducer", stringifyReducer(reduce.getReducer()).str()},
        {"over", namesOf(reduce.getOver())},
        {"into", namesOf(reduce.getInto())},
        {"type", textOf(reduce.getOperand(0).getType())},
        {"location", describeLocation(reduce.getLoc())}};
    // A stage of a fold combines with its reducer, after the transport that the
    // certificate states.
    if (fold && llvm::any_of(reduce.getOver(), [&](int64_t d) {
          return llvm::is_contained(fold.getOver(), d);
        }))
      stage["merge"] = stringifyReducer(reduce.getReducer()).str() + "(a, b)";
    stages.push_back(std::move(stage));
  }
  json::Object result{{"dims", std::move(dims)}, {"stages", std::move(stages)}};
  if (fold) {
    json::Object merge;
    for (StringRef entry : {"where", "source", "basis", "pivots", "transport",
                            "finalise", "rules"})
      merge[entry] = linesOf(fold.getCertificateAttr(), entry);
    result["derivation"] = std::move(merge);
  }
  return result;
}

static json::Object explainSchedule(ScheduleAttr schedule) {
  json::Object result;
  if (!schedule)
    return result;
  result["kind"] = stringifyScheduleKind(schedule.getKind()).str();
  result["grid"] = namesOf(schedule.getGrid());
  json::Object tile;
  for (auto [d, extent] : llvm::enumerate(schedule.getTiles()))
    if (extent != 0)
      tile[nameOfDim(d)] = extent;
  result["tile"] = std::move(tile);
  if (!schedule.getStream().empty())
    result["stream"] = namesOf(schedule.getStream());
  if (schedule.getReason())
    result["reason"] = schedule.getReason().str();
  return result;
}

static json::Object explainKernel(KernelOp kernel, LaunchOp launch) {
  Block &body = kernel.getBody().front();
  json::Array cascades;
  std::map<unsigned, int64_t> reads;
  for (auto op : body.getOps<IndexProgramOpInterface>()) {
    // A finalisation belongs to the fold before it.
    if (!isa<FinalizeOp>(op.getOperation()))
      cascades.push_back(explainProgram(op));
    for (Value input : op.getProgramInputs())
      if (auto arg = dyn_cast<BlockArgument>(input))
        if (BlockArgument source =
                argumentBehind(launch->getOperand(arg.getArgNumber())))
          ++reads[source.getArgNumber()];
  }
  json::Array inputs;
  for (auto [number, count] : reads)
    inputs.push_back(json::Object{{"arg", "arg" + std::to_string(number)},
                                  {"reads", count}});
  return json::Object{{"name", kernel.getSymName().str()},
                      {"source", describeLocation(kernel.getLoc())},
                      {"inputs", std::move(inputs)},
                      {"cascades", std::move(cascades)},
                      {"schedule", explainSchedule(kernel.getScheduleAttr())}};
}

RedfuseBytes redfuseExplain(MlirOperation operation) {
  Operation *root = unwrap(operation);
  json::Array kernels, refused;
  SymbolTableCollection symbols;
  root->walk([&](LaunchOp launch) {
    if (auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(
            launch, launch.getKernelAttr()))
      kernels.push_back(explainKernel(kernel, launch));
  });
  root->walk([&](Operation *op) {
    auto entries = op->getAttrOfType<ArrayAttr>(kRefusedAttr);
    if (!entries)
      return;
    for (Attribute entry : entries) {
      auto dictionary = dyn_cast<DictionaryAttr>(entry);
      if (!dictionary)
        continue;
      json::Object object;
      for (NamedAttribute field : dictionary)
        object[field.getName().str()] = textOf(field.getValue());
      refused.push_back(std::move(object));
    }
  });
  std::string text;
  llvm::raw_string_ostream(text)
      << json::Value(json::Object{{"kernels", std::move(kernels)},
                                  {"refused", std::move(refused)}});
  auto *data = static_cast<char *>(malloc(text.size()));
  memcpy(data, text.data(), text.size());
  return {data, text.size()};
}
