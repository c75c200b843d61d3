// Which algorithm of a library computes which product: stored, so that a choice never depends on a run's timings.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt::cuda {

/// The bytes of a library's own description of an algorithm.
using AlgorithmBytes = std::vector<uint8_t>;

class AlgorithmTable {
public:
  /// Entries of later calls win. Throws rt::Error, naming `source`, on what is no list of entries.
  void add(const nlohmann::json &entries, const std::string &source);
  /// {"format": 1, "entries": [...]}
  void addFile(const std::string &path);
  void set(const std::string &key, AlgorithmBytes algorithm, double microseconds);

  std::optional<AlgorithmBytes> find(const std::string &key) const;
  size_t size() const { return entries.size(); }
  /// [{"key", "algorithm": hexadecimal digits, "microseconds"}], by key.
  nlohmann::ordered_json json() const;

private:
  struct Entry {
    AlgorithmBytes algorithm;
    double microseconds = 0;
  };
  std::map<std::string, Entry> entries;
};

/// "cublaslt 130100 | NVIDIA H200 | f32 ...": contract section 6.
std::string algorithmKey(const std::string &library, uint64_t version, const std::string &device,
                         const std::string &call);

} // namespace kedge::rt::cuda
