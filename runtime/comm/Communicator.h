// What the ranks of a job tell each other. One engine a target implements it; a world of one rank has none.
#pragma once
#include "runtime/comm/Collective.h"
#include "runtime/io/Error.h"
#include "runtime/program/World.h"
#include <array>
#include <chrono>
#include <memory>

namespace kedge::rt {

/// The job ends, and a person has been told why: by another rank, or by this one's engine.
struct Stopped : Error {
  using Error::Error;
};

/// An error that all ranks throw alike: rank 0 speaks for them.
struct AgreedError : Error {
  using Error::Error;
};

inline int64_t steadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// By steadyNanoseconds.
struct TimeSpan {
  int64_t begin = 0, end = 0;
};

/// A collective that is made once and run many times; start and wait allocate nothing.
class CollectiveRun {
public:
  virtual ~CollectiveRun() = default;
  /// Returns at once. All ranks start the same collectives in the same order.
  virtual void start() = 0;
  /// Returns when outputs are there and inputs may be overwritten: when it ran. Throws Stopped when another rank is gone.
  virtual TimeSpan wait() = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual World world() const = 0;
  /// The tensors and the workspace outlive what is returned.
  virtual std::unique_ptr<CollectiveRun> prepare(Collective collective) = 0;

  // Blocking; every rank calls the same in the same order. They throw Stopped when another rank is gone.

  /// all[r * bytes, (r + 1) * bytes) = what rank r gave.
  virtual void exchange(const void *mine, size_t bytes, void *all) = 0;
  /// The bytes of rank 0 on every rank.
  virtual void broadcast(void *bytes, size_t count) = 0;
  /// From rank `from` to rank 0, which gets them in `to`; the others pass. `from` is not 0.
  virtual void sendToFirst(int64_t from, const void *bytes, void *to, size_t count) = 0;
  void barrier();

  /// Throws Stopped when another rank is gone; for who waits for something else than this object.
  virtual void check() = 0;
  /// What that is, for messages about it; null: nothing any more. The text outlives the wait.
  virtual void noteWait(const char *name) = 0;

  /// Tells every rank that this one ends, and why; returns when it has been said (once for the job, by rank 0 where it
  /// lives). An empty text: rank 0 says it itself. From then on nothing else may be called.
  virtual void announce(const std::string &text) = 0;
  /// The orderly end: every rank comes here.
  virtual void close() = 0;

  /// What the engine itself took when it started, in bytes.
  virtual uint64_t memoryBytes() const = 0;
};

/// use(values): what each rank gave, `count` values a rank, in the order of ranks. Allocates nothing for up to 64 ranks
/// and 8 values of 8 bytes.
template <typename T, typename Use>
void withAllRanks(Communicator &communicator, const T *mine, size_t count, Use &&use) {
  const size_t all = count * static_cast<size_t>(communicator.world().size);
  std::array<T, 4096 / sizeof(T)> near;
  std::vector<T> far(all > near.size() ? all : 0);
  T *values = far.empty() ? near.data() : far.data();
  communicator.exchange(mine, count * sizeof(T), values);
  use(static_cast<const T *>(values));
}

/// Sums of doubles over all ranks, in the order of ranks; without a communicator nothing changes.
void sumOverRanks(Communicator *communicator, double *values, size_t count);
/// The largest of all ranks' values.
int64_t maxOverRanks(Communicator *communicator, int64_t value);

} // namespace kedge::rt
