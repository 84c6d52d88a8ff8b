//===- Certificate.cpp - a derivation as formulas -------------------------===//
#include "redfuse/Algebra/Derivation.h"

using namespace mlir;
using namespace redfuse;

DictionaryAttr redfuse::makeCertificate(CascadeOp cascade,
                                        const Derivation &derivation) {
  Builder b(cascade.getContext());
  SmallVector<Attribute> rules;
  for (StringRef rule : derivation.rules)
    rules.push_back(b.getStringAttr(rule));
  return b.getDictionaryAttr(b.getNamedAttr("rules", b.getArrayAttr(rules)));
}
