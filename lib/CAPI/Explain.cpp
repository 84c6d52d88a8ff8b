//===- Explain.cpp - decisions as JSON, for C -----------------------------===//
#include "redfuse-c/Redfuse.h"

#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "redfuse/Analysis/KernelInfo.h"
#include "redfuse/Analysis/Refusal.h"
#include "redfuse/Dialect/Redfuse.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

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

static std::string textOf(DictionaryAttr dict, StringRef key) {
  auto text = dict ? dict.getAs<StringAttr>(key) : StringAttr();
  return text ? json::fixUTF8(text.getValue()) : std::string();
}

/// The function argument that `v` is, seen through views; where another op made
/// it, what that was.
static std::string nameOfValue(Value v) {
  while (Operation *def = v.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
             tensor::ExtractSliceOp>(def))
      break;
    v = def->getOperand(0);
  }
  if (auto arg = dyn_cast<BlockArgument>(v))
    return "arg" + std::to_string(arg.getArgNumber());
  auto result = cast<OpResult>(v);
  if (auto launch = dyn_cast<LaunchOp>(result.getOwner()))
    return launch.getKernel().str() + "#" +
           std::to_string(result.getResultNumber());
  return result.getOwner()->getName().getStringRef().str() + " at " +
         describeLocation(result.getLoc());
}

/// How two partial results of a stage combine, if the kernel folds its dims.
static std::string mergeOf(StringRef reducer, ArrayRef<int64_t> over,
                           FoldOp fold) {
  if (!fold || llvm::none_of(over, [&](int64_t d) {
        return llvm::is_contained(fold.getOver(), d);
      }))
    return "";
  auto certificate = fold.getCertificateAttr();
  auto transport =
      certificate ? certificate.getAs<ArrayAttr>("transport") : ArrayAttr();
  bool moves = transport && !transport.empty();
  if (reducer == "add")
    return moves ? "to one pivot, then a + b" : "a + b";
  if (reducer == "mul")
    return "a * b";
  if (reducer.starts_with("max"))
    return "max(a, b)";
  if (reducer.starts_with("min"))
    return "min(a, b)";
  return reducer.str() + "(a, b)";
}

static json::Array linesOf(DictionaryAttr dict, StringRef key) {
  json::Array lines;
  if (auto list = dict.getAs<ArrayAttr>(key))
    for (auto line : list.getAsRange<StringAttr>())
      lines.push_back(json::fixUTF8(line.getValue()));
  return lines;
}

static json::Object explainCascade(IndexProgramOpInterface op,
                                   DictionaryAttr info) {
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  json::Array dims, stages;
  for (auto [d, extent] : llvm::enumerate(getStaticExtents(op)))
    dims.push_back(json::Object{
        {"name", nameOfDim(d)},
        {"extent", ShapedType::isDynamic(extent) ? json::Value(nullptr)
                                                 : json::Value(extent)}});
  auto list = info ? info.getAs<ArrayAttr>("stages") : ArrayAttr();
  if (list)
    for (auto stage : list.getAsRange<DictionaryAttr>()) {
      ArrayRef<int64_t> over, into;
      if (auto attr = stage.getAs<DenseI64ArrayAttr>("over"))
        over = attr;
      if (auto attr = stage.getAs<DenseI64ArrayAttr>("into"))
        into = attr;
      std::string reducer = textOf(stage, "reducer");
      json::Object entry{{"reducer", reducer},
                         {"over", namesOf(over)},
                         {"into", namesOf(into)},
                         {"type", textOf(stage, "type")},
                         {"location", textOf(stage, "location")}};
      if (std::string merge = mergeOf(reducer, over, fold); !merge.empty())
        entry["merge"] = merge;
      stages.push_back(std::move(entry));
    }
  json::Object cascade{{"dims", std::move(dims)},
                       {"stages", std::move(stages)}};
  if (fold) {
    json::Object derivation;
    if (auto certificate = fold.getCertificateAttr())
      for (StringRef entry : {"where", "source", "basis", "pivots", "transport",
                              "finalise", "rules"})
        derivation[entry] = linesOf(certificate, entry);
    cascade["derivation"] = std::move(derivation);
  }
  return cascade;
}

