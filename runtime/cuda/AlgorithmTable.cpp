#include "runtime/cuda/AlgorithmTable.h"
#include "runtime/core/Error.h"
#include "runtime/core/FileMap.h"

namespace kedge::rt::cuda {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string hexadecimal(const AlgorithmBytes &bytes) {
  std::string text;
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

AlgorithmBytes bytesOf(const std::string &text, const std::string &source) {
  AlgorithmBytes bytes(text.size() / 2);
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = kDigits.find(text[i]);
    if (text.size() % 2 != 0 || digit == std::string_view::npos)
      fail("{}: '{}' is no algorithm: expected an even number of hexadecimal digits", source, text);
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] << 4 | digit);
  }
  return bytes;
}

} // namespace

void AlgorithmTable::add(const nlohmann::json &list, const std::string &source) {
  try {
    for (const nlohmann::json &entry : list)
      entries[entry.at("key")] = {bytesOf(entry.at("algorithm"), source), entry.value("microseconds", 0.0)};
  } catch (const nlohmann::json::exception &error) {
    fail("{}: no algorithm table: {}; write one with kedge-bench tune", source, error.what());
  }
}

void AlgorithmTable::addFile(const std::string &path) {
  const FileMap file(path, "algorithm table");
  nlohmann::json table;
  try {
    table = nlohmann::json::parse(std::string_view(file.data(), file.size()));
    if (table.at("format") != 1)
      fail("{}: an algorithm table of format {}, expected 1; write one with kedge-bench tune", path,
           table.at("format").dump());
    add(table.at("entries"), path);
  } catch (const nlohmann::json::exception &error) {
    fail("{}: no algorithm table: {}; write one with kedge-bench tune", path, error.what());
  }
}

void AlgorithmTable::set(const std::string &key, AlgorithmBytes algorithm, double microseconds) {
  entries[key] = {std::move(algorithm), microseconds};
}

std::optional<AlgorithmBytes> AlgorithmTable::find(const std::string &key) const {
  const auto found = entries.find(key);
  if (found == entries.end())
    return std::nullopt;
  return found->second.algorithm;
}

nlohmann::ordered_json AlgorithmTable::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const auto &[key, entry] : entries)
    list.push_back(
        {{"key", key}, {"algorithm", hexadecimal(entry.algorithm)}, {"microseconds", entry.microseconds}});
  return list;
}

std::string algorithmKey(const std::string &library, uint64_t version, const std::string &device,
                         const std::string &call) {
  return fmt::format("{} {} | {} | {}", library, version, device, call);
}

} // namespace kedge::rt::cuda
