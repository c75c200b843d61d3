// Documents of a token file as rows of their own, for programs of several lengths: each is padded to the
// longest, and one that is longer is cut into several.
#pragma once
#include "runtime/data/Documents.h"

namespace kedge::rt {

class DocumentRows {
public:
  /// `packed.length`: that of the longest rows.
  explicit DocumentRows(const PackedTokens &packed);

  struct Row {
    int64_t begin = 0, end = 0; ///< tokens
    int64_t document = 0;
  };
  int64_t count() const { return static_cast<int64_t>(rows.size()); }
  const Row &row(int64_t index) const { return rows[static_cast<size_t>(index)]; }
  const PackedTokens &packed() const { return from; }

private:
  PackedTokens from;
  std::vector<Row> rows;
};

using SharedRows = std::shared_ptr<const DocumentRows>;

/// The tokens of a row, and 0 behind them. Throws rt::RuntimeError if the input takes none.
std::unique_ptr<Source> tokensOfRows(SharedRows rows, const InputSpec &input);

/// The next token of the same document, else `ignored`; so are prompts with `maskPrompt`.
std::unique_ptr<Source> labelsOfRows(SharedRows rows, const InputSpec &labels, int64_t ignored,
                                     bool maskPrompt);

/// For `attention_mask` of [batch, length]: 1 for a row's tokens, 0 behind them. Null for other inputs.
std::unique_ptr<Source> maskOfRows(SharedRows rows, const InputSpec &input);

} // namespace kedge::rt
