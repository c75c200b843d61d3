// A stored table of which library algorithm computes which product, so that no choice depends on timings of a
// run.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace kedge::rt::calls {

/// An algorithm as the library itself describes it, in bytes.
using AlgorithmBytes = std::vector<uint8_t>;

/// Size of cuBLASLt's description (cublasLtMatmulAlgo_t).
constexpr size_t kCublasLtAlgorithmBytes = 64;

class AlgorithmTable {
public:
  struct Entry {
    AlgorithmBytes algorithm;
    double microseconds = 0;
    bool isPadded = false; ///< of the product with rows and columns of zeros added (PaddedMatmul.h)
    std::string source;    ///< where the entry is from, for messages and reports
  };

  /// Entries of later calls replace earlier ones. Throws rt::RuntimeError, naming `source` and the entry, if
  /// `entries` is no list of entries, if a key is malformed or occurs twice, or if an algorithm has the wrong
  /// size for its library.
  void add(const nlohmann::json &entries, const std::string &source);
  /// {"format": 1, "entries": [...]}
  void addFile(const std::string &path);
  void set(const std::string &key, AlgorithmBytes algorithm, double microseconds, bool isPadded = false);

  /// Null if there is no entry.
  const Entry *find(const std::string &key) const;
  const std::map<std::string, Entry> &all() const { return entries; }
  size_t size() const { return entries.size(); }
  /// [{"key", "algorithm": hexadecimal digits, "microseconds" if known, "padded" if it is}], sorted by key.
  nlohmann::ordered_json json() const;

private:
  std::map<std::string, Entry> entries;
};

/// "cublaslt 130100 | NVIDIA H200 | f32 ...": library and version, device, call. The call is
/// MatmulShape::key().
std::string algorithmKey(const std::string &library, uint64_t version, const std::string &device,
                         const std::string &call);
/// The call in a key; nothing if the key does not have three parts.
std::optional<std::string> callOfKey(const std::string &key);

} // namespace kedge::rt::calls
