// Cuts a template into texts and words, with Jinja's rules for the white space around tags.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::driver {

struct TemplateToken {
  enum class Kind : uint8_t {
    Text,
    BeginPrint,
    EndPrint,
    BeginTag,
    EndTag,
    Name,
    Integer,
    Real,
    String,
    Operator,
    End
  } kind;
  std::string text; ///< of a string: without quotes and escapes
  int line;
};

/// With trim_blocks and lstrip_blocks, as transformers' apply_chat_template. Throws an error with the line.
std::vector<TemplateToken> templateTokens(std::string source);

} // namespace kedge::driver
