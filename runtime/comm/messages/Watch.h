// Detects lost ranks by heartbeats between progress threads, and brings the final
// message of a rank to the user. Used by the progress thread only, except where noted.
#pragma once
#include "runtime/comm/messages/Messages.h"
#include "runtime/program/World.h"
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt::messages {

/// A message between progress threads. Its sender is the one whose connection it came by.
struct Control {
  enum class Kind : uint32_t {
    Beat,    ///< the sender lives
    Failure, ///< the sender ends, for the reason in `text`; empty: the receiver knows the reason
    Loss,    ///< the sender has lost contact with another rank, as `text` says
    Stop     ///< end; the reason, which is in `text`, was already printed
  };
  static constexpr size_t kText = 1536;
  Kind kind = Kind::Beat;
  char text[kText] = ""; ///< ends with 0
};

class Watch {
public:
  Watch(Messages &transport, const World &world, double timeoutSeconds);

  /// How ranks on the same machine identify each other.
  struct ProcessIdentity {
    uint64_t host = 0;
    int64_t process = 0;
  };
  static ProcessIdentity ownIdentity();
  /// From now on each of the others must be heard of.
  void begin();
  /// From any thread: the identities of all ranks. Those of this machine are looked after, too.
  void identify(const std::vector<ProcessIdentity> &identities);

  /// Sends and receives heartbeats and checks the others. If a rank is lost, asks `waitingFor`
  /// which collective this rank is in (null: none), for the message. Otherwise allocates nothing.
  void tick(const std::function<const char *()> &waitingFor);
  /// The longest time between two calls of tick(), in nanoseconds.
  int64_t interval() const;

  /// From any thread: what a rank is called beside its number; by rank.
  void nameRanks(std::vector<std::string> texts);
  /// From any thread: this rank ends, for the reason `text` (empty: the rank that prints it knows). tick()
  /// sends it.
  void announce(const std::string &text);
  /// From any thread: the job has ended, and the reason was printed.
  bool hasStopped() const { return stopped.load(std::memory_order_acquire); }
  /// From any thread: the number of a rank, and what else it is called.
  std::string nameOf(int64_t rank);
  /// The processes that identify() found on this machine, by rank; 0: none that can be checked, and its own.
  std::vector<int64_t> processes() const;
  /// From any thread: this rank has begun to tell why the job ends.
  bool hasSpoken() const { return spoken.load(std::memory_order_acquire); }
  /// The regular end: nothing is checked or received any more.
  void end();

private:
  struct Peer {
    int64_t heard = 0;
    int64_t missed = 0; ///< when it was first found dead or silent for too long; 0: it is alive
    bool gone = false;  ///< lost, and reported
    bool dead = false;
    Request beat = nullptr;
    std::array<Request, 2> telling{};
    std::array<Control, 2> told; ///< a failure, and the stop
  };
  void hear(int64_t now);
  void take(const Messages::Sender &sender, int64_t now);
  void takeStop(int64_t from, const std::string &text);
  int64_t processOf(int64_t rank);
  void beat(int64_t now);
  void judge(int64_t now, const std::function<const char *()> &waitingFor);
  void takeOwn(int64_t now);
  /// Called when the job ends: prints the reason, or lets the speaker do so and prints it if it has not after
  /// a while.
  void report(Control::Kind kind, const std::string &text, int64_t now);
  void sayAndStop();
  void tell(int64_t rank, Control::Kind kind, const std::string &text);
  int64_t speaker() const;
  bool isTested(Request &request) const;

  Messages &transport;
  const World world;
  const int64_t timeout, beatEvery;
  std::vector<Peer> peers;
  Control incoming, beating;
  Request receiving = nullptr;
  int64_t lastTick = 0, nextBeat = 0, nextLook = 0;

  std::string reason;         ///< why the job ends, if known
  std::optional<int64_t> due; ///< when this rank prints the reason, unless another has

  std::atomic<bool> stopped{false}, spoken{false};
  mutable std::mutex mutex;
  std::optional<std::string> announced; ///< guarded by mutex
  std::vector<std::string> names;       ///< the same
  std::vector<int64_t> known;           ///< the same: processes, by rank
};

} // namespace kedge::rt::messages
