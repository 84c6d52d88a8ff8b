//===- Hints.h - hints as a part of other attributes ------------*- C++ -*-===//
#ifndef REDFUSE_LIB_DIALECT_REDFUSE_IR_HINTS_H
#define REDFUSE_LIB_DIALECT_REDFUSE_IR_HINTS_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/IR/OpImplementation.h"

namespace redfuse {

/// `name = value, ...` between these delimiters; null after an error.
HintsAttr parseHints(mlir::AsmParser &parser,
                     mlir::AsmParser::Delimiter delimiter);
/// The same without delimiters.
void printHints(mlir::AsmPrinter &printer, HintsAttr hints);

} // namespace redfuse

#endif // REDFUSE_LIB_DIALECT_REDFUSE_IR_HINTS_H
