#include "runtime/comm/mpi/WarmUp.h"
#include "runtime/exec/Yielder.h"
#include <vector>

namespace kedge::rt::mpi {
namespace {

constexpr int kTag = 2;

struct Burst {
  size_t messages, bytes;
};
/// As the library sends them: at once, in fragments, by rendezvous.
constexpr Burst kBursts[] = {{96, 64}, {96, 3000}, {8, size_t(256) << 10}};

void exchange(const Mpi &mpi, int to, int from, const Burst &burst) {
  std::vector<char> sent(burst.bytes), received(burst.bytes * burst.messages);
  std::vector<MPI_Request> open(2 * burst.messages, mpi.requestNull);
  // Sent before they are asked for, so that the other side keeps them in its lists, too.
  for (size_t i = 0; i < burst.messages; ++i)
    mpi.check(mpi.Isend(sent.data(), static_cast<int>(burst.bytes), mpi.byte, to, kTag, mpi.world, &open[i]),
              "starting");
  for (size_t i = 0; i < burst.messages; ++i)
    mpi.check(mpi.Irecv(received.data() + i * burst.bytes, static_cast<int>(burst.bytes), mpi.byte, from,
                        kTag, mpi.world, &open[burst.messages + i]),
              "starting");
  Yielder yielder;
  for (int done = 0; !done; yielder.yield())
    mpi.check(mpi.Testall(static_cast<int>(open.size()), open.data(), &done, MPI_STATUSES_IGNORE),
              "starting");
}

} // namespace

void warmUp(const Mpi &mpi, const World &world) {
  for (const Burst &burst : kBursts)
    for (int64_t step = 1; step < world.size; ++step)
      exchange(mpi, static_cast<int>((world.rank + step) % world.size),
               static_cast<int>((world.rank + world.size - step) % world.size), burst);
}

} // namespace kedge::rt::mpi
