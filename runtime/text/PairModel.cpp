// Byte pair encoding: two tokens that stand side by side become one, the pair with the lowest rank first.
#include "runtime/text/TokenModel.h"
#include "runtime/text/Utf8.h"
#include <queue>

namespace kedge::rt {
namespace {

struct Merge {
  uint32_t rank, token;
};

/// Merges by their two tokens: a table with open addressing, looked up for each pair that ever stands side by
/// side.
class MergeTable {
public:
  void reserve(size_t count) {
    size_t size = 16;
    while (size < count * 2)
      size *= 2;
    entries.assign(size, {});
  }
  void add(uint32_t left, uint32_t right, Merge merge) {
    slot(keyOf(left, right)) = {keyOf(left, right), merge};
  }
  const Merge *find(uint32_t left, uint32_t right) const {
    const Entry &entry = const_cast<MergeTable *>(this)->slot(keyOf(left, right));
    return entry.key == kFree ? nullptr : &entry.merge;
  }

private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Entry {
    uint64_t key = kFree;
    Merge merge{};
  };
  static uint64_t keyOf(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  Entry &slot(uint64_t key) {
    size_t at = (key * 0x9e3779b97f4a7c15ULL) >> 20;
    for (;; ++at)
      if (Entry &entry = entries[at & (entries.size() - 1)]; entry.key == key || entry.key == kFree)
        return entry;
  }
  std::vector<Entry> entries;
};

/// A token of a word that is being merged, with its neighbours.
struct Symbol {
  uint32_t token;
  int32_t previous, next;
  bool merged = false; ///< into the one before
};

/// A merge that was possible when it was found.
struct Candidate {
  Merge merge;
  int32_t at;
  bool operator<(const Candidate &other) const { // the first of a queue is the largest
    return merge.rank != other.merge.rank ? merge.rank > other.merge.rank : at > other.at;
  }
};

class PairModel : public TokenModel {
public:
  explicit PairModel(const TokenizerPart &part);
  void encode(std::string_view word, std::vector<uint32_t> &tokens) const override;

private:
  void readMerges(const TokenizerPart &part);
  std::vector<Symbol> symbolsOf(std::string_view word) const;
  std::optional<uint32_t> characterToken(std::string_view character, bool first, bool last) const;
  void mergeAll(std::vector<Symbol> &symbols) const;

