#include "runtime/comm/tcp/Secret.h"
#include "runtime/io/Error.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kedge::rt::tcp {
namespace {

constexpr const char *kText = "KEDGE_JOB_SECRET", *kFile = "KEDGE_JOB_SECRET_FILE";

struct OpenFile {
  int number;
  ~OpenFile() {
    if (number >= 0)
      close(number);
  }
};

/// One line. Looked at and read through one descriptor, so that it is the same file.
std::string contentOf(const char *path) {
  const OpenFile file{open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status{};
  if (file.number < 0 || fstat(file.number, &status) != 0)
    fail("{}={}: {}", kFile, path, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    fail("{}={}: it is not a regular file", kFile, path);
  if ((status.st_mode & 077) != 0)
    fail("{}={}: its mode is {:o}, so that others can use the secret: chmod 600 {}", kFile, path,
         status.st_mode & 0777, path);
  std::string content(Secret::kLongest + 2, '\0');
  const ssize_t count = read(file.number, content.data(), content.size());
  if (count < 0)
    fail("{}={}: {}", kFile, path, std::strerror(errno));
  content.resize(static_cast<size_t>(count));
  while (content.ends_with('\n') || content.ends_with('\r'))
    content.pop_back();
  return content;
}

} // namespace

Secret secretOfJob() {
  const char *text = std::getenv(kText), *path = std::getenv(kFile);
  if (text && path)
    fail("{} and {} are both set: give one of them", kText, kFile);
  if (!text && !path)
    return {};
  const char *from = text ? kText : kFile;
  std::string secret = text ? text : contentOf(path);
  if (secret.size() < Secret::kShortest || secret.size() > Secret::kLongest)
    fail("{}: a secret of {} bytes; expected {} to {}, such as head -c 32 /dev/urandom | base64 makes", from,
         secret.size() > Secret::kLongest ? "too many" : std::to_string(secret.size()), Secret::kShortest,
         Secret::kLongest);
  return Secret(std::move(secret));
}

} // namespace kedge::rt::tcp
