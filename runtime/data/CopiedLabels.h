// Labels that say what the inputs say already: a model trained so learns to copy.
#pragma once
#include "runtime/data/Source.h"
#include <string>

namespace kedge::rt {

/// An input of tokens, or the labels, with its file.
struct TokenRows {
  const InputSpec *input = nullptr;
  const Source *source = nullptr;
  std::string file;
};

/// What to tell of these labels beside these inputs (after --shift-labels, if `shifted`); empty: nothing.
/// Looks at the first rows.
std::string aboutCopiedLabels(const TokenRows &tokens, const TokenRows &labels, int64_t ignored,
                              bool shifted);

} // namespace kedge::rt
