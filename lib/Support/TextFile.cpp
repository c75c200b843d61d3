#include "lib/Support/TextFile.h"
#include "lib/Support/Error.h"
#include "lib/Support/TemporaryFiles.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace kedge {

namespace {
namespace fs = std::filesystem;

std::string followed(const std::string &path) {
  std::error_code error;
  fs::path target = fs::canonical(path, error);
  return error ? path : target.string();
}

bool isOther(const std::string &path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status);
}

void writeTo(const std::string &place, const std::string &path, const std::string &text) {
  std::ofstream file(place, std::ios::binary);
  file << text;
  file.close();
  if (file)
    return;
  std::string reason = strerror(errno);
  std::error_code ignored;
  if (place != path)
    fs::remove(place, ignored);
  fail("{}: cannot be written: {}", path, reason);
}

} // namespace

void writeText(const std::string &path, const std::string &text) {
  if (isOther(path))
    return writeTo(path, path, text);
  std::string target = followed(path), temporary = fmt::format("{}.{}.tmp", target, getpid());
  TemporaryFile removed(temporary);
  writeTo(temporary, path, text);
  std::error_code error;
  fs::rename(temporary, target, error);
  if (!error)
    return;
  std::string reason = error.message();
  fs::remove(temporary, error);
  fail("{}: cannot be written: {}", path, reason);
}

std::string replaceableFile(const std::string &path) {
  if (isOther(path))
    fail("{}: is no regular file, expected the place of a file to make or replace", path);
  return followed(path);
}

} // namespace kedge
