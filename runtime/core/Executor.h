// Runs the functions of a program: one arena, mapped once, and a walk over launches. No allocation in run().
#pragma once
#include "runtime/core/LibraryKernel.h"
#include "runtime/core/Program.h"
#include <memory>
#include <span>

namespace kedge::rt {

/// Called after a launch; returns false to leave the function early.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  /// `launch` is -1 before the first one.
  virtual bool afterLaunch(const Function &function, int launch) = 0;
};

/// Where time goes, for --profile. Nanoseconds of the steady clock.
class LaunchTimer {
public:
  virtual ~LaunchTimer() = default;
  virtual void record(const Function &function, int launch, int64_t begin, int64_t end) = 0;
};

/// The first value of a run that is not finite.
struct NonFinite {
  std::string what; ///< "parameter 'w'", "output 0 of onnx.Exp at h.0.mlp"
  int64_t element = 0;
  double value = 0;
};

class Executor {
public:
  /// Maps the arena (zeroed) and makes every library kernel. Throws rt::Error when the machine lacks an
  /// instruction set that the program uses, a kernel is missing or the arena cannot be had.
  Executor(const Program &program, const ProgramImage &image, int threads);
  ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  const Program &program() const { return prog; }
  int threads() const { return threadCount; }
  char *arena() const { return base; }
  /// Pointer to an arena offset.
  template <typename T = char> T *at(uint64_t offset) const { return reinterpret_cast<T *>(base + offset); }

  /// Where a function's named input or output lies; throws when there is none of that name.
  char *input(const std::string &function, const std::string &name) const;
  char *output(const std::string &function, const std::string &name) const;

  /// Returns false when the observer left early. Outputs and results are valid until the next run.
  bool run(const std::string &function, LaunchObserver *observer = nullptr);

  /// Bytes outside the arena that libraries need at this thread count; 0 at the one compiled for.
  size_t extraWorkspaceBytes() const { return extraBytes; }

  /// Runs launches 0..last again and looks at every floating-point operand: states first, then outputs.
  std::optional<NonFinite> firstNonFinite(const std::string &function, int last);

  /// From now on bytes that no live buffer covers are overwritten by 0xff, before a function and after each
  /// launch: a launch that reads them turns the loss into NaN.
  void poisonDeadRanges();

  void setTimer(LaunchTimer *timer) { clock = timer; }

private:
  struct Prepared;
  struct PreparedFunction;
  void prepare(const ProgramImage &image);
  void launch(const Prepared &entry);
  void poison(const PreparedFunction &function, int after);
  bool runPoisoned(PreparedFunction &function, LaunchObserver *observer);
  PreparedFunction &prepared(const std::string &function);

  const Program &prog;
  int threadCount;
  char *base = nullptr;
  char *extra = nullptr;
  size_t extraBytes = 0;
  bool poisoning = false;
  LaunchTimer *clock = nullptr;
  std::map<std::string, std::unique_ptr<PreparedFunction>> functions;
};

/// Throws rt::Error that names the instruction sets this machine lacks.
void checkFeatures(const std::vector<std::string> &features);

/// Physical cores that this process may run on; at least 1.
int physicalCores();

} // namespace kedge::rt
