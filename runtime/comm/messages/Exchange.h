// One thing that ranks do together, as a sequence of rounds of messages. Advanced only by the progress
// thread.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Rounds.h"
#include "runtime/comm/messages/Messages.h"
#include <array>
#include <atomic>
#include <vector>

namespace kedge::rt::messages {

/// Pending requests of one round.
struct Requests {
  std::vector<Request> open; ///< capacity reserved for all
  size_t count = 0;
};

/// The ranks that an operation is of. `number` tells apart the groups that a rank is in, so that messages of
/// one are not taken for those of another.
struct Party {
  World own;
  std::vector<int64_t> members; ///< numbers of the ranks; empty: all, in their order
  unsigned number = 0;

  int64_t rankOf(int64_t member) const {
    return members.empty() ? member : members[static_cast<size_t>(member)];
  }
};

/// Peers are numbered as in its party.
class Exchange {
public:
  Exchange(Messages &transport, const Party &party);
  virtual ~Exchange() = default;
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;

  /// Starts again; `sequence` must be the same number on all ranks of the party.
  void begin(uint64_t sequence);
  enum class Step { Waiting, Moved, Ended };
  /// Advances by one step if possible.
  Step advance();
  /// Reports the end to the owner, who may then start the operation again or destroy it.
  void giveBack() { done.store(true, std::memory_order_release); }

  bool isDone() const { return done.load(std::memory_order_acquire); }
  TimeSpan span() const { return ran; } ///< valid once done
  bool isBackground() const { return background; }
  const std::string &name() const { return shown; }
  unsigned partyNumber() const { return party.number; }
  /// What tells its messages from those of others of the party, where that is not the order in which they
  /// start.
  virtual std::optional<uint64_t> ownNumber() const { return std::nullopt; }

protected:
  /// Starts the next round in slot `slot` by calls of send and receive; false if no round is left.
  virtual bool post(int slot) = 0;
  /// Called when all messages of the round in `slot` have been sent and received.
  virtual void complete(int slot) = 0;
  virtual void rewind() = 0;

  void send(int slot, int64_t peer, const void *bytes, size_t count);
  void receive(int slot, int64_t peer, void *bytes, size_t count);

  Messages &transport;
  const Party party;
  const World world; ///< within the party
  std::string shown;
  bool background = false;

private:
  bool isFree(int slot) const { return !busy[static_cast<size_t>(slot)]; }
  bool finish(int slot);

  std::array<Requests, RoundSpace::kSlots> requests;
  std::array<bool, RoundSpace::kSlots> busy{};
  bool exhausted = false;
  int tag = 0;
  TimeSpan ran;
  std::atomic<bool> done{true};
};

/// A collective of tensors.
class TensorOperation final : public Exchange {
public:
  using Exchange::Exchange;
  /// Must not be called while it runs.
  void configure(Collective what);
  /// Replaces the only tensor of a collective without workspace.
  void redirect(const CollectiveTensor &tensor) { collective.tensors.front() = tensor; }

private:
  bool post(int slot) override;
  void complete(int slot) override;
  void rewind() override;

  char *receiveBuffer(int slot, int64_t peer) const;
  char *packBuffer(int slot, int64_t peer) const;
  char *placeFor(int slot, int64_t peer) const;
  const char *messageFor(int slot, int64_t peer) const;
  void packAll(int slot) const;
  void pack(const Round &round, int64_t rank, char *to) const;
  void combinePieces(int slot);
  void unpackPieces(int slot);
  void copyOwn(const Round &round) const;

  Collective collective;
  RoundSpace space;
  Rounds rounds;
  std::array<Round, RoundSpace::kSlots> current;
  std::vector<const char *> sources;
};

/// Copies bytes between ranks: each rank gets the bytes of one rank, or none.
class TransferOperation final : public Exchange {
public:
  using Exchange::Exchange;
  /// From `source` on rank `from` to `destination` on rank `to`, or on all other ranks.
  static constexpr int64_t kAll = -1;
  void configure(int64_t from, int64_t to, const void *source, void *destination, size_t count,
                 const char *name);
  /// A collective of the kind Transfer.
  void configure(const Collective &what);

  std::optional<uint64_t> ownNumber() const override { return fixed; }

private:
  struct Bytes {
    const char *source;
    char *destination;
    size_t count;
  };

  bool post(int slot) override;
  void complete(int) override {}
  void rewind() override;
  int64_t sender() const { return senders[static_cast<size_t>(world.rank)]; }
  bool givesAny() const;
  void fillAlone();

  std::vector<int64_t> senders; ///< by rank; Collective::kNobody where nothing comes
  std::vector<Bytes> pieces;
  std::optional<uint64_t> fixed; ///< ownNumber
  bool fillsAll = false;         ///< copy own bytes, and set what nobody sends to zero
  bool isFilled = false;
  size_t next = 0, sent = 0;
};

} // namespace kedge::rt::messages
