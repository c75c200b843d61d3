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

/// Of cuBLASLt's (cublasLtMatmulAlgo_t).
constexpr size_t kCublasLtAlgorithmBytes = 64;

class AlgorithmTable {
public:
  struct Entry {
    AlgorithmBytes algorithm;
    double microseconds = 0;
    std::string source; ///< who gave it, for messages and reports
  };

  /// Entries of later calls win. Throws rt::Error, naming `source` and the entry, on what is no list of entries, a key
  /// that is none or stands there twice, and an algorithm of another size than its library's.
  void add(const nlohmann::json &entries, const std::string &source);
  /// {"format": 1, "entries": [...]}
  void addFile(const std::string &path);
  void set(const std::string &key, AlgorithmBytes algorithm, double microseconds);

  /// Null when there is none.
  const Entry *find(const std::string &key) const;
  const std::map<std::string, Entry> &all() const { return entries; }
  size_t size() const { return entries.size(); }
  /// [{"key", "algorithm": hexadecimal digits, "microseconds" where known}], by key.
  nlohmann::ordered_json json() const;

private:
  std::map<std::string, Entry> entries;
};

/// "cublaslt 130100 | NVIDIA H200 | f32 ...": contract section 6. Its last part is MatmulShape::key().
std::string algorithmKey(const std::string &library, uint64_t version, const std::string &device,
                         const std::string &call);
/// The last part of a key, or nothing when it has not three.
std::optional<std::string> callOfKey(const std::string &key);

} // namespace kedge::rt::cuda
