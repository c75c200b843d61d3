#include "runtime/calls/IndexTuples.h"
#include "runtime/calls/LineMap.h"

namespace kedge::rt::calls {

LineMap mapLines(const LibraryCall &call, const TensorDesc &data, const TensorDesc &indices) {
  expectIndexType(call, indices);
  if (indices.shape.size() != data.shape.size())
    failCall(call, "indices have rank {}, the data {}", indices.shape.size(), data.shape.size());
  int64_t axis = normalAxis(call, intAttr(call, "axis", 0), data.shape.size());
  Shape dataStrides = rowMajorStrides(data.shape), indexStrides = rowMajorStrides(indices.shape);
  LineMap lines;
  for (size_t d = 0; d < data.shape.size(); ++d) {
    if (static_cast<int64_t>(d) == axis)
      continue;
    if (indices.shape[d] > data.shape[d])
      failCall(call, "dimension {} of the indices is larger than the data's", d);
    lines.sizes.push_back(indices.shape[d]);
    lines.dataStrides.push_back(dataStrides[d]);
    lines.indexStrides.push_back(indexStrides[d]);
    lines.count *= indices.shape[d];
  }
  lines.dataSize = data.shape[axis], lines.indexSize = indices.shape[axis];
  lines.dataStride = dataStrides[axis], lines.indexStride = indexStrides[axis];
  return lines;
}

IndexTuples readTuples(const LibraryCall &call, const TensorDesc &data, const TensorDesc &indices,
                       const TensorDesc &slices, int64_t batchDims) {
  expectIndexType(call, indices);
  IndexTuples tuples;
  int64_t rank = static_cast<int64_t>(data.shape.size());
  if (indices.shape.empty() || batchDims < 0 || batchDims >= static_cast<int64_t>(indices.shape.size()))
    failCall(call, "indices of rank {} with batch_dims {}", indices.shape.size(), batchDims);
  tuples.depth = indices.shape.back();
  if (batchDims + tuples.depth > rank)
    failCall(call, "{} indices a tuple and batch_dims {} for data of rank {}", tuples.depth, batchDims, rank);
  size_t first = batchDims, last = batchDims + tuples.depth;
  tuples.wide = indices.type == DType::I64;
  tuples.count = product(indices.shape, 0, indices.shape.size() - 1);
  tuples.perBatch = std::max<int64_t>(1, product(indices.shape, first, indices.shape.size() - 1));
  tuples.sizes.assign(data.shape.begin() + first, data.shape.begin() + last);
  tuples.strides = rowMajorStrides(tuples.sizes);
  tuples.slotsPerBatch = product(tuples.sizes);
  tuples.slots = product(data.shape, 0, last);
  tuples.sliceElements = product(data.shape, last, data.shape.size());
  Shape expected(indices.shape.begin(), indices.shape.end() - 1);
  expected.insert(expected.end(), data.shape.begin() + last, data.shape.end());
  expectShape(call, slices, expected, "the tensor of slices");
  return tuples;
}

} // namespace kedge::rt::calls
