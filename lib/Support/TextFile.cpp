#include "kedge/Support/TextFile.h"
#include "kedge/Support/Error.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace kedge {

void writeText(const std::string &path, const std::string &text) {
  std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file)
    std::filesystem::rename(temporary, path, error);
  if (!file || error) {
    std::string reason = error ? error.message() : strerror(errno);
    std::filesystem::remove(temporary, error);
    fail("{}: cannot be written: {}", path, reason);
  }
}

} // namespace kedge
