#include "lib/Support/TemporaryFolder.h"
#include "lib/Support/Error.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sys/stat.h>

namespace fs = std::filesystem;

namespace kedge {
namespace {

std::string unusedName(const std::string &prefix) {
  std::random_device device;
  const uint64_t digits = uint64_t{device()} << 32 | device();
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) {
    const char *given = std::getenv("TMPDIR");
    fail("{}: no folder for temporary files: {}; TMPDIR names one", given ? given : "/tmp", error.message());
  }
  return (folder / fmt::format("{}-{:016x}", prefix, digits)).string();
}

} // namespace

// Noted before it is made: a signal that comes between removes it.
TemporaryFolder::TemporaryFolder(const std::string &prefix)
    : place(unusedName(prefix)), noted(place.string()) {
  if (mkdir(place.c_str(), 0700) != 0)
    fail("{}: no temporary folder can be made: {}", place.string(), strerror(errno));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(place, ignored);
}

} // namespace kedge
