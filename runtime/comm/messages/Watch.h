// Whether the other ranks live: heartbeats between progress threads, and how the last words of one reach a person.
// Used by the progress thread alone, but for what says otherwise.
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

/// A message between progress threads.
struct Control {
  enum class Kind : uint32_t {
    Beat,    ///< the sender lives
    Failure, ///< the sender ends, for the reason in `text`; empty: the receiver knows it
    Loss,    ///< the sender misses another rank, as `text` says
    Stop     ///< end: the reason has been said
  };
  static constexpr size_t kText = 1536;
  Kind kind = Kind::Beat;
  int32_t rank = 0;
  char text[kText] = "";
};

class Watch {
public:
  Watch(Messages &transport, const World &world, double timeoutSeconds);

  /// What ranks on one machine know each other by.
  struct Place {
    uint64_t host = 0;
    int64_t process = 0;
  };
  static Place ownPlace();
  /// `places`: of every rank.
  void begin(const std::vector<Place> &places);

  /// Beats, hears, judges. `waitingFor` gives the collective that this rank is in, for the message; null: none. It is
  /// asked once a rank has been found gone. Allocates nothing while all is well.
  void tick(const std::function<const char *()> &waitingFor);
  /// Nanoseconds within which tick() is to be called again.
  int64_t interval() const;

  /// From any thread: this rank ends, and why (empty: the rank that speaks knows). tick() does the rest.
  void announce(const std::string &text);
  /// From any thread: the job has ended, and the reason has been said.
  bool hasStopped() const { return stopped.load(std::memory_order_acquire); }
  /// The orderly end: nobody is judged any more, nothing is heard.
  void end();

private:
  struct Peer {
    int64_t heard = 0;
    int64_t process = 0; ///< 0: cannot be looked at
    int64_t missed = 0; ///< when it was first found dead or silent for too long; 0: it is there
    bool gone = false; ///< missed, and said so
    bool dead = false;
    Request beat = nullptr;
    std::array<Request, 2> telling{};
    std::array<Control, 2> told; ///< a failure, the stop
  };
  void hear(int64_t now);
  void beat(int64_t now);
  void judge(int64_t now, const std::function<const char *()> &waitingFor);
  void takeOwn(int64_t now);
  /// This rank knows that the job ends: says so, or has the speaker say it and steps in after `patience`.
  void report(Control::Kind kind, const std::string &text, int64_t now, int64_t patience);
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

  std::string reason;         ///< why the job ends, as far as this rank knows
  std::optional<int64_t> due; ///< when this rank says so unless another has

  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::optional<std::string> announced; ///< guarded by mutex
};

} // namespace kedge::rt::messages
