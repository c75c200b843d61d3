#include "runtime/data/Bounds.h"
#include "runtime/data/Source.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <cstring>

namespace kedge::rt {
namespace {

// llm.c's headers: 256 words of 32 bits; magic, version, number of tokens.
constexpr size_t kHeaderBytes = 1024;
constexpr int32_t kMagic16 = 20240520, kVersion16 = 1;
constexpr int32_t kMagic32 = 20240801, kVersion32 = 7;

class TokenSource : public Source {
public:
  TokenSource(std::shared_ptr<TokenFile> file, const InputSpec &input, int64_t shift)
      : file(std::move(file)), input(input), shift(shift), length(input.desc.shape[1]) {}

  int64_t rows() const override { return (file->tokens() - 1) / length; }

  void read(int64_t row, char *destination) const override {
    const int64_t begin = row * length + shift;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t token = file->at(begin + i);
      if (!inBounds(input, token))
        fail("{}: the token at position {} is {}, outside the vocabulary: '{}' takes {}; make the file with "
             "this model's tokenizer",
             file->path(), begin + i, token, input.name, boundsText(input));
      convert(destination + i * static_cast<int64_t>(dtypeSize(input.desc.type)), input.desc.type, 1, &token,
              DType::I64, 1, 1);
    }
  }

private:
  std::shared_ptr<TokenFile> file;
  InputSpec input;
  int64_t shift, length;
};

} // namespace

TokenFile::TokenFile(const std::string &path) : file(path, "token file") {
  if (file.size() >= 6 && std::memcmp(file.data(), "\x93NUMPY", 6) == 0)
    openNpy();
  else
    openFlat();
}

/// Numbers behind llm.c's header, or behind none.
void TokenFile::openFlat() {
  int32_t header[3] = {0, 0, 0};
  if (file.size() >= kHeaderBytes)
    std::memcpy(header, file.data(), sizeof(header));
  const bool known16 = header[0] == kMagic16, known32 = header[0] == kMagic32;
  if (!known16 && !known32)
    return openRaw();
  if (header[1] != (known16 ? kVersion16 : kVersion32))
    fail("{}: llm.c token file of version {}, expected {} (uint16) or {} (uint32)", path(), header[1],
         kVersion16, kVersion32);
  type = known16 ? DType::U16 : DType::U32;
  data = file.data() + kHeaderBytes;
  count = static_cast<uint32_t>(header[2]);
  const uint64_t need = kHeaderBytes + static_cast<uint64_t>(count) * dtypeSize(type);
  if (need > file.size())
    fail("{}: truncated: its header promises {} tokens ({} bytes), the file has {} bytes", path(), count,
         need, file.size());
}

void TokenFile::openNpy() {
  Npy npy(file.path());
  if (isFloat(npy.type) || npy.type == DType::Bool)
    fail("{}: holds {}, expected integers: the numbers of tokens", path(), dtypeName(npy.type));
  if (npy.shape.size() != 1)
    fail("{}: has shape {}, expected one row of tokens, from which --tokens cuts the windows; give rows that "
         "are cut already by "
         "--data INPUT={}, or save x.reshape(-1)",
         path(), shapeText(npy.shape), path());
  type = npy.type;
  count = npy.shape[0];
  data = npy.data;
  file = std::move(npy.file);
}

void TokenFile::openRaw() {
  if (file.size() % 2 != 0)
    fail("{}: {} bytes are no whole number of uint16 tokens", path(), file.size());
  data = file.data();
  count = static_cast<int64_t>(file.size() / 2);
  raw = true;
}

int64_t TokenFile::at(int64_t position) const { return loadAsInt(type, data, position); }

std::unique_ptr<Source> openTokens(std::shared_ptr<TokenFile> file, const InputSpec &input, int64_t shift) {
  if (input.desc.shape.size() != 2 || !input.batched)
    fail("--tokens: the input '{}' is no [batch, length] tensor", input.name);
  if (isFloat(input.desc.type))
    fail("--tokens: the input '{}' takes {}, expected an integer type", input.name,
         dtypeName(input.desc.type));
  file->checkRaw(input);
  if (file->tokens() <= input.desc.shape[1])
    fail("{}: has {} tokens, a window of '{}' needs {}", file->path(), file->tokens(), input.name,
         input.desc.shape[1] + 1);
  return std::make_unique<TokenSource>(std::move(file), input, shift);
}

} // namespace kedge::rt