  MergeTable merges;
  std::string prefix, suffix;
  std::optional<uint32_t> unknown;
  bool joinsUnknown, fallsToBytes, knowsWords;
};

PairModel::PairModel(const TokenizerPart &part)
    : prefix(part.textOr("continuing_subword_prefix", "")), suffix(part.textOr("end_of_word_suffix", "")),
      joinsUnknown(part.flagOr("fuse_unk", false)), fallsToBytes(part.flagOr("byte_fallback", false)),
      knowsWords(part.flagOr("ignore_merges", false)) {
  if (part.has("dropout") && part.json()["dropout"] != 0.0)
    part.notAvailable("dropout");
  readVocabulary(part);
  readMerges(part);
  if (part.has("unk_token")) {
    unknown = vocabulary.find(part.text("unk_token"));
    if (!unknown)
      fail("{}: the vocabulary has no '{}', which stands for unknown characters", part.where(),
           part.text("unk_token"));
  }
}

/// Each is `["a", "b"]`, or `"a b"` in older files.
void PairModel::readMerges(const TokenizerPart &part) {
  const nlohmann::json &listed = part.list("merges");
  merges.reserve(listed.size());
  for (uint32_t rank = 0; const nlohmann::json &one : listed) {
    std::string left, right;
    if (one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_string()) {
      left = one[0].get<std::string>();
      right = one[1].get<std::string>();
    } else if (one.is_string()) {
      const std::string both = one.get<std::string>();
      const size_t space = both.find(' ');
      left = both.substr(0, space);
      right = space == std::string::npos ? "" : both.substr(space + 1);
    }
    const std::string both = left + right.substr(std::min(right.size(), prefix.size()));
    const auto first = vocabulary.find(left), second = vocabulary.find(right), token = vocabulary.find(both);
    if (!first || !second || !token)
      fail("{}.merges[{}]: expected two tokens of the vocabulary whose join is one; found '{}' and '{}'",
           part.where(), rank, left, right);
    merges.add(*first, *second, {rank++, *token});
  }
}

std::optional<uint32_t> PairModel::characterToken(std::string_view character, bool first, bool last) const {
  if ((first || prefix.empty()) && (!last || suffix.empty()))
    return vocabulary.find(character);
  return vocabulary.find((first ? "" : prefix) + std::string(character) + (last ? suffix : ""));
}

std::vector<Symbol> PairModel::symbolsOf(std::string_view word) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  const auto add = [&](uint32_t token) {
    const auto at = static_cast<int32_t>(symbols.size());
    symbols.push_back({token, at - 1, at + 1});
  };
  bool pending = false; // an unknown token that may join the next one
  for (size_t at = 0, end = 0; at < word.size(); at = end) {
    end = at + characterBytes(word[at]);
    const std::string_view character = word.substr(at, end - at);
    if (const auto token = characterToken(character, at == 0, end == word.size())) {
      if (pending)
        add(*unknown);
      pending = false;
      add(*token);
      continue;
    }
    if (fallsToBytes)
      if (const auto bytes = vocabulary.bytesOf(character)) {
        for (const uint32_t token : *bytes)
          add(token);
        continue;
      }
    if (pending && !joinsUnknown)
      add(*unknown);
    pending = unknown.has_value();
  }
  if (pending)
    add(*unknown);
  if (!symbols.empty())
    symbols.back().next = -1;
  return symbols;
}

/// As `tokenizers` does it, to the letter: what is in the queue counts while the pair at its place becomes
/// the same token.
void PairModel::mergeAll(std::vector<Symbol> &symbols) const {
  std::vector<Candidate> found;
  const auto candidate = [&](int32_t at) -> std::optional<Candidate> {
    const Symbol &left = symbols[static_cast<size_t>(at)];
    const Merge *merge = merges.find(left.token, symbols[static_cast<size_t>(left.next)].token);
    return merge ? std::optional(Candidate{*merge, at}) : std::nullopt;
  };
  for (int32_t at = 0; at + 1 < static_cast<int32_t>(symbols.size()); ++at)
    if (const auto one = candidate(at))
      found.push_back(*one);
  std::priority_queue<Candidate> queue({}, std::move(found));
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol &left = symbols[static_cast<size_t>(top.at)];
    if (left.merged || left.next < 0)
      continue;
    Symbol &right = symbols[static_cast<size_t>(left.next)];
    const Merge *now = merges.find(left.token, right.token);
    if (!now || now->token != top.merge.token)
      continue;
    left.token = top.merge.token;
    left.next = right.next;
    right.merged = true;
    if (right.next >= 0)
      symbols[static_cast<size_t>(right.next)].previous = top.at;
    for (const int32_t at : {left.previous, left.next >= 0 ? top.at : -1})
      if (const auto one = at >= 0 ? candidate(at) : std::nullopt)
        queue.push(*one);
  }
}

void PairModel::encode(std::string_view word, std::vector<uint32_t> &tokens) const {
  if (knowsWords)
    if (const auto whole = vocabulary.find(word))
      return tokens.push_back(*whole);
  std::vector<Symbol> symbols = symbolsOf(word);
  mergeAll(symbols);
  for (const Symbol &symbol : symbols)
    if (!symbol.merged)
      tokens.push_back(symbol.token);
}

} // namespace

std::unique_ptr<TokenModel> readPairModel(const TokenizerPart &part) {
  return std::make_unique<PairModel>(part);
}

} // namespace kedge::rt
