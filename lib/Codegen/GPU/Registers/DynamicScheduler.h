//===- DynamicScheduler.h - which tile a block has next ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_DYNAMICSCHEDULER_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_DYNAMICSCHEDULER_H

#include "ThreadPositions.h"

namespace redfuse {

/// Hands tiles to blocks that stay, when they are ready for one: a counter in memory
/// has the number of the next, and a word of shared memory (the mailbox) brings it to
/// all threads of a block.
class DynamicScheduler {
public:
  DynamicScheduler(mlir::OpBuilder &b, mlir::Location loc,
                   ThreadPositions &positions, mlir::Value counter,
                   mlir::Value mailbox)
      : b(b), loc(loc), positions(positions), counter(counter),
        mailbox(mailbox) {}

  /// The answer, i32, of the first thread alone: how many have asked before, up to
  /// `last`, behind which the counter is zero again.
  mlir::Value ask(mlir::Value last);
  /// The first thread puts it where all can read it behind a barrier.
  void store(mlir::Value answer);
  mlir::Value read();

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  ThreadPositions &positions;
  mlir::Value counter, mailbox;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_DYNAMICSCHEDULER_H
