// Cuts a row of ops into stages of nearly equal time; without MLIR.
#pragma once
#include <cstdint>
#include <vector>

namespace kedge::pipeline {

/// Ops in order. What lies before op i and is read from it on crosses a cut there.
struct Row {
  std::vector<double> seconds, crossing; ///< of op i; bytes that cross a cut before it
  std::vector<bool> mayCut;              ///< before op i
};

/// The stage of each op: stages follow each other, each has an op. The longest stage is as short as can be,
/// up to a twentieth; of such cuts those that the fewest bytes cross. Empty: there are too few places to cut.
std::vector<int64_t> balanced(const Row &row, int64_t stages);

} // namespace kedge::pipeline
