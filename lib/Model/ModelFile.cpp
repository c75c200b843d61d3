#include "lib/Model/ModelFile.h"
#include "lib/Support/Error.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace kedge::model {

namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};

bool isInside(const fs::path &file, const fs::path &folder) {
  fs::path relative = file.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

} // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer before we can refuse it.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0)
    fail("cannot open '{}': {}", path, std::strerror(errno));
  struct stat info{};
  if (::fstat(file.fd, &info) != 0)
    fail("cannot read '{}': {}", path, std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    fail("cannot read '{}': expected a regular file, found {}", path,
         S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket");
  std::shared_ptr<MappedFile> result(new MappedFile);
  result->name = path;
  result->length = static_cast<uint64_t>(info.st_size);
  if (result->length == 0)
    return result;
  void *address = ::mmap(nullptr, result->length, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED)
    fail("cannot map '{}' ({} bytes) into memory: {}", path, result->length, std::strerror(errno));
  result->bytes = static_cast<const uint8_t *>(address);
  result->mapped = true;
  return result;
}

std::shared_ptr<const MappedFile> MappedFile::fromBytes(std::vector<uint8_t> bytes, std::string path) {
  std::shared_ptr<MappedFile> result(new MappedFile);
  result->owned = std::move(bytes);
  result->bytes = result->owned.data();
  result->length = result->owned.size();
  result->name = std::move(path);
  return result;
}

MappedFile::~MappedFile() {
  if (mapped)
    ::munmap(const_cast<uint8_t *>(bytes), length);
}

std::string resolveExternalPath(const std::string &modelPath, const std::string &location,
                                const std::string &what) {
  auto refuse = [&](const std::string &reason) {
    fail("{}: {} has its data in external file '{}', which {}; expected a path inside the model's folder. "
         "Move the data file into the model's folder and save the model again",
         modelPath, what, location, reason);
  };
  if (location.empty() || location.find('\0') != std::string::npos)
    refuse("is not a file name");
  fs::path relative(location);
  if (relative.is_absolute())
    refuse("is an absolute path");
  fs::path normal = relative.lexically_normal();
  if (normal == "." || *normal.begin() == "..")
    refuse("leads out of the model's folder");
  // A backslash is an ordinary character here, but a separator where such a file may have been made.
  if (location.find('\\') != std::string::npos && location.find("..") != std::string::npos)
    refuse("leads out of the model's folder");

  fs::path folder = fs::path(modelPath).parent_path();
  if (folder.empty())
    folder = ".";
  fs::path file = folder / normal;
  std::error_code error;
  fs::path real = fs::weakly_canonical(file, error);
  if (error)
    refuse("cannot be resolved (" + error.message() + ")");
  // Download caches keep a model and its data as links into one storage folder: the folder of the model's own
  // file is as good as the one that it was named by.
  fs::path realFolder = fs::weakly_canonical(folder, error);
  fs::path storageFolder = fs::weakly_canonical(fs::path(modelPath), error).parent_path();
  if (!isInside(real, realFolder) && !isInside(real, storageFolder))
    refuse("is a symbolic link to '" + real.string() + "', outside of the model's folder");
  if (!fs::exists(file, error) && fs::exists(storageFolder / normal, error))
    file = storageFolder / normal;
  if (fs::exists(file, error) && !fs::is_regular_file(file, error))
    refuse("is a folder, a pipe or a device"); // reading would not end
  return file.string();
}

int64_t regularFileSize(const std::string &path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return -1;
  return info.st_size;
}

} // namespace kedge::model
