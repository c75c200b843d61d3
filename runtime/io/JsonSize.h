// No JSON file that anybody writes is as large: parsing a larger one would take all memory before an error.
#pragma once
#include "runtime/io/Error.h"
#include "runtime/io/FileMap.h"
#include "runtime/platform/Files.h"
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
  const auto there = platform::factsOf(path);
  if (there && !there->isRegular)
    fail("{}: expected a file, found a folder, a pipe or a device", path);
  if (there)
    expectJsonSize(path, there->bytes);
}

/// The text of a mapped file.
inline std::string_view jsonText(const FileMap &file) {
  expectJsonSize(file.path(), file.size());
  return {file.data(), file.size()};
}

} // namespace kedge::rt
