#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Folders.h"
#include "runtime/platform/Process.h"
#include <cerrno>
#include <cstring>

namespace kedge::rt {

namespace {
std::string replaceable(const std::string &path) {
  const auto there = platform::factsOf(path);
  if (there && !there->isRegular)
    fail("'{}' is no regular file, expected the place of a file to make or replace", path);
  return platform::realPath(path).value_or(path);
}
} // namespace

void checkWritable(const std::string &path) { const AtomicFile made(path); }

AtomicFile::AtomicFile(const std::string &path)
    : target(replaceable(path)), file(fmt::format("{}.tmp.{}", target, platform::processId()), path),
      unfinished(file.path()) {}

AtomicFile::~AtomicFile() {
  if (unfinished)
    platform::removeFile(file.path());
}

void AtomicFile::commit() {
  file.finish();
  if (!platform::replaceFile(file.path(), target))
    fail("cannot put '{}' in its place: {}", target, std::strerror(errno));
  unfinished.reset();
  platform::syncFolder(folderOf(target));
}

} // namespace kedge::rt
