#include "driver/tokens/TextTasks.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cctype>
#include <cstring>

namespace kedge::driver {
namespace {

constexpr size_t kTaskBytes = size_t(1) << 20;

bool endsWithAny(const std::string &path, std::initializer_list<const char *> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char *ending) { return path.ends_with(ending); });
}

TextKind kindOf(const std::string &path, bool lines) {
  if (endsWithAny(path, {".jsonl", ".ndjson"}))
    return TextKind::JsonLines;
  if (endsWithAny(path, {".json", ".gz", ".zst", ".xz", ".parquet", ".arrow", ".npy", ".bin", ".zip"}))
    fail("{}: expected a text file, or lines of JSON (.jsonl)", path);
  return lines ? TextKind::Lines : TextKind::Whole;
}

/// Behind the first line end at or after `from`; the end of the file if there is none.
size_t behindLine(const rt::FileMap &map, size_t from) {
  const void *found = from < map.size() ? std::memchr(map.data() + from, '\n', map.size() - from) : nullptr;
  return found ? static_cast<size_t>(static_cast<const char *>(found) - map.data()) + 1 : map.size();
}

bool isAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Between two lines that are words at their common border: no step of a tokenizer looks over it.
bool isBorder(const rt::FileMap &map, size_t at) {
  const char before = map.data()[at - 2];
  return (isAsciiLetter(before) || (before >= '0' && before <= '9')) && isAsciiLetter(map.data()[at]);
}

} // namespace

TextTasks::TextTasks(const std::vector<std::string> &paths, bool lines, bool cutsDocuments)
    : cutsDocuments(cutsDocuments) {
  for (const std::string &path : paths)
    files.push_back({rt::FileMap(path, "text file"), kindOf(path, lines)});
}

size_t TextTasks::endOfTask(const TextFile &file, size_t begin) const {
  const size_t size = file.map.size();
  if ((file.kind == TextKind::Whole && !cutsDocuments) || size - begin <= kTaskBytes)
    return size;
  size_t end = behindLine(file.map, begin + kTaskBytes - 1);
  while (file.kind == TextKind::Whole && end < size && !isBorder(file.map, end))
    end = behindLine(file.map, end);
  return end;
}

bool TextTasks::next(TextTask &task) {
  while (at < files.size() && place == files[at].map.size()) {
    ++at;
    place = 0;
    line = 1;
  }
  if (at == files.size())
    return false;
  const TextFile &file = files[at];
  task = {&file, place, endOfTask(file, place), line};
  task.first = place == 0;
  task.last = task.end == file.map.size();
  if (file.kind != TextKind::Whole)
    line += static_cast<size_t>(std::count(file.map.data() + place, file.map.data() + task.end, '\n'));
  place = task.end;
  return true;
}

} // namespace kedge::driver
