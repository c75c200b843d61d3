#include "runtime/data/Documents.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>

namespace kedge::rt {
namespace {

class PackedSource : public Source {
public:
  PackedSource(const PackedTokens &packed, const InputSpec &input)
      : tokens(packed.tokens), documents(packed.documents), length(packed.length), input(input) {}

  int64_t rows() const override { return (tokens->tokens() - 1) / length; }

protected:
  void put(char *destination, int64_t element, int64_t value) const {
    convert(destination + element * static_cast<int64_t>(dtypeSize(input.desc.type)), input.desc.type, 1,
            &value, DType::I64, 1, 1);
  }

  std::shared_ptr<TokenFile> tokens;
  std::shared_ptr<Documents> documents;
  int64_t length;
  InputSpec input;
};

class PackedLabels : public PackedSource {
public:
  PackedLabels(const PackedTokens &packed, const InputSpec &labels, int64_t ignored, bool maskPrompt)
      : PackedSource(packed, labels), next(openTokens(packed.tokens, labels, 1)), ignored(ignored),
        maskPrompt(maskPrompt) {}

  void read(int64_t row, char *destination) const override {
    next->read(row, destination);
    const int64_t begin = row * length;
    int64_t document = documents->at(begin);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t of = documents->at(begin + i + 1);
      if (of != document || (maskPrompt && documents->isPrompt(begin + i + 1, of)))
        put(destination, i, ignored);
      document = of;
    }
  }

private:
  std::unique_ptr<Source> next;
  int64_t ignored;
  bool maskPrompt;
};

class Positions : public PackedSource {
public:
  using PackedSource::PackedSource;
  void read(int64_t row, char *destination) const override {
    const int64_t begin = row * length;
    for (int64_t i = 0; i < length; ++i)
      put(destination, i, begin + i - std::max(begin, documents->begin(documents->at(begin + i))));
  }
};

class Ones : public PackedSource {
public:
  using PackedSource::PackedSource;
  void read(int64_t, char *destination) const override {
    for (int64_t i = 0; i < length; ++i)
      put(destination, i, 1);
  }
};

/// Where documents begin in the window, then its length.
class Borders : public PackedSource {
public:
  using PackedSource::PackedSource;
  void read(int64_t row, char *destination) const override {
    const int64_t begin = row * length;
    int64_t count = 0;
    for (int64_t i = 0; i < length; ++i)
      if (i == 0 || documents->at(begin + i) != documents->at(begin + i - 1))
        put(destination, count++, i);
    for (; count <= length; ++count)
      put(destination, count, length);
  }
};

/// 1 where a token sees another; of floats, which models add to scores: 0, and their lowest number where it
/// does not.
class BlockMask : public PackedSource {
public:
  using PackedSource::PackedSource;
  void read(int64_t row, char *destination) const override {
    const int64_t begin = row * length;
    const bool adds = isFloat(input.desc.type);
    const double hidden = input.desc.type == DType::F16 ? -65504 : -0x1.fep127;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t first = std::max(begin, documents->begin(documents->at(begin + i))) - begin;
      for (int64_t j = 0; j < length; ++j) {
        const bool seen = j >= first && j <= i;
        if (adds)
          storeDouble(input.desc.type, destination, i * length + j, seen ? 0 : hidden);
        else
          put(destination, i * length + j, seen);
      }
    }
  }
};

} // namespace

std::unique_ptr<Source> packedLabels(const PackedTokens &packed, const InputSpec &labels, int64_t ignored,
                                     bool maskPrompt) {
  if (maskPrompt)
    packed.documents->expectAnswers();
  return std::make_unique<PackedLabels>(packed, labels, ignored, maskPrompt);
}

std::unique_ptr<Source> packedInput(const PackedTokens &packed, const InputSpec &input) {
  const std::vector<int64_t> &shape = input.desc.shape;
  if (input.name == kDocumentBorders && shape.size() == 2 && shape.back() == packed.length + 1)
    return std::make_unique<Borders>(packed, input);
  if (!input.batched || shape.size() < 2 || shape.back() != packed.length)
    return nullptr;
  const bool isMask = input.name == "attention_mask";
  if (shape.size() == 2 && input.name == "position_ids" && !isFloat(input.desc.type))
    return std::make_unique<Positions>(packed, input);
  if (shape.size() == 2 && isMask)
    return std::make_unique<Ones>(packed, input);
  const bool square =
      shape[shape.size() - 2] == packed.length && (shape.size() == 3 || (shape.size() == 4 && shape[1] == 1));
  return isMask && square ? std::make_unique<BlockMask>(packed, input) : nullptr;
}

} // namespace kedge::rt
