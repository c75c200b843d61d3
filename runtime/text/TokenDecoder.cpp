#include "runtime/text/TokenDecoder.h"
#include "runtime/io/Printable.h"
#include "runtime/text/ByteLetters.h"
#include "runtime/text/SplitText.h"

namespace kedge::rt {
namespace {

using TokenTexts = std::vector<std::string>;

template <typename Function> class DecoderFunction : public DecoderStep {
public:
  explicit DecoderFunction(Function function) : function(std::move(function)) {}
  void apply(TokenTexts &texts) const override { function(texts); }

private:
  Function function;
};

template <typename Function> std::unique_ptr<DecoderStep> decoderStep(Function function) {
  return std::make_unique<DecoderFunction<Function>>(std::move(function));
}

/// Bytes that are no character are shown as U+FFFD.
std::string asUtf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t length = utf8Length(bytes);
    if (length == 0)
      text += "\xef\xbf\xbd";
    else
      text += bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string joinedTexts(const TokenTexts &texts) {
  std::string all;
  for (const std::string &text : texts)
    all += text;
  return all;
}

/// A token that has a letter of no byte stays as it is.
void fromByteLetters(TokenTexts &texts) {
  std::string bytes;
  for (const std::string &text : texts) {
    std::string own;
    bool letters = true;
    for (size_t at = 0; letters && at < text.size();)
      if (const auto byte = byteOfLetter(nextCharacter(text, at)))
        own += *byte;
      else
        letters = false;
    bytes += letters ? own : text;
  }
  texts = {asUtf8(bytes)};
}

std::optional<char> byteOfToken(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>')
    return std::nullopt;
  const std::string digits(text.substr(3, 2));
  if (digits.find_first_not_of("0123456789ABCDEFabcdef") != std::string::npos)
    return std::nullopt;
  return static_cast<char>(static_cast<unsigned char>(std::stoi(digits, nullptr, 16)));
}

/// Runs of `<0x..>` become their characters; each byte of a run that is no text U+FFFD.
void fromByteTokens(TokenTexts &texts) {
  TokenTexts result;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty())
      return;
    if (isUtf8(bytes))
      result.push_back(bytes);
    else
      result.insert(result.end(), bytes.size(), "\xef\xbf\xbd");
    bytes.clear();
  };
  for (std::string &text : texts)
    if (const auto byte = byteOfToken(text)) {
      bytes += *byte;
    } else {
      flush();
      result.push_back(std::move(text));
    }
  flush();
  texts = std::move(result);
}

void replaceAll(std::string &text, std::string_view old, std::string_view content) {
  for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + content.size()))
    text.replace(at, old.size(), content);
}

std::unique_ptr<DecoderStep> metaspaceStep(const TokenizerPart &part) {
  const bool prepends =
      part.textOr("prepend_scheme", part.flagOr("add_prefix_space", true) ? "always" : "never") != "never";
  return decoderStep([letter = part.text("replacement"), prepends](TokenTexts &texts) {
    for (size_t at = 0; at < texts.size(); ++at) {
      if (at == 0 && prepends && texts[at].starts_with(letter))
        texts[at].erase(0, letter.size());
      replaceAll(texts[at], letter, " ");
    }
  });
}

/// What `tokenizers` tidies in English text.
void cleanUp(std::string &text) {
  for (const auto &[old, content] :
       std::initializer_list<std::pair<const char *, const char *>>{{" .", "."},
                                                                    {" ?", "?"},
                                                                    {" !", "!"},
                                                                    {" ,", ","},
                                                                    {" ' ", "'"},
                                                                    {" n't", "n't"},
                                                                    {" 'm", "'m"},
                                                                    {" do not", " don't"},
                                                                    {" 's", "'s"},
                                                                    {" 've", "'ve"},
                                                                    {" 're", "'re"}})
    replaceAll(text, old, content);
}

std::unique_ptr<DecoderStep> wordPieceStep(const TokenizerPart &part) {
  return decoderStep(
      [prefix = part.textOr("prefix", "##"), tidies = part.flagOr("cleanup", true)](TokenTexts &texts) {
        for (size_t at = 0; at < texts.size(); ++at) {
          if (at > 0 && texts[at].starts_with(prefix))
            texts[at].erase(0, prefix.size());
          else if (at > 0)
            texts[at].insert(0, " ");
          if (tidies)
            cleanUp(texts[at]);
        }
      });
}

std::unique_ptr<DecoderStep> stripStep(const TokenizerPart &part) {
  return decoderStep([letter = part.text("content"), left = part.numberOr("start", 0),
                      right = part.numberOr("stop", 0)](TokenTexts &texts) {
    for (std::string &text : texts) {
      for (int64_t i = 0; i < left && text.starts_with(letter); ++i)
        text.erase(0, letter.size());
      for (int64_t i = 0; i < right && text.ends_with(letter); ++i)
        text.resize(text.size() - letter.size());
    }
  });
}

std::unique_ptr<DecoderStep> decoderOf(const TokenizerPart &part) {
  const std::string type = part.type();
  if (type == "ByteLevel")
    return decoderStep(fromByteLetters);
  if (type == "ByteFallback")
    return decoderStep(fromByteTokens);
  if (type == "Fuse")
    return decoderStep([](TokenTexts &texts) { texts = {joinedTexts(texts)}; });
  if (type == "Metaspace")
    return metaspaceStep(part);
  if (type == "WordPiece")
    return wordPieceStep(part);
  if (type == "Strip")
    return stripStep(part);
  if (type == "Replace")
    return decoderStep(
        [old = part.part("pattern").text("String"), content = part.text("content")](TokenTexts &texts) {
          for (std::string &text : texts)
            replaceAll(text, old, content);
        });
  if (type == "BPEDecoder")
    return decoderStep([suffix = part.textOr("suffix", "</w>")](TokenTexts &texts) {
      for (size_t at = 0; at < texts.size(); ++at)
        replaceAll(texts[at], suffix, at + 1 == texts.size() ? "" : " ");
    });
  part.notAvailable("a decoder of type '" + type + "'");
}

} // namespace

void TokenDecoder::readBytes() {
  for (uint32_t byte = 0; byte < 256; ++byte)
    texts.emplace(byte, std::string(1, static_cast<char>(static_cast<unsigned char>(byte))));
  joinsBySpaces = false;
  steps.push_back(decoderStep([](TokenTexts &bytes) { bytes = {asUtf8(joinedTexts(bytes))}; }));
}

void TokenDecoder::read(const TokenizerPart &root, const TokenModel &model, const AddedTokens &added) {
  for (const auto &[text, token] : model.words().all())
    texts.insert_or_assign(token, text);
  for (const AddedToken &token : added.all()) {
    texts.insert_or_assign(token.token, token.text);
    if (token.special)
      specials.insert(token.token);
  }
  if (!root.has("decoder"))
    return;
  joinsBySpaces = false;
  eachStep(root.part("decoder"), "decoders",
           [&](const TokenizerPart &one) { steps.push_back(decoderOf(one)); });
}

std::string TokenDecoder::decode(const std::vector<uint32_t> &tokens) const {
  TokenTexts found;
  for (const uint32_t token : tokens)
    if (const auto text = texts.find(token); text != texts.end() && !specials.contains(token))
      found.push_back(text->second);
  for (const auto &one : steps)
    one->apply(found);
  if (!joinsBySpaces)
    return joinedTexts(found);
  std::string all;
  for (const std::string &text : found)
    all += (all.empty() ? "" : " ") + text;
  return all;
}

} // namespace kedge::rt
