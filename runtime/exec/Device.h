// Where a program's arena lies and what runs its launches: the host itself, or a GPU.
#pragma once
#include "runtime/program/Program.h"
#include <memory>

namespace kedge::rt {

class Communicator;

/// Where time goes, for --profile. Nanoseconds of one clock.
class LaunchTimer {
public:
  virtual ~LaunchTimer() = default;
  virtual void record(const Function &function, int launch, int64_t begin, int64_t end) = 0;
};

/// Bytes that the device holds beside the arena, for --memory-report.
struct Reservation {
  std::string name;
  uint64_t bytes = 0;
  std::string source; ///< how the number was found
};

class Device {
public:
  virtual ~Device() = default;

  /// The bytes [offset, offset + bytes) of the arena after all that was told before. Valid until the next call
  /// of this object.
  virtual const char *read(uint64_t offset, uint64_t bytes) = 0;
  /// Host memory to be filled with the new content of that range, all of it; in place after endWrite().
  virtual char *beginWrite(uint64_t offset, uint64_t bytes) = 0;
  virtual void endWrite() = 0;
  /// Sets every byte of the range to `value`.
  virtual void fill(uint64_t offset, uint64_t bytes, unsigned char value) = 0;

  /// The arena of host memory, after all that was told before; null when the program or the device has none. Launches of
  /// the library kernel `copy` move bytes between it and the arena (Launch::hostArg).
  virtual char *hostArena() { return nullptr; }

  /// Host memory for one input of a function and for one scalar: in place when the function begins next. Valid
  /// until then. What is not written keeps no value.
  virtual char *input(const Function &function, const Place &place) = 0;
  virtual char *scalar(const ScalarSlot &slot) = 0;

  /// Puts inputs and scalars in place.
  virtual void begin(const Function &function) = 0;
  /// Runs launches [first, end) in order. May return before they are done: what is asked of this object later
  /// waits for them. `timer` may be null.
  virtual void run(const Function &function, int first, int end, LaunchTimer *timer) = 0;
  /// True when run() returns early, so that the host may read the next batch meanwhile.
  virtual bool isAsynchronous() const { return false; }

  /// How often a launch has begun; 0 where a device does not count.
  virtual int64_t timesLaunched(const Function &function, int launch) const { return 0; }

  /// Bytes outside the arena that libraries need at this thread count; 0 at the one compiled for.
  virtual uint64_t extraWorkspaceBytes() const { return 0; }
  /// What the device holds besides, where the host's memory does not tell; empty for the host.
  virtual std::vector<Reservation> reservations() { return {}; }
  /// Further figures for --memory-report as the device's driver gives them; null for the host.
  virtual nlohmann::json memoryFigures() { return nullptr; }
};

/// The host: kernels of the program and of runtime/cpu on `threads` threads. Throws rt::Error when the machine lacks
/// an instruction set that the program uses, a kernel is missing or the arena cannot be had. `communicator` may be null:
/// a world of one rank.
std::unique_ptr<Device> makeHostDevice(const Program &program, const ProgramImage &image, int threads,
                                       Communicator *communicator = nullptr);

} // namespace kedge::rt
