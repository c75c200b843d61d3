#include "runtime/cuda/Staging.h"
#include <algorithm>

namespace kedge::rt::cuda {
namespace {

const ByteRange *byteRangeAround(const std::vector<ByteRange> &stretches, uint64_t offset, uint64_t bytes) {
  for (const ByteRange &stretch : stretches)
    if (stretch.offset <= offset && offset + bytes <= stretch.offset + stretch.bytes)
      return &stretch;
  return nullptr;
}

} // namespace

uint64_t joinByteRanges(std::vector<ByteRange> &stretches, uint64_t gap) {
  std::sort(stretches.begin(), stretches.end(),
            [](const ByteRange &a, const ByteRange &b) { return a.offset < b.offset; });
  std::vector<ByteRange> joined;
  for (const ByteRange &stretch : stretches) {
    if (stretch.bytes == 0)
      continue;
    if (joined.empty() || stretch.offset >= joined.back().offset + joined.back().bytes + gap)
      joined.push_back(stretch);
    else
      joined.back().bytes =
          std::max(joined.back().bytes, stretch.offset + stretch.bytes - joined.back().offset);
  }
  uint64_t at = 0;
  for (ByteRange &stretch : joined) {
    stretch.at = at;
    at += (stretch.bytes + 63) / 64 * 64;
  }
  stretches = std::move(joined);
  return at;
}

DoubleBlock::DoubleBlock(Gpu &gpu, std::vector<ByteRange> stretches, uint64_t alignment)
    : gpu(gpu), copies(stretches) {
  const uint64_t bytes = joinByteRanges(copies, alignment);
  for (ByteRange stretch : stretches) {
    const ByteRange *whole = byteRangeAround(copies, stretch.offset, stretch.bytes);
    if (whole) // else it is empty
      stretch.at = whole->at + stretch.offset - whole->offset;
    places[stretch.offset] = stretch;
  }
  const Driver &driver = gpu.driver();
  for (int i = 0; i < 2 && bytes != 0; ++i) {
    block[i] = gpu.allocatePinned(bytes);
    std::fill_n(block[i], bytes, 0);
    driver.check(driver.eventCreate(&sent[i], CU_EVENT_DISABLE_TIMING), "no event for copies");
  }
}

DoubleBlock::~DoubleBlock() {
  for (CUevent event : sent)
    if (event)
      gpu.driver().eventDestroy(event);
}

char *DoubleBlock::at(uint64_t offset) {
  const auto found = places.find(offset);
  if (found == places.end())
    fail("the program is damaged: the host writes to {}, where nothing is expected of it", offset);
  if (pending[current]) {
    gpu.driver().check(gpu.waitForEvent(sent[current]), "a copy to the GPU failed");
    pending[current] = false;
  }
  written = true;
  return block[current] + found->second.at;
}

const char *DoubleBlock::fresh(uint64_t offset) const {
  const auto found = places.find(offset);
  return written && found != places.end() ? block[current] + found->second.at : nullptr;
}

void DoubleBlock::send(CUdeviceptr arena) {
  if (!written || !block[current])
    return;
  const Driver &driver = gpu.driver();
  for (const ByteRange &stretch : copies)
    driver.check(driver.memcpyHtoDAsync(arena + stretch.offset, block[current] + stretch.at, stretch.bytes,
                                        gpu.stream()),
                 "a copy to the GPU failed");
  driver.check(driver.eventRecord(sent[current], gpu.stream()), "a copy to the GPU failed");
  pending[current] = true;
  current ^= 1;
  written = false;
}

ResultBlock::ResultBlock(Gpu &gpu, const Program &program) : gpu(gpu) {
  for (const ResultSlot &slot : program.results)
    copies.push_back({slot.offset, slot.desc.bytes(), 0});
  if (const uint64_t bytes = joinByteRanges(copies, program.arenaAlign); bytes != 0)
    block = gpu.allocatePinned(bytes);
}

const char *ResultBlock::read(CUdeviceptr arena, uint64_t offset, uint64_t bytes) {
  const ByteRange *place = byteRangeAround(copies, offset, bytes);
  if (!place)
    return nullptr;
  if (!fresh) {
    const Driver &driver = gpu.driver();
    for (const ByteRange &stretch : copies)
      driver.check(
          driver.memcpyDtoHAsync(block + stretch.at, arena + stretch.offset, stretch.bytes, gpu.stream()),
          "results cannot be copied from the GPU");
    gpu.synchronize();
    fresh = true;
  }
  return block + place->at + (offset - place->offset);
}

} // namespace kedge::rt::cuda
