//===- Registration.cpp - dialects and passes, for C ----------------------===//
#include "redfuse-c/Redfuse.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "redfuse/Codegen/Passes.h"
#include "redfuse/Conversion/GPUToNVVM/LowerToNVVM.h"
#include "redfuse/Conversion/GPUToROCDL/LowerToROCDL.h"
#include "redfuse/Conversion/HostToLLVM/LowerToLLVM.h"
#include "redfuse/Conversion/Passes.h"
#include "redfuse/Dialect/Redfuse/IR/AttrFields.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/TMTensor/IR/TMTensor.h"
#include "redfuse/Dialect/Tile/IR/Tile.h"
#include "redfuse/Pipelines/Pipelines.h"
#include "redfuse/Transforms/Bufferize/Bufferize.h"
#include "redfuse/Transforms/Normalize/Normalize.h"
#include "redfuse/Transforms/Passes.h"

using namespace mlir;

void redfuseRegisterDialects(MlirDialectRegistry registry) {
  redfuse::registerBufferizableOpInterfaceModels(*unwrap(registry));
  redfuse::registerKernelPlanner(*unwrap(registry));
  unwrap(registry)
      ->insert<redfuse::RedfuseDialect, redfuse::tm_tensor::TMTensorDialect,
               redfuse::tile::TileDialect>();
}

void redfuseLoadDialects(MlirContext context) {
  DialectRegistry registry;
  redfuseRegisterDialects(wrap(&registry));
  unwrap(context)->appendDialectRegistry(registry);
  unwrap(context)->loadDialect<redfuse::RedfuseDialect>();
}

MlirAttribute redfuseAttrFields(MlirAttribute attribute,
                                MlirStringRef mnemonic) {
  return wrap(
      Attribute(redfuse::getAttrFields(unwrap(attribute), unwrap(mnemonic))));
}

MlirAttribute redfuseAttrOfFields(MlirStringRef mnemonic, MlirAttribute fields,
                                  MlirLocation location) {
  Location loc = unwrap(location);
  loc->getContext()->getOrLoadDialect("redfuse");
  return wrap(redfuse::getAttrOfFields(unwrap(mnemonic),
                                       cast<DictionaryAttr>(unwrap(fields)),
                                       [&] { return mlir::emitError(loc); }));
}

MlirAttribute redfuseFormulaTree(MlirAttribute attribute) {
  auto formula = dyn_cast<redfuse::FormulaAttr>(unwrap(attribute));
  return wrap(Attribute(formula ? formula.getTree() : ArrayAttr()));
}

MlirStringRef redfuseHints() { return wrap(redfuse::HintsAttr::getTable()); }

bool redfuseSetStop(MlirContext context, const int *stop) {
  MLIRContext *c = unwrap(context);
  if (!stop)
    c->registerActionHandler(nullptr);
  else if (c->hasActionHandler())
    return false;
  else
    c->registerActionHandler(
        [stop](function_ref<void()> action, const tracing::Action &) {
          if (!__atomic_load_n(stop, __ATOMIC_RELAXED))
            action();
        });
  return true;
}

void redfuseRegisterPasses() {
  static bool once = (redfuse::registerRedfuseTransformsPasses(),
                      redfuse::registerRedfuseCodegenPasses(),
                      redfuse::registerRedfuseConversionPasses(),
                      redfuse::registerNormalizePipeline(),
                      redfuse::registerBufferizePipeline(),
                      redfuse::registerLowerToLLVMPipeline(),
                      redfuse::registerLowerToNVVMPipeline(),
                      redfuse::registerLowerToROCDLPipeline(),
                      redfuse::registerPipelines(), true);
  (void)once;
}
