// Tensors that hold their parameters' rows in another order or place, by what the file records of their
// readers and names: gates of recurrent layers; queries, keys and values of one product. Nothing is computed,
// so the parameters are all there.
#pragma once
#include "lib/Lint/Uses.h"

namespace kedge::lint {

/// Rows of one parameter, seen as [rows, rest]; they follow one another in the tensor.
struct RowBlock {
  std::string placeholder; // empty: a constant
  int64_t first = 0, rows = 0;
};

struct Unfolding {
  std::string tensor;
  std::vector<Use> places; // operands that stand for these parameters
  std::vector<RowBlock> blocks;
  std::map<std::string, std::vector<int64_t>> shapes; // placeholder -> the parameter's shape
  bool transposed = false;                            // a matrix whose columns are the rows
};

std::vector<Unfolding> findUnfoldings(const model::Graph &, const Signature &, const Uses &);

} // namespace kedge::lint
