#include "runtime/platform/Memory.h"
#include "runtime/platform/windows/Wide.h"
#include <atomic>
#include <cstring>
#include <io.h>
#include <psapi.h>

namespace kedge::rt::platform {
namespace {

std::atomic<LostPage> hears{nullptr};

/// No page can be put in the place of one of a view: the process ends here.
LONG CALLBACK endWithName(EXCEPTION_POINTERS *happened) {
  const EXCEPTION_RECORD &record = *happened->ExceptionRecord;
  if (record.ExceptionCode != static_cast<DWORD>(EXCEPTION_IN_PAGE_ERROR) || record.NumberParameters < 2)
    return EXCEPTION_CONTINUE_SEARCH;
  const char *path = hears.load()(record.ExceptionInformation[1]);
  if (!path)
    return EXCEPTION_CONTINUE_SEARCH;
  const HANDLE error = GetStdHandle(STD_ERROR_HANDLE);
  DWORD ignored = 0;
  for (const char *text :
       {"kedge: error: '", path,
        "' cannot be read any more: its disk or its server failed while the program ran\n"})
    WriteFile(error, text, static_cast<DWORD>(std::strlen(text)), &ignored, nullptr);
  TerminateProcess(GetCurrentProcess(), 1);
  return EXCEPTION_CONTINUE_SEARCH;
}

} // namespace

char *mapMemory(uint64_t bytes) {
  char *begin = static_cast<char *>(VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  if (!begin)
    failed();
  return begin;
}

void unmapMemory(char *begin, uint64_t) { VirtualFree(begin, 0, MEM_RELEASE); }

const char *mapFile(int descriptor, size_t bytes) {
  const HANDLE file = reinterpret_cast<HANDLE>(_get_osfhandle(descriptor));
  const HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (!mapping) {
    failed();
    return nullptr;
  }
  const void *view = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, bytes);
  if (!view)
    failed();
  CloseHandle(mapping); // the view keeps it
  return static_cast<const char *>(view);
}

void unmapFile(const char *begin, size_t) { UnmapViewOfFile(begin); }

/// Pages that are not locked leave the working set when they are unlocked.
void releasePages(const char *begin, size_t bytes) { VirtualUnlock(const_cast<char *>(begin), bytes); }

void watchPages(LostPage lost) {
  if (!hears.exchange(lost))
    AddVectoredExceptionHandler(/*first=*/1, endWithName);
}

/// Windows counts what a process has committed, not which of it is resident.
uint64_t anonymousBytes() {
  PROCESS_MEMORY_COUNTERS_EX counters{};
  counters.cb = sizeof counters;
  if (!K32GetProcessMemoryInfo(GetCurrentProcess(), reinterpret_cast<PROCESS_MEMORY_COUNTERS *>(&counters),
                               sizeof counters))
    return 0;
  return counters.PrivateUsage;
}

uint64_t sharedBytes() { return 0; }

} // namespace kedge::rt::platform
