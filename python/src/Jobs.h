//===- Jobs.h - long work that Ctrl-C ends ----------------------*- C++ -*-===//
#ifndef REDFUSE_PYTHON_JOBS_H
#define REDFUSE_PYTHON_JOBS_H

#include "mlir-c/IR.h"
#include "redfuse-c/Redfuse.h"

#include <memory>
#include <pybind11/pybind11.h>

namespace redfuse_ext {

/// Work in C++ on what it owns, or keeps alive by Python's references.
class Job {
public:
  Job(pybind11::object object, MlirContext context)
      : object(std::move(object)), context(context) {}
  virtual ~Job() = default;

  /// Does it, without Python's lock, in whatever thread. Should end soon after
  /// `stop` is set.
  virtual void run() = 0;

  /// What is worked on: an operation, a context or a program.
  const pybind11::object object;
  /// Null where there is none.
  const MlirContext context;
  /// Not 0 once the results are no longer wanted.
  int stop = 0;
};

/// Runs a job. On Python's main thread signals are handled meanwhile: where that
/// raises, this does. What is in the middle of a long step then, goes on with it,
/// in a thread of its own, unless somebody else `owns` the module: then this waits.
void runJob(std::shared_ptr<Job> job, bool owns);

/// Once, when the module is loaded: the end of the process waits for no job, and
/// takes nothing away from those that run.
void watchTheEnd();

/// From now on no job of another thread comes back.
void beginEnd();

/// Jobs that other threads are in.
int jobsElsewhere();

/// Whether this thread is the one in which Python handles signals.
bool handlesSignals();

} // namespace redfuse_ext

#endif // REDFUSE_PYTHON_JOBS_H
