// The thread that makes all calls of the transport: starts it, advances operations, sends heartbeats, ends
// it.
#pragma once
#include "runtime/comm/messages/Exchange.h"
#include "runtime/comm/messages/Lookout.h"
#include "runtime/comm/messages/Watch.h"
#include "runtime/exec/Signal.h"
#include "runtime/exec/Yielder.h"
#include <condition_variable>
#include <exception>
#include <thread>

namespace kedge::rt::messages {

class Progress {
public:
  /// Returns when the transport is running; throws rt::RuntimeError if it cannot start.
  Progress(std::unique_ptr<Messages> transport, const World &world, double timeoutSeconds);
  /// Without an earlier close(): stops the thread and leaves the transport as it is.
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  Messages &messages() const { return *transport; }
  const World &world() const { return ranks; }
  /// Watches the heartbeats of the others from now on: nothing is waited for without.
  void watchOthers();
  /// And their processes.
  void watchProcesses(const std::vector<Watch::ProcessIdentity> &identities);
  /// Messages name a rank so, beside its number; by rank.
  void nameRanks(std::vector<std::string> names) { watch.nameRanks(std::move(names)); }

  // Called from one thread.
  void start(Exchange &operation);
  /// Throws Stopped if the job has ended.
  void wait(Exchange &operation);
  /// The same check without an operation.
  void check();
  /// What the process waits for while no operation runs, for messages; null: nothing. Callable from any
  /// thread.
  void noteWait(const char *name) { elsewhere.store(name, std::memory_order_release); }
  void announce(const std::string &text);
  void close();

private:
  void run();
  void loop();
  void takeStarted();
  bool advance();
  bool isIdle() const { return lanes[0].empty() && lanes[1].empty(); }
  void rest(int64_t idle);
  const char *waitingFor();
  void endProcessUnlessMainDoes();
  void tellFailure() const;

  const std::unique_ptr<Messages> transport;
  const World ranks;
  const std::chrono::nanoseconds timeout;
  Watch watch;
  Lookout lookout;                                 ///< while others are watched
  std::array<uint64_t, Mesh::kGroups> sequences{}; ///< by party

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Exchange *> started; ///< guarded by mutex
  std::atomic<uint64_t> startedCount{0};
  std::atomic<const char *> elsewhere{nullptr};
  std::atomic<bool> closing{false}, leaving{false}, watching{false}, initialized{false};

  // Used by the progress thread only.
  /// Operations of one lane run one after the other; see Collective::background.
  std::array<std::vector<Exchange *>, 2> lanes;
  uint64_t takenCount = 0;
  Yielder yielder;

  std::exception_ptr failure; ///< of the thread; set before `finished`
  std::atomic<bool> finished{false};
  Signal changed;
  std::thread thread;
};

} // namespace kedge::rt::messages
