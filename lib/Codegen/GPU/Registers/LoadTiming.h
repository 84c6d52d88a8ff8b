//===- LoadTiming.h - when blocks load what ---------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_LOADTIMING_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_LOADTIMING_H

#include "RegisterPressure.h"

namespace redfuse {

/// When blocks load what, and how many of them run beside each other meanwhile: what
/// follows from where the elements are.
class LoadTiming {
public:
  LoadTiming(const RegisterDemands &demands, RegisterLayout &layout)
      : demands(demands), layout(layout), pressure(demands, layout) {}

  /// Whether one step of a fold is loaded while the other is computed: where all
  /// blocks run at a time with the registers for both, and have some steps each.
  bool chooseStepsAhead();
  /// All else.
  void choose();

private:
  void chooseRounds();
  void chooseCaching();
  SharedLoads chooseEarly() const;
  void chooseOccupancy();
  void chooseAhead();
  void chooseAwaiting();
  bool exchangesInSteps() const;

  const RegisterDemands &demands;
  RegisterLayout &layout;
  RegisterPressure pressure;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_LOADTIMING_H
