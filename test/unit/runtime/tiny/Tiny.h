// Programs small enough to be written by hand.
#pragma once
#include "kedge/abi.h"
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::tiny {

/// "line[:BATCH[:ACCUMULATE]]": y = x W^T + b, mean squared error, SGD with momentum. x f32[B, 3], labels and
/// y f32[B, 2]; W is [2, 3] in the arena and "w" [3, 2] in files. Initial values in "model.bin" of the
/// current folder. "bigram[:BATCH]": next-token table of 8 tokens, ids and labels i64[B, 4], cross-entropy,
/// ignore_index -100. "mean[:BATCH]": as line, but its loss is one number a batch, as a loss in the graph is.
/// "ranks:N[:BATCH]": as line, for N ranks; its weight and momentum are cut.
/// "boxes/MESH/FORM/BATCH": as line, on a mesh; weight and momentum are cut by rows, columns, sections (1 and
/// 2 columns), over `tensor` if the mesh has it, else over `data`; by flat-columns, flat parts of those boxes
/// over `data`; or flat.
std::string programJson(const std::string &spec);
std::string rankProgramJson(int64_t ranks, int64_t batch);
std::string boxProgramJson(const std::string &mesh, const std::string &form, int64_t batch);

/// What "model.bin" must hold: 24 bytes of W as [3, 2] and 8 of b between a head and a tail.
std::vector<char> modelFile(const std::vector<float> &w, const std::vector<float> &b);

KedgeKernel kernelByName(const std::string &name);

/// malloc, mmap and their kin are counted on every thread. mark() starts a new interval.
void markAllocations();
/// Prints "allocations: A B C ..." of the intervals so far.
void printAllocations();
/// From here on TINY_FAIL_ALLOCATION counts.
void startFailing();

} // namespace kedge::tiny
