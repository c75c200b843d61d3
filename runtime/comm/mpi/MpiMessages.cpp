#include "runtime/comm/messages/MessageCommunicator.h"
#include "runtime/comm/mpi/Connect.h"
#include "runtime/comm/mpi/Mpi.h"
#include "runtime/comm/mpi/WarmUp.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstdlib>

namespace kedge::rt::mpi {
namespace {

using messages::Request;

/// Requests are MPI's own, but for none, which is null.
class MpiMessages final : public messages::Messages {
public:
  explicit MpiMessages(const World &world) : world(world) {}

  void start() override {
    mpi = &openMpi();
    int provided = 0, size = 0, rank = 0;
    // Open MPI yields in each test where ranks outnumber processors. The thread that calls it waits better.
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
    mpi->check(mpi->Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "starting");
    mpi->check(mpi->Comm_set_errhandler(mpi->world, mpi->errorsReturn), "starting");
    mpi->check(mpi->Comm_size(mpi->world, &size), "starting");
    mpi->check(mpi->Comm_rank(mpi->world, &rank), "starting");
    if (size != world.size || rank != world.rank)
      fail("the launcher says rank {} of {}, MPI says rank {} of {}: start the program by Open MPI's own "
           "mpirun, or by srun "
           "--mpi=pmix",
           world.rank, world.size, rank, size);
    warmUp(*mpi, world);
  }

  Request send(int64_t to, int tag, const void *bytes, size_t count) override {
    MPI_Request request = nullptr;
    mpi->check(mpi->Isend(bytes, static_cast<int>(count), mpi->byte, static_cast<int>(to), tag, mpi->world,
                          &request),
               "sending");
    return request;
  }

  Request receive(int64_t from, int tag, void *bytes, size_t count) override {
    MPI_Request request = nullptr;
    const int source = from == kAnyone ? MPI_ANY_SOURCE : static_cast<int>(from);
    mpi->check(mpi->Irecv(bytes, static_cast<int>(count), mpi->byte, source, tag, mpi->world, &request),
               "receiving");
    return request;
  }

  bool test(Request &request) override { return !request || isDone(request, MPI_STATUS_IGNORE); }

  bool testAnyones(Request &request, Sender &sender) override {
    MPI_Status status{};
    if (!isDone(request, &status))
      return false;
    int count = 0;
    mpi->check(mpi->Get_count(&status, mpi->byte, &count), "a heartbeat");
    sender = {status.MPI_SOURCE, static_cast<size_t>(std::max(count, 0))};
    return true;
  }

  bool testAll(Request *requests, size_t count) override {
    static_assert(sizeof(Request) == sizeof(MPI_Request));
    int flag = 0;
    mpi->check(mpi->Testall(static_cast<int>(count), reinterpret_cast<MPI_Request *>(requests), &flag,
                            MPI_STATUSES_IGNORE),
               "waiting");
    if (flag)
      std::fill_n(requests, count, nullptr);
    return flag != 0;
  }

  void cancel(Request &request) override {
    MPI_Request own = static_cast<MPI_Request>(request);
    mpi->Cancel(&own);
    mpi->Request_free(&own);
    request = nullptr;
  }

  void finish() override { mpi->check(mpi->Finalize(), "ending"); }

private:
  bool isDone(Request &request, MPI_Status *status) {
    MPI_Request own = static_cast<MPI_Request>(request);
    int flag = 0;
    mpi->check(mpi->Test(&own, &flag, status), "a heartbeat");
    if (flag)
      request = nullptr;
    return flag != 0;
  }

  const Mpi *mpi = nullptr;
  const World world;
};

} // namespace
} // namespace kedge::rt::mpi

std::unique_ptr<kedge::rt::Communicator> kedge::rt::connectByMpi(const World &world, double timeoutSeconds) {
  return messages::communicateBy(std::make_unique<mpi::MpiMessages>(world), world, timeoutSeconds);
}
