#include "runtime/exec/DiskCopies.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Process.h"
#include <algorithm>
#include <cstring>
#include <new>

namespace kedge::rt {

constexpr std::align_val_t kBlockAligned{StateFile::kBlock};

void FreeMemory::operator()(char *memory) const { ::operator delete[](memory, kBlockAligned); }

BlockMemory allocateBlocks(uint64_t bytes) {
  void *memory =
      ::operator new[](std::max(diskBlocks(bytes), StateFile::kBlock), kBlockAligned, std::nothrow);
  if (!memory)
    fail("cannot allocate {} bytes for copies to and from a file: end what else uses this machine's memory, "
         "or "
         "raise the memory limit of the shell, container or job",
         bytes);
  return BlockMemory(static_cast<char *>(memory));
}

void DiskCopy::run(char *staging, uint64_t stagingBytes) const {
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t count = std::min(stagingBytes, bytes - done), whole = diskBlocks(count);
    if (writes) {
      std::memcpy(staging, memory + done, count);
      std::memset(staging + count, 0, whole - count);
      file->write(at + done, staging, whole);
    } else {
      file->read(at + done, staging, whole);
      std::memcpy(memory + done, staging, count);
    }
    done += count;
  }
}

DiskCopies::DiskCopies(size_t most, uint64_t staging) : stage(staging / 2) {
  const platform::SignalsAreForOthers quiet;
  for (Lane &lane : lanes) {
    lane.ring.resize(most + 1);
    lane.staging = allocateBlocks(stage);
    std::memset(lane.staging.get(), 0, stage);
  }
  for (size_t i = 0; i < lanes.size(); ++i)
    lanes[i].thread = std::thread([this, i] { work(lanes[i], lanes[1 - i]); });
}

DiskCopies::~DiskCopies() {
  {
    const std::lock_guard lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  for (Lane &lane : lanes)
    if (lane.thread.joinable())
      lane.thread.join();
}

DiskCopies::Ticket DiskCopies::start(const DiskCopy &copy, Ticket afterOthers, TimeSpan &span) {
  Lane &lane = lanes[copy.writes];
  {
    const std::lock_guard lock(mutex);
    lane.ring[lane.started % lane.ring.size()] = {copy, afterOthers, &span};
    ++lane.started;
  }
  changed.notify_all();
  return lane.started;
}

void DiskCopies::wait(bool writes, Ticket ticket) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return error || lanes[writes].done >= ticket; });
  if (error)
    std::rethrow_exception(error);
}

void DiskCopies::waitForAll() {
  for (const bool writes : {false, true})
    wait(writes, latest(writes));
}

void DiskCopies::work(Lane &lane, Lane &other) {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] {
      return isEnding ||
             (lane.done < lane.started && other.done >= lane.ring[lane.done % lane.ring.size()].afterOthers);
    });
    if (isEnding)
      return;
    const Order order = lane.ring[lane.done % lane.ring.size()];
    lock.unlock();
    run(order, lane.staging.get());
    lock.lock();
    ++lane.done;
    changed.notify_all();
  }
}

void DiskCopies::run(const Order &order, char *staging) {
  order.span->begin = steadyNanoseconds();
  try {
    order.copy.run(staging, stage);
  } catch (...) {
    const std::lock_guard lock(mutex);
    if (!error)
      error = std::current_exception();
  }
  order.span->end = steadyNanoseconds();
}

} // namespace kedge::rt
