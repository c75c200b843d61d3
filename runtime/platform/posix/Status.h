// What the systems that are POSIX share, and where they name the same thing otherwise.
#pragma once
#include <cstdint>
#include <sys/stat.h>

namespace kedge::rt::platform {

/// When a file was changed, in nanoseconds.
int64_t changedAt(const struct stat &status);

} // namespace kedge::rt::platform
