#include "runtime/text/PreTokenizer.h"
#include "runtime/text/ByteLetters.h"
#include "runtime/text/SplitText.h"

namespace kedge::rt {
namespace {

const char *const kGpt2Words =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

using Pieces = std::vector<TextPiece>;

/// Cuts at the matches of a pattern or a literal.
class SplitStep : public PreTokenizerStep {
public:
  explicit SplitStep(const TokenizerPart &part)
      : separator(separatorOf(part)), inverted(part.flagOr("invert", false)) {
    const TokenizerPart wanted = part.part("pattern");
    if (wanted.has("Regex"))
      pattern.emplace(wanted.text("Regex"));
    else if ((literal = wanted.text("String")).empty())
      part.notAvailable("an empty pattern");
  }
  void cut(TextPiece piece, TextPieces &, Pieces &result) const override {
    std::vector<TextPart> parts = pattern ? partsOf(piece.text, *pattern) : partsOf(piece.text, literal);
    for (TextPart &part : parts)
      part.match ^= inverted;
    addPieces(std::move(parts), separator, piece, result);
  }

private:
  Separator separator;
  bool inverted;
  std::optional<Pattern> pattern;
  std::string literal;
};

/// GPT-2's words; perhaps with a space in front.
class ByteWordsStep : public PreTokenizerStep {
public:
  ByteWordsStep(bool addsSpace, bool cuts) : words(kGpt2Words), addsSpace(addsSpace), cuts(cuts) {}
  void cut(TextPiece piece, TextPieces &kept, Pieces &result) const override {
    if (addsSpace && !piece.text.starts_with(' '))
      piece.text = kept.keep(" " + std::string(piece.text));
    if (cuts)
      addPieces(partsOf(piece.text, words), Separator::Isolated, piece, result);
    else
      result.push_back(piece);
  }

private:
  Pattern words;
  bool addsSpace, cuts;
};

class ByteLettersStep : public PreTokenizerStep {
public:
  void cut(TextPiece piece, TextPieces &kept, Pieces &result) const override {
    result.push_back({kept.keep(byteLetters(piece.text)), piece.first});
  }
};

/// Spaces become a letter that begins words.
class MetaspaceStep : public PreTokenizerStep {
public:
  explicit MetaspaceStep(const TokenizerPart &part)
      : letter(part.text("replacement")), scheme(part.textOr("prepend_scheme", "always")),
        cuts(part.flagOr("split", true)) {
    if (!part.flagOr("add_prefix_space", true)) // as files had it before there were schemes
      scheme = "never";
    if (scheme != "always" && scheme != "never" && scheme != "first")
      part.notAvailable("the prepend_scheme '" + scheme + "'");
  }
  void cut(TextPiece piece, TextPieces &kept, Pieces &result) const override {
    std::string text;
    for (const char c : piece.text)
      if (c == ' ')
        text += letter;
      else
        text += c;
    if (!text.starts_with(letter) && (scheme == "always" || (scheme == "first" && piece.first)))
      text.insert(0, letter);
    piece.text = kept.keep(std::move(text));
    if (cuts)
      addPieces(partsOf(piece.text, letter), Separator::MergedWithNext, piece, result);
    else
      result.push_back(piece);
  }

private:
  std::string letter, scheme;
  bool cuts;
};

/// Cuts at each character that has one of some properties.
class PropertyStep : public PreTokenizerStep {
public:
  PropertyStep(uint32_t bits, Separator separator) : bits(bits), separator(separator) {}
  void cut(TextPiece piece, TextPieces &, Pieces &result) const override {
    addPieces(partsOfCharacters(piece.text, [&](char32_t c) { return (propertiesOf(c) & bits) != 0; }),
              separator, piece, result);
  }

private:
  uint32_t bits;
  Separator separator;
};

/// Runs of letters and digits, and runs of what is neither these nor space.
class WordsStep : public PreTokenizerStep {
public:
  void cut(TextPiece piece, TextPieces &, Pieces &result) const override {
    constexpr uint32_t kKinds = kRustWord | kSpace;
    const std::string_view text = piece.text;
    const auto kindAt = [&](size_t &at) {
      const uint32_t bits = propertiesOf(nextCharacter(text, at)) & kKinds;
      return bits & kRustWord ? uint32_t{kRustWord} : bits;
    };
    for (size_t begin = 0, at = 0; begin < text.size(); begin = at) {
      const uint32_t kind = kindAt(at);
      for (size_t next = at; next < text.size() && kindAt(next) == kind;)
        at = next;
      if (kind != kSpace)
        result.push_back({text.substr(begin, at - begin), piece.first && begin == 0});
    }
  }
};

/// Pieces of so many characters.
class FixedLengthStep : public PreTokenizerStep {
public:
  explicit FixedLengthStep(int64_t length) : length(length) {}
  void cut(TextPiece piece, TextPieces &, Pieces &result) const override {
    for (size_t begin = 0, at = 0; begin < piece.text.size(); begin = at) {
      for (int64_t i = 0; i < length && at < piece.text.size(); ++i)
        nextCharacter(piece.text, at);
      result.push_back({piece.text.substr(begin, at - begin), piece.first && begin == 0});
    }
  }

private:
  int64_t length;
};

class DelimiterStep : public PreTokenizerStep {
public:
  explicit DelimiterStep(std::string delimiter) : delimiter(std::move(delimiter)) {}
  void cut(TextPiece piece, TextPieces &, Pieces &result) const override {
    addPieces(partsOf(piece.text, delimiter), Separator::Removed, piece, result);
  }

private:
  std::string delimiter;
};

std::unique_ptr<PreTokenizerStep> preTokenizerOf(const TokenizerPart &part) {
  const std::string type = part.type();
  if (type == "Split")
    return std::make_unique<SplitStep>(part);
  if (type == "Metaspace")
    return std::make_unique<MetaspaceStep>(part);
  if (type == "Whitespace")
    return std::make_unique<WordsStep>();
  if (type == "WhitespaceSplit")
    return std::make_unique<PropertyStep>(kSpace, Separator::Removed);
  if (type == "Punctuation")
    return std::make_unique<PropertyStep>(kBertPunctuation, separatorOf(part));
  if (type == "Digits")
    return std::make_unique<PropertyStep>(
        kNumeric, part.flagOr("individual_digits", false) ? Separator::Isolated : Separator::Contiguous);
  if (type == "CharDelimiterSplit")
    return std::make_unique<DelimiterStep>(part.text("delimiter"));
  if (type == "FixedLength")
    return std::make_unique<FixedLengthStep>(std::max<int64_t>(1, part.numberOr("length", 5)));
  part.notAvailable("a pre-tokenizer of type '" + type + "'");
}

} // namespace

void PreTokenizer::read(const TokenizerPart &part) {
  eachStep(part, "pretokenizers", [&](const TokenizerPart &one) {
    if (bytes) // something follows that sees the letters
      steps.push_back(std::make_unique<ByteLettersStep>());
    bytes = one.type() == "ByteLevel";
    if (one.type() == "BertPreTokenizer") {
      steps.push_back(std::make_unique<PropertyStep>(kSpace, Separator::Removed));
      steps.push_back(std::make_unique<PropertyStep>(kBertPunctuation, Separator::Isolated));
    } else if (bytes) {
      steps.push_back(std::make_unique<ByteWordsStep>(one.flagOr("add_prefix_space", true),
                                                      one.flagOr("use_regex", true)));
    } else {
      steps.push_back(preTokenizerOf(one));
    }
  });
}

void PreTokenizer::apply(TextPieces &pieces) const {
  std::vector<TextPiece> cut;
  for (const auto &step : steps) {
    cut.clear();
    for (const TextPiece &piece : pieces.pieces)
      step->cut(piece, pieces, cut);
    pieces.pieces.swap(cut);
  }
}

} // namespace kedge::rt
