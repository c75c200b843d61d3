// --resize-vocab [REGEX=]N.
#pragma once
#include <cstdint>
#include <string>

namespace kedge::lint {

struct VocabularySize {
  std::string tables; ///< an expression for the names of tables; empty: those of the logits' size
  int64_t rows = 0;

  /// Throws kedge::Error.
  static VocabularySize parse(const std::string &text);
  std::string text() const { return (tables.empty() ? "" : tables + "=") + std::to_string(rows); }
};

} // namespace kedge::lint
