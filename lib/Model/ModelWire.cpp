#include "lib/Model/ModelWire.h"
#include "lib/Support/Error.h"
#include "runtime/io/Printable.h"
#include <climits>

namespace kedge::model {

static int streamSize(const MappedFile &file, Span span, std::string_view what) {
  if (span.length > INT_MAX)
    fail("{}: {} at byte {} takes {} bytes; a part of an ONNX file holds at most {}. "
         "Save the model with its weights as external data",
         file.path(), what, span.offset, span.length, INT_MAX);
  return static_cast<int>(span.length);
}

WireReader::WireReader(const MappedFile &file, Span span, std::string_view what)
    : source(file), message(span), name(what), in(file.data() + span.offset, streamSize(file, span, what)),
      fieldEnd(span.offset) {}

void WireReader::damaged(const std::string &reason) const {
  fail("{}: damaged ONNX file: {}, at byte {} ({}; the file has {} bytes). Export or copy the model again",
       source.path(), reason, fieldStart, name, source.size());
}

bool WireReader::next() {
  if (fieldEnd == message.offset + message.length)
    return false;
  fieldStart = fieldEnd;
  uint32_t tag = in.ReadTag();
  number = static_cast<int>(tag >> 3);
  if (number == 0)
    damaged("no field begins here");
  switch (tag & 7) {
  case 0:
    wireType = Type::Varint;
    break;
  case 1:
    wireType = Type::Fixed64;
    break;
  case 2:
    wireType = Type::Bytes;
    break;
  case 5:
    wireType = Type::Fixed32;
    break;
  default:
    damaged("no field begins here");
  }
  readValue();
  fieldEnd = message.offset + static_cast<uint64_t>(in.CurrentPosition());
  return true;
}

void WireReader::readValue() {
  bool ok = true;
  if (wireType == Type::Varint) {
    ok = in.ReadVarint64(&scalar);
  } else if (wireType == Type::Fixed64) {
    uint64_t value = 0;
    ok = in.ReadLittleEndian64(&value);
    scalar = value;
  } else if (wireType == Type::Fixed32) {
    uint32_t value = 0;
    ok = in.ReadLittleEndian32(&value);
    scalar = value;
  } else {
    uint64_t length = 0;
    ok = in.ReadVarint64(&length);
    uint64_t position = static_cast<uint64_t>(in.CurrentPosition());
    if (ok && length > message.length - position) {
      bool isWholeFile = message.length == source.size();
      damaged(fmt::format("{}field {} says that it has {} bytes, but only {} are left",
                          isWholeFile ? "the file seems to be cut short: " : "", number, length,
                          message.length - position));
    }
    if (ok) {
      payload = {message.offset + position, length};
      ok = in.Skip(static_cast<int>(length));
    }
  }
  if (!ok)
    damaged(fmt::format("field {} ends too early", number));
}

static std::string_view describe(WireReader::Type type) {
  switch (type) {
  case WireReader::Type::Varint:
    return "a whole number";
  case WireReader::Type::Fixed64:
    return "a number of 8 bytes";
  case WireReader::Type::Fixed32:
    return "a number of 4 bytes";
  case WireReader::Type::Bytes:
    return "a text, a list or a part with fields of its own";
  }
  return "";
}

void WireReader::require(Type expected) {
  if (wireType != expected)
    damaged(fmt::format("field {} should be {}, but is {}", number, describe(expected), describe(wireType)));
}

int64_t WireReader::varint() {
  require(Type::Varint);
  return static_cast<int64_t>(scalar);
}

float WireReader::fixed32() {
  require(Type::Fixed32);
  uint32_t bits = static_cast<uint32_t>(scalar);
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

double WireReader::fixed64() {
  require(Type::Fixed64);
  double value;
  __builtin_memcpy(&value, &scalar, 8);
  return value;
}

Span WireReader::bytes() {
  require(Type::Bytes);
  return payload;
}

std::string WireReader::byteString() {
  Span span = bytes();
  return {reinterpret_cast<const char *>(at(span.offset)), span.length};
}

std::string WireReader::string() {
  std::string text = byteString();
  if (!rt::isUtf8(text))
    damaged(
        fmt::format("the text '{}' is not UTF-8, as ONNX wants names and texts to be", rt::printable(text)));
  return text;
}

} // namespace kedge::model
