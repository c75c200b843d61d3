// SentencePiece's unigram model: the cut of a word into tokens whose scores have the largest sum.
#include "runtime/text/TokenModel.h"
#include "runtime/text/Utf8.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace kedge::rt {
namespace {

constexpr double kUnknownPenalty = 10.0; // below the worst token's score

/// A score as `tokenizers` reads it: its JSON reader rounds the digits as one whole number, then again when
/// it divides by a power of ten. Cuts whose sums are equal but for that are told apart by it.
double roundedTwice(double score) {
  char text[32] = {};
  const char *const end =
      std::to_chars(text, text + sizeof(text), std::abs(score), std::chars_format::scientific).ptr;
  uint64_t digits = 0;
  int exponent = 0;
  const char *at = text;
  for (bool fraction = false; at < end && *at != 'e'; ++at)
    if (*at == '.') {
      fraction = true;
    } else {
      digits = digits * 10 + static_cast<uint64_t>(*at - '0');
      exponent -= fraction;
    }
  if (at + 1 < end)
    exponent += std::atoi(at + 1);
  const auto whole = static_cast<double>(digits);
  const double value = exponent < 0 ? whole / std::pow(10.0, -exponent) : whole * std::pow(10.0, exponent);
  return std::signbit(score) ? -value : value;
}

/// All beginnings of tokens; its nodes are found by the node before and a byte.
class Trie {
public:
  void add(std::string_view text, uint32_t token) {
    uint32_t node = 0;
    for (const char byte : text) {
      const auto [found, added] = steps.emplace(keyOf(node, byte), static_cast<uint32_t>(tokens.size()));
      if (added)
        tokens.push_back(kNone);
      node = found->second;
    }
    tokens[node] = token;
  }
  /// Calls body(length, token) for each token that `text` begins with, short ones first.
  template <typename Body> void beginnings(std::string_view text, Body &&body) const {
    uint32_t node = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      const auto found = steps.find(keyOf(node, text[at]));
      if (found == steps.end())
        return;
      node = found->second;
      if (tokens[node] != kNone)
        body(at + 1, tokens[node]);
    }
  }

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static uint64_t keyOf(uint32_t node, char byte) {
    return uint64_t{node} << 8 | static_cast<unsigned char>(byte);
  }
  std::unordered_map<uint64_t, uint32_t> steps;
  std::vector<uint32_t> tokens{kNone};
};

class UnigramModel : public TokenModel {
public:
  explicit UnigramModel(const TokenizerPart &part);
  void encode(std::string_view word, std::vector<uint32_t> &tokens) const override;

private:
  /// The best cut of the word up to a place: its last token, and where that begins.
  struct Best {
    double score = 0;
    uint32_t token = 0;
    size_t begin = kNowhere;
    void offer(double offered, uint32_t last, size_t from) {
      if (begin != kNowhere && offered <= score)
        return;
      score = offered;
      token = last;
      begin = from;
    }
  };
  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

  void extend(std::string_view word, size_t at, std::vector<Best> &best) const;
  void addToken(std::string_view text, std::vector<uint32_t> &tokens) const;

  Trie trie;
  std::vector<double> scores;
  std::optional<uint32_t> unknown;
  double worst = std::numeric_limits<double>::infinity();
  bool fallsToBytes;
};

UnigramModel::UnigramModel(const TokenizerPart &part) : fallsToBytes(part.flagOr("byte_fallback", false)) {
  for (const nlohmann::json &one : part.list("vocab")) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_string() || !one[1].is_number())
      fail("{}.vocab[{}]: expected a token and its score", part.where(), scores.size());
    const auto text = one[0].get<std::string>();
    vocabulary.add(text, static_cast<uint32_t>(scores.size()));
    trie.add(text, static_cast<uint32_t>(scores.size()));
    scores.push_back(roundedTwice(one[1].get<double>()));
    worst = std::min(worst, scores.back());
  }
  if (part.has("unk_id"))
    unknown = static_cast<uint32_t>(part.numberOr("unk_id", 0));
  if (unknown && *unknown >= scores.size())
    fail("{}: the unk_id {} is not one of the {} tokens", part.where(), *unknown, scores.size());
}

void UnigramModel::extend(std::string_view word, size_t at, std::vector<Best> &best) const {
  const size_t character = characterBytes(word[at]);
  const double before = best[at].score;
  bool known = false; // the character alone is a token
  trie.beginnings(word.substr(at), [&](size_t length, uint32_t token) {
    best[at + length].offer(scores[token] + before, token, at);
    known |= length == character;
  });
  if (known)
    return;
  if (!unknown)
    fail("the character '{}' is not in the vocabulary, and the tokenizer has no token for unknown ones",
         word.substr(at, character));
  best[at + character].offer(worst - kUnknownPenalty + before, *unknown, at);
}

void UnigramModel::addToken(std::string_view text, std::vector<uint32_t> &tokens) const {
  if (const auto token = vocabulary.find(text))
    return tokens.push_back(*token);
  const auto bytes = fallsToBytes ? vocabulary.bytesOf(text) : std::nullopt;
  if (bytes)
    tokens.insert(tokens.end(), bytes->begin(), bytes->end());
  else
    tokens.push_back(unknown.value_or(0));
}

void UnigramModel::encode(std::string_view word, std::vector<uint32_t> &tokens) const {
  std::vector<Best> best(word.size() + 1);
  for (size_t at = 0; at < word.size(); at += characterBytes(word[at]))
    extend(word, at, best);
  std::vector<std::string_view> parts; // from the last to the first; unknown ones that touch are one
  bool joins = false;
  for (size_t end = word.size(); end > 0; end = best[end].begin) {
    const std::string_view part = word.substr(best[end].begin, end - best[end].begin);
    const bool isUnknown = unknown && best[end].token == *unknown;
    if (isUnknown && joins)
      parts.back() = {part.data(), part.size() + parts.back().size()};
    else
      parts.push_back(part);
    joins = isUnknown;
  }
  for (size_t at = parts.size(); at-- > 0;)
    addToken(parts[at], tokens);
}

} // namespace

std::unique_ptr<TokenModel> readUnigramModel(const TokenizerPart &part) {
  return std::make_unique<UnigramModel>(part);
}

} // namespace kedge::rt
