// kedge diff: where two programs of one model part.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kedge::driver {

struct DiffQuestion {
  std::string a, b;                 ///< programs
  std::string against;              ///< in place of b: an ONNX file, whose own values are compared with
  std::string launcher = "mpirun";  ///< starts programs of several ranks, as LAUNCHER -n N PROGRAM
  std::vector<std::string> options; ///< of both runs
  double tolerance = 0;             ///< relative error of a value up to which it counts as equal
};

/// Runs both and compares (docs/guide/why.md describes the fields). `equal` says whether all agree.
nlohmann::json diff(const DiffQuestion &question);
std::string diffText(const nlohmann::json &found);

} // namespace kedge::driver
