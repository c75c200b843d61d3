// The header of an npy file: a dictionary with three entries in Python's syntax.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::rt {

struct NpyHeader {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Nothing if the text is not such a dictionary. Time and memory are linear in its length.
std::optional<NpyHeader> parseNpyHeader(std::string_view text);

} // namespace kedge::rt
