#include "runtime/data/DocumentRows.h"
#include "runtime/data/Bounds.h"
#include "runtime/data/DefaultInputs.h"
#include "runtime/format/Convert.h"
#include <algorithm>

namespace kedge::rt {
namespace {

/// Of places that are whole numbers.
class RowsSource : public Source {
public:
  RowsSource(SharedRows rows, const InputSpec &input)
      : rowsOf(std::move(rows)), input(input), length(input.desc.shape[1]) {}

  int64_t rows() const override { return rowsOf->count(); }

  void read(int64_t row, char *destination) const override {
    const DocumentRows::Row &of = rowsOf->row(row);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t value = valueAt(of, of.begin + i);
      if (isFloat(input.desc.type))
        storeDouble(input.desc.type, destination, i, static_cast<double>(value));
      else
        convert(destination + i * static_cast<int64_t>(dtypeSize(input.desc.type)), input.desc.type, 1,
                &value, DType::I64, 1, 1);
    }
  }

protected:
  virtual int64_t valueAt(const DocumentRows::Row &row, int64_t token) const = 0;

  int64_t tokenAt(int64_t position) const {
    const TokenFile &file = *rowsOf->packed().tokens;
    const int64_t token = file.at(position);
    if (!inBounds(input, token))
      fail("{}: the token at position {} is {}, outside the vocabulary: '{}' takes {}; make the file with "
           "this model's tokenizer",
           file.path(), position, token, input.name, boundsText(input));
    return token;
  }

  SharedRows rowsOf;
  InputSpec input;
  int64_t length;
};

class RowTokens : public RowsSource {
public:
  using RowsSource::RowsSource;

protected:
  int64_t valueAt(const DocumentRows::Row &row, int64_t token) const override {
    return token < row.end ? tokenAt(token) : std::max<int64_t>(0, input.lo.value_or(0));
  }
};

class RowLabels : public RowsSource {
public:
  RowLabels(SharedRows rows, const InputSpec &labels, int64_t ignored, bool maskPrompt)
      : RowsSource(std::move(rows), labels), ignored(ignored), maskPrompt(maskPrompt) {}

protected:
  int64_t valueAt(const DocumentRows::Row &row, int64_t token) const override {
    const PackedTokens &packed = rowsOf->packed();
    const int64_t next = token + 1;
    const bool isLast = token >= row.end || next == packed.tokens->tokens() ||
                        (next == row.end && packed.documents->at(next) != row.document);
    return isLast || (maskPrompt && packed.documents->isPrompt(next, row.document)) ? ignored : tokenAt(next);
  }

private:
  int64_t ignored;
  bool maskPrompt;
};

class RowMask : public RowsSource {
public:
  using RowsSource::RowsSource;

protected:
  int64_t valueAt(const DocumentRows::Row &row, int64_t token) const override { return token < row.end; }
};

} // namespace

DocumentRows::DocumentRows(const PackedTokens &packed) : from(packed) {
  const Documents &documents = *packed.documents;
  const int64_t tokens = packed.tokens->tokens();
  if (packed.length < 1)
    fail("--tokens: the input has no [batch, length]");
  for (int64_t document = 0; document < documents.count(); ++document) {
    const int64_t end = document + 1 < documents.count() ? documents.begin(document + 1) : tokens;
    for (int64_t begin = documents.begin(document); begin < end; begin += packed.length)
      rows.push_back({begin, std::min(end, begin + packed.length), document});
  }
}

std::unique_ptr<Source> tokensOfRows(SharedRows rows, const InputSpec &input) {
  if (input.desc.shape.size() != 2 || !input.batched || isFloat(input.desc.type))
    fail("--tokens: the input '{}' is no [batch, length] tensor of integers", input.name);
  rows->packed().tokens->checkRaw(input);
  return std::make_unique<RowTokens>(std::move(rows), input);
}

std::unique_ptr<Source> labelsOfRows(SharedRows rows, const InputSpec &labels, int64_t ignored,
                                     bool maskPrompt) {
  const Documents &documents = *rows->packed().documents;
  if (maskPrompt)
    documents.expectAnswers();
  return std::make_unique<RowLabels>(std::move(rows), labels, ignored, maskPrompt);
}

std::unique_ptr<Source> maskOfRows(SharedRows rows, const InputSpec &input) {
  const bool isMask = input.batched && input.desc.shape.size() == 2 &&
                      input.name.ends_with("attention_mask") && input.desc.shape[1] == rows->packed().length;
  return isMask ? std::make_unique<RowMask>(std::move(rows), input) : nullptr;
}

} // namespace kedge::rt
