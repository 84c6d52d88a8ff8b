//===- InputPlaces.h - where inputs stay that are read twice ----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_INPUTPLACES_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_INPUTPLACES_H

#include "RegisterDemands.h"

namespace redfuse {

/// Where a block has inputs that it needs more than once, or before it needs them:
/// in shared memory, or in the first-level cache.
class InputPlaces {
public:
  InputPlaces(const RegisterDemands &demands, RegisterLayout &layout)
      : demands(demands), layout(layout) {}

  // Each sets the layout, or returns false and leaves it as it was. --------------
  /// Nests of ops read their tile again instead of holding it.
  bool chooseCache();
  /// Blocks stay and walk tiles: shared memory has the next one.
  bool chooseStages();
  /// Shared memory keeps all that is read twice.
  bool chooseKept();

  /// A block's part of an input, if it can be copied into shared memory by threads
  /// that are laid out so.
  static std::optional<KeptInput> find(const RegisterDemands &demands,
                                       const RegisterLayout &layout,
                                       const TensorAccess &access);

private:
  const RegisterDemands &demands;
  RegisterLayout &layout;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_INPUTPLACES_H
