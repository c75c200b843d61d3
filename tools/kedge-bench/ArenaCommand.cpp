// kedge-bench arena: MiniMalloc's CSV in, the same rows with an offset out.
#include "Commands.h"
#include "kedge/Solver/ArenaPacking.h"
#include "kedge/Support/Error.h"
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

namespace {
using namespace kedge;

std::vector<std::string> cells(std::string line) {
  if (!line.empty() && line.back() == '\r')
    line.pop_back();
  std::vector<std::string> result;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');)
    result.push_back(cell);
  return result;
}

int64_t number(const std::string &cell, const std::string &where) {
  char *end = nullptr;
  long long value = std::strtoll(cell.c_str(), &end, 10);
  if (cell.empty() || *end != 0)
    fail("{}: expected a whole number, found '{}'", where, cell);
  return value;
}

void pack(const std::string &input, const std::string &output) {
  std::ifstream in(input);
  std::string line;
  if (!in || !std::getline(in, line))
    fail("{}: expected a CSV file with the columns id, lower, upper, size; found nothing to read", input);
  std::string header = line;
  std::map<std::string, size_t> columns;
  for (const std::string &name : cells(line))
    columns.emplace(name, columns.size());
  for (const char *name : {"lower", "upper", "size"})
    if (!columns.count(name))
      fail("{}: expected a column '{}' in the first line, found '{}'", input, name, line);
  std::vector<solver::Buffer> buffers;
  std::vector<std::string> rows;
  while (std::getline(in, line)) {
    if (cells(line).empty())
      continue;
    std::vector<std::string> row = cells(line);
    std::string where = fmt::format("{}: row {}", input, rows.size() + 1);
    if (row.size() != columns.size())
      fail("{}: expected {} cells, found {}", where, columns.size(), row.size());
    auto at = [&](const char *name) { return number(row[columns[name]], where); };
    buffers.push_back({at("lower"), at("upper"), at("size")});
    rows.push_back(fmt::format("{}", fmt::join(row, ",")));
  }
  solver::Packing packing = solver::packArena(buffers, 1);
  std::ofstream out(output);
  out << fmt::format("{},offset\n", fmt::join(cells(header), ","));
  for (size_t i = 0; i < rows.size(); ++i)
    out << rows[i] << ',' << packing.offsets[i] << '\n';
  if (!out.flush())
    fail("{}: cannot be written", output);
  fmt::print("height {}\nlower bound {}\n", packing.height, packing.load);
}
} // namespace

void kedge::bench::addArenaCommand(CLI::App &app) {
  CLI::App *command = app.add_subcommand("arena", "pack the buffers of a CSV file");
  auto input = std::make_shared<std::string>(), output = std::make_shared<std::string>();
  command->add_option("--input", *input, "P.csv: id,lower,upper,size")->required();
  command->add_option("--output", *output, "S.csv: the same rows and their offset")->required();
  command->callback([=] { pack(*input, *output); });
}
