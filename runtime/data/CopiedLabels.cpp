#include "runtime/data/CopiedLabels.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace kedge::rt {
namespace {

constexpr int64_t kRows = 64; // looked at
constexpr int64_t kItems = 8; // fewer may agree by chance

/// Whether labels, as far as they count, are the tokens `distance` further on in all of the first rows.
bool areTokens(const TokenRows &tokens, const TokenRows &labels, int64_t ignored, int64_t distance) {
  const TensorDesc &desc = tokens.input->desc;
  const int64_t length = desc.shape[1],
                rows = std::min({kRows, tokens.source->rows(), labels.source->rows()});
  std::vector<char> ids(desc.bytes() / static_cast<size_t>(desc.shape[0]));
  std::vector<char> wanted(labels.input->desc.bytes() / static_cast<size_t>(desc.shape[0]));
  int64_t items = 0;
  bool varied = false; // rows of one token are their own next tokens
  for (int64_t row = 0; row < rows; ++row) {
    tokens.source->read(row, ids.data());
    labels.source->read(row, wanted.data());
    for (int64_t i = 0; i + distance < length; ++i) {
      const int64_t label = loadAsInt(labels.input->desc.type, wanted.data(), i);
      const int64_t token = loadAsInt(desc.type, ids.data(), i + distance);
      varied |= token != loadAsInt(desc.type, ids.data(), 0);
      if (label == ignored)
        continue;
      if (label != token)
        return false;
      ++items;
    }
  }
  return items >= kItems && varied;
}

} // namespace

std::string aboutCopiedLabels(const TokenRows &tokens, const TokenRows &labels, int64_t ignored,
                              bool shifted) try {
  const std::vector<int64_t> &shape = tokens.input->desc.shape;
  const bool comparable = !isFloat(tokens.input->desc.type) && !isFloat(labels.input->desc.type) &&
                          shape.size() == 2 && shape[1] > 1 && tokens.input->batched &&
                          labels.input->batched && labels.input->desc.shape == shape;
  if (!comparable)
    return "";
  if (!shifted && areTokens(tokens, labels, ignored, 0))
    return fmt::format("the labels '{}' ({}) equal the inputs '{}' ({}): a model that sees them learns to "
                       "copy. Models of Hugging Face "
                       "shift such labels inside, this program does not: --shift-labels makes each label "
                       "that of the next token",
                       labels.input->name, labels.file, tokens.input->name, tokens.file);
  // Two steps on: shifted here, and in the file before.
  if (shifted && areTokens(tokens, labels, ignored, 2))
    return fmt::format("--shift-labels: the labels '{}' ({}) were the next tokens of '{}' ({}) already, and "
                       "are now those after them; leave "
                       "the option out",
                       labels.input->name, labels.file, tokens.input->name, tokens.file);
  return "";
} catch (const RuntimeError &) {
  return ""; // a row that no input takes is told in its step
}

} // namespace kedge::rt
