// Python's methods of text, as chat templates call them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::driver {

enum class TextSide : uint8_t { Left, Right, Both };

/// str.strip and its like; without `characters`: Python's white space.
std::string stripped(std::string_view text, TextSide side, const std::optional<std::string> &characters);
/// str.split; without a separator at white space. `most`: below 0: as often as it is found.
std::vector<std::string> split(std::string_view text, const std::optional<std::string> &separator,
                               int64_t most);
std::vector<std::string> splitLines(std::string_view text);
std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t most);
/// Each is a character of UTF-8.
std::vector<std::string_view> characters(std::string_view text);

enum class TextCase : uint8_t { Upper, Lower, Capitalized, Title };
/// Throws an error for a text that is not ASCII.
std::string inCase(std::string_view text, TextCase wanted);

} // namespace kedge::driver
