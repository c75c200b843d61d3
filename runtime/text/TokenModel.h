// The third step of a tokenizer: a word becomes numbers of tokens.
#pragma once
#include "runtime/text/TokenizerJson.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace kedge::rt {

/// Tokens by their text; looked up without copying it.
class Vocabulary {
public:
  static constexpr uint32_t kMost = 1U << 30; ///< larger numbers are no tokens
  void add(std::string text, uint32_t token) { tokens.insert_or_assign(std::move(text), token); }
  std::optional<uint32_t> find(std::string_view text) const {
    const auto found = tokens.find(text);
    return found == tokens.end() ? std::nullopt : std::optional(found->second);
  }
  /// The tokens of a text's bytes, as `<0x0A>`; nothing if one has none.
  std::optional<std::vector<uint32_t>> bytesOf(std::string_view text) const;
  const auto &all() const { return tokens; }

private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> tokens;
};

class TokenModel {
public:
  virtual ~TokenModel() = default;
  /// Adds the tokens of a word, which is not empty.
  virtual void encode(std::string_view word, std::vector<uint32_t> &tokens) const = 0;

  const Vocabulary &words() const { return vocabulary; }

protected:
  void readVocabulary(const TokenizerPart &part);

  Vocabulary vocabulary;
};

/// Of tokenizer.json's `model`. Throws rt::RuntimeError that names what is not available.
std::unique_ptr<TokenModel> readModel(const TokenizerPart &part);

std::unique_ptr<TokenModel> readPairModel(const TokenizerPart &part);    ///< BPE
std::unique_ptr<TokenModel> readUnigramModel(const TokenizerPart &part); ///< Unigram

} // namespace kedge::rt
