#include "lib/Text/Lines.h"
#include "llvm/ADT/SmallVector.h"

using llvm::StringRef;

namespace kedge::text {
namespace {

/// How much further the rest of a line is moved to the right.
constexpr size_t kContinued = 4;

/// Where a line may end: after `length` characters, inside of `depth` brackets.
struct Cut {
  size_t length, depth;
};

/// The places between tokens of one line; none in strings.
llvm::SmallVector<Cut> cutsOf(StringRef line) {
  llvm::SmallVector<Cut> cuts;
  size_t depth = 0;
  bool inString = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (inString) {
      if (c == '\\')
        ++at;
      else if (c == '"')
        inString = false;
      continue;
    }
    const bool isArrow = c == '>' && at > 0 && line[at - 1] == '-';
    if (c == '"')
      inString = true;
    else if (c == '(' || c == '[' || c == '{' || c == '<')
      ++depth;
    else if ((c == ')' || c == ']' || c == '}' || (c == '>' && !isArrow)) && depth > 0)
      --depth;
    else if (c == ' ' && at > 0 && line[at - 1] != '=' && !line.substr(at).starts_with(" ="))
      cuts.push_back({at, depth});
  }
  return cuts;
}

/// Of the cuts that leave at most `width` characters the best: the outermost of those that fill a third of
/// the line. The first of all where a token is longer than a line; 0: the line cannot be cut.
size_t bestCut(StringRef line, size_t width) {
  Cut best{0, 0};
  for (const Cut &cut : cutsOf(line)) {
    if (cut.length > width)
      return best.length ? best.length : cut.length;
    if (best.length <= width / 3 || cut.depth <= best.depth)
      best = cut;
  }
  return best.length;
}

void addLine(std::string &result, StringRef line, size_t indent) {
  size_t moved = indent;
  while (moved + line.size() > kWidth) {
    const size_t length = bestCut(line, kWidth - moved);
    if (length == 0)
      break;
    result.append(moved, ' ').append(line.take_front(length).rtrim()).append("\n");
    line = line.drop_front(length).ltrim();
    moved = indent + kContinued;
  }
  result.append(moved, ' ').append(line).append("\n");
}

} // namespace

std::string inLines(StringRef text, size_t indent) {
  std::string result;
  for (text = text.rtrim('\n'); !text.empty();) {
    auto [line, rest] = text.split('\n');
    const StringRef words = line.ltrim(' ');
    addLine(result, words.rtrim(), indent + (line.size() - words.size()));
    text = rest;
  }
  return result;
}

} // namespace kedge::text
