// Messages between ranks: posted, then asked for. A transport implements it for each way in which ranks are started; the
// engine over it (operations, progress, heartbeats) is one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kedge::rt::messages {

/// A message under way; null: none.
using Request = void *;

/// Heartbeats and last words; operations have larger tags.
constexpr int kControlTag = 1;

/// All calls come from one thread.
class Messages {
public:
  static constexpr int64_t kAnyone = -1;

  virtual ~Messages() = default;
  /// The first call. Returns when every rank can be sent to; throws rt::Error when one cannot.
  virtual void start() = 0;
  /// The bytes stay where they are until the request is done. From one rank to another messages of one tag arrive in order.
  virtual Request send(int64_t to, int tag, const void *bytes, size_t count) = 0;
  /// `from`: kAnyone for control messages alone, which may be shorter than `count`.
  virtual Request receive(int64_t from, int tag, void *bytes, size_t count) = 0;
  /// Whether it is done, or was none; it is none then. Allocates nothing.
  virtual bool test(Request &request) = 0;
  /// Whether all are done, of which none was none; they are then.
  virtual bool testAll(Request *requests, size_t count) = 0;
  /// A receive that nothing will come for.
  virtual void cancel(Request &request) = 0;
  /// Whether a message waits for one of another tag that was sent before it: operations then run one after the other.
  virtual bool isOneQueue() const { return false; }
  /// Whether the connection to a rank has broken.
  virtual bool isLost(int64_t rank) const { return false; }
  /// The orderly end: every rank comes here.
  virtual void finish() = 0;
};

} // namespace kedge::rt::messages
