//===- RuntimeInterrupt.h - ending a call of generated code -----*- C++ -*-===//
#ifndef REDFUSE_TARGET_RUNTIMEINTERRUPT_H
#define REDFUSE_TARGET_RUNTIMEINTERRUPT_H

namespace redfuse::runtime {

/// Calls generated code; false if it was left because the call is to end.
bool runGenerated(void (*work)(void *), void *context);

/// Around what generated code calls and may not be left halfway: what has locks
/// or changes anything but its results. After the second nothing may follow but
/// the return.
void enterRuntime();
void leaveRuntime();

/// Sends a signal to the threads of the pool.
void signalPool(int number);

} // namespace redfuse::runtime

#endif // REDFUSE_TARGET_RUNTIMEINTERRUPT_H
