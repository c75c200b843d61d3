// Random rows for every input of a step, from what the compiler knows of it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kedge::bench {

struct SyntheticInputs {
  std::vector<std::string> data; ///< values of a program's --data
  int64_t batch = 0;             ///< rows of a step
  int64_t tokens =
      0; ///< elements of the only input of integers but the labels, where there is no other; else 0
};

/// Writes a file in `folder` for each input of the step of `schedule`, IR of --save-ir: rows of two steps,
/// which a program takes again and again. Floats are normal, integers lie in [0, integersBelow). Throws
/// kedge::Error.
SyntheticInputs writeSyntheticInputs(const std::filesystem::path &schedule,
                                     const std::filesystem::path &folder, int64_t integersBelow);

} // namespace kedge::bench
