//===- AttrFields.h - fields of attributes by name --------------*- C++ -*-===//
//
// The attributes of the dialect for those who have no C++ classes of them: every
// parameter is a field, named as it is printed (`row_dim`). Enums are text, lists
// of numbers dense arrays; a field that is not there is left out.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_DIALECT_REDFUSE_IR_ATTRFIELDS_H
#define REDFUSE_DIALECT_REDFUSE_IR_ATTRFIELDS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

namespace redfuse {

/// The fields of `#redfuse.MNEMONIC`; null for any other attribute.
mlir::DictionaryAttr getAttrFields(mlir::Attribute attr,
                                   mlir::StringRef mnemonic);

/// `#redfuse.MNEMONIC` with these fields, checked by its verifier; null after an
/// error.
mlir::Attribute
getAttrOfFields(mlir::StringRef mnemonic, mlir::DictionaryAttr fields,
                mlir::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_IR_ATTRFIELDS_H
