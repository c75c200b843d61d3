#include "tools/kedge-bench/BufferTable.h"
#include "lib/Support/Error.h"
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace kedge::bench {
namespace {

std::vector<std::string> cells(std::string line) {
  if (!line.empty() && line.back() == '\r')
    line.pop_back();
  std::vector<std::string> result;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = line.find(',', begin);
    result.push_back(line.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return result;
}

int64_t number(const std::string &cell, const std::string &column, const std::string &where) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc::result_out_of_range)
    fail("{}: expected a {} below 2^63, found '{}'", where, column, cell);
  if (error != std::errc() || end != cell.data() + cell.size() || value < 0)
    fail("{}: expected a whole number of at least 0 as {}, found '{}'", where, column, cell);
  return value;
}

std::map<std::string, size_t> columnsOf(const std::string &header, const std::string &path) {
  std::map<std::string, size_t> columns;
  std::vector<std::string> names = cells(header);
  const std::set<std::string> known{"id", "lower", "upper", "size", "offset"};
  for (size_t i = 0; i < names.size(); ++i) {
    if (!known.count(names[i]))
      fail("{}:1: expected the columns id, lower, upper, size, found '{}'", path, names[i]);
    if (!columns.emplace(names[i], i).second)
      fail("{}:1: expected each column once, found '{}' twice", path, names[i]);
  }
  for (const char *name : {"id", "lower", "upper", "size"})
    if (!columns.count(name))
      fail("{}:1: expected a column '{}' in the first line, found '{}'", path, name, header);
  return columns;
}

} // namespace

BufferTable readBufferTable(const std::string &path) {
  std::ifstream in(path);
  if (!in)
    fail("{}: cannot be read: {}", path, strerror(errno));
  if (std::filesystem::is_directory(path))
    fail("{}: expected a CSV file, found a folder", path);
  std::string line;
  if (!std::getline(in, line))
    fail("{}: expected a CSV file with the columns id, lower, upper, size, found an empty file", path);
  std::map<std::string, size_t> columns = columnsOf(line, path);
  BufferTable table;
  std::set<std::string> ids;
  for (int lineNumber = 2; std::getline(in, line); ++lineNumber) {
    if (line.empty() || line == "\r")
      continue;
    std::string where = fmt::format("{}:{}", path, lineNumber);
    std::vector<std::string> row = cells(line);
    if (row.size() != columns.size())
      fail("{}: expected {} cells as in the first line, found {}", where, columns.size(), row.size());
    auto at = [&](const char *name) { return number(row[columns[name]], name, where); };
    solver::Buffer buffer{at("lower"), at("upper"), at("size")};
    if (buffer.lower > buffer.upper)
      fail("{}: expected lower not above upper, found {} and {}", where, buffer.lower, buffer.upper);
    table.buffers.push_back(buffer);
    table.ids.push_back(row[columns["id"]]);
    if (!ids.insert(table.ids.back()).second)
      fail("{}: expected an id of its own for each buffer, found '{}' again", where, table.ids.back());
  }
  if (in.bad())
    fail("{}: cannot be read to its end: {}", path, strerror(errno));
  return table;
}

std::string bufferTableText(const BufferTable &table, const std::vector<int64_t> &offsets) {
  std::string text = "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < offsets.size(); ++i) {
    const solver::Buffer &buffer = table.buffers[i];
    text +=
        fmt::format("{},{},{},{},{}\n", table.ids[i], buffer.lower, buffer.upper, buffer.size, offsets[i]);
  }
  return text;
}

} // namespace kedge::bench
