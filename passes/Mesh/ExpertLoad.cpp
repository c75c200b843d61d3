#include "passes/Mesh/ExpertLoad.h"
#include "lib/Support/Error.h"
#include "runtime/io/JsonSize.h"
#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

namespace kedge::mesh {
namespace {

/// Entries stay in the order of the text.
using json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string &path, int64_t line, const std::string &why) {
  fail("{}:{}: {}; expected a JSON list of numbers for each layer, an object of such lists by the layers' "
       "names, or "
       "the log of a run of a program with --log-experts",
       path, line, why);
}

/// Adds what one place of the file says of a layer.
void add(const std::string &path, LayerLoad &layer, const json &numbers) {
  const std::string which = layer.name.empty() ? "a layer" : "'" + layer.name + "'";
  if (!numbers.is_array() || numbers.empty())
    refuse(path, layer.line, fmt::format("{} has no list of numbers", which));
  if (!layer.shares.empty() && layer.shares.size() != numbers.size())
    refuse(path, layer.line,
           fmt::format("{} has {} experts here, and {} before", which, numbers.size(), layer.shares.size()));
  layer.shares.resize(numbers.size());
  for (size_t expert = 0; expert < numbers.size(); ++expert) {
    const double share = numbers[expert].is_number() ? numbers[expert].get<double>() : -1;
    if (!(share >= 0) || share > 1e18)
      refuse(
          path, layer.line,
          fmt::format("{} says {} of expert {}: no number of rows", which, numbers[expert].dump(), expert));
    layer.shares[expert] += share;
  }
}

/// Counts or fractions: shares are what matters.
void normalise(const std::string &path, std::vector<LayerLoad> &layers) {
  for (LayerLoad &layer : layers) {
    const double all = std::accumulate(layer.shares.begin(), layer.shares.end(), 0.0);
    if (!(all > 0))
      refuse(path, layer.line, "no expert of the layer has a row");
    for (double &share : layer.shares)
      share /= all;
  }
}

/// The lines on which the entries of the outermost list or object begin.
std::vector<int64_t> entryLines(const std::string &text) {
  std::vector<int64_t> lines;
  int64_t line = 1, depth = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    line += c == '\n';
    if (quoted) {
      at += c == '\\';
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    if (c == '[' || c == '{') {
      if (depth == 1)
        lines.push_back(line);
      ++depth;
    }
    depth -= c == ']' || c == '}';
  }
  return lines;
}

int64_t lineAt(const std::string &text, size_t byte) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size())),
                        '\n');
}

/// Where a text stops being JSON.
struct WrongPlace final : json::json_sax_t {
  size_t byte = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t) override { return true; }
  bool number_unsigned(json::number_unsigned_t) override { return true; }
  bool number_float(json::number_float_t, const std::string &) override { return true; }
  bool string(std::string &) override { return true; }
  bool binary(json::binary_t &) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(std::string &) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string &, const json::exception &) override {
    byte = position;
    return false;
  }
};

/// Null where the text is a log.
json wholeOf(const std::string &path, const std::string &text) {
  const json first = json::parse(text.substr(0, text.find('\n')), nullptr, false);
  if (first.is_object() && first.contains("step"))
    return json();
  json whole = json::parse(text, nullptr, false);
  if (!whole.is_discarded())
    return whole;
  WrongPlace place;
  json::sax_parse(text, &place);
  refuse(path, lineAt(text, place.byte), "it is no JSON");
}

std::vector<LayerLoad> ofLog(const std::string &path, const std::string &text) {
  std::vector<LayerLoad> layers;
  std::map<std::string, size_t> places;
  std::istringstream stream(text);
  std::string written;
  for (int64_t line = 1; std::getline(stream, written); ++line) {
    const json entry = written.empty() ? json::object() : json::parse(written, nullptr, false);
    if (!entry.is_object())
      refuse(path, line, "it is no line of a log");
    const json experts = entry.value("experts", json::object());
    for (const auto &[name, counts] : experts.items()) {
      const auto [place, isNew] = places.emplace(name, layers.size());
      if (isNew)
        layers.push_back({name, line, {}});
      layers[place->second].line = line;
      add(path, layers[place->second], counts);
    }
  }
  if (layers.empty())
    refuse(path, 1, "no line of the log has 'experts'");
  return layers;
}

std::vector<LayerLoad> ofDocument(const std::string &path, const std::string &text, const json &whole) {
  if (!whole.is_structured() || whole.empty())
    refuse(path, 1, "it has no layers");
  const std::vector<int64_t> lines = entryLines(text);
  std::vector<LayerLoad> layers;
  for (const auto &[key, numbers] : whole.items()) {
    const size_t number = layers.size();
    layers.push_back({whole.is_object() ? key : "", number < lines.size() ? lines[number] : 1, {}});
    add(path, layers.back(), numbers);
  }
  return layers;
}

} // namespace

ExpertLoad ExpertLoad::parse(const std::string &path) {
  ExpertLoad load;
  load.path = path;
  rt::expectJsonFile(path);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (path.empty() || !file || !(text << file.rdbuf()))
    fail("'{}': the file cannot be read, or is empty", path);
  const json whole = wholeOf(path, text.str());
  load.layers = whole.is_null() ? ofLog(path, text.str()) : ofDocument(path, text.str(), whole);
  normalise(path, load.layers);
  return load;
}

} // namespace kedge::mesh
