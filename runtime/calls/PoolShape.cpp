#include "runtime/calls/PoolShape.h"

namespace kedge::rt::calls {
namespace {

Space spaceAttr(const LibraryCall &call, const char *name, size_t rank, size_t skip, int64_t missing) {
  Shape given = intsAttr(call, name, Shape(skip + rank, missing));
  if (given.size() < skip + rank)
    failCall(call, "{} has {} entries, expected {}", name, given.size(), skip + rank);
  Space space{1, 1, 1};
  if (missing == 0)
    space = {0, 0, 0};
  std::copy_n(given.begin() + static_cast<int64_t>(skip), rank, space.end() - static_cast<int64_t>(rank));
  return space;
}

} // namespace

PoolShape readPool(const LibraryCall &call, const TensorDesc &x, const TensorDesc &y) {
  size_t rank = x.shape.size() - 2;
  if (x.shape.size() < 3 || rank > 3 || y.shape.size() != x.shape.size() || x.shape[0] != y.shape[0] ||
      x.shape[1] != y.shape[1])
    failCall(call, "expected tensors [N, C, 1 to 3 spatial sizes] with equal N and C");
  PoolShape p{x.shape[0] * x.shape[1], {1, 1, 1}, {1, 1, 1}, {}, {}, {}, {}, {}};
  std::copy(x.shape.begin() + 2, x.shape.end(), p.in.end() - static_cast<int64_t>(rank));
  std::copy(y.shape.begin() + 2, y.shape.end(), p.out.end() - static_cast<int64_t>(rank));
  if (!hasAttr(call, "kernel_shape"))
    failCall(call, "attribute kernel_shape is missing");
  p.kernel = spaceAttr(call, "kernel_shape", rank, 0, 1);
  p.stride = spaceAttr(call, "strides", rank, 0, 1), p.dilation = spaceAttr(call, "dilations", rank, 0, 1);
  p.pad = spaceAttr(call, "pads", rank, 0, 0);
  p.padEnd = hasAttr(call, "pads") ? spaceAttr(call, "pads", rank, rank, 0) : Space{0, 0, 0};
  return p;
}

} // namespace kedge::rt::calls
