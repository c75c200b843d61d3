// A DeepSpeed configuration as text: typed keys, what became of each, and errors that name them.
#pragma once
#include "driver/deepspeed/KeysWithoutEffect.h"
#include "lib/Support/Error.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace kedge::driver {

class DeepSpeedFile {
public:
  /// Reads the file; throws kedge::Error when it is no JSON object, or names a key twice.
  explicit DeepSpeedFile(std::string path);

  const nlohmann::ordered_json &root() const { return json; }
  /// Notes what became of a key.
  void say(const std::string &key, const std::string &value, const std::string &outcome);
  /// Adds to text() that a key asks the user for something, or that Kedge does otherwise.
  void ask(const std::string &key, const std::string &value, const std::string &what);
  /// A line a key; those that ask for something stand last.
  std::string text() const { return lines + asked; }
  /// Throws kedge::Error that begins with option and file.
  [[noreturn]] void refuse(const std::string &why) const;

private:
  std::string path, lines, asked;
  nlohmann::ordered_json json;
};

/// One object of the file. Each getter is nullopt for a key that is absent, null or "auto" (which it notes),
/// and throws on a value of another type or below `least`. Keys that nobody asked for are errors of finish().
class DeepSpeedSection {
public:
  DeepSpeedSection(DeepSpeedFile &file, const nlohmann::ordered_json *object, std::string path);

  bool exists() const { return object != nullptr; }
  bool has(const char *key) const { return object && object->contains(key); }
  std::string pathOf(const char *key) const { return path.empty() ? key : path + "." + key; }
  std::string valueOf(const char *key) const { return has(key) ? (*object)[key].dump() : ""; }
  DeepSpeedSection section(const char *key);

  std::optional<bool> flag(const char *key);
  std::optional<int64_t> count(const char *key, int64_t least = 0);
  std::optional<double> number(const char *key, double least = 0);
  std::optional<std::string> word(const char *key);
  std::optional<std::vector<double>> pair(const char *key);

  /// Notes what became of a key of this section.
  void say(const char *key, const std::string &outcome);
  /// Adds to the file's text() that a key of this section asks for something.
  void ask(const char *key, const std::string &what);
  [[noreturn]] void refuse(const char *key, const std::string &expected) const;

  /// A key of which Kedge does only `value`; throws for the other one.
  void only(const char *key, bool value, const char *reason);
  /// Notes keys without effect (KeysWithoutEffect.h) that nobody asked for, and throws on those that are not
  /// known.
  void finish();

private:
  /// Null when there is nothing to read.
  const nlohmann::ordered_json *find(const char *key);
  void noteWithoutEffect(const char *key, const DeepSpeedKey &fact);
  DeepSpeedFile &file;
  const nlohmann::ordered_json *object;
  std::string path;
  std::set<std::string> known;
};

} // namespace kedge::driver
