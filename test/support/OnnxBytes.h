// ONNX files from a few lines of C++: messages in protobuf's wire format, built by hand.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace kedge::test {

/// One message under construction; `bytes` is what a file would hold.
struct Msg {
  std::string bytes;

  Msg &varint(int field, uint64_t value) {
    raw(uint64_t(field) << 3);
    raw(value);
    return *this;
  }
  Msg &text(int field, const std::string &value) {
    raw(uint64_t(field) << 3 | 2);
    raw(value.size());
    bytes += value;
    return *this;
  }
  Msg &sub(int field, const Msg &value) { return text(field, value.bytes); }
  Msg &real(int field, float value) {
    raw(uint64_t(field) << 3 | 5);
    bytes.append(reinterpret_cast<const char *>(&value), 4);
    return *this;
  }
  void raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
  }
};

template <typename T> std::string pack(const std::vector<T> &values) {
  std::string out(values.size() * sizeof(T), '\0');
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

/// TensorProto without elements.
inline Msg tensorHead(const std::string &name, int type, const std::vector<int64_t> &dims) {
  Msg m;
  for (int64_t d : dims)
    m.varint(1, static_cast<uint64_t>(d));
  m.varint(2, static_cast<uint64_t>(type));
  return m.text(8, name);
}

template <typename T>
Msg rawTensor(const std::string &name, int type, const std::vector<int64_t> &dims,
              const std::vector<T> &values) {
  return tensorHead(name, type, dims).text(9, pack(values));
}

inline Msg entry(const std::string &key, const std::string &value) {
  return Msg().text(1, key).text(2, value);
}

inline Msg externalTensor(const std::string &name, const std::vector<int64_t> &dims,
                          const std::string &location, const std::string &offset, const std::string &length) {
  Msg m = tensorHead(name, 1, dims);
  m.sub(13, entry("location", location));
  if (!offset.empty())
    m.sub(13, entry("offset", offset));
  if (!length.empty())
    m.sub(13, entry("length", length));
  return m.varint(14, 1);
}

inline Msg node(const std::string &op, const std::vector<std::string> &inputs,
                const std::vector<std::string> &outputs, const std::string &name = "") {
  Msg m;
  for (const std::string &in : inputs)
    m.text(1, in);
  for (const std::string &out : outputs)
    m.text(2, out);
  if (!name.empty())
    m.text(3, name);
  return m.text(4, op);
}

inline Msg intAttribute(const std::string &name, int64_t value) {
  return Msg().text(1, name).varint(3, static_cast<uint64_t>(value)).varint(20, 2);
}
inline Msg graphAttribute(const std::string &name, const Msg &graph) {
  return Msg().text(1, name).sub(6, graph).varint(20, 5);
}
/// An attribute of a function body that takes its value from the call.
inline Msg refAttribute(const std::string &name, const std::string &of, int kind) {
  return Msg().text(1, name).varint(20, static_cast<uint64_t>(kind)).text(21, of);
}

/// ValueInfoProto of a float tensor; negative dims become the symbol "batch".
inline Msg value(const std::string &name, const std::vector<int64_t> &dims, int type = 1) {
  Msg shape;
  for (int64_t d : dims)
    shape.sub(1, d < 0 ? Msg().text(2, "batch") : Msg().varint(1, static_cast<uint64_t>(d)));
  return Msg().text(1, name).sub(2, Msg().sub(1, Msg().varint(1, static_cast<uint64_t>(type)).sub(2, shape)));
}

inline Msg opset(const std::string &domain, int64_t version) {
  return Msg().text(1, domain).varint(2, static_cast<uint64_t>(version));
}

/// ModelProto around a graph.
inline Msg modelOf(const Msg &graph, int64_t version = 18) {
  return Msg().varint(1, 8).text(2, "test").sub(7, graph).sub(8, opset("", version));
}

inline std::vector<uint8_t> asBytes(const Msg &m) { return {m.bytes.begin(), m.bytes.end()}; }

} // namespace kedge::test
