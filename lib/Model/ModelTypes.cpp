// Names and sizes of element types; attribute kinds.
#include "lib/Model/ModelTypes.h"

namespace kedge::model {

namespace {
struct TypeFacts {
  std::string_view name;
  unsigned bits;
};
constexpr TypeFacts typeFacts[] = {
    {"undefined", 0},      {"float32", 32},  {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"float64", 64},  {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2}};
constexpr std::string_view kindNames[] = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph", "floats", "ints",
    "strings",   "tensors", "graphs", "sparse tensor", "sparse tensors", "type",  "types"};
} // namespace

std::string_view dtypeName(DType type) { return typeFacts[static_cast<size_t>(type)].name; }
unsigned dtypeBits(DType type) { return typeFacts[static_cast<size_t>(type)].bits; }

bool isFloat(DType type) {
  return type == DType::Float || type == DType::Float16 || type == DType::BFloat16 || type == DType::Double;
}

bool isInteger(DType type) {
  switch (type) {
  case DType::Int8:
  case DType::Int16:
  case DType::Int32:
  case DType::Int64:
  case DType::UInt8:
  case DType::UInt16:
  case DType::UInt32:
  case DType::UInt64:
  case DType::Int4:
  case DType::UInt4:
  case DType::Int2:
  case DType::UInt2:
    return true;
  default:
    return false;
  }
}

std::string_view attributeKindName(Attribute::Kind kind) { return kindNames[static_cast<size_t>(kind)]; }

Attribute Attribute::makeInt(std::string name, int64_t value) {
  Attribute a;
  a.name = std::move(name);
  a.kind = Kind::Int;
  a.i = value;
  return a;
}

Attribute Attribute::makeFloat(std::string name, float value) {
  Attribute a;
  a.name = std::move(name);
  a.kind = Kind::Float;
  a.f = value;
  return a;
}

Attribute Attribute::makeString(std::string name, std::string value) {
  Attribute a;
  a.name = std::move(name);
  a.kind = Kind::String;
  a.s = std::move(value);
  return a;
}

Attribute Attribute::makeInts(std::string name, std::vector<int64_t> values) {
  Attribute a;
  a.name = std::move(name);
  a.kind = Kind::Ints;
  a.ints = std::move(values);
  return a;
}

Attribute Attribute::makeFloats(std::string name, std::vector<float> values) {
  Attribute a;
  a.name = std::move(name);
  a.kind = Kind::Floats;
  a.floats = std::move(values);
  return a;
}

Attribute Attribute::makeTensor(std::string name, Tensor value) {
  Attribute a;
  a.name = std::move(name);
  a.kind = Kind::Tensor;
  a.tensors.push_back(std::make_shared<Tensor>(std::move(value)));
  return a;
}

} // namespace kedge::model
