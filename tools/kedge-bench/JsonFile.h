// A problem as a file of JSON, with errors that name the file and the place.
#pragma once
#include "lib/Support/Error.h"
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <zlib.h>

namespace kedge::bench {

class JsonFile {
public:
  /// `expected`: what the file should hold, for messages.
  JsonFile(std::string path, std::string expected) : path(std::move(path)), expected(std::move(expected)) {}

protected:
  /// What the file holds, decompressed if it was by gzip.
  std::string text() const {
    const std::unique_ptr<gzFile_s, decltype(&gzclose)> in(gzopen(path.c_str(), "rb"), &gzclose);
    std::string text;
    std::array<char, 1 << 16> part{};
    int count = -1;
    while (in && (count = gzread(in.get(), part.data(), part.size())) > 0)
      text.append(part.data(), static_cast<size_t>(count));
    if (count < 0)
      fail("{}: expected {}, but the file cannot be read", path, expected);
    return text;
  }

  nlohmann::json parse() const {
    nlohmann::json data = nlohmann::json::parse(text(), nullptr, false);
    if (data.is_discarded())
      fail("{}: expected {}, found malformed JSON", path, expected);
    return data;
  }

  const nlohmann::json &field(const nlohmann::json &object, const std::string &key,
                              const std::string &where) const {
    if (!object.is_object() || !object.contains(key))
      fail("{}: {}: expected the key '{}'", path, where, key);
    return object[key];
  }

  std::string path, expected;
};

} // namespace kedge::bench
