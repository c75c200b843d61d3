#include "runtime/text/Tokenizer.h"
#include "runtime/io/FileMap.h"
#include "runtime/io/JsonSize.h"
#include "runtime/text/ByteLetters.h"

namespace kedge::rt {
namespace {

constexpr size_t kLongestKnown = 256;   // bytes of a word that is remembered,
constexpr size_t kMostKnown = 1U << 16; // and how many are

} // namespace

Tokenizer::Tokenizer(const std::string &path) {
  if (path == "bytes") {
    decoder.readBytes();
    return;
  }
  const FileMap file(path, "tokenizer");
  const nlohmann::json json = nlohmann::json::parse(jsonText(file), nullptr, false);
  if (!json.is_object() || !json.contains("model"))
    fail("{}: is not a tokenizer.json: expected an object with a 'model', as Hugging Face's tokenizers save "
         "it; or the "
         "word bytes in place of a file",
         path);
  read(json, path);
}

void Tokenizer::read(const nlohmann::json &file, const std::string &path) {
  const TokenizerPart root(file, path);
  if (root.has("normalizer"))
    normalizer.read(root.part("normalizer"));
  if (root.has("pre_tokenizer"))
    preTokenizer.read(root.part("pre_tokenizer"));
  model = readModel(root.part("model"));
  added.read(root, *model, normalizer);
  if (root.has("post_processor"))
    specials.read(root.part("post_processor"));
  size = 0;
  for (const auto &[text, token] : model->words().all())
    size = std::max(size, token + 1);
  for (const AddedToken &token : added.all())
    size = std::max(size, token.token + 1);
  decoder.read(root, *model, added);
  independentLines = keepsLinesApart();
}

std::optional<uint32_t> Tokenizer::numberOf(std::string_view token) const {
  for (const AddedToken &one : added.all())
    if (one.text == token)
      return one.token;
  return model ? model->words().find(token) : std::nullopt;
}

/// Whether lines are cut alike together and one by one.
bool Tokenizer::keepsLinesApart() const {
  TokenEncoder encoder(*this);
  for (const std::string before :
       {"word", "Word 12", "it's", "x'", "9", " a b  c", "\n\n  one", "two \t three"})
    for (const std::string behind : {"next", "Next", "s", "re it", "ll", "t\n", "a  \n\n b"}) {
      std::vector<std::string> apart = encoder.words(before + "\n");
      for (std::string &word : encoder.words(behind))
        apart.push_back(std::move(word));
      if (encoder.words(before + "\n" + behind) != apart)
        return false;
    }
  return true;
}

template <typename Word, typename Token>
void TokenEncoder::walk(std::string_view text, bool first, Word &&word, Token &&token) {
  const auto cut = [&](std::string_view part, bool begins) {
    pieces.clear();
    pieces.pieces.push_back({part, begins});
    tokenizer.preTokenizer.apply(pieces);
    for (const TextPiece &piece : pieces.pieces)
      word(piece.text);
  };
  for (const MarkedPart &part : tokenizer.added.given().find(text)) {
    if (part.token) {
      token(*part.token);
      continue;
    }
    const std::string normalized =
        tokenizer.normalizer.empty() ? std::string() : tokenizer.normalizer.apply(part.text);
    const std::string_view shown = tokenizer.normalizer.empty() ? part.text : normalized;
    for (const MarkedPart &inner : tokenizer.added.normalized().find(shown))
      if (inner.token)
        token(*inner.token);
      else
        cut(inner.text, first && part.text.data() == text.data() && inner.text.data() == shown.data());
  }
}

void TokenEncoder::encodeWord(std::string_view word, std::vector<uint32_t> &tokens) {
  if (const auto found = known.find(word); found != known.end()) {
    tokens.insert(tokens.end(), found->second.begin(), found->second.end());
    return;
  }
  const size_t before = tokens.size();
  if (tokenizer.preTokenizer.leavesBytes())
    tokenizer.model->encode(byteLetters(word), tokens);
  else
    tokenizer.model->encode(word, tokens);
  if (word.size() > kLongestKnown)
    return;
  if (known.size() >= kMostKnown)
    known.clear();
  known.emplace(word, std::vector(tokens.begin() + static_cast<ptrdiff_t>(before), tokens.end()));
}

void TokenEncoder::encode(std::string_view text, std::vector<uint32_t> &tokens, bool first) {
  if (!tokenizer.model) {
    for (const char byte : text)
      tokens.push_back(static_cast<unsigned char>(byte));
    return;
  }
  walk(
      text, first, [&](std::string_view word) { encodeWord(word, tokens); },
      [&](uint32_t token) { tokens.push_back(token); });
}

std::vector<std::string> TokenEncoder::words(std::string_view text) {
  std::vector<std::string> found;
  walk(
      text, true, [&](std::string_view word) { found.emplace_back(word); },
      [&](uint32_t token) { found.push_back(fmt::format("<{}>", token)); });
  return found;
}

} // namespace kedge::rt
