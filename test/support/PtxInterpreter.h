// Runs PTX, the text that ptxas gets, thread by thread, and finds what a device does not forgive.
#pragma once
#include "test/support/PtxProgram.h"
#include "test/support/PtxShadow.h"
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace kedge::test {

struct PtxLaunch {
  std::string kernel;
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  std::vector<char *> arguments;       ///< of the kernel
  std::vector<std::span<char>> memory; ///< what it may touch: operands and workspace
  int64_t mostBlocks = INT64_MAX;      ///< a random choice of the grid where it has more
};

/// Blocks, and threads between two meetings, run in a random order. Findings are races in shared memory and,
/// across blocks, in global memory (by barriers, not by luck), copies of cp.async that nobody waits for,
/// addresses that are not aligned or outside of operands, threads that meet in different places, launches
/// that no GPU takes. Bytes that two operands share are not looked at for races: a thread without an element
/// of its own may read what its owner replaces, and drop it.
class PtxInterpreter {
public:
  PtxInterpreter(PtxProgram &program, unsigned seed) : program(program), random(seed) {}

  /// Throws kedge::Error when threads wait for each other for ever.
  void run(const PtxLaunch &launch);

  /// Text -> how often.
  const std::map<std::string, int64_t> &findings() const { return found; }
  int64_t instructions() const { return executed; }

private:
  friend class PtxBlock;
  struct Region {
    std::span<char> bytes;
    PtxShadow shadow; ///< empty: two operands share it
  };
  void checkLimits(const PtxLaunch &launch, const PtxKernel &kernel);
  void makeRegions(const PtxLaunch &launch);
  void report(const std::string &text) { ++found[text]; }

  PtxProgram &program;
  std::mt19937 random;
  std::vector<Region> regions;
  std::map<std::string, int64_t> found;
  int64_t executed = 0;
};

} // namespace kedge::test
