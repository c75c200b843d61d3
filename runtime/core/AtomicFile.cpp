#include "runtime/core/AtomicFile.h"
#include "runtime/core/Error.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace kedge::rt {

AtomicFile::AtomicFile(std::string target)
    : path(std::move(target)), temporary(fmt::format("{}.tmp-{}", path, ::getpid())),
      writer(std::make_unique<FileWriter>(temporary)) {}

AtomicFile::~AtomicFile() {
  if (committed)
    return;
  writer.reset();
  ::unlink(temporary.c_str());
}

void AtomicFile::commit() {
  writer->finish();
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    fail("cannot rename '{}' to '{}': {}", temporary, path, std::strerror(errno));
  committed = true;
  syncFolder(folderOf(path));
}

} // namespace kedge::rt
