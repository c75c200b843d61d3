// Runs the functions of a program: goes through their launches on a device. run() allocates nothing.
#pragma once
#include "runtime/exec/Device.h"

namespace kedge::rt {

/// Called between the launches of a run.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;
  /// Whether to call afterLaunch. A device may run the launches between two such calls together.
  virtual bool watches(const Function &function, int launch) const { return true; }
  /// Whether to leave a launch out. afterLaunch is called for it all the same.
  virtual bool skips(const Function &function, int launch) const { return false; }
  /// Called after a launch, and with -1 before the first. Returns false to end the function early.
  virtual bool afterLaunch(const Function &function, int launch) = 0;
};

/// The first non-finite value of a run.
struct NonFinite {
  std::string what; ///< "parameter 'w'", "output 0 of onnx.Exp at h.0.mlp"
  int launch = -1;  ///< the launch that wrote it; -1: it existed before
  int64_t element = 0;
  double value = 0;
};

/// Non-finite values that the backward pass of a run makes.
struct NonFiniteGradients {
  std::optional<NonFinite> value;    ///< the first of all
  std::optional<NonFinite> gradient; ///< the first in the gradient of a parameter
};

/// Exact values of states that are rounded in memory.
class OriginalValues {
public:
  virtual ~OriginalValues() = default;
  virtual bool has(const State &state) const = 0;
  /// The whole tensor in f32, with the state's order of axes; valid until the next call. Only for states that
  /// it has.
  virtual const char *fetch(const State &state) = 0;
};

class Executor {
public:
  /// Creates the device (image.device, or the host). Throws rt::RuntimeError if it cannot run the
  /// program or the program is damaged. `communicator` must outlive this object; null: one rank.
  Executor(const Program &program, const ProgramImage &image, int threads,
           Communicator *communicator = nullptr);
  ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  const Program &program() const { return prog; }
  int threads() const { return threadCount; }
  Communicator *communicator() const { return ranks; }
  Device &device() const { return *target; }

  /// The arena's bytes as seen by the host; valid until the next call.
  const char *read(uint64_t offset, uint64_t bytes) const { return target->read(offset, bytes); }
  /// Replaces a range: `body(char *)` must fill all of it.
  template <typename Body> void write(uint64_t offset, uint64_t bytes, Body &&body) {
    body(target->beginWrite(offset, bytes));
    target->endWrite();
  }
  /// The same for either arena.
  const char *read(Space space, uint64_t offset, uint64_t bytes) const {
    return space == Space::Host ? target->hostArena()->read(offset, bytes) : read(offset, bytes);
  }
  template <typename Body> void write(Space space, uint64_t offset, uint64_t bytes, Body &&body) {
    if (space == Space::Device)
      return write(offset, bytes, std::forward<Body>(body));
    HostArena &host = *target->hostArena();
    body(host.beginWrite(offset, bytes));
    host.endWrite();
  }
  const char *read(const State &state) const { return read(state.space, state.offset, state.desc.bytes()); }
  template <typename Body> void write(const State &state, Body &&body) {
    write(state.space, state.offset, state.desc.bytes(), std::forward<Body>(body));
  }

  /// Where to write a named input of a function before a run; throws if there is none.
  char *input(const std::string &function, const std::string &name) const;
  /// A named output after a run; throws if there is none. Valid until the next call.
  const char *output(const std::string &function, const std::string &name) const;

  /// Returns false if the observer ended it early. Outputs and results are valid until the next run.
  bool run(const std::string &function, LaunchObserver *observer = nullptr);

  /// Runs launches 0..last again and checks every floating-point operand: first states,
  /// then outputs. If there are several ranks, each runs all launches, whatever it finds.
  std::optional<NonFinite> firstNonFinite(const std::string &function, int last);

  /// Runs the whole function again and checks what its backward pass makes.
  NonFiniteGradients nonFiniteGradients(const std::string &function);
  /// Checks the gradients that exist after `launch` of a function (-1: before the first).
  std::optional<NonFinite> nonFiniteGradient(const Function &function, int launch) const;

  /// From now on bytes that no live buffer uses are set to 0xff, before a
  /// function and after each launch. A launch that reads them makes the loss NaN.
  void poisonDeadRanges();
  /// For tests of lost ranks. `text`: RANK:FUNCTION:LAUNCH; the process of that rank stops itself (SIGSTOP)
  /// each time that the launch would be next. Throws rt::RuntimeError where the text is another, or there is
  /// no such launch.
  void stopWhere(const std::string &text);

  void setTimer(LaunchTimer *timer) { clock = timer; }

  /// Null: memory has the exact values.
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
  const Function *stopped = nullptr; ///< null: none stops
  int stopLaunch = -1;
  LaunchTimer *clock = nullptr;
  OriginalValues *before = nullptr;
  /// Byte ranges to overwrite after launch i - 1 (0: before the first); filled when poisoning is on.
  std::map<const Function *, std::vector<Ranges>> dead, deadHost;
};

/// Throws rt::RuntimeError that names the instruction sets that this machine lacks.
void checkFeatures(const std::vector<std::string> &features);

/// Number of physical cores that this process may use; at least 1.
int physicalCores();
/// Number of physical cores of the machine.
int machineCores();

} // namespace kedge::rt
