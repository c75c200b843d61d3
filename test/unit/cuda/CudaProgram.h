// Programs of one library call, run on the host and on the GPU device with the stand-ins for CUDA's
// libraries.
#pragma once
#include "runtime/calls/LibraryWork.h"
#include "runtime/exec/Executor.h"
#include "runtime/io/Error.h"
#include <gtest/gtest.h>

namespace kedge::test {

/// The program's JSON for the host; inputs are named "0", "1"..., the output "y".
nlohmann::json callProgram(const std::string &call, const std::string &type,
                           const std::vector<std::vector<int64_t>> &inputs,
                           const std::vector<int64_t> &output, const nlohmann::json &attrs);

/// Runs it three times on each (as it is, recorded, as a graph) on numbers from a fixed formula, and
/// compares.
void expectSameOnBoth(nlohmann::json program);

/// A program of dense rows on the host, one with padded rows on the GPU device; `widths`: elements of a row
/// that count, of each input and, last, of the result. Padding of inputs is NaN.
void expectSameRows(const nlohmann::json &dense, nlohmann::json padded, const std::vector<int64_t> &widths);

/// The same, as an answer; numbers may differ by rounding.
bool isSameOnBoth(nlohmann::json program);

/// Lines that the stand-ins have recorded in this process so far.
std::vector<std::string> stubCalls();

} // namespace kedge::test
