// Memory that a program maps: its arena, and files.
#pragma once
#include <cstddef>
#include <cstdint>

namespace kedge::rt::platform {

/// Zeroed, on huge pages where the system has them; null, with the reason in errno, where it has not so many
/// bytes.
char *mapMemory(uint64_t bytes);
void unmapMemory(char *begin, uint64_t bytes);

/// The first `bytes` of a file, not none, for reading; null, with the reason in errno.
const char *mapFile(int descriptor, size_t bytes);
void unmapFile(const char *begin, size_t bytes);
/// Gives back the memory of a mapped file's pages: reading them reads the file again.
void releasePages(const char *begin, size_t bytes);

/// Called when a page of a mapped file cannot be read: the file's name if it is one of ours, else null. It is
/// called within the access, so it takes no lock and allocates nothing.
using LostPage = const char *(*)(uintptr_t address);
/// From now on `lost` hears of such pages. Where the system can put one in its place they are zeros from then
/// on, else the process ends with an error that names the file.
void watchPages(LostPage lost);

/// Anonymous resident bytes of this process, and shared ones. Allocate nothing.
uint64_t anonymousBytes();
uint64_t sharedBytes();

} // namespace kedge::rt::platform
