// The ranks of one machine watch each other while MPI starts and ends, when no message can be sent: each has
// a line in a file that they share, in the launcher's folder of the job, and renews it.
#pragma once
#include "runtime/comm/Launcher.h"
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace kedge::rt {

class RollCall {
public:
  /// From the first instruction on. Null for one rank, and where the launcher does not name the job.
  static std::unique_ptr<RollCall> begin();
  ~RollCall();
  RollCall(const RollCall &) = delete;
  RollCall &operator=(const RollCall &) = delete;

  /// Until rest(): if a rank of this machine is gone, or silent for so long, the process says so and ends
  /// with exit code 1. Ranks of other machines cannot be seen; where there are some, the wait itself ends
  /// after that time.
  void watch(const Launched &launched, double timeoutSeconds, const char *where);
  void rest();
  /// This rank ends as it should.
  void leave();

private:
  struct Line;
  struct Finding;
  RollCall(const std::string &file, int64_t rank, int64_t size);
  void run();
  void judge(int64_t now);
  std::string foundOf(int64_t rank, int64_t now) const;
  bool isGone(const Line &line) const;
  [[noreturn]] void end(const std::string &found) const;

  const std::string file;
  const int64_t own, size;
  uint64_t processNamespace; ///< processes of the same one see each other's numbers
  Line *lines = nullptr;

  std::mutex mutex; ///< guards what follows
  std::condition_variable wake;
  const char *waitingIn = nullptr;
  int64_t waitingSince = 0, timeout = 0, foundAt = 0;
  bool allHere = false, ending = false;
  std::thread thread;
};

} // namespace kedge::rt
