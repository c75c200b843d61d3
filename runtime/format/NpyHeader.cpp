#include "runtime/format/NpyHeader.h"
#include <charconv>

namespace kedge::rt {
namespace {

constexpr size_t kMostAxes = 64;

/// Each take... steps over what it names, spaces in front included, and says whether it stood there.
class HeaderText {
public:
  explicit HeaderText(std::string_view text) : text(text) {}

  bool take(char wanted) {
    skipSpaces();
    if (text.empty() || text[0] != wanted)
      return false;
    text.remove_prefix(1);
    return true;
  }

  bool takeWord(std::string_view wanted) {
    skipSpaces();
    if (text.substr(0, wanted.size()) != wanted)
      return false;
    text.remove_prefix(wanted.size());
    return true;
  }

  bool takeQuoted(std::string_view &value) {
    skipSpaces();
    if (text.empty() || (text[0] != '\'' && text[0] != '"'))
      return false;
    const size_t end = text.find(text[0], 1);
    if (end == std::string_view::npos)
      return false;
    value = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return true;
  }

  /// A size from 0; Python 2 wrote 3L.
  bool takeSize(int64_t &value) {
    skipSpaces();
    if (text.empty() || text[0] < '0' || text[0] > '9')
      return false;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc())
      return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.empty() && text[0] == 'L')
      text.remove_prefix(1);
    return true;
  }

  bool isDone() {
    skipSpaces();
    return text.empty();
  }

private:
  void skipSpaces() {
    const size_t used = text.find_first_not_of(" \t\r\n");
    text.remove_prefix(used == std::string_view::npos ? text.size() : used);
  }

  std::string_view text;
};

bool takeShape(HeaderText &text, std::vector<int64_t> &shape) {
  if (!text.take('('))
    return false;
  while (!text.take(')')) {
    int64_t size = 0;
    if (shape.size() == kMostAxes || !text.takeSize(size))
      return false;
    shape.push_back(size);
    if (!text.take(','))
      return text.take(')');
  }
  return true;
}

} // namespace

std::optional<NpyHeader> parseNpyHeader(std::string_view header) {
  HeaderText text(header);
  NpyHeader found;
  bool hasDescr = false, hasOrder = false, hasShape = false;
  // Each key once: the second would overrule what was checked.
  const auto takeEntry = [&](std::string_view key) {
    if (key == "descr" && !hasDescr) {
      std::string_view value;
      hasDescr = text.takeQuoted(value);
      found.descr = value;
      return hasDescr;
    }
    if (key == "fortran_order" && !hasOrder) {
      found.fortranOrder = text.takeWord("True");
      return hasOrder = found.fortranOrder || text.takeWord("False");
    }
    if (key == "shape" && !hasShape)
      return hasShape = takeShape(text, found.shape);
    return false;
  };
  if (!text.take('{'))
    return std::nullopt;
  for (std::string_view key; text.takeQuoted(key);) {
    if (!text.take(':') || !takeEntry(key))
      return std::nullopt;
    if (!text.take(','))
      break;
  }
  if (!text.take('}') || !text.isDone() || !hasDescr || !hasOrder || !hasShape)
    return std::nullopt;
  return found;
}

} // namespace kedge::rt
