#include "driver/data/Table.h"
#include "lib/Support/Error.h"
#include "runtime/io/FileMap.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <string_view>

namespace kedge::driver {
namespace {

std::string_view withoutMark(const rt::FileMap &file) {
  std::string_view text(file.data(), file.size());
  if (text.starts_with("\xef\xbb\xbf"))
    text.remove_prefix(3);
  return text;
}

/// Reads rows of cells.
class CsvReader {
public:
  CsvReader(std::string_view text, char delimiter, const std::string &path)
      : text(text), path(path), delimiter(delimiter) {}

  /// The next row that is not empty; false at the end.
  bool next(std::vector<std::string> &cells, size_t &begins) {
    do {
      if (at >= text.size())
        return false;
      cells.clear();
      begins = line;
      do
        cells.push_back(cell());
      while (take(delimiter));
      take('\r');
      if (at < text.size() && !take('\n'))
        fail("{}:{}: expected '{}' or the line's end after a cell in quotation marks", path, line, delimiter);
      ++line;
    } while (cells.size() == 1 && cells[0].empty());
    return true;
  }

private:
  bool take(char wanted) {
    const bool found = at < text.size() && text[at] == wanted;
    at += found;
    return found;
  }
  std::string cell() {
    if (take('"'))
      return quoted();
    const size_t end = std::min(text.find_first_of(std::string("\n") + delimiter, at), text.size());
    std::string_view found = text.substr(at, end - at);
    at = end;
    if (found.ends_with('\r'))
      found.remove_suffix(1);
    return std::string(found);
  }
  std::string quoted() {
    std::string found;
    for (const size_t begin = line; at < text.size(); ++at) {
      if (text[at] == '"') {
        ++at;
        if (at >= text.size() || text[at] != '"')
          return found;
      }
      line += text[at] == '\n';
      found += text[at];
      if (at + 1 == text.size())
        fail("{}:{}: a cell in quotation marks has no end", path, begin);
    }
    return found;
  }

  std::string_view text;
  const std::string &path;
  char delimiter;
  size_t at = 0, line = 1;
};

void addCell(const nlohmann::json &value, const std::string &name,
             std::vector<std::pair<std::string, std::string>> &cells) {
  if (value.is_array()) {
    for (size_t at = 0; at < value.size(); ++at)
      addCell(value[at], fmt::format("{}[{}]", name, at), cells);
    return;
  }
  if (value.is_boolean())
    cells.emplace_back(name, value.get<bool>() ? "1" : "0");
  else
    cells.emplace_back(name, value.is_string() ? value.get<std::string>()
                             : value.is_null() ? ""
                                               : value.dump());
}

} // namespace

size_t Table::column(const std::string &name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    fail("{}: has no column '{}'; it has {}", path, name, fmt::join(names, ", "));
  return static_cast<size_t>(found - names.begin());
}

Table readCsv(const std::string &path, char delimiter) {
  const rt::FileMap file(path, "table");
  CsvReader reader(withoutMark(file), delimiter, path);
  Table table{path, {}, {}, {}};
  size_t line = 0;
  if (!reader.next(table.names, line))
    fail("{}: is empty, expected a line with the names of the columns", path);
  for (std::vector<std::string> cells; reader.next(cells, line);) {
    if (cells.size() != table.names.size())
      fail("{}:{}: has {} cells, expected {} as the first line", path, line, cells.size(),
           table.names.size());
    table.rows.push_back(cells);
    table.lines.push_back(line);
  }
  return table;
}

Table readJsonLines(const std::string &path) {
  const rt::FileMap file(path, "table");
  Table table{path, {}, {}, {}};
  std::string_view text = withoutMark(file);
  for (size_t line = 1; !text.empty(); ++line) {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    const nlohmann::json object = nlohmann::json::parse(one, nullptr, false);
    if (!object.is_object())
      fail("{}:{}: is not an object of JSON", path, line);
    std::vector<std::pair<std::string, std::string>> cells;
    for (const auto &[name, value] : object.items())
      addCell(value, name, cells);
    if (table.rows.empty())
      for (const auto &[name, value] : cells)
        table.names.push_back(name);
    std::vector<std::string> &row = table.rows.emplace_back();
    for (const auto &[name, value] : cells) {
      if (row.size() >= table.names.size() || table.names[row.size()] != name)
        fail("{}:{}: has '{}', expected the keys of the first line: {}", path, line, name,
             fmt::join(table.names, ", "));
      row.push_back(value);
    }
    if (row.size() != table.names.size())
      fail("{}:{}: has no '{}', which the first line has", path, line, table.names[row.size()]);
    table.lines.push_back(line);
  }
  return table;
}

} // namespace kedge::driver
