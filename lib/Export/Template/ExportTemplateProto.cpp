#include "lib/Export/Template/ExportTemplateProto.h"
#include "lib/Support/Error.h"
#include <cstring>
#include <google/protobuf/io/coded_stream.h>

namespace kedge::exporter {

using google::protobuf::io::CodedOutputStream;

static void appendVarint(std::string &out, uint64_t value) {
  uint8_t buffer[10];
  uint8_t *end = CodedOutputStream::WriteVarint64ToArray(value, buffer);
  out.append(reinterpret_cast<const char *>(buffer), end - buffer);
}

static void appendTag(std::string &out, int field, int wireType) {
  appendVarint(out, (static_cast<uint64_t>(field) << 3) | static_cast<uint64_t>(wireType));
}

void putVarint(std::string &out, int field, uint64_t value) {
  appendTag(out, field, 0);
  appendVarint(out, value);
}

std::string messagePrefix(int field, uint64_t length) {
  std::string out;
  appendTag(out, field, 2);
  appendVarint(out, length);
  return out;
}

void putBytes(std::string &out, int field, std::string_view bytes) {
  out += messagePrefix(field, bytes.size());
  out += bytes;
}

void putFloat(std::string &out, int field, float value) {
  appendTag(out, field, 5);
  char bytes[4];
  std::memcpy(bytes, &value, 4);
  out.append(bytes, 4);
}

void putEntry(std::string &out, int field, const std::string &key, const std::string &value) {
  std::string entry;
  putBytes(entry, 1, key);
  putBytes(entry, 2, value);
  putBytes(out, field, entry);
}

void putMetadata(std::string &out, int field, const model::Metadata &metadata) {
  for (const auto &[key, value] : metadata)
    putEntry(out, field, key, value);
}

std::string encodeAttribute(const model::Attribute &a) {
  using Kind = model::Attribute::Kind;
  std::string out;
  putBytes(out, 1, a.name);
  switch (a.kind) {
  case Kind::Float:
    putFloat(out, 2, a.f);
    break;
  case Kind::Int:
    putVarint(out, 3, static_cast<uint64_t>(a.i));
    break;
  case Kind::String:
    putBytes(out, 4, a.s);
    break;
  case Kind::Tensor:
    putBytes(out, 5, encodeTensor(*a.tensors.at(0)));
    break;
  case Kind::Graph:
    putBytes(out, 6, encodeGraph(*a.graphs.at(0)));
    break;
  case Kind::Floats:
    for (float v : a.floats)
      putFloat(out, 7, v);
    break;
  case Kind::Ints:
    for (int64_t v : a.ints)
      putVarint(out, 8, static_cast<uint64_t>(v));
    break;
  case Kind::Strings:
    for (const std::string &v : a.strings)
      putBytes(out, 9, v);
    break;
  default:
    fail("attribute '{}' of kind {} cannot be written to ONNX", a.name, model::attributeKindName(a.kind));
  }
  putVarint(out, 20, static_cast<uint64_t>(a.kind));
  return out;
}

std::string encodeNode(const model::Node &node) {
  std::string out;
  for (const std::string &input : node.inputs)
    putBytes(out, 1, input);
  for (const std::string &output : node.outputs)
    putBytes(out, 2, output);
  if (!node.name.empty())
    putBytes(out, 3, node.name);
  putBytes(out, 4, node.opType);
  for (const model::Attribute &a : node.attributes)
    putBytes(out, 5, encodeAttribute(a));
  if (!node.doc.empty())
    putBytes(out, 6, node.doc);
  if (!node.domain.empty())
    putBytes(out, 7, node.domain);
  putMetadata(out, 9, node.metadata);
  return out;
}

std::string encodeTensor(const model::Tensor &tensor) {
  std::string out;
  for (int64_t d : tensor.dims)
    putVarint(out, 1, static_cast<uint64_t>(d));
  putVarint(out, 2, static_cast<uint64_t>(tensor.dtype));
  if (!tensor.name.empty())
    putBytes(out, 8, tensor.name);
  putMetadata(out, 16, tensor.metadata);
  if (tensor.dtype == model::ElementType::String) {
    for (const std::string &v : tensor.strings)
      putBytes(out, 6, v);
    return out;
  }
  model::Bytes bytes = tensor.bytes();
  putBytes(out, 9, {reinterpret_cast<const char *>(bytes.data), bytes.size});
  return out;
}

std::string encodeValueInfo(const model::ValueInfo &info) {
  std::string out, shape, tensorType, type;
  putBytes(out, 1, info.name);
  if (info.kind != model::ValueInfo::Kind::Untyped) {
    if (info.kind != model::ValueInfo::Kind::Tensor)
      fail("value {} cannot be written to ONNX: only tensor types can", info.describe());
    putVarint(tensorType, 1, static_cast<uint64_t>(info.dtype));
    for (const model::Dim &d : info.dims) {
      std::string dim;
      if (d.isValue())
        putVarint(dim, 1, static_cast<uint64_t>(d.value));
      else if (d.kind == model::Dim::Kind::Symbol)
        putBytes(dim, 2, d.symbol);
      putBytes(shape, 1, dim);
    }
    if (info.hasShape)
      putBytes(tensorType, 2, shape);
    putBytes(type, 1, tensorType);
    putBytes(out, 2, type);
  }
  putMetadata(out, 4, info.metadata);
  return out;
}

std::string encodeGraph(const model::Graph &graph) {
  std::string out;
  for (const model::Node &node : graph.nodes)
    putBytes(out, 1, encodeNode(node));
  putBytes(out, 2, graph.name.empty() ? "graph" : graph.name); // as ONNX wants one
  for (const model::Tensor &tensor : graph.initializers)
    putBytes(out, 5, encodeTensor(tensor));
  for (const model::ValueInfo &input : graph.inputs)
    putBytes(out, 11, encodeValueInfo(input));
  for (const model::ValueInfo &output : graph.outputs)
    putBytes(out, 12, encodeValueInfo(output));
  for (const model::ValueInfo &info : graph.valueInfos)
    putBytes(out, 13, encodeValueInfo(info));
  putMetadata(out, 16, graph.metadata);
  return out;
}

} // namespace kedge::exporter
