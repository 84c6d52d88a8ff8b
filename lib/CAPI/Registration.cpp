//===- Registration.cpp - dialects and passes, for C ----------------------===//
#include "redfuse-c/Redfuse.h"

#include "mlir/CAPI/IR.h"
#include "redfuse/Conversion/LowerToLLVM.h"
#include "redfuse/Conversion/LowerToNVVM.h"
#include "redfuse/Conversion/LowerToROCDL.h"
#include "redfuse/Dialect/Redfuse.h"
#include "redfuse/Dialect/TMTensor.h"
#include "redfuse/Dialect/Tile.h"
#include "redfuse/Transforms/Bufferize.h"
#include "redfuse/Transforms/Normalize.h"
#include "redfuse/Transforms/Passes.h"

using namespace mlir;

void redfuseRegisterDialects(MlirDialectRegistry registry) {
  redfuse::registerBufferizableOpInterfaceModels(*unwrap(registry));
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
  static bool once =
      (redfuse::registerRedfusePasses(), redfuse::registerNormalizePipeline(),
       redfuse::registerBufferizePipeline(),
       redfuse::registerLowerToLLVMPipeline(),
       redfuse::registerLowerToNVVMPipeline(),
       redfuse::registerLowerToROCDLPipeline(), true);
  (void)once;
}
