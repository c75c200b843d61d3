#include "runtime/format/Tensor.h"
#include "runtime/io/Error.h"
#include <array>
#include <fmt/ranges.h>

namespace kedge::rt {
namespace {

struct DTypeFacts {
  std::string_view name;
  size_t bytes;
};

constexpr std::array<DTypeFacts, 15> kFacts = {{{"f32", 4},
                                                {"f64", 8},
                                                {"f16", 2},
                                                {"bf16", 2},
                                                {"i8", 1},
                                                {"i16", 2},
                                                {"i32", 4},
                                                {"i64", 8},
                                                {"u8", 1},
                                                {"u16", 2},
                                                {"u32", 4},
                                                {"u64", 8},
                                                {"bool", 1},
                                                {"f8e4m3fn", 1},
                                                {"f8e5m2", 1}}};

} // namespace

size_t dtypeSize(DType type) { return kFacts[static_cast<size_t>(type)].bytes; }

std::string_view dtypeName(DType type) { return kFacts[static_cast<size_t>(type)].name; }

DType parseDType(std::string_view name) {
  for (size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].name == name)
      return static_cast<DType>(i);
  fail("unknown element type '{}': expected one of f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool "
       "f8e4m3fn f8e5m2",
       name);
}

std::string shapeText(std::span<const int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

int64_t TensorDesc::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

size_t TensorDesc::bytes() const { return static_cast<size_t>(elements()) * dtypeSize(type); }

} // namespace kedge::rt
