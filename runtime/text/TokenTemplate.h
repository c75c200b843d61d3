// The last step of a tokenizer: the special tokens that stand around those of a text.
#pragma once
#include "runtime/text/TokenizerJson.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace kedge::rt {

class TokenTemplate {
public:
  /// Of tokenizer.json's `post_processor`. Throws rt::RuntimeError that names what is not available.
  void read(const TokenizerPart &part);

  const std::vector<uint32_t> &before() const { return front; }
  const std::vector<uint32_t> &behind() const { return back; }

private:
  void readTemplate(const TokenizerPart &part);

  std::vector<uint32_t> front, back;
};

} // namespace kedge::rt
