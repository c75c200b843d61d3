#include "runtime/data/Documents.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>

namespace kedge::rt {

Documents::Documents(const std::string &path, const TokenFile &tokens) : name(path) {
  const Npy npy(path);
  const bool pairs = npy.shape.size() == 2 && npy.shape[1] == 2;
  if (isFloat(npy.type) || npy.type == DType::Bool || (npy.shape.size() != 1 && !pairs))
    fail("{}: holds {} of shape {}, expected integers of shape [documents] (where each begins in '{}') or "
         "[documents, 2] (and where "
         "its answer begins)",
         path, dtypeName(npy.type), shapeText(npy.shape), tokens.path());
  if (npy.shape[0] == 0)
    fail("{}: has no document, expected one at least", path);
  const auto value = [&](int64_t document, int column) {
    return loadAsInt(npy.type, npy.data, pairs ? 2 * document + column : document);
  };
  for (int64_t i = 0; i < npy.shape[0]; ++i) {
    const int64_t begin = value(i, 0), end = i + 1 < npy.shape[0] ? value(i + 1, 0) : tokens.tokens();
    if (i == 0 && begin != 0)
      fail("{}: the first document begins at token {}, expected 0", path, begin);
    if (end <= begin)
      fail("{}: document {} begins at token {} and ends at {}: expected rising numbers below the {} tokens "
           "of '{}'",
           path, i, begin, end, tokens.tokens(), tokens.path());
    begins.push_back(begin);
    if (!pairs)
      continue;
    if (value(i, 1) < begin || value(i, 1) > end)
      fail("{}: the answer of document {} begins at token {}, expected one of the document, {} to {}", path,
           i, value(i, 1), begin, end);
    answers.push_back(value(i, 1));
  }
}

void Documents::expectAnswers() const {
  if (answers.empty())
    fail("--mask-prompt: {} tells where documents begin, not where their answers do: expected integers of "
         "shape [documents, 2]",
         name);
}

int64_t Documents::at(int64_t token) const {
  return std::upper_bound(begins.begin(), begins.end(), token) - begins.begin() - 1;
}

} // namespace kedge::rt
