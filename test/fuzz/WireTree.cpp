#include "test/fuzz/WireTree.h"

namespace kedge::test {

static bool readVarint(const std::string &bytes, size_t &at, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    uint8_t byte = static_cast<uint8_t>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

static void putVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

static bool readField(const std::string &bytes, size_t &at, WireField &field, int depth) {
  if (!readVarint(bytes, at, field.tag) || field.tag < 8)
    return false;
  uint64_t length = 0;
  switch (field.tag & 7) {
  case 0:
    return readVarint(bytes, at, field.varint);
  case 1:
    length = 8;
    break;
  case 5:
    length = 4;
    break;
  case 2:
    if (!readVarint(bytes, at, length))
      return false;
    break;
  default:
    return false;
  }
  if (length > bytes.size() - at)
    return false;
  field.bytes = bytes.substr(at, length);
  at += length;
  if ((field.tag & 7) == 2 && length > 0 && depth > 0)
    field.isMessage = parseWire(field.bytes, field.children, depth - 1);
  return true;
}

bool parseWire(const std::string &bytes, std::vector<WireField> &fields, int depth) {
  fields.clear();
  for (size_t at = 0; at < bytes.size();) {
    WireField field;
    if (!readField(bytes, at, field, depth)) {
      fields.clear();
      return false;
    }
    fields.push_back(std::move(field));
  }
  return true;
}

std::string writeWire(const std::vector<WireField> &fields) {
  std::string out;
  for (const WireField &field : fields) {
    putVarint(out, field.tag);
    unsigned type = field.tag & 7;
    if (type == 0) {
      putVarint(out, field.varint);
      continue;
    }
    std::string payload = field.isMessage ? writeWire(field.children) : field.bytes;
    if (type == 2)
      putVarint(out, payload.size());
    out += payload;
  }
  return out;
}

void collectFields(std::vector<WireField> &fields,
                   std::vector<std::pair<std::vector<WireField> *, size_t>> &all) {
  for (size_t k = 0; k < fields.size(); ++k) {
    all.emplace_back(&fields, k);
    collectFields(fields[k].children, all);
  }
}

} // namespace kedge::test
