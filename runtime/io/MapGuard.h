// Files that become shorter while they are mapped: a read behind their end is SIGBUS, and here an error that names the file.
#pragma once
#include "runtime/io/Error.h"
#include <cstddef>
#include <string>

namespace kedge::rt {

/// Pages of a mapped file could not be read; zeros stand in their place.
struct LostFile : Error {
  using Error::Error;
};

/// From now on pages that cannot be read of files that are noted here are zeros, and failIfLost() throws.
void guardMaps();
void noteMap(const void *begin, size_t length, const std::string &path);
void forgetMap(const void *begin);

/// Throws LostFile when pages of a mapped file could not be read.
void failIfLost();

} // namespace kedge::rt
