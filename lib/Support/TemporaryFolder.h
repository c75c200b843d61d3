// A folder for what this process makes meanwhile.
#pragma once
#include "lib/Support/TemporaryFiles.h"
#include <filesystem>
#include <string>

namespace kedge {

/// An empty folder in the system's folder of temporary files (TMPDIR). It goes with the object or with a
/// signal that ends the process, and with it all that is in it, also what a child process left there.
class TemporaryFolder {
public:
  /// `prefix` begins the folder's name. Throws if no folder can be made.
  explicit TemporaryFolder(const std::string &prefix);
  ~TemporaryFolder();

  const std::filesystem::path &path() const { return place; }
  std::string file(const std::string &name) const { return (place / name).string(); }

private:
  std::filesystem::path place;
  TemporaryFile noted;
};

} // namespace kedge
