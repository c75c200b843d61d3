// Index tensors whose last dimension is a tuple that selects a slice of the data, as in GatherND and
// ScatterND.
#pragma once
#include "runtime/calls/GatherIndex.h"

namespace kedge::rt::calls {

struct IndexTuples {
  int64_t count = 0;         ///< tuples
  int64_t depth = 0;         ///< indices of a tuple
  int64_t perBatch = 1;      ///< tuples of a batch
  int64_t slotsPerBatch = 1; ///< slices of the data in a batch
  int64_t slots = 0;         ///< slices of the data
  int64_t sliceElements = 1;
  Shape sizes, strides; ///< of the indexed dimensions, in slices
  bool wide = true;

  /// The slice that tuple i selects; -1 if it is out of range, which is noted with its position.
  int64_t slot(const IndexReader &index, int64_t i, FirstBad &bad) const {
    int64_t slot = i / perBatch * slotsPerBatch;
    for (int64_t d = 0; d < depth; ++d) {
      int64_t place = resolveIndex(index[i * depth + d], sizes[d], i * depth + d, bad);
      if (place < 0)
        return -1;
      slot += place * strides[d];
    }
    return slot;
  }
};

/// `slices` is the tensor of all selected slices (GatherND's result, ScatterND's updates). Checks its shape.
IndexTuples readTuples(const LibraryCall &call, const TensorDesc &data, const TensorDesc &indices,
                       const TensorDesc &slices, int64_t batchDims);

} // namespace kedge::rt::calls
