// SentencePiece's precompiled map of characters (the normalizer of T5 and of others): a trie in a double
// array, and the texts that it points to.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::rt {

class CharsMap {
public:
  /// From its bytes in base64. Throws rt::RuntimeError that names `place`.
  CharsMap(std::string_view base64, const std::string &place);

  std::string apply(std::string_view text) const;

private:
  /// What the shortest known beginning of `part` becomes.
  std::optional<std::string_view> mapped(std::string_view part) const;
  void appendGrapheme(std::string &result, std::string_view grapheme) const;

  std::vector<uint32_t> trie;
  std::string texts;
};

/// Where the grapheme ends that begins at `at`.
size_t graphemeEnd(std::string_view text, size_t at);

} // namespace kedge::rt
