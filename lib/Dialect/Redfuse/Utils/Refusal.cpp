//===- Refusal.cpp - why something was not fused --------------------------===//
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace redfuse;

std::string redfuse::describeLocation(Location loc) {
  std::string text;
  std::string name;
  llvm::raw_string_ostream os(text);
  // A fused location is as good as its first part that says a position, or else a name.
  loc->walk([&](Location part) {
    if (auto file = dyn_cast<FileLineColLoc>(part)) {
      os << file.getFilename().getValue() << ':' << file.getLine() << ':'
         << file.getColumn();
      return WalkResult::interrupt();
    }
    if (auto named = dyn_cast<NameLoc>(part); named && name.empty())
      name = named.getName().str();
    return WalkResult::advance();
  });
  if (text.empty())
    text = name;
  return text.empty() ? "unknown" : text;
}

std::string redfuse::describeFailure(Operation *op, const Twine &what) {
  std::string where = describeLocation(op->getLoc());
  StringRef text = where;
  if (text == "unknown")
    where = "";
  else if (text.consume_front("-:"))
    where = ("<text>:" + text + ": ").str();
  else
    where += ": ";
  return (where + op->getName().getStringRef() + ": " + what).str();
}

static Operation *functionAround(Operation *op) {
  if (isa<FunctionOpInterface>(op))
    return op;
  return op->getParentOfType<FunctionOpInterface>();
}

void redfuse::addRefusal(Operation *op, StringRef condition,
                         const Twine &detail, StringRef remedy) {
  Operation *function = functionAround(op);
  if (!function)
    return;
  Builder b(op->getContext());
  std::string text = detail.str();
  Attribute entry = b.getDictionaryAttr(
      {b.getNamedAttr("op", b.getStringAttr(op->getName().getStringRef())),
       b.getNamedAttr("condition", b.getStringAttr(condition)),
       b.getNamedAttr("detail", b.getStringAttr(text)),
       b.getNamedAttr("remedy", b.getStringAttr(remedy)),
       b.getNamedAttr("location",
                      b.getStringAttr(describeLocation(op->getLoc())))});
  SmallVector<Attribute> entries;
  if (auto old = function->getAttrOfType<ArrayAttr>(kRefusedAttr))
    llvm::append_range(entries, old);
  if (llvm::is_contained(entries, entry))
    return;
  entries.push_back(entry);
  function->setAttr(kRefusedAttr, b.getArrayAttr(entries));
}

void redfuse::clearRefusals(Operation *function, StringRef condition) {
  auto old = function->getAttrOfType<ArrayAttr>(kRefusedAttr);
  if (!old)
    return;
  SmallVector<Attribute> entries;
  for (Attribute entry : old) {
    auto dict = dyn_cast<DictionaryAttr>(entry);
    auto name = dict ? dict.getAs<StringAttr>("condition") : StringAttr();
    if (!name || name.getValue() != condition)
      entries.push_back(entry);
  }
  if (entries.empty())
    function->removeAttr(kRefusedAttr);
  else
    function->setAttr(kRefusedAttr,
                      ArrayAttr::get(function->getContext(), entries));
}
