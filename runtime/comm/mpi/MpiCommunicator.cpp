#include "runtime/comm/mpi/Connect.h"
#include "runtime/comm/mpi/Progress.h"
#include "runtime/exec/Memory.h"
#include <unistd.h>

namespace kedge::rt {
namespace {

using namespace mpi;

class MpiRun final : public CollectiveRun {
public:
  MpiRun(Progress &progress, Collective collective) : progress(progress), operation(progress.api(), progress.world()) {
    operation.configure(std::move(collective));
  }
  void start() override { progress.start(operation); }
  TimeSpan wait() override {
    progress.wait(operation);
    return operation.span();
  }

private:
  Progress &progress;
  TensorOperation operation;
};

class MpiCommunicator final : public Communicator {
public:
  MpiCommunicator(const World &world, double timeoutSeconds)
      : before(residentBytes()), progress(world, timeoutSeconds), agreement(progress.api(), world),
        transfer(progress.api(), world) {
    Collective bytes;
    bytes.kind = CollectiveKind::AllGather; // one tensor, so that it needs no workspace
    bytes.tensors.resize(1);
    bytes.name = "an agreement of all ranks";
    agreement.configure(std::move(bytes));
    const Watch::Place own = Watch::ownPlace();
    std::vector<Watch::Place> places(static_cast<size_t>(world.size));
    exchange(&own, sizeof(own), places.data());
    progress.watchOthers(places);
    const uint64_t after = residentBytes();
    taken = after > before ? after - before : 0;
  }

  World world() const override { return progress.world(); }
  std::unique_ptr<CollectiveRun> prepare(Collective collective) override {
    return std::make_unique<MpiRun>(progress, std::move(collective));
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

  void announce(const std::string &text) override { progress.announce(text); }
  void close() override {
    barrier();
    progress.close();
  }
  uint64_t memoryBytes() const override { return taken; }

private:
  void run(Operation &operation) {
    progress.start(operation);
    progress.wait(operation);
  }

  uint64_t before, taken = 0;
  Progress progress;
  TensorOperation agreement;
  TransferOperation transfer;
};

} // namespace

std::unique_ptr<Communicator> connectByMpi(const World &world, double timeoutSeconds) {
  return std::make_unique<MpiCommunicator>(world, timeoutSeconds);
}

} // namespace kedge::rt
