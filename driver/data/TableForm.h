// How the cells of a table become numbers: learned from training rows, and the same for others.
#pragma once
#include "driver/data/Data.h"
#include "driver/data/Table.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

class TableForm {
public:
  /// From these rows of a table.
  TableForm(const Table &table, const std::vector<size_t> &rows, const TableRequest &request);
  /// As an earlier call wrote it.
  explicit TableForm(const nlohmann::json &saved);

  nlohmann::json json() const;
  /// The names of the features, in order; of standardized ones with mean and deviation.
  std::vector<std::string> featureNames() const;
  const std::vector<std::string> &classNames() const { return classes; }
  bool hasClasses() const { return !classes.empty(); }

  std::vector<float> features(const Table &table, size_t row) const;
  int64_t labelClass(const Table &table, size_t row) const;
  float labelNumber(const Table &table, size_t row) const;

private:
  struct Column {
    std::string name;
    std::vector<std::string> kinds; ///< of cells that are no numbers: a feature for each
    double mean = 0, deviation = 1;
  };
  Column learn(const Table &table, const std::vector<size_t> &rows, size_t column, bool standardize) const;
  void learnLabel(const Table &table, const std::vector<size_t> &rows, const TableRequest &request);
  const std::string &cell(const Table &table, size_t row, const std::string &name) const;

  std::string label;
  std::vector<std::string> classes; ///< none: numbers
  std::vector<Column> columns;
};

} // namespace kedge::driver
