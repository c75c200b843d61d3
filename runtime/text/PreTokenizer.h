// The second step of a tokenizer: text is cut into words, each of which the model cuts into tokens.
#pragma once
#include "runtime/text/TokenizerJson.h"
#include <deque>
#include <memory>
#include <vector>

namespace kedge::rt {

/// Part of a text.
struct TextPiece {
  std::string_view text;
  bool first = false; ///< begins where the whole text does
};

/// Pieces of one text, and what was written for some of them.
class TextPieces {
public:
  std::vector<TextPiece> pieces;

  /// Keeps the text as long as the pieces.
  std::string_view keep(std::string text) { return written.emplace_back(std::move(text)); }
  void clear() {
    pieces.clear();
    written.clear();
  }

private:
  std::deque<std::string> written;
};

class PreTokenizerStep {
public:
  virtual ~PreTokenizerStep() = default;
  /// Adds what one piece becomes to `result`.
  virtual void cut(TextPiece piece, TextPieces &kept, std::vector<TextPiece> &result) const = 0;
};

class PreTokenizer {
public:
  /// Of tokenizer.json's `pre_tokenizer`. Throws rt::RuntimeError that names what is not available.
  void read(const TokenizerPart &part);
  void apply(TextPieces &pieces) const;
  /// Whether words are still to be written in the letters of bytes (ByteLetters.h): done for new words alone.
  bool leavesBytes() const { return bytes; }

private:
  std::vector<std::unique_ptr<PreTokenizerStep>> steps;
  bool bytes = false;
};

} // namespace kedge::rt
