#include "runtime/core/AtomicFile.h"
#include "runtime/core/Error.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace kedge::rt {

AtomicFile::AtomicFile(const std::string &path)
    : target(path), file(fmt::format("{}.tmp.{}", path, getpid()), path) {}

AtomicFile::~AtomicFile() {
  if (!committed)
    unlink(file.path().c_str());
}

void AtomicFile::commit() {
  file.finish();
  if (std::rename(file.path().c_str(), target.c_str()) != 0)
    fail("cannot put '{}' in its place: {}", target, std::strerror(errno));
  committed = true;
  syncFolder(folderOf(target));
}

} // namespace kedge::rt
