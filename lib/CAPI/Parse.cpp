//===- Parse.cpp - programs, and what MLIR's parser does not survive ------===//
//
// Parsers and verifiers of upstream's operations assert what a text may say otherwise
// (a transpose of rank 0, a division by 0 in a map). There is no return from an
// assertion, so who wants to live on reads a text in a child of the process first.
//
//===----------------------------------------------------------------------===//
#include "redfuse-c/Redfuse.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

/// What the child writes when it has read all.
static constexpr char kSurvived = 1;
/// A lock that another thread held when the process forked is never released in the
/// child: it ends after this, and nothing is known. A second reads 10 MB.
static unsigned secondsFor(size_t bytes) { return 20 + bytes / 1000000; }

static DialectRegistry &registryOfAll() {
  static DialectRegistry *registry = [] {
    auto *made = new DialectRegistry;
    registerAllDialects(*made);
    registerAllExtensions(*made);
    redfuseRegisterDialects(wrap(made));
    return made;
  }();
  return *registry;
}

/// In the child: no return.
[[noreturn]] static void readAndExit(StringRef program, int out) {
  // Handlers are the parent's; a core is of no use to anybody.
  for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGINT, SIGTERM,
                     SIGALRM, SIGTRAP})
    signal(number, SIG_DFL);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  alarm(secondsFor(program.size()));
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
  dup2(out, STDERR_FILENO);
  MLIRContext context(registryOfAll(), MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler(
      [](Diagnostic &) { return success(); });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(program, "", false), SMLoc());
  OwningOpRef<Operation *> read =
      parseSourceFile<Operation *>(sources, ParserConfig(&context));
  (void)!write(out, &kSurvived, 1);
  _exit(0);
}

/// Waits until there is something to read; ends the child once `stop` is set.
static void waitFor(int in, pid_t child, const int *stop) {
  constexpr int period = 20; // ms
  pollfd asked{in, POLLIN, 0};
  while (poll(&asked, 1, period) == 0)
    if (__atomic_load_n(stop, __ATOMIC_RELAXED))
      kill(child, SIGKILL);
}

/// What the child said, and whether it survived.
static std::pair<std::string, bool> readAll(int in, pid_t child,
                                            const int *stop) {
  std::string said;
  char part[4096];
  while (true) {
    if (stop)
      waitFor(in, child, stop);
    ssize_t n = read(in, part, sizeof part);
    if (n > 0)
      said.append(part, n);
    else if (n == 0 || errno != EINTR)
      break;
  }
  bool survived = !said.empty() && said.back() == kSurvived;
  return {said, survived};
}

/// Why a program cannot be read; empty if it can, or if nothing is known.
static std::string tryToParse(StringRef program, const int *stop) {
  registryOfAll();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return "";
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pid_t child = fork();
  if (child == 0)
    readAndExit(program, ends[1]);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return "";
  }
  auto [said, survived] = readAll(ends[0], child, stop);
  close(ends[0]);
  int status = 0;
  pid_t ended;
  do
    ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  // Somebody else may have asked for the status, or ended the child.
  if (survived || ended != child || !WIFSIGNALED(status) ||
      llvm::is_contained({SIGALRM, SIGINT, SIGTERM, SIGKILL}, WTERMSIG(status)))
    return "";
  StringRef text(said);
  size_t at = text.find("Assertion ");
  if (at == StringRef::npos)
    return ("signal " + Twine(WTERMSIG(status))).str();
  return text.substr(at).take_until([](char c) { return c == '\n'; }).str();
}

MlirModule redfuseParse(MlirContext context, MlirStringRef program,
                        MlirStringRef name, void (*release)(void *),
                        void *owner) {
  // Constants that are read where they are share this.
  std::shared_ptr<llvm::SourceMgr> sources(new llvm::SourceMgr,
                                           [=](llvm::SourceMgr *made) {
                                             delete made;
                                             if (release)
                                               release(owner);
                                           });
  sources->AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(unwrap(program), unwrap(name), false),
      SMLoc());
  return wrap(parseSourceFile<ModuleOp>(sources, ParserConfig(unwrap(context)))
                  .release());
}

RedfuseBytes redfuseTryToParse(MlirStringRef program, const int *stop) {
  std::string why = tryToParse(unwrap(program), stop);
  if (why.empty())
    return {nullptr, 0};
  char *data = static_cast<char *>(malloc(why.size() + 1));
  memcpy(data, why.c_str(), why.size() + 1);
  return {data, why.size()};
}
