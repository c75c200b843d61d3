// Asynchronous messages between ranks. Each way of starting ranks has a transport that
// implements this interface. The engine above it (operations, progress, heartbeats) is shared.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kedge::rt::messages {

/// A pending message; null: none.
using Request = void *;

/// The tag of heartbeats and final messages; operations use larger tags.
constexpr int kControlTag = 1;

/// All calls are made from one thread.
class Messages {
public:
  static constexpr int64_t kAnyone = -1;
  /// Who sent a control message, as the transport knows it: what a message says of its sender is not asked.
  struct Sender {
    int64_t rank = 0;
    size_t count = 0; ///< bytes of the message
  };

  virtual ~Messages() = default;
  /// Called first. Returns when every rank can be sent to; throws rt::RuntimeError if one cannot.
  virtual void start() = 0;
  /// The bytes must not change until the request is done. Messages of one tag from one rank to another arrive
  /// in order.
  virtual Request send(int64_t to, int tag, const void *bytes, size_t count) = 0;
  /// `from` may be kAnyone for control messages only, which may be shorter than `count`.
  virtual Request receive(int64_t from, int tag, void *bytes, size_t count) = 0;
  /// True if the request is done or null; sets it to null. Allocates nothing.
  virtual bool test(Request &request) = 0;
  /// The same of a receive from anyone, which is not null.
  virtual bool testAnyones(Request &request, Sender &sender) = 0;
  /// True if all requests are done or null; sets them to null.
  virtual bool testAll(Request *requests, size_t count) = 0;
  /// Cancels a receive for which no message will come.
  virtual void cancel(Request &request) = 0;
  /// Whether a message can be blocked by an earlier one of another tag. If so, operations run one after the
  /// other.
  virtual bool isOneQueue() const { return false; }
  /// Whether the connection to a rank has broken.
  virtual bool isLost(int64_t rank) const { return false; }
  /// The regular end: every rank calls this.
  virtual void finish() = 0;
};

} // namespace kedge::rt::messages
