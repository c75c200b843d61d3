#include "test/support/PtxInterpreter.h"
#include "lib/Support/Error.h"
#include "test/support/PtxBlock.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

namespace kedge::test {
namespace {

constexpr int64_t kMostThreads = 1024, kMostShared = 48 * 1024, kMostRows = 65535, kMostBlocks = INT32_MAX;

} // namespace

void PtxLaunch::addMap(const char *address, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                       llvm::ArrayRef<int64_t> box) {
  auto map = std::make_unique<PtxTensorMap>();
  map->address = reinterpret_cast<uint64_t>(address), map->rank = sizes.size();
  std::copy(sizes.begin(), sizes.end(), map->sizes);
  std::copy(strides.begin(), strides.end(), map->strides);
  std::copy(box.begin(), box.end(), map->box);
  arguments.push_back(reinterpret_cast<char *>(map.get()));
  maps.push_back(std::move(map));
}

void PtxInterpreter::checkLimits(const PtxLaunch &launch, const PtxKernel &kernel) {
  const auto &[x, y, z] = launch.grid;
  const int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (x > kMostBlocks || y > kMostRows || z > kMostRows)
    report(kernel.name + ": no GPU takes a grid of " + std::to_string(x) + " x " + std::to_string(y) + " x " +
           std::to_string(z));
  if (threads > kMostThreads || threads != kernel.threads)
    report(kernel.name + ": " + std::to_string(threads) + " threads, and .maxntid says " +
           std::to_string(kernel.threads));
  if (kernel.sharedBytes > kMostShared)
    report(kernel.name + ": " + std::to_string(kernel.sharedBytes) + " bytes of shared memory");
  if (launch.arguments.size() != kernel.parameters.size())
    fail("PTX kernel {}: {} arguments for {} parameters", kernel.name, launch.arguments.size(),
         kernel.parameters.size());
  for (const char *argument : launch.arguments)
    if (reinterpret_cast<uint64_t>(argument) % 16 != 0)
      report(kernel.name + ": an operand is not aligned to 16 bytes");
}

/// Operands that share bytes are one region.
void PtxInterpreter::makeRegions(const PtxLaunch &launch) {
  std::vector<std::span<char>> sorted;
  for (std::span<char> operand : launch.memory)
    if (!operand.empty())
      sorted.push_back(operand);
  std::sort(sorted.begin(), sorted.end(), [](auto a, auto b) { return a.data() < b.data(); });
  regions.clear();
  for (std::span<char> operand : sorted) {
    if (!regions.empty() && operand.data() < regions.back().bytes.data() + regions.back().bytes.size()) {
      std::span<char> &before = regions.back().bytes;
      const char *end = std::max(before.data() + before.size(), operand.data() + operand.size());
      before = {before.data(), static_cast<size_t>(end - before.data())};
      regions.back().isInPlace = true;
    } else {
      regions.emplace_back().bytes = operand;
    }
  }
}

PtxInterpreter::Bytes PtxInterpreter::bytesOfRegions() const {
  Bytes all;
  for (const Region &region : regions)
    all.emplace_back(region.bytes.begin(), region.bytes.end());
  return all;
}

void PtxInterpreter::runBlocks(const PtxLaunch &launch, const PtxKernel &kernel,
                               const std::vector<int64_t> &places) {
  for (Region &region : regions)
    region.shadow = PtxShadow(static_cast<int64_t>(region.bytes.size()));
  PtxBlock block(*this, launch, kernel);
  PtxMoment now;
  for (int64_t place : places)
    block.run({place % launch.grid[0], place / launch.grid[0] % launch.grid[1],
               place / launch.grid[0] / launch.grid[1]},
              now);
  blocksRun += static_cast<int64_t>(places.size());
}

/// Large numbers in all types of floats, of either sign.
void PtxInterpreter::checkDropped(const PtxLaunch &launch, const PtxKernel &kernel,
                                  const std::vector<int64_t> &places, const Bytes &before) {
  const Bytes results = bytesOfRegions();
  for (Region &region : regions)
    region.replaced = std::move(region.shadow);
  bool isSame = true;
  for (char bytes : {char(0x5a), char(0xda)}) {
    stranger = bytes;
    for (auto [region, old] : llvm::zip(regions, before))
      std::copy(old.begin(), old.end(), region.bytes.begin());
    runBlocks(launch, kernel, places);
    isSame &= bytesOfRegions() == results;
  }
  stranger.reset();
  if (!isSame)
    report(kernel.name + ": a result depends on an element that another thread replaces");
  ++dropping;
}

void PtxInterpreter::run(const PtxLaunch &launch) {
  try {
    runWhole(launch);
  } catch (const Enough &) {
  }
}

void PtxInterpreter::runWhole(const PtxLaunch &launch) {
  const PtxKernel &kernel = program.kernel(launch.kernel);
  checkLimits(launch, kernel);
  makeRegions(launch);
  maps = std::set<uint64_t>(launch.mapsInMemory.begin(), launch.mapsInMemory.end());
  for (const auto &map : launch.maps)
    maps.insert(reinterpret_cast<uint64_t>(map.get()));
  std::vector<int64_t> places(launch.grid[0] * launch.grid[1] * launch.grid[2]);
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), random);
  places.resize(std::min<int64_t>(launch.mostBlocks, static_cast<int64_t>(places.size())));
  const bool isInPlace = llvm::any_of(regions, [](const Region &region) { return region.isInPlace; });
  const Bytes before = isInPlace ? bytesOfRegions() : Bytes();
  readsReplaced = false;
  runBlocks(launch, kernel, places);
  if (readsReplaced)
    checkDropped(launch, kernel, places, before);
}

} // namespace kedge::test
