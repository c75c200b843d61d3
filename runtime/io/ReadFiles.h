// Which files a process has mapped: the ranks of a job compare them.
#pragma once
#include "runtime/platform/Files.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::rt {

/// Notes every FileMap that is made while it lives. One at a time.
class ReadFiles {
public:
  struct File {
    std::string path;
    uint64_t device = 0, inode = 0, bytes = 0;
    int64_t changed = 0; ///< nanoseconds
  };
  ReadFiles();
  ~ReadFiles();
  ReadFiles(const ReadFiles &) = delete;
  ReadFiles &operator=(const ReadFiles &) = delete;

  /// By path, each once: as it was first read.
  std::vector<File> files() const;
  void add(const std::string &path, const platform::FileFacts &facts);

private:
  std::vector<File> list;
};

/// Called by FileMap.
void noteRead(const std::string &path, const platform::FileFacts &facts);

} // namespace kedge::rt
