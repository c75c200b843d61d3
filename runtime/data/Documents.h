// Documents in a token file: where each begins, and where its answer does. Windows are cut from the file
// without regard to them; what a window holds of two documents is kept apart by labels, positions and masks.
#pragma once
#include "runtime/data/Source.h"
#include <string_view>

namespace kedge::rt {

class Documents {
public:
  /// From an npy file of [documents] or [documents, 2]: first tokens, and first tokens of answers.
  Documents(const std::string &path, const TokenFile &tokens);

  int64_t count() const { return static_cast<int64_t>(begins.size()); }
  /// Throws for --mask-prompt, where it is not told where answers begin.
  void expectAnswers() const;
  const std::string &path() const { return name; }
  /// The document that a token belongs to.
  int64_t at(int64_t token) const;
  int64_t begin(int64_t document) const { return begins[static_cast<size_t>(document)]; }
  /// Whether a token belongs to the prompt of its document.
  bool isPrompt(int64_t token, int64_t document) const {
    return token < answers[static_cast<size_t>(document)];
  }

private:
  std::string name;
  std::vector<int64_t> begins, answers;
};

struct PackedTokens {
  std::shared_ptr<TokenFile> tokens;
  std::shared_ptr<Documents> documents;
  int64_t length = 0; ///< of a window
};

/// The next tokens, and `ignored` where the next one is another document's (or, with `maskPrompt`, one of a
/// prompt).
std::unique_ptr<Source> packedLabels(const PackedTokens &packed, const InputSpec &labels, int64_t ignored,
                                     bool maskPrompt);

/// The input that `kedge compile --documents` makes.
inline constexpr std::string_view kDocumentBorders = "document_borders";

/// What documents say of an input that has no file: named `document_borders`, where they begin; of [batch,
/// length] named `position_ids`, the place in the document (or in its part within the window); named
/// `attention_mask`, 1; of [batch, 1, length, length] or [batch, length, length] named `attention_mask`,
/// which token sees which: earlier ones of its document. Null if it is none of these.
std::unique_ptr<Source> packedInput(const PackedTokens &packed, const InputSpec &input);

} // namespace kedge::rt
