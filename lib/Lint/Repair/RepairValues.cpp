// The values that repairs need: rows of folded embeddings, transposed matrices.
#include "lib/Lint/Repair/Repair.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <cstring>

namespace kedge::lint {
using model::Tensor;

namespace {
/// Whether `size` bytes repeat their first element.
bool isConstant(const uint8_t *bytes, size_t size, size_t element) {
  return size <= element || std::memcmp(bytes, bytes + element, size - element) == 0;
}
} // namespace

std::optional<DistinctRows> distinctRows(const Tensor &tensor) {
  if (tensor.dims.empty() || tensor.numElements() == 0)
    return std::nullopt;
  model::Bytes bytes = tensor.bytes();
  size_t element = model::dtypeBits(tensor.dtype) / 8;
  if (isConstant(bytes.data, bytes.size, element) && tensor.numElements() > tensor.dims.back())
    return std::nullopt;
  DistinctRows rows;
  rows.length = tensor.dims.back();
  size_t rowBytes = rows.length * element;
  std::map<std::string_view, int64_t> seen;
  for (int64_t row = 0; row < tensor.numElements() / rows.length; ++row) {
    std::string_view content(reinterpret_cast<const char *>(bytes.data) + row * rowBytes, rowBytes);
    auto [found, isNew] = seen.emplace(content, static_cast<int64_t>(rows.first.size()));
    if (isNew)
      rows.first.push_back(row);
    rows.indices.push_back(found->second);
  }
  return rows;
}

int64_t repeatedAxes(const Tensor &tensor) {
  model::Bytes bytes = tensor.bytes();
  size_t element = model::dtypeBits(tensor.dtype) / 8;
  bool constant = isConstant(bytes.data, bytes.size, element);
  size_t slice = bytes.size;
  int64_t axes = 0;
  for (size_t d = 0; d + 1 < tensor.dims.size() && tensor.dims[d] > 0; ++d) {
    slice /= tensor.dims[d];
    bool equal = std::memcmp(bytes.data, bytes.data + slice, slice * (tensor.dims[d] - 1)) == 0;
    // In a constant tensor all slices are equal: only the batch, the first axis, is taken for a repetition.
    if (!equal || (constant && d > 0))
      break;
    ++axes;
  }
  return axes;
}

Tensor transposed(const Tensor &tensor, std::string name) {
  model::Bytes bytes = tensor.bytes();
  size_t element = model::dtypeBits(tensor.dtype) / 8;
  int64_t rows = tensor.dims[0], columns = tensor.dims[1];
  std::vector<uint8_t> out(bytes.size);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(out.data() + (c * rows + r) * element, bytes.data + (r * columns + c) * element, element);
  return Tensor::make(std::move(name), tensor.dtype, {columns, rows}, std::move(out));
}

bool holdsOther(const Tensor &a, const Tensor &b) {
  const model::Bytes left = a.bytes(), right = b.bytes();
  return left.size != right.size || std::memcmp(left.data, right.data, left.size) != 0;
}

std::optional<Tensor> leadingRows(const Tensor &tensor, int64_t rows, std::string name) {
  const model::Bytes bytes = tensor.bytes();
  const int64_t length = tensor.dims.back();
  const size_t slice = rows * length * model::dtypeBits(tensor.dtype) / 8;
  if (slice == 0 || bytes.size % slice != 0 ||
      std::memcmp(bytes.data, bytes.data + slice, bytes.size - slice) != 0)
    return std::nullopt;
  return Tensor::make(std::move(name), tensor.dtype, {rows, length},
                      std::vector<uint8_t>(bytes.data, bytes.data + slice));
}

Tensor unfolded(const Tensor &tensor, const Unfolding &unfolding, const std::string &placeholder,
                std::string name) {
  const Tensor source = unfolding.transposed ? transposed(tensor, "") : tensor;
  const model::Bytes bytes = source.bytes();
  int64_t all = 0, own = 0;
  for (const RowBlock &block : unfolding.blocks) {
    all += block.rows;
    own += block.placeholder == placeholder ? block.rows : 0;
  }
  const size_t row = bytes.size / all;
  std::vector<uint8_t> values(own * row);
  int64_t at = 0;
  for (const RowBlock &block : unfolding.blocks) {
    if (block.placeholder == placeholder)
      std::memcpy(values.data() + block.first * row, bytes.data + at * row, block.rows * row);
    at += block.rows;
  }
  auto shape = unfolding.shapes.find(placeholder);
  std::vector<int64_t> dims =
      shape != unfolding.shapes.end() ? shape->second : unfolding.shapes.begin()->second;
  return Tensor::make(std::move(name), tensor.dtype, std::move(dims), std::move(values));
}

Tensor movedBack(const Tensor &tensor, double scale, double shift, std::string name) {
  std::vector<float> values;
  for (double value : tensor.floats())
    values.push_back(static_cast<float>((value - shift) / scale));
  return Tensor::makeFloats(std::move(name), tensor.dims, values);
}

bool isRepairable(const Folded &folded, const Tensor &tensor) {
  try {
    if (folded.kind == Folding::Rows)
      return distinctRows(tensor).has_value();
    if (folded.kind == Folding::Places)
      return leadingRows(tensor, tensor.dims[tensor.dims.size() - 2], "").has_value();
    if (folded.kind == Folding::FirstRow)
      return leadingRows(tensor, 1, "").has_value();
  } catch (const Error &) {
    return true; // the values are not here to be looked at
  }
  return folded.kind == Folding::Part || folded.kind == Folding::Moved;
}

} // namespace kedge::lint
