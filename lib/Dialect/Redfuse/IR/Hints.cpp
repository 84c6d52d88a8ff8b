//===- Hints.cpp - what is asked of generators ----------------------------===//
#include "Hints.h"

#include "redfuse/Dialect/Redfuse/IR/AttrFields.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace redfuse;

Hints redfuse::hintsOf(ScheduleAttr schedule) {
  HintsAttr hints = schedule ? schedule.getHints() : HintsAttr();
  return hints ? hints.getValues() : Hints();
}

/// A number, `true`, `false`, or the name of a case.
static FailureOr<Attribute> parseValue(AsmParser &parser) {
  Builder &b = parser.getBuilder();
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    if (word == "true" || word == "false")
      return Attribute(b.getBoolAttr(word == "true"));
    return Attribute(b.getStringAttr(word));
  }
  int64_t value;
  if (parser.parseInteger(value))
    return failure();
  return Attribute(b.getI64IntegerAttr(value));
}

HintsAttr redfuse::parseHints(AsmParser &parser,
                              AsmParser::Delimiter delimiter) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  NamedAttrList given;
  auto parseHint = [&]() -> ParseResult {
    StringRef name;
    llvm::SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    FailureOr<Attribute> value = parseValue(parser);
    if (failed(value))
      return failure();
    if (given.set(name, *value))
      return parser.emitError(at) << "'" << name << "' given twice";
    return success();
  };
  if (parser.parseCommaSeparatedList(delimiter, parseHint))
    return {};
  return dyn_cast_or_null<HintsAttr>(getAttrOfFields(
      HintsAttr::getMnemonic(), given.getDictionary(parser.getContext()),
      [&] { return parser.emitError(loc); }));
}

void redfuse::printHints(AsmPrinter &printer, HintsAttr hints) {
  llvm::interleaveComma(getAttrFields(hints, HintsAttr::getMnemonic()), printer,
                        [&](NamedAttribute hint) {
                          printer << hint.getName().strref() << " = ";
                          if (auto word = dyn_cast<StringAttr>(hint.getValue()))
                            printer << word.getValue();
                          else
                            printer.printAttributeWithoutType(hint.getValue());
                        });
}

Attribute HintsAttr::parse(AsmParser &parser, Type) {
  return parseHints(parser, AsmParser::Delimiter::LessGreater);
}

void HintsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printHints(printer, *this);
  printer << ">";
}
