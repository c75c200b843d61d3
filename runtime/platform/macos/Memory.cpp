#include "runtime/platform/Memory.h"
#include <mach/mach.h>
#include <sys/mman.h>

namespace kedge::rt::platform {

/// Pages have 16 KB on Apple's processors; nobody else may ask for larger ones.
char *mapMemory(uint64_t bytes) {
  void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<char *>(mapped);
}

uint64_t anonymousBytes() {
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  const kern_return_t read =
      task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count);
  return read == KERN_SUCCESS ? info.internal : 0;
}

uint64_t sharedBytes() { return 0; } // of ranks, which there are none of

} // namespace kedge::rt::platform
