// Who knows of which access to shared memory, where threads and copies arrive on barriers (mbarrier).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace kedge::test {

/// Of a block. Each warp, and each barrier for the copies that arrive on it, has a clock; a warp knows of
/// what was before an arrival when it has waited for the phase. The lanes of a warp count as one. Functions
/// give what is wrong, null when nothing is. Memory is in cells of 16 bytes.
class PtxArrivals {
public:
  using Wrong = const char *;
  PtxArrivals() = default;
  PtxArrivals(size_t warps, int64_t sharedBytes);

  Wrong make(int64_t barrier, int64_t count, size_t warp);
  /// Also expects `bytes` in this phase.
  Wrong arrive(int64_t barrier, int64_t bytes, size_t warp);
  /// Whether the phase of this parity is complete.
  bool isComplete(int64_t barrier, uint64_t parity) const;
  /// The warp has waited for it.
  Wrong know(int64_t barrier, size_t warp);

  Wrong read(int64_t at, int64_t bytes, size_t warp);
  Wrong write(int64_t at, int64_t bytes, size_t warp);
  /// A copy of the copy engine to a cell, until it lands.
  Wrong beginCopy(int64_t barrier, int64_t at, size_t warp);
  void landCopy(int64_t barrier, int64_t at);
  /// All `bytes` of a copy have come.
  void bringBytes(int64_t barrier, int64_t bytes);
  /// A product reads a cell, until each warp of its group has waited.
  Wrong beginProduct(int64_t at, size_t firstWarp);
  void endProduct(int64_t at, size_t warp);
  /// What the warp stored is there for copies and products.
  void fenceProxy(size_t warp);
  /// All warps meet.
  void meet();

private:
  using Clock = std::vector<uint32_t>;
  struct Barrier {
    int64_t count = 0, missing = 0, bytes = 0;
    uint64_t phase = 0; ///< complete ones
    size_t producer = 0, agent = 0;
    uint32_t made = 0, landed = 0;
    bool isFenced = false; ///< copies may arrive on it
    Clock arriving, known;
  };
  struct Cell {
    size_t writer = 0;
    uint32_t written = 0;
    int products = 0; ///< warps whose products read it
    bool isStored = false, isComing = false;
  };
  static constexpr size_t kWarpsOfGroup = 4, kMostBarriers = 32;
  Barrier *find(int64_t barrier);
  void release(Barrier &barrier, size_t warp);
  static void join(Clock &to, const Clock &from);
  void turn(Barrier &barrier);
  Wrong checkWritten(const Cell &cell, size_t warp) const;
  Wrong checkRead(size_t cell, size_t warp) const;

  size_t warps = 0;
  std::vector<Clock> clocks;
  std::map<int64_t, Barrier> barriers;
  std::vector<Cell> cells;
  std::vector<uint32_t> reads; ///< of each cell by each warp
};

} // namespace kedge::test
