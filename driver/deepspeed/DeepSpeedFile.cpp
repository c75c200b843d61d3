#include "driver/deepspeed/DeepSpeedFile.h"
#include "runtime/io/JsonSize.h"
#include <cmath>
#include <filesystem>
#include <fstream>

namespace kedge::driver {
namespace {

using Json = nlohmann::ordered_json;

/// Names the first key that an object has twice: parsers take the last one without a word.
class TwiceNamed {
public:
  bool operator()(int, Json::parse_event_t event, Json &value) {
    if (event == Json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      open.pop_back();
    else if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second &&
             found.empty())
      found = value.get<std::string>();
    return true;
  }
  std::string found;

private:
  std::vector<std::set<std::string>> open;
};

} // namespace

DeepSpeedFile::DeepSpeedFile(std::string path) : path(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::file_status status = std::filesystem::status(this->path, ignored);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status))
    refuse("expected a file, found a pipe or a device");
  std::ifstream stream(this->path);
  if (!stream || std::filesystem::is_directory(this->path))
    refuse("the file cannot be read; name a DeepSpeed configuration");
  rt::expectJsonFile(this->path);
  TwiceNamed twice;
  try {
    json = Json::parse(stream, std::ref(twice));
  } catch (const Json::parse_error &error) {
    refuse(fmt::format("expected JSON, found something else at byte {}; mend the file", error.byte));
  } catch (const Json::exception &error) { // 1e999 is JSON, and no number that a program could hold
    const std::string_view what = error.what();
    refuse(fmt::format("{}; mend the file", what.substr(what.find("] ") + 2)));
  }
  if (!json.is_object())
    refuse(fmt::format("expected a JSON object of DeepSpeed's keys, found {}", json.type_name()));
  if (!twice.found.empty())
    refuse(fmt::format("key '{}' occurs twice in one object; leave one of them out", twice.found));
}

void DeepSpeedFile::say(const std::string &key, const std::string &value, const std::string &outcome) {
  lines += fmt::format("kedge: note: {}: {}{}{}: {}\n", path, key, value.empty() ? "" : " ", value, outcome);
}

void DeepSpeedFile::ask(const std::string &key, const std::string &value, const std::string &what) {
  asked += fmt::format("kedge: warning: {}: {}{}{}: {}\n", path, key, value.empty() ? "" : " ", value, what);
}

void DeepSpeedFile::refuse(const std::string &why) const { fail("--deepspeed-config {}: {}", path, why); }

DeepSpeedSection::DeepSpeedSection(DeepSpeedFile &file, const Json *object, std::string path)
    : file(file), object(object), path(std::move(path)) {}

const Json *DeepSpeedSection::find(const char *key) {
  known.insert(key);
  if (!has(key))
    return nullptr;
  const Json &value = (*object)[key];
  if (value.is_null() || value == "auto") {
    say(key, "decided by Kedge's flag, or its default");
    return nullptr;
  }
  return &value;
}

void DeepSpeedSection::say(const char *key, const std::string &outcome) {
  file.say(pathOf(key), valueOf(key), outcome);
}
void DeepSpeedSection::ask(const char *key, const std::string &what) {
  file.ask(pathOf(key), valueOf(key), what);
}

void DeepSpeedSection::refuse(const char *key, const std::string &expected) const {
  file.refuse(fmt::format("'{}' is {}, expected {}", pathOf(key), valueOf(key), expected));
}

DeepSpeedSection DeepSpeedSection::section(const char *key) {
  const Json *value = find(key);
  if (value && !value->is_object())
    refuse(key, "an object");
  return DeepSpeedSection(file, value, pathOf(key));
}

std::optional<bool> DeepSpeedSection::flag(const char *key) {
  const Json *value = find(key);
  if (!value)
    return std::nullopt;
  if (!value->is_boolean())
    refuse(key, "true or false");
  return value->get<bool>();
}

std::optional<double> DeepSpeedSection::number(const char *key, double least) {
  const Json *value = find(key);
  if (!value)
    return std::nullopt;
  double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!std::isfinite(number) || number < least)
    refuse(key, fmt::format("a number, {} or more", least));
  return number;
}

std::optional<int64_t> DeepSpeedSection::count(const char *key, int64_t least) {
  const Json *value = find(key);
  if (!value)
    return std::nullopt;
  // DeepSpeed's own examples write sizes as 5e8.
  double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= static_cast<double>(least)) || number != std::floor(number) || number > 0x1p53)
    refuse(key, fmt::format("a whole number, {} or more", least));
  return static_cast<int64_t>(number);
}

std::optional<std::string> DeepSpeedSection::word(const char *key) {
  const Json *value = find(key);
  if (!value)
    return std::nullopt;
  if (!value->is_string())
    refuse(key, "a string");
  return value->get<std::string>();
}

std::optional<std::vector<double>> DeepSpeedSection::pair(const char *key) {
  const Json *value = find(key);
  if (!value)
    return std::nullopt;
  if (!value->is_array() || value->size() != 2 || !(*value)[0].is_number() || !(*value)[1].is_number())
    refuse(key, "two numbers, as in [0.9, 0.999]");
  return value->get<std::vector<double>>();
}

void DeepSpeedSection::noteWithoutEffect(const char *key, const DeepSpeedKey &fact) {
  using Kind = DeepSpeedKey::Kind;
  bool isThere = false;
  switch (fact.kind) {
  case Kind::Flag:
    isThere = flag(key).has_value();
    break;
  case Kind::Count:
    isThere = count(key).has_value();
    break;
  case Kind::Number:
    isThere = number(key).has_value();
    break;
  case Kind::Word:
    isThere = word(key).has_value();
    break;
  case Kind::Object:
    isThere = section(key).exists();
    break;
  }
  if (isThere)
    say(key, fmt::format("no effect here: {}", fact.reason));
}

void DeepSpeedSection::only(const char *key, bool value, const char *reason) {
  std::optional<bool> given = flag(key);
  if (given && *given != value)
    refuse(key, fmt::format("{}: {}", value, reason));
  if (given)
    say(key, "applied: Kedge does nothing else");
}

void DeepSpeedSection::finish() {
  if (!object)
    return;
  for (const auto &[key, value] : object->items()) {
    if (known.contains(key))
      continue;
    const DeepSpeedKey *fact = keyWithoutEffect(pathOf(key.c_str()));
    if (!fact)
      file.refuse(
          fmt::format("unknown key '{}'; mend its name, or leave it out (docs/guide/deepspeed.md lists all)",
                      pathOf(key.c_str())));
    noteWithoutEffect(key.c_str(), *fact);
  }
}

} // namespace kedge::driver
