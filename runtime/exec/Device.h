// Runs the launches of a program and owns its arena: on the host or on a GPU.
#pragma once
#include "runtime/exec/HostArena.h"
#include <memory>

namespace kedge::rt {

class Communicator;

/// Collects times for --profile, in nanoseconds of one clock.
class LaunchTimer {
public:
  virtual ~LaunchTimer() = default;
  virtual void record(const Function &function, int launch, int64_t begin, int64_t end) = 0;
};

/// Memory of the device outside the arena, for --memory-report.
struct DeviceReservation {
  std::string name;
  uint64_t bytes = 0;
  std::string source; ///< how the number was obtained
};

class Device {
public:
  virtual ~Device() = default;

  /// The bytes [offset, offset + bytes) of the arena after all
  /// earlier calls have taken effect. Valid until the next call.
  virtual const char *read(uint64_t offset, uint64_t bytes) = 0;
  /// Host memory for the new content of this range; all of it must be filled. It takes effect with
  /// endWrite().
  virtual char *beginWrite(uint64_t offset, uint64_t bytes) = 0;
  virtual void endWrite() = 0;
  /// Sets every byte of the range to `value`.
  virtual void fill(uint64_t offset, uint64_t bytes, unsigned char value) = 0;

  /// The arena in host memory and files, after all earlier calls have taken effect; null if there is none.
  /// Launches of the library kernel `copy` move bytes between the two arenas (Launch::hostArg).
  virtual HostArena *hostArena() { return nullptr; }

  /// Host memory for one input of a function, or for one scalar. It is copied when the
  /// function next begins, and is valid until then. Bytes that are not written are undefined.
  virtual char *input(const Function &function, const ArenaSlot &place) = 0;
  virtual char *scalar(const ScalarSlot &slot) = 0;

  /// Copies inputs and scalars to their places.
  virtual void begin(const Function &function) = 0;
  /// Runs launches [first, end) in order. May return before they have
  /// finished; later calls of this object wait for them. `timer` may be null.
  virtual void run(const Function &function, int first, int end, LaunchTimer *timer) = 0;
  /// Whether run() returns early, so that the host can read the next batch at the same time.
  virtual bool isAsynchronous() const { return false; }

  /// How often a launch has begun; 0 if the device does not count.
  virtual int64_t timesLaunched(const Function &function, int launch) const { return 0; }

  /// Bytes that libraries need outside the arena with this number of threads; 0 with the number compiled for.
  virtual uint64_t extraWorkspaceBytes() const { return 0; }
  /// Other memory of the device that is not part of the host's memory; empty for the host.
  virtual std::vector<DeviceReservation> reservations() { return {}; }
  /// More figures for --memory-report from the device's driver; null for the host.
  virtual nlohmann::json memoryFigures() { return nullptr; }
};

/// The host: kernels of the program and of runtime/cpu on `threads` threads. Throws rt::RuntimeError
/// if the machine lacks an instruction set that the program uses, if a kernel is missing, or
/// if there is too little memory for the arena. `communicator` may be null for one rank.
std::unique_ptr<Device> makeHostDevice(const Program &program, const ProgramImage &image, int threads,
                                       Communicator *communicator = nullptr);

} // namespace kedge::rt
