// Text to tokens and back, as a tokenizer.json says: equal to the package `tokenizers` token by token.
#pragma once
#include "runtime/text/AddedTokens.h"
#include "runtime/text/Normalizer.h"
#include "runtime/text/PreTokenizer.h"
#include "runtime/text/TokenDecoder.h"
#include "runtime/text/TokenModel.h"
#include "runtime/text/TokenTemplate.h"

namespace kedge::rt {

class Tokenizer {
public:
  /// Of a file; "bytes" stands for the 256 bytes as tokens. Throws rt::RuntimeError that names the file and
  /// what is wrong or not available.
  explicit Tokenizer(const std::string &path);

  /// The number of the largest token, and 1.
  uint32_t vocabularySize() const { return size; }
  /// The number of a token by its text; nothing if there is none.
  std::optional<uint32_t> numberOf(std::string_view token) const;
  /// Whether a token is none of the text, such as one that ends it.
  bool isSpecial(uint32_t token) const { return decoder.isSpecial(token); }
  /// The text of these tokens. Special tokens are left out.
  std::string decode(const std::vector<uint32_t> &tokens) const { return decoder.decode(tokens); }
  const TokenTemplate &around() const { return specials; }
  /// Whether a text may be cut before a line that begins with an ASCII letter, after a line's one end behind
  /// an ASCII letter or digit, without other tokens.
  bool cutsAtLines() const { return independentLines; }

private:
  friend class TokenEncoder;

  void read(const nlohmann::json &file, const std::string &path);
  bool keepsLinesApart() const;

  Normalizer normalizer;
  PreTokenizer preTokenizer;
  std::unique_ptr<TokenModel> model; ///< none: bytes
  AddedTokens added;
  TokenTemplate specials;
  TokenDecoder decoder;
  uint32_t size = 256;
  bool independentLines = true;
};

/// What one thread encodes with.
class TokenEncoder {
public:
  explicit TokenEncoder(const Tokenizer &tokenizer) : tokenizer(tokenizer) {}

  /// Adds the tokens of a text, which must be UTF-8; without those around it. `first`: it is the beginning of
  /// a document.
  void encode(std::string_view text, std::vector<uint32_t> &tokens, bool first = true);
  /// The words that the text is cut into.
  std::vector<std::string> words(std::string_view text);

private:
  void encodeWord(std::string_view word, std::vector<uint32_t> &tokens);
  /// Cuts what is no added token into words: calls word(text) and token(number).
  template <typename Word, typename Token>
  void walk(std::string_view text, bool first, Word &&word, Token &&token);

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  const Tokenizer &tokenizer;
  TextPieces pieces;
  std::unordered_map<std::string, std::vector<uint32_t>, Hash, std::equal_to<>> known;
};

} // namespace kedge::rt
