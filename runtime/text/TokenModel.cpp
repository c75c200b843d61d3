#include "runtime/text/TokenModel.h"
#include "runtime/text/Utf8.h"

namespace kedge::rt {
namespace {

/// A word is the longest known beginning, then the longest one that goes on, ...
class WordPieceModel : public TokenModel {
public:
  explicit WordPieceModel(const TokenizerPart &part)
      : prefix(part.textOr("continuing_subword_prefix", "##")),
        longest(part.numberOr("max_input_chars_per_word", 100)) {
    readVocabulary(part);
    const std::string name = part.textOr("unk_token", "[UNK]");
    const auto found = vocabulary.find(name);
    if (!found)
      fail("{}: the vocabulary has no '{}', which stands for unknown words", part.where(), name);
    unknown = *found;
  }

  void encode(std::string_view word, std::vector<uint32_t> &tokens) const override {
    const size_t before = tokens.size();
    int64_t characters = 0;
    for (const char byte : word)
      characters += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
    bool known = characters <= longest;
    for (size_t begin = 0; known && begin < word.size();)
      known = takeLongest(word, begin, tokens);
    if (known)
      return;
    tokens.resize(before);
    tokens.push_back(unknown);
  }

private:
  bool takeLongest(std::string_view word, size_t &begin, std::vector<uint32_t> &tokens) const {
    std::string part = begin == 0 ? "" : prefix;
    const size_t front = part.size();
    part += word.substr(begin);
    for (; part.size() > front; part.resize(characterBefore(part, part.size())))
      if (const auto token = vocabulary.find(part)) {
        tokens.push_back(*token);
        begin += part.size() - front;
        return true;
      }
    return false;
  }

  std::string prefix;
  int64_t longest;
  uint32_t unknown = 0;
};

class WordModel : public TokenModel {
public:
  explicit WordModel(const TokenizerPart &part) {
    readVocabulary(part);
    unknown = vocabulary.find(part.textOr("unk_token", "<unk>"));
  }
  void encode(std::string_view word, std::vector<uint32_t> &tokens) const override {
    const auto token = vocabulary.find(word);
    if (!token && !unknown)
      fail("the word '{}' is not in the vocabulary, and the tokenizer has no token for unknown words", word);
    tokens.push_back(token ? *token : *unknown);
  }

private:
  std::optional<uint32_t> unknown;
};

} // namespace

std::optional<std::vector<uint32_t>> Vocabulary::bytesOf(std::string_view text) const {
  std::vector<uint32_t> found;
  for (const char byte : text) {
    const auto token = find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(byte)));
    if (!token)
      return std::nullopt;
    found.push_back(*token);
  }
  return found;
}

void TokenModel::readVocabulary(const TokenizerPart &part) {
  const TokenizerPart listed = part.part("vocab");
  for (const auto &[text, token] : listed.json().items()) {
    if (!token.is_number_unsigned() || token.get<uint64_t>() > Vocabulary::kMost)
      fail("{}: expected the number of '{}', at most {}", listed.where(), text, Vocabulary::kMost);
    vocabulary.add(text, token.get<uint32_t>());
  }
}

std::unique_ptr<TokenModel> readModel(const TokenizerPart &part) {
  // Old files have no type.
  const std::string type = part.has("type") ? part.type() : part.has("merges") ? "BPE" : "WordPiece";
  if (type == "BPE")
    return readPairModel(part);
  if (type == "Unigram")
    return readUnigramModel(part);
  if (type == "WordPiece")
    return std::make_unique<WordPieceModel>(part);
  if (type == "WordLevel")
    return std::make_unique<WordModel>(part);
  part.notAvailable("a model of type '" + type + "'");
}

} // namespace kedge::rt
