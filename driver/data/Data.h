// kedge data: tables and folders of pictures become the data files that programs train on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kedge::driver {

/// What tables and pictures have in common.
struct DataRequest {
  std::string source, output; ///< what is read; what the names of the files begin with
  std::string like;           ///< output of an earlier call: its classes, means and deviations count
  double test = 0;            ///< share of the rows that is kept apart
  int64_t seed = 0;           ///< which rows these are
  bool standardize = false;   ///< less the mean of the training rows, over their deviation
};

struct TableRequest : DataRequest {
  std::string label;
  char delimiter = ',';
  bool jsonLines = false, classes = false, numbers = false;
};

struct PicturesRequest : DataRequest {
  std::string size;              ///< "224x224", height first; empty: as they are
  std::vector<double> mean, std; ///< a number, or one for each channel; empty: 0 and 1
  bool gray = false;
};

/// Write the files, and return what they are, a line each. Throw an error that names the file and the row.
std::string writeTable(const TableRequest &request);
std::string writePictures(const PicturesRequest &request);

} // namespace kedge::driver
