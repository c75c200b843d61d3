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

std::string_view dtypeName(ElementType type) { return typeFacts[static_cast<size_t>(type)].name; }
unsigned dtypeBits(ElementType type) { return typeFacts[static_cast<size_t>(type)].bits; }

bool isFloat(ElementType type) {
  return type == ElementType::Float || type == ElementType::Float16 || type == ElementType::BFloat16 ||
         type == ElementType::Double;
}

bool isInteger(ElementType type) {
  switch (type) {
  case ElementType::Int8:
  case ElementType::Int16:
  case ElementType::Int32:
  case ElementType::Int64:
  case ElementType::UInt8:
  case ElementType::UInt16:
  case ElementType::UInt32:
  case ElementType::UInt64:
  case ElementType::Int4:
  case ElementType::UInt4:
  case ElementType::Int2:
  case ElementType::UInt2:
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
