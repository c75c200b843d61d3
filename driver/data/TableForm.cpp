#include "driver/data/TableForm.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

namespace kedge::driver {
namespace {

constexpr size_t kManyClasses = 20; // whole numbers: more are most likely values,
constexpr size_t kRowsOfClass = 10; // and so are more than a tenth of the rows

std::optional<double> numberIn(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text = text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
  if (text.starts_with('+'))
    text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

/// Numbers by their value, before texts.
bool comesBefore(const std::string &a, const std::string &b) {
  const std::optional<double> first = numberIn(a), second = numberIn(b);
  if (first.has_value() != second.has_value())
    return first.has_value();
  return first && *first != *second ? *first < *second : a < b;
}

/// The cells of a column, each once, in order.
std::vector<std::string> kindsOf(const Table &table, const std::vector<size_t> &rows, size_t column) {
  std::set<std::string> found;
  for (const size_t row : rows)
    found.insert(table.rows[row][column]);
  std::vector<std::string> kinds(found.begin(), found.end());
  std::sort(kinds.begin(), kinds.end(), comesBefore);
  return kinds;
}

void checkCells(const Table &table) {
  for (size_t row = 0; row < table.rows.size(); ++row)
    for (size_t column = 0; column < table.names.size(); ++column)
      if (table.rows[row][column].empty())
        fail("{}:{}: the cell of '{}' is empty; fill it, or leave the row out", table.path, table.lines[row],
             table.names[column]);
}

} // namespace

TableForm::TableForm(const Table &table, const std::vector<size_t> &rows, const TableRequest &request)
    : label(request.label) {
  checkCells(table);
  const size_t target = table.column(label);
  learnLabel(table, rows, request);
  for (size_t column = 0; column < table.names.size(); ++column)
    if (column != target)
      columns.push_back(learn(table, rows, column, request.standardize));
  if (columns.empty())
    fail("{}: has no column but the label '{}'", table.path, label);
}

TableForm::Column TableForm::learn(const Table &table, const std::vector<size_t> &rows, size_t column,
                                   bool standardize) const {
  Column found{table.names[column], {}, 0, 1};
  double sum = 0, squares = 0;
  for (const size_t row : rows) {
    const std::optional<double> value = numberIn(table.rows[row][column]);
    if (!value) {
      found.kinds = kindsOf(table, rows, column);
      return found;
    }
    sum += *value;
  }
  if (!standardize)
    return found;
  found.mean = sum / static_cast<double>(rows.size());
  for (const size_t row : rows)
    squares += std::pow(*numberIn(table.rows[row][column]) - found.mean, 2);
  const double deviation = std::sqrt(squares / static_cast<double>(rows.size()));
  found.deviation = deviation == 0 ? 1 : deviation;
  return found;
}

void TableForm::learnLabel(const Table &table, const std::vector<size_t> &rows, const TableRequest &request) {
  const size_t column = table.column(label);
  bool numbers = true, whole = true;
  for (const size_t row : rows) {
    const std::optional<double> value = numberIn(table.rows[row][column]);
    numbers &= value.has_value();
    whole &= !value || *value == std::floor(*value);
  }
  if (request.numbers || (!request.classes && numbers && !whole))
    return;
  std::vector<std::string> kinds = kindsOf(table, rows, column);
  const size_t few = std::min(kManyClasses, std::max<size_t>(2, rows.size() / kRowsOfClass));
  if (!request.classes && numbers && kinds.size() > few)
    fail("{}: the label '{}' has {} different whole numbers in {} rows, which may be classes or the values "
         "of a regression: "
         "say --classes or --numbers",
         table.path, label, kinds.size(), rows.size());
  classes = std::move(kinds);
}

TableForm::TableForm(const nlohmann::json &saved)
    : label(saved.at("label").get<std::string>()),
      classes(saved.at("classes").get<std::vector<std::string>>()) {
  for (const nlohmann::json &one : saved.at("columns"))
    columns.push_back({one.at("name").get<std::string>(), one.at("kinds").get<std::vector<std::string>>(),
                       one.at("mean").get<double>(), one.at("deviation").get<double>()});
}

nlohmann::json TableForm::json() const {
  nlohmann::json listed = nlohmann::json::array();
  for (const Column &column : columns)
    listed.push_back({{"name", column.name},
                      {"kinds", column.kinds},
                      {"mean", column.mean},
                      {"deviation", column.deviation}});
  return {{"kind", "table"}, {"label", label}, {"classes", classes}, {"columns", listed}};
}

std::vector<std::string> TableForm::featureNames() const {
  std::vector<std::string> names;
  for (const Column &column : columns) {
    for (const std::string &kind : column.kinds)
      names.push_back(column.name + " = " + kind);
    if (!column.kinds.empty())
      continue;
    const bool moved = column.mean != 0 || column.deviation != 1;
    names.push_back(moved ? fmt::format("{}, less {}, over {}", column.name, column.mean, column.deviation)
                          : column.name);
  }
  return names;
}

const std::string &TableForm::cell(const Table &table, size_t row, const std::string &name) const {
  return table.rows[row][table.column(name)];
}

std::vector<float> TableForm::features(const Table &table, size_t row) const {
  std::vector<float> found;
  for (const Column &column : columns) {
    const std::string &text = cell(table, row, column.name);
    for (const std::string &kind : column.kinds)
      found.push_back(kind == text ? 1.0F : 0.0F);
    if (!column.kinds.empty())
      continue;
    const std::optional<double> value = numberIn(text);
    if (!value)
      fail("{}:{}: '{}' is '{}', expected a number as in the training rows", table.path, table.lines[row],
           column.name, text);
    found.push_back(static_cast<float>((*value - column.mean) / column.deviation));
  }
  return found;
}

int64_t TableForm::labelClass(const Table &table, size_t row) const {
  const std::string &text = cell(table, row, label);
  const auto found = std::find(classes.begin(), classes.end(), text);
  if (found == classes.end())
    fail("{}:{}: the label '{}' is none of the {} classes of the training rows", table.path, table.lines[row],
         text, classes.size());
  return found - classes.begin();
}

float TableForm::labelNumber(const Table &table, size_t row) const {
  const std::optional<double> value = numberIn(cell(table, row, label));
  if (!value)
    fail("{}:{}: the label '{}' is no number", table.path, table.lines[row], cell(table, row, label));
  return static_cast<float>(*value);
}

} // namespace kedge::driver
