// Packings by what was asked for: planners ask for the same buffers again, from pass to
// pass and from one way out of a budget to the next.
#pragma once
#include "lib/Solver/Arena/ArenaPacking.h"
#include <deque>
#include <mutex>
#include <optional>

namespace kedge::solver {

/// Of a process. For several threads at once.
class PackingMemo {
public:
  struct Counts {
    int64_t searched = 0, found = 0;
  };

  static PackingMemo &ofProcess();

  /// As packArena. What is kept first goes first, where all have more than `mostBuffers` buffers together.
  /// With a time limit each call searches.
  Packing pack(const std::vector<Buffer> &buffers, const PackOptions &options);
  /// What a search of a tenth of a second finds, or of a few tenths for thousands of buffers. Most of what
  /// the packer reaches with all of its effort it reaches at once.
  /// `times`: as much effort as that.
  Packing packQuickly(const std::vector<Buffer> &buffers, int64_t align = 64, int64_t times = 1);
  /// For whom quick packing is a little too high.
  static constexpr int64_t closer = 4;
  /// The quick packing where it takes at most `good` bytes, else the closer one, else what the default effort
  /// finds, which is no higher. `good` 0: the default effort.
  Packing packWithin(const std::vector<Buffer> &buffers, int64_t good, int64_t align = 64);
  Counts counts() const;

private:
  struct Entry {
    size_t hash = 0;
    std::vector<Buffer> buffers;
    PackOptions options;
    Packing packing;
  };
  std::optional<Packing> find(size_t hash, const std::vector<Buffer> &buffers, const PackOptions &options);
  void keep(Entry entry);

  static constexpr size_t mostBuffers = 1'000'000;

  mutable std::mutex mutex;
  std::deque<Entry> entries;
  size_t bufferCount = 0;
  Counts sums;
};

} // namespace kedge::solver
