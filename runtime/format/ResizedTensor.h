// A tensor with more or fewer slices along one axis than its file has: a vocabulary of another size.
#pragma once
#include "runtime/format/Tensor.h"

namespace kedge::rt {

/// How a file's tensor differs from the tensor that is made of it.
struct Resized {
  size_t axis = 0;
  int64_t before = 0; ///< the file's slices along the axis
  bool operator==(const Resized &) const = default;

  /// The shape in the file of a tensor of this shape.
  std::vector<int64_t> inFile(std::vector<int64_t> shape) const {
    shape.at(axis) = before;
    return shape;
  }
};

/// The bytes of a tensor of `desc` from the file's `data`: its first slices, and for those that it lacks the
/// mean of all that it has, summed in double and rounded once.
std::vector<char> resizedTensor(const char *data, const TensorDesc &desc, const Resized &resized);

} // namespace kedge::rt
