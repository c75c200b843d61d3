// Tokens that are looked for in the text itself, before it is cut: special ones such as <|endoftext|>, and
// those that were added to a vocabulary.
#pragma once
#include "runtime/text/Normalizer.h"
#include "runtime/text/TokenModel.h"
#include <array>

namespace kedge::rt {

struct AddedToken {
  std::string text;
  uint32_t token = 0;
  bool singleWord = false, takesLeft = false, takesRight = false, normalized = false, special = false;
};

/// A part of a text; without a token it is still to be cut.
struct MarkedPart {
  std::string_view text;
  std::optional<uint32_t> token;
};

/// Finds the tokens of a set: the leftmost, and of these the longest.
class TokenFinder {
public:
  void add(std::string pattern, const AddedToken &token);
  bool empty() const { return nodes.size() == 1; }
  std::vector<MarkedPart> find(std::string_view text) const;

private:
  struct Node {
    std::vector<std::pair<char, uint32_t>> steps;
    int32_t found = -1; ///< of `added`
  };
  const AddedToken *longestAt(std::string_view text, size_t at, size_t &end) const;

  std::vector<Node> nodes{1};
  std::array<bool, 256> begins{};
  std::vector<AddedToken> added;
};

class AddedTokens {
public:
  /// Of tokenizer.json's list. Tokens that the model knows have the model's numbers.
  void read(const TokenizerPart &root, const TokenModel &model, const Normalizer &normalizer);

  /// Those that are looked for in the text as it is given, and in the normalized one.
  const TokenFinder &given() const { return inText; }
  const TokenFinder &normalized() const { return inNormalized; }
  const std::vector<AddedToken> &all() const { return tokens; }

private:
  std::vector<AddedToken> tokens;
  TokenFinder inText, inNormalized;
};

} // namespace kedge::rt
