// Convolutions as the stand-in of cuDNN computes them, whatever interface they come by.
#pragma once
#include <cstdint>
#include <cudnn.h>
#include <vector>

namespace kedge::stub {

extern cudaStream_t convolutionStream; ///< of the handle

struct Shape {
  cudnnDataType_t type;
  std::vector<int> sizes;
};
struct Convolution {
  int groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::vector<int> pad, stride, dilation;
};

/// Calls visit(xIndex, wIndex, yIndex) for every product of a convolution, in a fixed order. Two or three
/// dimensions.
template <typename Visit>
void visitProducts(const Shape &x, const Shape &w, const Shape &y, const Convolution &c, Visit visit) {
  const size_t dims = c.pad.size();
  const auto at = [&](const std::vector<int> &list, size_t dim, int missing) {
    return dim + dims < 3 ? missing : list[dim + dims - 3];
  };
  const auto size = [&](const Shape &shape, size_t dim) {
    return dim + dims < 3 ? 1 : shape.sizes[2 + dim + dims - 3];
  };
  const int64_t D = size(x, 0), H = size(x, 1), W = size(x, 2);
  const int channels = w.sizes[1], filters = w.sizes[0], perGroup = filters / c.groups;
  for (int n = 0; n < y.sizes[0]; ++n)
    for (int f = 0; f < filters; ++f)
      for (int od = 0; od < size(y, 0); ++od)
        for (int oh = 0; oh < size(y, 1); ++oh)
          for (int ow = 0; ow < size(y, 2); ++ow)
            for (int k = 0; k < channels; ++k)
              for (int td = 0; td < size(w, 0); ++td)
                for (int th = 0; th < size(w, 1); ++th)
                  for (int tw = 0; tw < size(w, 2); ++tw) {
                    const int64_t d = od * at(c.stride, 0, 1) + td * at(c.dilation, 0, 1) - at(c.pad, 0, 0);
                    const int64_t h = oh * at(c.stride, 1, 1) + th * at(c.dilation, 1, 1) - at(c.pad, 1, 0);
                    const int64_t v = ow * at(c.stride, 2, 1) + tw * at(c.dilation, 2, 1) - at(c.pad, 2, 0);
                    if (d < 0 || h < 0 || v < 0 || d >= D || h >= H || v >= W)
                      continue;
                    const int64_t channel = f / perGroup * channels + k;
                    visit(((static_cast<int64_t>(n) * x.sizes[1] + channel) * D + d) * H * W + h * W + v,
                          (((static_cast<int64_t>(f) * channels + k) * size(w, 0) + td) * size(w, 1) + th) *
                                  size(w, 2) +
                              tw,
                          (((static_cast<int64_t>(n) * filters + f) * size(y, 0) + od) * size(y, 1) + oh) *
                                  size(y, 2) +
                              ow);
                  }
}

inline int64_t elements(const Shape &shape) {
  int64_t count = 1;
  for (int size : shape.sizes)
    count *= size;
  return count;
}

} // namespace kedge::stub
