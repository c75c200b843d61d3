// --expert-load FILE: how many rows each expert has, by layer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::mesh {

/// Of one layer.
struct LayerLoad {
  std::string name;           ///< as a log calls the layer; empty: the file only has the layers' order
  int64_t line = 0;           ///< of the file
  std::vector<double> shares; ///< of the layer's rows, by expert; their sum is 1
};

/// What a file says: a list of numbers a layer, in the order of the layers; an object with the layers' names;
/// or the log of a run (--log-experts), whose steps are added up.
struct ExpertLoad {
  std::string path;
  std::vector<LayerLoad> layers;

  bool isGiven() const { return !path.empty(); }
  /// Reads the file. Throws std::runtime_error that names file and line.
  static ExpertLoad parse(const std::string &path);
  const std::string &text() const { return path; }
};

} // namespace kedge::mesh
