// How a nest is spread over the threads of a GPU.
#pragma once
#include "passes/Lower/Cluster/ClusterNest.h"
#include <array>
#include <optional>

namespace kedge::lower::gpu {

/// Parallel dims are one long row of groups, reduced dims one long row of units; the dim in lanes is the last
/// of its row, `width` elements of it make a group or a unit. A team of threads walks the units of a group,
/// and a block holds `groupsPerBlock` teams. Depends on the nest only, so that equal clusters compute equal
/// bits on every device.
struct GpuPlan {
  unsigned lanesDim = 0;     ///< dim along which neighbouring threads, and the lanes of one, lie
  bool lanesReduced = false; ///< and it is a reduced one
  unsigned width = 1;        ///< elements of it in one access of a thread: 1, 4 or, of 16 bits each, 8
  /// Rows are no multiple of `width`, and lie in memory that has room for one: the last access of a row reads
  /// numbers behind it, which nothing takes, and writes zeros there.
  bool ragged = false;
  llvm::SmallVector<unsigned> parallel, reduced; ///< dims, outermost first
  int64_t groups = 1, units = 1;
  int64_t team = 1; ///< threads of a group; a power of two
  int64_t groupsPerBlock = 1;
  int64_t slots = 1;       ///< units that a thread holds at once
  bool inRegisters = true; ///< the slots of a team are all units: each is loaded once
  /// More than one: blocks reduce `chunk` units each into partial results, for a second kernel to join. Only
  /// for nests of one reduction pass whose outputs all are reductions, or points that are stored meanwhile.
  int64_t splits = 1, chunk = 1;
  /// Nothing is reduced, but rows are too odd for accesses of 16 bytes: the lanes' dim is walked in units as
  /// if it were reduced, each block `chunk` of them, so that what belongs to a row is read once a thread.
  bool walksRows = false;
  /// Dims of rows that are added up (sched.sum), outermost first: a block walks its `rows` in turns, a row
  /// for each of its teams. Threads keep the sums of the columns that they hold. Only with lanes along a
  /// reduction, in registers.
  llvm::SmallVector<unsigned> summed;
  int64_t rows = 1;
  /// Parallel dim that tensors are contiguous along while they stride over the lanes: a block takes a tile of
  /// kTile elements of each of the two dims, and such tensors pass through shared memory. A group is then a
  /// tile.
  std::optional<unsigned> tileDim;
  /// The tensors that tiles turn around are outputs of bytes, and all others lie along the lanes: a tile has
  /// kByteTile elements of each dim, a thread kPatch of each.
  bool turnsBytes = false;
  bool wideIndex = false; ///< positions need 64 bits

  static constexpr int64_t kTile = 32, kTileRows = 8; ///< threads of a block along the lanes, and across
  static constexpr int64_t kByteTile = 64, kPatch = 4, kByteRun = 16; ///< bytes along the rows at once
  int64_t tile() const { return turnsBytes ? kByteTile : kTile; }
  /// Whether a tensor is one of those that tiles turn around.
  bool isTransposed(const Access &access) const;
  /// Accesses of `width` neighbours that a dim takes.
  int64_t accessesOf(llvm::ArrayRef<int64_t> sizes, unsigned dim) const {
    return dim == lanesDim ? (sizes[dim] + width - 1) / width : sizes[dim];
  }
  int64_t tilesOf(int64_t size) const { return (size + tile() - 1) / tile(); }

  int64_t blockSize() const { return team * groupsPerBlock; }
  std::array<int64_t, 3> block() const;
  std::array<int64_t, 3> grid() const;

  static GpuPlan of(const ClusterNest &nest);
};

/// Whether `width` neighbours along the lanes are one aligned access.
bool isVector(const GpuPlan &plan, const Access &access, llvm::ArrayRef<int64_t> sizes);

/// Bytes of shared memory that joins the sums of a block's teams (sched.sum), one output after the other.
int64_t sharedBytesOfSums(const ClusterNest &nest, const GpuPlan &plan);

/// Bytes of shared memory that joins a reduction's results across a block's warps or rows; 0 when there is
/// one.
int64_t sharedBytesOfReduction(const GpuPlan &plan);

/// Whether a nest has too few groups to fill a device and long reductions: it then runs as a sequence of
/// clusters (Stages.h), each with one reduction pass, which can be split over blocks.
bool wantsStages(const ClusterNest &nest, const GpuPlan &plan);

} // namespace kedge::lower::gpu
