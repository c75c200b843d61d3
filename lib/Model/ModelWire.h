// Reads protobuf's wire format from memory, field by field. Every length is checked against its message.
#pragma once
#include "lib/Model/ModelFile.h"
#include <google/protobuf/io/coded_stream.h>
#include <string>
#include <string_view>

namespace kedge::model {

/// Place of a length-delimited payload in the file.
struct Span {
  uint64_t offset = 0;
  uint64_t length = 0;
};

class WireReader {
public:
  enum class Type { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

  /// `what` names the message in errors ("node 3"); it and the file must outlive the reader.
  WireReader(const MappedFile &file, Span span, std::string_view what);

  /// Reads the next field; false at the end of the message.
  bool next();
  int field() const { return number; }
  Type type() const { return wireType; }
  /// Byte offset in the file of the current field's tag.
  uint64_t place() const { return fieldStart; }
  /// Byte offset just after the current field.
  uint64_t placeEnd() const { return fieldEnd; }

  int64_t varint();         // kedge::Error unless Type::Varint
  float fixed32();          // kedge::Error unless Type::Fixed32
  double fixed64();         // kedge::Error unless Type::Fixed64
  Span bytes();             // kedge::Error unless Type::Bytes, within the message
  std::string string();     // kedge::Error unless Type::Bytes, and UTF-8, as names and texts are
  std::string byteString(); // kedge::Error unless Type::Bytes

  /// Values of a repeated scalar field, packed or not: calls `take` for each value of this occurrence.
  template <typename F> void varints(F &&take);
  template <typename F> void floats(F &&take);
  template <typename F> void doubles(F &&take);

  [[noreturn]] void damaged(const std::string &reason) const;
  const MappedFile &file() const { return source; }

private:
  void require(Type expected);
  void readValue();
  const uint8_t *at(uint64_t offset) const { return source.data() + offset; }

  const MappedFile &source;
  Span message;
  std::string_view name;
  google::protobuf::io::CodedInputStream in;
  int number = 0;
  Type wireType = Type::Varint;
  uint64_t fieldStart = 0;
  uint64_t fieldEnd = 0;
  uint64_t scalar = 0; // value of Varint, Fixed32, Fixed64
  Span payload;        // of Bytes
};

template <typename F> void WireReader::varints(F &&take) {
  if (wireType == Type::Varint)
    return take(static_cast<int64_t>(scalar));
  Span packed = bytes();
  google::protobuf::io::CodedInputStream values(at(packed.offset), static_cast<int>(packed.length));
  uint64_t value = 0;
  while (static_cast<uint64_t>(values.CurrentPosition()) < packed.length) {
    if (!values.ReadVarint64(&value))
      damaged("a packed integer is broken");
    take(static_cast<int64_t>(value));
  }
}

template <typename F> void WireReader::floats(F &&take) {
  if (wireType == Type::Fixed32)
    return take(fixed32());
  Span packed = bytes();
  if (packed.length % 4 != 0)
    damaged("packed floats are not a multiple of 4 bytes");
  for (uint64_t i = 0; i < packed.length; i += 4) {
    float value;
    __builtin_memcpy(&value, at(packed.offset + i), 4);
    take(value);
  }
}

template <typename F> void WireReader::doubles(F &&take) {
  if (wireType == Type::Fixed64)
    return take(fixed64());
  Span packed = bytes();
  if (packed.length % 8 != 0)
    damaged("packed doubles are not a multiple of 8 bytes");
  for (uint64_t i = 0; i < packed.length; i += 8) {
    double value;
    __builtin_memcpy(&value, at(packed.offset + i), 8);
    take(value);
  }
}

} // namespace kedge::model
