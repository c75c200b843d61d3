// Tokens back to text, as tokenizer.json's `decoder` says.
#pragma once
#include "runtime/text/AddedTokens.h"
#include <unordered_set>

namespace kedge::rt {

/// A step of a decoder: changes the texts of tokens, one by one or together.
class DecoderStep {
public:
  virtual ~DecoderStep() = default;
  virtual void apply(std::vector<std::string> &texts) const = 0;
};

class TokenDecoder {
public:
  void readBytes();
  /// Of tokenizer.json. Throws rt::RuntimeError that names what is not available.
  void read(const TokenizerPart &root, const TokenModel &model, const AddedTokens &added);
  /// The text of these tokens. Special tokens are left out.
  std::string decode(const std::vector<uint32_t> &tokens) const;
  bool isSpecial(uint32_t token) const { return specials.contains(token); }

private:
  std::unordered_map<uint32_t, std::string> texts;
  std::unordered_set<uint32_t> specials;
  std::vector<std::unique_ptr<DecoderStep>> steps;
  bool joinsBySpaces = true;
};

} // namespace kedge::rt
