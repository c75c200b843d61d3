// Element types and shapes in the runtime. Tensors are static, row-major and contiguous.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::rt {

/// Element types that a program may use. Files contain their names (dtypeName), never these numbers.
enum class DType : uint8_t {
  F32,
  F64,
  F16,
  BF16,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  Bool,
  F8E4M3,
  F8E5M2
};

/// Bytes of one element (Bool takes one byte, 0 or 1).
size_t dtypeSize(DType type);
/// "f32", "i64", "bool", ...: the name in a program's launch table.
std::string_view dtypeName(DType type);
/// Throws rt::RuntimeError on an unknown name.
DType parseDType(std::string_view name);

/// "[2, 3]", for messages.
std::string shapeText(std::span<const int64_t> shape);

struct TensorDesc {
  DType type = DType::F32;
  std::vector<int64_t> shape;

  int64_t elements() const;
  size_t bytes() const;
};

} // namespace kedge::rt
