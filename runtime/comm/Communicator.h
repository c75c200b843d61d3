// Communication between the ranks of a job. Each target has an engine that implements it; a single rank has
// none.
#pragma once
#include "runtime/comm/Collective.h"
#include "runtime/io/Error.h"
#include "runtime/program/Mesh.h"
#include <array>
#include <chrono>
#include <memory>
#include <optional>

namespace kedge::rt {

/// The job ends. Another rank, or this rank's engine, has already reported why.
struct Stopped : RuntimeError {
  using RuntimeError::RuntimeError;
};

/// An error that all ranks throw together; only rank 0 prints it.
struct AgreedError : RuntimeError {
  using RuntimeError::RuntimeError;
};

inline int64_t steadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// In the clock of steadyNanoseconds.
struct TimeSpan {
  int64_t begin = 0, end = 0;
};

/// A collective that is prepared once and run many times. start and wait allocate nothing.
class CollectiveRun {
public:
  virtual ~CollectiveRun() = default;
  /// Returns at once. All ranks must start the same collectives in the same order.
  virtual void start() = 0;
  /// Waits until outputs are there and inputs may be overwritten; gives the time it ran. Throws Stopped if a
  /// rank is lost.
  virtual TimeSpan wait() = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual World world() const = 0;
  /// How the ranks are arranged: all along `data` until arrange() is called, alike on all of them.
  Mesh mesh() const { return arranged ? *arranged : Mesh::ofData(world().size); }
  virtual void arrange(const Mesh &mesh) {
    arranged = mesh;
    alike = mesh.sizeOf(Mesh::kAlike);
  }
  /// The place of this rank among those that train on different rows, and the ranks that speak for all others
  /// with the same rows: those with these places, in their order.
  World rowPlace() const { return arranged ? arranged->groupOf(Mesh::kRows, world().rank).own : world(); }
  int64_t rankOfRows(int64_t place) const { return place * alike; }
  /// Places of all stages of a pipeline, which rankOfRows() numbers stage by stage: what a stage does not
  /// compute it counts as 0.
  int64_t rowPlaces() const { return world().size / alike; }
  /// The tensors and the workspace must outlive the result.
  virtual std::unique_ptr<CollectiveRun> prepare(Collective collective) = 0;

  // Blocking calls, which every rank makes in the same order. They throw Stopped if another rank is lost.

  /// Sets all[r * bytes, (r + 1) * bytes) to the bytes of rank r.
  virtual void exchange(const void *mine, size_t bytes, void *all) = 0;
  /// Copies the bytes of rank 0 to every rank.
  virtual void broadcast(void *bytes, size_t count) = 0;
  /// Sends bytes from rank `from` (not 0) to `to` on rank 0. All other ranks return at once.
  virtual void sendToFirst(int64_t from, const void *bytes, void *to, size_t count) = 0;
  void barrier();

  /// Throws Stopped if another rank is lost. For code that waits for something else than this object.
  virtual void check() = 0;
  /// What this rank waits for, for messages; null: nothing. The text must outlive the wait.
  virtual void noteWait(const char *name) = 0;

  /// Tells all ranks that this one ends and why, and returns when the reason was printed: once for the job,
  /// by rank 0 if it lives. If the text is empty, rank 0 prints its own. Nothing else may be called
  /// afterwards.
  virtual void announce(const std::string &text) = 0;
  /// The regular end: every rank calls this.
  virtual void close() = 0;

  /// Bytes that the engine itself allocated when it started.
  virtual uint64_t memoryBytes() const = 0;

private:
  std::optional<Mesh> arranged;
  int64_t alike = 1; ///< ranks in a row that have the same rows
};

/// Calls use(values) with the values of all ranks, `count` for each, in the
/// order of ranks. Allocates nothing for up to 64 ranks and 8 values of 8 bytes.
template <typename T, typename Use>
void withAllRanks(Communicator &communicator, const T *mine, size_t count, Use &&use) {
  const size_t all = count * static_cast<size_t>(communicator.world().size);
  std::array<T, 4096 / sizeof(T)> near;
  std::vector<T> far(all > near.size() ? all : 0);
  T *values = far.empty() ? near.data() : far.data();
  communicator.exchange(mine, count * sizeof(T), values);
  use(static_cast<const T *>(values));
}

/// Adds doubles over all ranks that have rows of their own, in the order of ranks. Does nothing without a
/// communicator.
void sumOverRanks(Communicator *communicator, double *values, size_t count);
/// The largest of all ranks' values.
int64_t maxOverRanks(Communicator *communicator, int64_t value);

/// Whether this rank is the first of those that hold the same part of what is cut along these axes.
bool isFirstHolder(const Communicator &communicator, const std::string &axes);

} // namespace kedge::rt
