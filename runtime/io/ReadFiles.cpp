#include "runtime/io/ReadFiles.h"
#include <algorithm>
#include <mutex>

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

void ReadFiles::add(const std::string &path, const platform::FileFacts &facts) {
  if (std::any_of(list.begin(), list.end(), [&](const File &file) { return file.path == path; }))
    return;
  list.push_back({path, facts.device, facts.inode, facts.bytes, facts.changed});
}

void noteRead(const std::string &path, const platform::FileFacts &facts) {
  const std::lock_guard lock(mutex);
  if (notebook)
    notebook->add(path, facts);
}

} // namespace kedge::rt
