// A table as text: what files of commas and lines of JSON have in common.
#pragma once
#include <string>
#include <vector>

namespace kedge::driver {

struct Table {
  std::string path;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows; ///< cells in the order of the names
  std::vector<size_t> lines;                  ///< where each row begins in the file

  size_t column(const std::string &name) const; ///< throws an error that lists the names
};

/// The first line has the names. Cells may stand in quotation marks, as spreadsheets write them.
Table readCsv(const std::string &path, char delimiter);
/// An object on each line, all with the same keys; the elements of a list are columns of their own.
Table readJsonLines(const std::string &path);

} // namespace kedge::driver