static json::Object explainSchedule(ScheduleAttr schedule) {
  json::Object tiles;
  for (auto [d, tile] : llvm::enumerate(schedule.getTiles()))
    if (tile != 0)
      tiles[nameOfDim(d)] = tile;
  json::Object object{{"kind", stringifyScheduleKind(schedule.getKind())},
                      {"grid", namesOf(schedule.getGrid())},
                      {"tile", std::move(tiles)}};
  if (!schedule.getStream().empty())
    object["stream"] = namesOf(schedule.getStream());
  if (StringAttr reason = schedule.getReason())
    object["reason"] = json::fixUTF8(reason.getValue());
  return object;
}

static json::Object explainKernel(KernelOp kernel, LaunchOp launch) {
  Block &body = kernel.getBody().front();
  ScheduleAttr schedule = kernel.getScheduleAttr();
  DictionaryAttr info = kernel.getInfoAttr();
  json::Array cascades, inputs;
  llvm::MapVector<Value, int64_t> reads;
  for (unsigned i = 0; i < kernel.getNumInputs(); ++i)
    if (isa<ShapedType>(body.getArgument(i).getType()))
      reads[body.getArgument(i)] = 0;
  for (auto op : body.getOps<IndexProgramOpInterface>()) {
    if (isa<CascadeOp, FoldOp>(op.getOperation()))
      cascades.push_back(explainCascade(op, info));
    for (auto [i, v] : llvm::enumerate(op.getProgramInputs()))
      if (auto it = reads.find(v);
          it != reads.end() && !op.getProgramBody()->getArgument(i).use_empty())
        it->second += countPasses(op, i, schedule);
    // At computed positions, from inside the body.
    op->walk([&](tensor::ExtractOp extract) {
      if (auto it = reads.find(extract.getTensor()); it != reads.end())
        ++it->second;
    });
  }
  // One argument may arrive through several views.
  llvm::MapVector<StringRef, int64_t> byName;
  std::vector<std::string> names;
  names.reserve(reads.size());
  for (auto [v, times] : reads) {
    unsigned number = cast<BlockArgument>(v).getArgNumber();
    if (times == 0)
      continue;
    names.push_back(launch ? nameOfValue(launch.getInputs()[number])
                           : "input" + std::to_string(number));
    byName[names.back()] += times;
  }
  for (auto [name, times] : byName)
    inputs.push_back(json::Object{{"arg", name}, {"reads", times}});
  json::Object object{{"name", kernel.getSymName()},
                      {"source", textOf(info, "source")},
                      {"inputs", std::move(inputs)},
                      {"cascades", std::move(cascades)}};
  if (info)
    object["locations"] = linesOf(info, "locations");
  if (schedule)
    object["schedule"] = explainSchedule(schedule);
  return object;
}

RedfuseBytes redfuseExplain(MlirOperation operation) {
  Operation *root = unwrap(operation);
  json::Array kernels, refused;
  // In the order of the launches; a kernel that nothing launches comes last.
  llvm::MapVector<Operation *, LaunchOp> order;
  llvm::StringMap<KernelOp> byName;
  root->walk([&](KernelOp kernel) { byName[kernel.getSymName()] = kernel; });
  root->walk([&](LaunchOp launch) {
    if (KernelOp kernel = byName.lookup(launch.getKernel()))
      order.insert({kernel, launch});
  });
  root->walk([&](KernelOp kernel) { order.insert({kernel, LaunchOp()}); });
  for (auto [kernel, launch] : order)
    kernels.push_back(explainKernel(cast<KernelOp>(kernel), launch));
  root->walk([&](FunctionOpInterface function) {
    auto entries = function->getAttrOfType<ArrayAttr>(kRefusedAttr);
    if (!entries)
      return;
    for (auto entry : entries.getAsRange<DictionaryAttr>()) {
      json::Object object;
      for (StringRef key :
           {"op", "location", "condition", "detail", "remedy"})
        object[key] = textOf(entry, key);
      refused.push_back(std::move(object));
    }
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  os << json::Value(json::Object{{"kernels", std::move(kernels)},
                                 {"refused", std::move(refused)}});
  auto *data = static_cast<char *>(malloc(text.size() + 1));
  memcpy(data, text.data(), text.size());
  data[text.size()] = 0;
  return {data, text.size()};
}
