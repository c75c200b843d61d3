// Copies between memory and files, on threads of their own.
#pragma once
#include "runtime/comm/Communicator.h"
#include "runtime/io/StateFile.h"
#include <array>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace kedge::rt {

/// Copies go through memory of this size for each direction, or of the largest state where that is smaller.
constexpr uint64_t kDiskStage = uint64_t(4) << 20;
constexpr uint64_t diskBlocks(uint64_t bytes) {
  return (bytes + StateFile::kBlock - 1) / StateFile::kBlock * StateFile::kBlock;
}
/// Of both directions, given the bytes of the largest state in a file.
constexpr uint64_t diskStagingBytes(uint64_t largest) {
  return 2 * (largest < kDiskStage ? diskBlocks(largest) : kDiskStage);
}
/// The name of that memory among the reservations of a plan, and how its size is known.
constexpr const char *kDiskStagingName = "disk_staging";
constexpr const char *kDiskStagingSource = "computed: what copies to and from files go through";

/// `bytes` of memory, at a block's border of a file.
struct DiskCopy {
  const StateFile *file = nullptr;
  uint64_t at = 0;
  char *memory = nullptr;
  uint64_t bytes = 0;
  bool writes = false; ///< to the file

  /// Through `staging`, which is aligned to a block. Throws rt::RuntimeError.
  void run(char *staging, uint64_t stagingBytes) const;
};

struct FreeMemory {
  void operator()(char *memory) const;
};
using BlockMemory = std::unique_ptr<char, FreeMemory>;
/// Memory at a block's border; throws rt::RuntimeError if there is none.
BlockMemory allocateBlocks(uint64_t bytes);

/// Reads run one after the other, and so do writes, each on a thread of its own, while the caller computes.
/// All members are for one thread.
class DiskCopies {
public:
  /// Numbers the copies of one direction, from 1.
  using Ticket = uint64_t;

  /// At most `most` copies are under way at once. `staging` are the bytes of both directions.
  DiskCopies(size_t most, uint64_t staging);
  ~DiskCopies(); ///< gives up what has not begun
  DiskCopies(const DiskCopies &) = delete;
  DiskCopies &operator=(const DiskCopies &) = delete;

  /// Returns at once, allocates nothing. The copy begins when those of its direction that were started before
  /// are done, and those of the other one up to `afterOthers`. `span` is set to the time it took.
  Ticket start(const DiskCopy &copy, Ticket afterOthers, TimeSpan &span);
  /// The latest that was started.
  Ticket latest(bool writes) const { return lanes[writes].started; }
  /// Returns when it is done; throws what went wrong in any copy.
  void wait(bool writes, Ticket ticket);
  void waitForAll();

private:
  struct Order {
    DiskCopy copy;
    Ticket afterOthers;
    TimeSpan *span;
  };
  struct Lane {
    std::vector<Order> ring;
    Ticket started = 0, done = 0; ///< `done` is guarded by the mutex
    BlockMemory staging;
    std::thread thread;
  };
  void work(Lane &lane, Lane &other);
  void run(const Order &order, char *staging);

  uint64_t stage;
  std::array<Lane, 2> lanes; ///< that reads; that writes
  std::mutex mutex;
  std::condition_variable changed;
  std::exception_ptr error;
  bool isEnding = false;
};

} // namespace kedge::rt
