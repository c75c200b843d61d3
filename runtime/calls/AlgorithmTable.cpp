#include "runtime/calls/AlgorithmTable.h"
#include "runtime/io/Error.h"
#include "runtime/io/FileMap.h"
#include "runtime/io/JsonSize.h"
#include <set>

namespace kedge::rt::calls {
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

constexpr const char *kTuneAgain = "write the table again with kedge-bench tune";

AlgorithmBytes bytesOf(const std::string &text, const std::string &source) {
  AlgorithmBytes bytes(text.size() / 2);
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = kDigits.find(text[i]);
    if (text.size() % 2 != 0 || digit == std::string_view::npos)
      fail("{}: '{}' is no algorithm: expected an even number of hexadecimal digits; {}", source, text,
           kTuneAgain);
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] << 4 | digit);
  }
  return bytes;
}

void checkEntry(const std::string &key, const AlgorithmBytes &algorithm, const std::string &source) {
  if (!callOfKey(key))
    fail("{}: its key is '{}', expected 'LIBRARY VERSION | DEVICE | CALL'; {}", source, key, kTuneAgain);
  if (key.rfind("cublaslt ", 0) == 0 && algorithm.size() != kCublasLtAlgorithmBytes)
    fail("{} ('{}'): its algorithm has {} bytes, expected {}; {}", source, key, algorithm.size(),
         kCublasLtAlgorithmBytes, kTuneAgain);
}

} // namespace

void AlgorithmTable::add(const nlohmann::json &list, const std::string &source) {
  if (!list.is_array())
    fail("{}: its entries are {}, expected a list; {}", source, list.type_name(), kTuneAgain);
  std::set<std::string> seen;
  for (size_t at = 0; at < list.size(); ++at) {
    const std::string place = fmt::format("{}: entry {}", source, at);
    try {
      const std::string key = list[at].at("key");
      Entry entry{bytesOf(list[at].at("algorithm"), place), list[at].value("microseconds", 0.0),
                  list[at].value("padded", false), source};
      checkEntry(key, entry.algorithm, place);
      if (!seen.insert(key).second)
        fail("{}: its key '{}' occurs twice; {}", place, key, kTuneAgain);
      entries[key] = std::move(entry);
    } catch (const nlohmann::json::exception &error) {
      fail("{}: expected {{\"key\": TEXT, \"algorithm\": TEXT}}: {}; {}", place, error.what(), kTuneAgain);
    }
  }
}

void AlgorithmTable::addFile(const std::string &path) {
  const FileMap file(path, "algorithm table");
  nlohmann::json table;
  try {
    table = nlohmann::json::parse(jsonText(file));
    if (table.at("format") != 1)
      fail("{}: an algorithm table of format {}, expected 1; {}", path, table.at("format").dump(),
           kTuneAgain);
    add(table.at("entries"), path);
  } catch (const nlohmann::json::exception &error) {
    fail("{}: no algorithm table: {}; {}", path, error.what(), kTuneAgain);
  }
}

void AlgorithmTable::set(const std::string &key, AlgorithmBytes algorithm, double microseconds,
                         bool isPadded) {
  entries[key] = {std::move(algorithm), microseconds, isPadded, ""};
}

const AlgorithmTable::Entry *AlgorithmTable::find(const std::string &key) const {
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}

nlohmann::ordered_json AlgorithmTable::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const auto &[key, entry] : entries) {
    list.push_back({{"key", key}, {"algorithm", hexadecimal(entry.algorithm)}});
    if (entry.microseconds != 0)
      list.back()["microseconds"] = entry.microseconds;
    if (entry.isPadded)
      list.back()["padded"] = true;
  }
  return list;
}

std::string algorithmKey(const std::string &library, uint64_t version, const std::string &device,
                         const std::string &call) {
  return fmt::format("{} {} | {} | {}", library, version, device, call);
}

std::optional<std::string> callOfKey(const std::string &key) {
  const size_t first = key.find(" | "),
               second = first == std::string::npos ? first : key.find(" | ", first + 3);
  if (second == std::string::npos)
    return std::nullopt;
  return key.substr(second + 3);
}

} // namespace kedge::rt::calls
