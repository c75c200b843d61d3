// The thread that makes all calls of the transport: it starts it, advances operations, keeps the heartbeat, ends it.
#pragma once
#include "runtime/comm/messages/Operation.h"
#include "runtime/comm/messages/Watch.h"
#include "runtime/exec/Signal.h"
#include <condition_variable>
#include <exception>
#include <thread>

namespace kedge::rt::messages {

class Progress {
public:
  /// Returns when the transport runs; throws rt::Error when it does not.
  Progress(std::unique_ptr<Messages> transport, const World &world, double timeoutSeconds);
  /// Without close(): stops the thread and leaves the transport as it is.
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  Messages &messages() const { return *transport; }
  const World &world() const { return ranks; }
  /// From now on the others are watched.
  void watchOthers(const std::vector<Watch::Place> &places);

  // Of one thread.
  void start(Operation &operation);
  /// Throws Stopped when the job has ended.
  void wait(Operation &operation);
  /// The same without an operation.
  void check();
  /// What the process waits for where no operation is under way, for messages; null: nothing. From any thread.
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
  uint64_t sequence = 0;

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Operation *> started; ///< guarded by mutex
  std::atomic<uint64_t> startedCount{0};
  std::atomic<const char *> elsewhere{nullptr};
  std::atomic<bool> closing{false}, leaving{false}, watching{false}, initialized{false};

  // Of the progress thread.
  /// Those of a lane run one after the other; see Collective::background.
  std::array<std::vector<Operation *>, 2> lanes;
  uint64_t takenCount = 0;

  std::exception_ptr failure; ///< of the thread, before it tells by `finished`
  std::atomic<bool> finished{false};
  Signal changed;
  std::thread thread;
};

} // namespace kedge::rt::messages
