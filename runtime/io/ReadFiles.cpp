#include "runtime/io/ReadFiles.h"
#include <algorithm>
#include <mutex>
#include <sys/stat.h>

namespace kedge::rt {
namespace {

std::mutex mutex; ///< guards what follows, and its list
ReadFiles *notebook = nullptr;

} // namespace

ReadFiles::ReadFiles() {
  const std::lock_guard lock(mutex);
  notebook = this;
}

ReadFiles::~ReadFiles() {
  const std::lock_guard lock(mutex);
  notebook = nullptr;
}

std::vector<ReadFiles::File> ReadFiles::files() const {
  const std::lock_guard lock(mutex);
  return list;
}

void ReadFiles::add(const std::string &path, const struct stat &status) {
  if (std::any_of(list.begin(), list.end(), [&](const File &file) { return file.path == path; }))
    return;
  list.push_back({path, status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
                  int64_t(1'000'000'000) * status.st_mtim.tv_sec + status.st_mtim.tv_nsec});
}

void noteRead(const std::string &path, const struct stat &status) {
  const std::lock_guard lock(mutex);
  if (notebook)
    notebook->add(path, status);
}

} // namespace kedge::rt
