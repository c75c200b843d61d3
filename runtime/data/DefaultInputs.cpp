#include "runtime/data/DefaultInputs.h"
#include "kedge/abi/LossNames.h"
#include "runtime/data/Documents.h"
#include "runtime/format/Convert.h"

namespace kedge::rt {
namespace {

constexpr std::string_view kOnes = "1", kZeros = "0", kCounting = "0, 1, 2, ...";

class DefaultRows : public Source {
public:
  DefaultRows(const InputSpec &input, int64_t count)
      : input(input), kind(defaultOf(input)), count(input.batched ? count : 1),
        elements(input.batched ? input.desc.elements() / input.desc.shape[0] : input.desc.elements()) {}

  int64_t rows() const override { return count; }

  void read(int64_t, char *destination) const override {
    const int64_t length = input.desc.shape.back();
    for (int64_t i = 0; i < elements; ++i)
      storeDouble(input.desc.type, destination, i,
                  kind == kCounting ? static_cast<double>(i % length)
                  : kind == kOnes   ? 1
                                    : 0);
  }

private:
  InputSpec input;
  std::string_view kind;
  int64_t count, elements;
};

} // namespace

std::string_view defaultOf(const InputSpec &input) {
  const size_t rank = input.desc.shape.size();
  const std::string_view name = input.name;
  if (input.labels || rank < 2 || input.desc.elements() == 0)
    return "";
  if (rank == 2 && name.ends_with("attention_mask"))
    return kOnes;
  if (rank == 2 && name == abi::kLossMask)
    return kOnes;
  if (isFloat(input.desc.type))
    return "";
  if (name == "position_ids" && rank <= 3)
    return kCounting;
  return rank == 2 && (name == "token_type_ids" || name == kDocumentBorders) ? kZeros : "";
}

std::unique_ptr<Source> defaultRows(const InputSpec &input, int64_t rows) {
  return std::make_unique<DefaultRows>(input, rows);
}

} // namespace kedge::rt
