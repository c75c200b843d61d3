// A raw token file is nothing but numbers, and any file can be read as such. What other files look like is
// told.
#include "runtime/data/Source.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstring>

namespace kedge::rt {
namespace {

constexpr int64_t kSample = 4096; // bytes: tokens show their high bytes within these
constexpr int64_t kFewest = 16;   // numbers: fewer may have any pattern

struct Kind {
  const char *magic, *name;
};

constexpr Kind kOthers[] = {{"PK\x03\x04", "a zip archive (npz, or torch.save)"},
                            {"\x1f\x8b", "compressed by gzip"},
                            {"\x28\xb5\x2f\xfd", "compressed by zstd"},
                            {"MMIDIDX", "an index of Megatron's"},
                            {"PAR1", "a Parquet file"},
                            {"ARROW1", "an Arrow file"},
                            {"\x89HDF", "an HDF5 file"}};

bool isText(const char *bytes, int64_t count) {
  return std::all_of(bytes, bytes + count, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 32 ? byte != 127 : byte == '\n' || byte == '\r' || byte == '\t';
  });
}

/// Whether every second number is at most `high`, the rest not all 0: the upper halves of 32 (or 64) bits.
bool hasUpperHalves(const TokenFile &file, int64_t high) {
  bool other = false;
  for (int64_t i = 0; i + 1 < file.tokens(); i += 2) {
    if (file.at(i + 1) > high)
      return false;
    other |= file.at(i) != 0;
  }
  return other;
}

bool hasUpperQuarters(const TokenFile &file) {
  for (int64_t i = 0; i + 3 < file.tokens(); i += 4)
    if (file.at(i + 2) != 0)
      return false;
  return true;
}

} // namespace

void TokenFile::checkRaw(const InputSpec &input) const {
  if (!raw)
    return;
  constexpr const char *kRemedy =
      "save the tokens with numpy.save (FILE.npy), or as array.astype('<u2').tofile(FILE)";
  for (const Kind &kind : kOthers)
    if (file.size() >= std::strlen(kind.magic) &&
        std::memcmp(file.data(), kind.magic, std::strlen(kind.magic)) == 0)
      fail("{}: is {}, expected a token file; {}", path(), kind.name, kRemedy);
  if (count < kFewest)
    return;
  const auto bytes = static_cast<int64_t>(file.size());
  if (isText(file.data(), std::min(kSample, bytes)))
    fail("{}: is text, expected the numbers of tokens; make them with kedge tokens; or {}", path(), kRemedy);
  const int64_t high = input.hi ? std::max<int64_t>(0, *input.hi) >> 16 : 0;
  if (hasUpperHalves(*this, high))
    fail("{}: read as uint16, every second token is {}: this is what a file of {} looks like. If it is one, "
         "{}; if its tokens are "
         "such, save them as FILE.npy, which tells its type",
         path(), high == 0 ? "0" : fmt::format("at most {}", high),
         high == 0 && hasUpperQuarters(*this) ? "int64" : "int32", kRemedy);
}

} // namespace kedge::rt
