// Labels that are the inputs themselves: those of Hugging Face's models, which shift them inside.
#include "runtime/data/Source.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <cstring>

namespace kedge::rt {
namespace {

class ShiftedLabels : public Source {
public:
  ShiftedLabels(std::unique_ptr<Source> labels, const InputSpec &input, int64_t ignored)
      : labels(std::move(labels)), type(input.desc.type), length(input.desc.shape.back()), ignored(ignored) {
    for (size_t axis = 1; axis + 1 < input.desc.shape.size(); ++axis)
      parts *= input.desc.shape[axis];
  }

  int64_t rows() const override { return labels->rows(); }

  void read(int64_t row, char *destination) const override {
    labels->read(row, destination);
    const auto size = static_cast<int64_t>(dtypeSize(type));
    for (int64_t part = 0; part < parts; ++part) {
      char *begin = destination + part * length * size;
      std::memmove(begin, begin + size, static_cast<size_t>((length - 1) * size));
      convert(begin + (length - 1) * size, type, 1, &ignored, DType::I64, 1, 1);
    }
  }

private:
  std::unique_ptr<Source> labels;
  DType type;
  int64_t length, parts = 1, ignored;
};

} // namespace

std::unique_ptr<Source> shiftLabels(std::unique_ptr<Source> labels, const InputSpec &input, int64_t ignored) {
  if (!input.batched || input.desc.shape.size() < 2)
    fail("--shift-labels: the labels '{}' have shape {}, expected [batch, length]: a label for each token",
         input.name, shapeText(input.desc.shape));
  return std::make_unique<ShiftedLabels>(std::move(labels), input, ignored);
}

} // namespace kedge::rt
