#include "driver/tokens/TokenOutput.h"
#include "lib/Support/Error.h"
#include "runtime/format/Npy.h"
#include <algorithm>

namespace kedge::driver {
namespace {

constexpr size_t kLlmcBytes = 1024;
constexpr uint32_t kLlmcMagic = 20240801, kLlmcVersion = 7; // of uint32 tokens
constexpr uint32_t kNarrow = 65536;                         // tokens that uint16 numbers
constexpr uint64_t kMostTokens = uint64_t{1} << 62;         // as long a header as any

std::string llmcHeader(uint64_t count) {
  std::vector<uint32_t> words(kLlmcBytes / sizeof(uint32_t), 0);
  words[0] = kLlmcMagic;
  words[1] = kLlmcVersion;
  words[2] = static_cast<uint32_t>(count);
  return {reinterpret_cast<const char *>(words.data()), kLlmcBytes};
}

} // namespace

TokenOutput::TokenOutput(const std::string &path, uint32_t vocabulary)
    : path(path), npy(path.ends_with(".npy")), wide(vocabulary > kNarrow), file(path) {
  count = kMostTokens;
  const std::string first = header();
  count = 0;
  headerBytes = first.size();
  file.write(first);
}

/// Of as many tokens as there are, always of the same length.
std::string TokenOutput::header() const {
  if (!npy)
    return wide ? llmcHeader(count) : "";
  std::string text = rt::npyHeader(wide ? rt::DType::U32 : rt::DType::U16, {static_cast<int64_t>(count)});
  if (text.size() >= headerBytes)
    return text;
  // A shorter number: spaces before the line end, and the length of the text behind the magic word, version
  // and length.
  constexpr size_t kLengthAt = 8, kTextAt = 10;
  text.insert(text.size() - 1, headerBytes - text.size(), ' ');
  const size_t length = text.size() - kTextAt;
  text[kLengthAt] = static_cast<char>(static_cast<unsigned char>(length & 0xff));
  text[kLengthAt + 1] = static_cast<char>(static_cast<unsigned char>(length >> 8));
  return text;
}

void TokenOutput::write(const std::vector<uint32_t> &tokens) {
  if (tokens.empty())
    return;
  most = std::max(most, *std::max_element(tokens.begin(), tokens.end()));
  count += tokens.size();
  if (wide)
    return file.write(tokens.data(), tokens.size() * sizeof(uint32_t));
  const std::vector<uint16_t> narrow(tokens.begin(), tokens.end());
  file.write(narrow.data(), narrow.size() * sizeof(uint16_t));
}

void TokenOutput::commit() {
  if (count == 0)
    fail("-o {}: no token: the files hold no text", path);
  if (!npy && wide && count > UINT32_MAX)
    fail("-o {}: {} tokens are more than llm.c's header counts; name the file .npy", path, count);
  if (headerBytes > 0)
    file.writer().replaceFirst(header());
  file.commit();
}

std::string TokenOutput::form() const {
  const std::string type = wide ? "uint32" : "uint16";
  return npy ? type + " with NumPy's header" : wide ? type + " with llm.c's header" : type;
}

} // namespace kedge::driver
