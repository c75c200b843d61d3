// Runs PTX, the text that ptxas gets, thread by thread, and finds what a device does not forgive.
#pragma once
#include "test/support/PtxProgram.h"
#include "test/support/PtxShadow.h"
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace kedge::test {

/// A tensor map, in the place of the bytes that a driver would make of it: rows of 128 bytes, whose chunks
/// are exchanged, of 16-bit numbers.
struct alignas(64) PtxTensorMap {
  uint64_t address = 0, rank = 0;
  int64_t sizes[5] = {}, strides[4] = {}; ///< strides: bytes, from the second dimension on
  int32_t box[5] = {};
};

struct PtxLaunch {
  /// An argument that is a tensor map.
  void addMap(const char *address, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
              llvm::ArrayRef<int64_t> box);

  std::string kernel;
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  std::vector<char *> arguments;       ///< of the kernel
  std::vector<std::span<char>> memory; ///< what it may touch: operands and workspace
  int64_t mostBlocks = INT64_MAX;      ///< a random choice of the grid where it has more
  std::vector<std::unique_ptr<PtxTensorMap>> maps = {};
  std::vector<uint64_t> mapsInMemory = {}; ///< addresses of arguments that are maps in what it may touch
};

/// Blocks, and threads between two meetings, run in a random order. Findings are races in shared memory and,
/// across blocks, in global memory (by barriers, not by luck), copies of cp.async that nobody waits for,
/// addresses that are not aligned or outside of operands, threads that meet in different places, launches
/// that no GPU takes.
///
/// Where a result takes an operand's place, a thread without an element of its own may read another's, which
/// its owner replaces meanwhile, and drop it. That this is so is shown: the launch runs twice more, with
/// other numbers in place of what such reads find, and its results must have the same bits.
class PtxInterpreter {
public:
  /// `firstIsEnough`: a launch ends with its first finding.
  PtxInterpreter(PtxProgram &program, unsigned seed, bool firstIsEnough = false)
      : program(program), random(seed), firstIsEnough(firstIsEnough) {}

  /// Throws kedge::Error when threads wait for each other for ever.
  void run(const PtxLaunch &launch);

  /// Text -> how often.
  const std::map<std::string, int64_t> &findings() const { return found; }
  int64_t instructions() const { return executed; }
  int64_t blocks() const { return blocksRun; }
  /// Launches in which threads read what its owner replaces, and drop it.
  int64_t launchesThatDrop() const { return dropping; }

private:
  friend class PtxBlock;
  using Bytes = std::vector<std::vector<char>>;
  struct Region {
    std::span<char> bytes;
    PtxShadow shadow;
    bool isInPlace = false; ///< two operands share it
    PtxShadow replaced;     ///< of the first run, when others follow
  };
  void runWhole(const PtxLaunch &launch);
  void checkLimits(const PtxLaunch &launch, const PtxKernel &kernel);
  void makeRegions(const PtxLaunch &launch);
  void runBlocks(const PtxLaunch &launch, const PtxKernel &kernel, const std::vector<int64_t> &places);
  void checkDropped(const PtxLaunch &launch, const PtxKernel &kernel, const std::vector<int64_t> &places,
                    const Bytes &before);
  Bytes bytesOfRegions() const;
  struct Enough {};
  void report(const std::string &text) {
    ++found[text];
    if (firstIsEnough)
      throw Enough();
  }
  bool isMap(uint64_t address) const { return maps.contains(address); }

  PtxProgram &program;
  std::mt19937 random;
  bool firstIsEnough;
  std::vector<Region> regions;
  std::set<uint64_t> maps; ///< of the launch
  std::map<std::string, int64_t> found;
  int64_t executed = 0, blocksRun = 0, dropping = 0;
  bool readsReplaced = false;   ///< in this launch, a thread read what another one replaces
  std::optional<char> stranger; ///< the bytes that such reads find, in later runs of a launch
};

} // namespace kedge::test
