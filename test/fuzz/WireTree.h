// Bytes in protobuf's wire format as a tree that can be changed and written back with right lengths, so that
// mutations reach behind the parser's first checks.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::test {

struct WireField {
  uint64_t tag = 0;    // field number and wire type
  uint64_t varint = 0; // of wire type 0
  std::string bytes;   // payload of the wire types 1, 2 and 5 without children
  std::vector<WireField> children;
  bool isMessage = false;
};

/// False when the bytes are no message (or nested deeper than `depth`).
bool parseWire(const std::string &bytes, std::vector<WireField> &fields, int depth = 12);
std::string writeWire(const std::vector<WireField> &fields);
/// Every field, in order of appearance; the pointers hold until a list of fields changes.
void collectFields(std::vector<WireField> &fields,
                   std::vector<std::pair<std::vector<WireField> *, size_t>> &all);

} // namespace kedge::test
