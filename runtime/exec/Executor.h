// Runs the functions of a program: a walk over launches on a device. No allocation in run().
#pragma once
#include "runtime/exec/Device.h"

namespace kedge::rt {

/// Watches a run from launch to launch.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  /// Whether afterLaunch is to be called. A device may run what lies between two such launches in one go.
  virtual bool watches(const Function &function, int launch) const { return true; }
  /// Called after a launch; returns false to leave the function early. `launch` is -1 before the first one.
  virtual bool afterLaunch(const Function &function, int launch) = 0;
};

/// The first value of a run that is not finite.
struct NonFinite {
  std::string what; ///< "parameter 'w'", "output 0 of onnx.Exp at h.0.mlp"
  int launch = -1;  ///< that wrote it; -1: it was there before
  int64_t element = 0;
  double value = 0;
};

/// What a run of a backward pass makes that is not finite.
struct NonFiniteGradients {
  std::optional<NonFinite> value;    ///< the first of all that it makes
  std::optional<NonFinite> gradient; ///< the first in a parameter's gradient
};

/// Values of states that memory holds rounded.
class OriginalValues {
public:
  virtual ~OriginalValues() = default;
  virtual bool has(const State &state) const = 0;
  /// The whole tensor in f32, in the state's order of axes; valid until the next call. For states that it has.
  virtual const char *fetch(const State &state) = 0;
};

class Executor {
public:
  /// Makes the device (image.device, else the host). Throws rt::Error when it cannot run the program, or the
  /// program is damaged. `communicator` outlives this object; null: a world of one rank.
  Executor(const Program &program, const ProgramImage &image, int threads, Communicator *communicator = nullptr);
  ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  const Program &program() const { return prog; }
  int threads() const { return threadCount; }
  Communicator *communicator() const { return ranks; }
  Device &device() const { return *target; }

  /// The arena's bytes as the host sees them; valid until the next call of this object.
  const char *read(uint64_t offset, uint64_t bytes) const { return target->read(offset, bytes); }
  /// Gives a range new content: `body(char *)` fills all of it.
  template <typename Body> void write(uint64_t offset, uint64_t bytes, Body &&body) {
    body(target->beginWrite(offset, bytes));
    target->endWrite();
  }
  /// The same of either arena.
  const char *read(Space space, uint64_t offset, uint64_t bytes) const {
    return space == Space::Host ? target->hostArena() + offset : read(offset, bytes);
  }
  template <typename Body> void write(Space space, uint64_t offset, uint64_t bytes, Body &&body) {
    if (space == Space::Host)
      body(target->hostArena() + offset);
    else
      write(offset, bytes, std::forward<Body>(body));
  }
  const char *read(const State &state) const { return read(state.space, state.offset, state.desc.bytes()); }
  template <typename Body> void write(const State &state, Body &&body) {
    write(state.space, state.offset, state.desc.bytes(), std::forward<Body>(body));
  }

  /// Where the host writes a function's named input before a run; throws when there is none of that name.
  char *input(const std::string &function, const std::string &name) const;
  /// A named output after a run; throws when there is none of that name. Valid until the next call of this object.
  const char *output(const std::string &function, const std::string &name) const;

  /// Returns false when the observer left early. Outputs and results are valid until the next run.
  bool run(const std::string &function, LaunchObserver *observer = nullptr);

  /// Runs launches 0..last again and looks at every floating-point operand: states first, then outputs. Among ranks all
  /// run all of them, whatever they find.
  std::optional<NonFinite> firstNonFinite(const std::string &function, int last);

  /// Runs all of a function again and looks at what its backward pass makes.
  NonFiniteGradients nonFiniteGradients(const std::string &function);
  /// Looks at the gradients that lie there after `launch` (-1: before the first) of a function.
  std::optional<NonFinite> nonFiniteGradient(const Function &function, int launch) const;

  /// From now on bytes that no live buffer covers are overwritten by 0xff, before a function and after each
  /// launch: a launch that reads them turns the loss into NaN.
  void poisonDeadRanges();

  void setTimer(LaunchTimer *timer) { clock = timer; }

  /// Null: states are what memory holds.
  OriginalValues *originals() const { return before; }
  void setOriginals(OriginalValues *values) { before = values; }

private:
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
  const Function &functionNamed(const std::string &name) const;
  void poison(const Function &function, int after);
  std::optional<NonFinite> nonFiniteBefore(const Function &function);
  std::optional<NonFinite> nonFiniteResult(const Launch &source);

  const Program &prog;
  int threadCount;
  Communicator *ranks;
  std::unique_ptr<Device> target;
  bool poisoning = false;
  LaunchTimer *clock = nullptr;
  OriginalValues *before = nullptr;
  /// Byte ranges to poison after launch i - 1 (0: before the first); filled when poisoning is on.
  std::map<const Function *, std::vector<Ranges>> dead, deadHost;
};

/// Throws rt::Error that names the instruction sets this machine lacks.
void checkFeatures(const std::vector<std::string> &features);

/// Physical cores that this process may run on; at least 1.
int physicalCores();
/// Those of the machine, whoever may run on them.
int machineCores();

} // namespace kedge::rt
