#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Process.h"
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace kedge::rt {

namespace {
std::string replaceable(const std::string &path) {
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail("'{}' is no regular file, expected the place of a file to make or replace", path);
  std::filesystem::path followed = std::filesystem::canonical(path, error);
  return error ? path : followed.string();
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
