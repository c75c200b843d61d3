#include "runtime/comm/messages/MessageCommunicator.h"
#include "runtime/comm/messages/Progress.h"
#include "runtime/comm/messages/RowOperation.h"
#include "runtime/exec/Memory.h"
#include <fmt/ranges.h>

namespace kedge::rt::messages {
namespace {

class MessageRun final : public CollectiveRun {
public:
  MessageRun(Progress &progress, const Party &party, Collective collective) : progress(progress) {
    if (collective.kind == CollectiveKind::Transfer)
      make<TransferOperation>(party, std::move(collective));
    else if (collective.kind == CollectiveKind::Rows)
      rows = make<RowOperation>(party, std::move(collective));
    else
      make<TensorOperation>(party, std::move(collective));
  }
  void start() override { progress.start(*operation); }
  TimeSpan wait() override {
    progress.wait(*operation);
    if (rows)
      rows->check();
    return operation->span();
  }

private:
  template <typename Kind> Kind *make(const Party &party, Collective collective) {
    auto made = std::make_unique<Kind>(progress.messages(), party);
    made->configure(std::move(collective));
    Kind *kind = made.get();
    operation = std::move(made);
    return kind;
  }

  Progress &progress;
  std::unique_ptr<Exchange> operation;
  const RowOperation *rows = nullptr; ///< the operation, where it is one
};

class MessageCommunicator final : public Communicator {
public:
  MessageCommunicator(std::unique_ptr<Messages> transport, const World &world, double timeoutSeconds)
      : before(residentBytes()), progress(std::move(transport), world, timeoutSeconds),
        agreement(progress.messages(), Party{world, {}}), transfer(progress.messages(), Party{world, {}}) {
    Collective bytes;
    bytes.kind = CollectiveKind::AllGather; // one tensor, so that it needs no workspace
    bytes.tensors.resize(1);
    bytes.name = "an agreement of all ranks";
    agreement.configure(std::move(bytes));
    progress.watchOthers();
    const Watch::ProcessIdentity own = Watch::ownIdentity();
    std::vector<Watch::ProcessIdentity> identities(static_cast<size_t>(world.size));
    exchange(&own, sizeof(own), identities.data());
    progress.watchProcesses(identities);
    const uint64_t after = residentBytes();
    taken = after > before ? after - before : 0;
  }

  World world() const override { return progress.world(); }
  std::unique_ptr<CollectiveRun> prepare(Collective collective) override {
    const Mesh ranks = mesh();
    if (collective.peer) {
      const GroupMembers group = ranks.groupOf(collective.axis, world().rank);
      collective.name += fmt::format(" (transfer {} {} rank {})", collective.peer->number,
                                     collective.peer->sends ? "to" : "from",
                                     group.members[static_cast<size_t>(collective.peer->rank)]);
      return std::make_unique<MessageRun>(progress, Party{group.own, group.members, Mesh::kTransfers},
                                          std::move(collective));
    }
    const unsigned number = collective.axis.empty() ? 0 : ranks.numberOf(collective.axis);
    if (number == 0)
      return std::make_unique<MessageRun>(progress, Party{world(), {}}, std::move(collective));
    const GroupMembers group = ranks.groupOf(collective.axis, world().rank);
    collective.name += fmt::format(" along {} (ranks {})", collective.axis, fmt::join(group.members, ", "));
    return std::make_unique<MessageRun>(progress, Party{group.own, group.members, number},
                                        std::move(collective));
  }

  void arrange(const Mesh &mesh) override {
    Communicator::arrange(mesh);
    std::vector<std::string> names;
    for (int64_t rank = 0; rank < world().size; ++rank)
      names.push_back(mesh.placeOf(rank));
    progress.nameRanks(std::move(names));
  }

  void exchange(const void *mine, size_t bytes, void *all) override {
    agreement.redirect({mine, all, static_cast<int64_t>(bytes) * world().size, DType::U8});
    run(agreement);
  }

  void broadcast(void *bytes, size_t count) override {
    transfer.configure(0, TransferOperation::kAll, bytes, bytes, count, "a broadcast");
    run(transfer);
  }

  void sendToFirst(int64_t from, const void *bytes, void *to, size_t count) override {
    transfer.configure(from, 0, bytes, to, count, "gathering on rank 0");
    run(transfer);
  }

  void check() override { progress.check(); }
  void noteWait(const char *name) override { progress.noteWait(name); }
  void announce(const std::string &text) override { progress.announce(text); }
  void close() override {
    barrier();
    progress.close();
  }
  uint64_t memoryBytes() const override { return taken; }

private:
  void run(Exchange &operation) {
    progress.start(operation);
    progress.wait(operation);
  }

  uint64_t before, taken = 0;
  Progress progress;
  TensorOperation agreement;
  TransferOperation transfer;
};

} // namespace

std::unique_ptr<Communicator> communicateBy(std::unique_ptr<Messages> transport, const World &world,
                                            double timeoutSeconds) {
  return std::make_unique<MessageCommunicator>(std::move(transport), world, timeoutSeconds);
}

} // namespace kedge::rt::messages
