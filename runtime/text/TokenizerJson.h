// Reading tokenizer.json: what each step asks of its object, with errors that name the file and the place.
#pragma once
#include "runtime/io/Error.h"
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace kedge::rt {

/// An object of tokenizer.json, and where it stands.
class TokenizerPart {
public:
  TokenizerPart(const nlohmann::json &object, std::string place) : object(object), place(std::move(place)) {}

  /// False where the key is absent or null.
  bool has(const char *key) const { return object.contains(key) && !object[key].is_null(); }
  std::string type() const { return text("type"); }
  std::string text(const char *key) const {
    if (!has(key) || !object[key].is_string())
      fail("{}: expected text as '{}'", place, key);
    return object[key].get<std::string>();
  }
  std::string textOr(const char *key, const std::string &otherwise) const {
    return has(key) ? text(key) : otherwise;
  }
  bool flagOr(const char *key, bool otherwise) const {
    if (!has(key))
      return otherwise;
    if (!object[key].is_boolean())
      fail("{}: expected true or false as '{}'", place, key);
    return object[key].get<bool>();
  }
  int64_t numberOr(const char *key, int64_t otherwise) const {
    if (!has(key))
      return otherwise;
    if (!object[key].is_number_integer())
      fail("{}: expected a whole number as '{}'", place, key);
    return object[key].get<int64_t>();
  }
  TokenizerPart part(const char *key) const {
    if (!has(key) || !object[key].is_object())
      fail("{}: expected an object as '{}'", place, key);
    return {object[key], place + "." + key};
  }
  const nlohmann::json &list(const char *key) const {
    if (!has(key) || !object[key].is_array())
      fail("{}: expected a list as '{}'", place, key);
    return object[key];
  }
  const nlohmann::json &json() const { return object; }
  const std::string &where() const { return place; }

  [[noreturn]] void notAvailable(std::string_view what) const {
    fail("{}: {} is not available yet", place, what);
  }

private:
  const nlohmann::json &object;
  std::string place;
};

/// Calls add(part) for the object itself, or for each of a Sequence's under `key`.
template <typename Add> void eachStep(const TokenizerPart &part, const char *key, Add &&add) {
  if (part.type() != "Sequence")
    return add(part);
  for (size_t at = 0; const nlohmann::json &one : part.list(key))
    eachStep(TokenizerPart(one, part.where() + "[" + std::to_string(at++) + "]"), key, add);
}

} // namespace kedge::rt
