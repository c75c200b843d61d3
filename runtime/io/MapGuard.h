// Mapped files that become shorter. Reading beyond the new end raises SIGBUS; this turns it into an error
// naming the file.
#pragma once
#include "runtime/io/Error.h"
#include <cstddef>
#include <string>

namespace kedge::rt {

/// Pages of a mapped file could not be read and were replaced by zeros.
struct LostFile : RuntimeError {
  using RuntimeError::RuntimeError;
};

/// From now on unreadable pages of files registered here become zeros, and failIfLost() throws.
void guardMaps();
void noteMap(const void *begin, size_t length, const std::string &path);
void forgetMap(const void *begin);

/// Throws LostFile if pages of a mapped file could not be read.
void failIfLost();

} // namespace kedge::rt
