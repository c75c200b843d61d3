// No JSON file that anybody writes is as large: parsing a larger one would take all memory before an error.
#pragma once
#include "runtime/io/Error.h"
#include "runtime/io/FileMap.h"
#include <filesystem>
#include <string_view>

namespace kedge::rt {

inline void expectJsonSize(const std::string &path, uint64_t bytes) {
  constexpr uint64_t largest = uint64_t(256) << 20;
  if (bytes > largest)
    fail("{}: it has {} bytes, expected a JSON file of at most {}", path, bytes, largest);
}

/// Before it is opened, as a pipe would wait for who writes. Of a file that is there; what else is wrong with
/// it is told by who reads it.
inline void expectJsonFile(const std::string &path) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail("{}: expected a file, found a folder, a pipe or a device", path);
  const uint64_t bytes = std::filesystem::file_size(path, unknown);
  if (!unknown)
    expectJsonSize(path, bytes);
}

/// The text of a mapped file.
inline std::string_view jsonText(const FileMap &file) {
  expectJsonSize(file.path(), file.size());
  return {file.data(), file.size()};
}

} // namespace kedge::rt
