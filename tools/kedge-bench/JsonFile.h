// A problem as a file of JSON, with errors that name the file and the place.
#pragma once
#include "lib/Support/Error.h"
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace kedge::bench {

class JsonFile {
public:
  /// `expected`: what the file should hold, for messages.
  JsonFile(std::string path, std::string expected) : path(std::move(path)), expected(std::move(expected)) {}

protected:
  nlohmann::json parse() const {
    std::ifstream in(path);
    if (!in)
      fail("{}: expected {}, but the file cannot be read", path, expected);
    nlohmann::json data = nlohmann::json::parse(in, nullptr, false);
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
