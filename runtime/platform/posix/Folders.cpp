#include "runtime/platform/Folders.h"
#include <cerrno>
#include <filesystem>

namespace kedge::rt::platform {
namespace {

namespace fs = std::filesystem;

bool succeeded(const std::error_code &error) {
  errno = error.value();
  return !error;
}

} // namespace

bool exists(const std::string &path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool isFolder(const std::string &path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::optional<uint64_t> fileSize(const std::string &path) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  return succeeded(error) ? std::optional(bytes) : std::nullopt;
}

bool makeFolders(const std::string &path) {
  std::error_code error;
  fs::create_directories(path, error);
  return succeeded(error);
}

bool removeAll(const std::string &path) {
  std::error_code error;
  fs::remove_all(path, error);
  return succeeded(error);
}

bool renamePath(const std::string &from, const std::string &to) {
  std::error_code error;
  fs::rename(from, to, error);
  return succeeded(error);
}

std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  return names;
}

std::string placeOf(const std::string &path) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(fs::absolute(path), error);
  return error ? path : place.string();
}

std::optional<std::string> realPath(const std::string &path) {
  std::error_code error;
  const fs::path place = fs::canonical(path, error);
  return succeeded(error) ? std::optional(place.string()) : std::nullopt;
}

std::string absolutePath(const std::string &path) {
  std::string place = fs::absolute(path).lexically_normal().string();
  if (place.size() > 1 && place.back() == '/')
    place.pop_back();
  return place;
}

std::string nameOf(const std::string &path) { return path.substr(path.rfind('/') + 1); }

} // namespace kedge::rt::platform
