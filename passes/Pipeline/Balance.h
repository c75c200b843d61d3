// Cuts a row of ops into stages of nearly equal time; without MLIR.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

namespace kedge::pipeline {

/// Ops in order. What lies before op i and is read from it on crosses a cut there.
struct Row {
  std::vector<double> seconds, crossing; ///< of op i; bytes that cross a cut before it
  std::vector<bool> mayCut;              ///< before op i
  /// Bytes of the states that are where op i is, what a micro-batch keeps of it for its backward pass, and
  /// the seconds of computing that again; empty: none.
  std::vector<double> states = {}, held = {}, again = {};
};

/// What a stage may take. A stage keeps its states, what enters it of each micro-batch that is on its way,
/// and all that one micro-batch keeps. As much of the others' as there is no room for is computed again,
/// which takes time.
struct Room {
  double bytes = std::numeric_limits<double>::infinity();
  std::vector<int64_t> inFlight = {}; ///< micro-batches, by stage
};

/// The stage of each op: stages follow each other, each has an op. The longest stage is as short as can be,
/// up to a twentieth, of those that keep to the room if any do; of such cuts those that the fewest bytes
/// cross. Empty: there are too few places to cut.
std::vector<int64_t> balanced(const Row &row, int64_t stages, const Room &room = {});

} // namespace kedge::pipeline
