// The header of an npy file: a dictionary of three entries as Python prints it.
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

/// Nothing where the text is no such dictionary. Time and memory grow with its length alone.
std::optional<NpyHeader> parseNpyHeader(std::string_view text);

} // namespace kedge::rt
