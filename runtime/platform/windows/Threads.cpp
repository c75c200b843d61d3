#include "runtime/platform/Threads.h"
#include "runtime/platform/windows/Wide.h"
#include <algorithm>
#include <cstddef>
#include <vector>

namespace kedge::rt::platform {
namespace {

/// Those of which `isUsed` holds.
template <typename IsUsed> int coresThat(IsUsed isUsed) {
  DWORD size = 0;
  GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &size);
  std::vector<char> room(size);
  auto *first = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX *>(room.data());
  if (size == 0 || !GetLogicalProcessorInformationEx(RelationProcessorCore, first, &size))
    return 1;
  int count = 0;
  for (DWORD at = 0; at < size;) {
    const auto *entry = reinterpret_cast<const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX *>(room.data() + at);
    count += isUsed(entry->Processor.GroupMask[0]);
    at += entry->Size;
  }
  return std::max(1, count);
}

} // namespace

void sleepWhile(std::atomic<uint32_t> &word, uint32_t seen) {
  WaitOnAddress(&word, &seen, sizeof seen, INFINITE);
}

void wakeAll(std::atomic<uint32_t> &word) { WakeByAddressAll(&word); }

void runPromptly() {}

int usableCores() {
  DWORD_PTR own = 0, all = 0;
  USHORT group = 0, groups = 1;
  // A process of several groups of processors has no one mask.
  if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &all) || own == 0 ||
      !GetProcessGroupAffinity(GetCurrentProcess(), &groups, &group))
    return machineCores();
  return coresThat([&](const GROUP_AFFINITY &core) { return core.Group == group && (core.Mask & own) != 0; });
}

int machineCores() {
  return coresThat([](const GROUP_AFFINITY &) { return true; });
}

/// Windows gives them to processes that ask for them by EnableProcessOptionalXStateFeatures, which nothing of
/// this has been run with.
bool mayUseTiles() { return false; }

} // namespace kedge::rt::platform
