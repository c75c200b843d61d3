// Generated convolutions, transposed ones and the gradients of both against the CPU's kernels.
#include "test/unit/gpu/LibraryCase.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace kedge::test;

namespace {

using Sizes = std::vector<int64_t>;

std::string list(const Sizes &sizes, const char *separator = ", ") {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : separator) + std::to_string(size);
  return text;
}

/// One convolution, Y = conv(X, W) + B.
struct Shape {
  int64_t batch, channels, filters;
  Sizes in, kernel;
  int64_t groups = 1;
  Sizes strides = {}, pads = {}, dilations = {}; ///< pads: begins, then ends

  Sizes out() const {
    Sizes sizes;
    for (size_t d = 0; d < in.size(); ++d) {
      int64_t window = (kernel[d] - 1) * (dilations.empty() ? 1 : dilations[d]) + 1;
      int64_t room = in[d] + (pads.empty() ? 0 : pads[d] + pads[d + in.size()]) - window;
      sizes.push_back(room < 0 ? 0 : room / (strides.empty() ? 1 : strides[d]) + 1);
    }
    return sizes;
  }
  std::string attrs() const {
    std::string text = "{group = " + std::to_string(groups) + " : i64";
    for (auto [name, values] : {std::pair("strides", strides), {"pads", pads}, {"dilations", dilations}})
      if (!values.empty())
        text += std::string(", ") + name + " = array<i64: " + list(values) + ">";
    return text + "}";
  }
  static std::string tensor(Sizes sizes, const Sizes &space, const std::string &type) {
    sizes.insert(sizes.end(), space.begin(), space.end());
    return "tensor<" + list(sizes, "x") + "x" + type + ">";
  }
  std::string x(const std::string &type) const { return tensor({batch, channels}, in, type); }
  std::string w(const std::string &type) const { return tensor({filters, channels / groups}, kernel, type); }
  std::string y(const std::string &type) const { return tensor({batch, filters}, out(), type); }

  std::string call(const std::string &name, const std::string &inputs, const std::string &output) const {
    return name + " " + attrs() + " : (" + inputs + ") -> " + output;
  }
  /// Every kind of call with these shapes.
  std::vector<std::string> calls(const std::string &t) const {
    std::string ofFilters = tensor({filters}, {}, t), ofChannels = tensor({channels}, {}, t);
    return {call("onnx.Conv", x(t) + ", " + w(t), y(t)),
            call("onnx.Conv", x(t) + ", " + w(t) + ", " + ofFilters, y(t)),
            call("train.conv_grad_input", y(t) + ", " + w(t), x(t)),
            call("train.conv_grad_weight", x(t) + ", " + y(t), w(t)),
            call("onnx.ConvTranspose", y(t) + ", " + w(t) + ", " + ofChannels, x(t)),
            call("train.conv_transpose_grad_input", x(t) + ", " + w(t), y(t)),
            call("train.conv_transpose_grad_weight", y(t) + ", " + x(t), w(t))};
  }
};

void expectAllSame(const Shape &shape, const std::string &type = "f32") {
  CaseOptions options;
  auto space = std::accumulate(shape.in.begin(), shape.in.end(), 1.0, std::multiplies<>());
  double terms = static_cast<double>(shape.batch) * space;
  options.tolerance =
      type == "f64" ? 1e-13 : 1e-5 + 1e-8 * terms; // of rounding alone: the orders of the sums differ
  for (const std::string &call : shape.calls(type))
    expectSameAsCpu(call, options);
}

} // namespace

TEST(GpuConvolution, Plain) {
  expectAllSame({2, 3, 8, {9, 7}, {3, 3}});
  expectAllSame({1, 5, 7, {6, 11}, {3, 2}, 1, {}, {1, 1, 1, 1}});
  expectAllSame({3, 1, 17, {5, 5}, {5, 5}, 1, {}, {2, 2, 2, 2}});
  expectAllSame({2, 40, 36, {6, 6}, {3, 3}, 1, {}, {1, 1, 1, 1}});
}

TEST(GpuConvolution, Pointwise) {
  expectAllSame({2, 20, 24, {4, 6}, {1, 1}});
  expectAllSame({2, 20, 24, {3, 5}, {1, 1}});
  expectAllSame({2, 18, 24, {4, 4}, {1, 1}, 1, {2, 2}});
  expectAllSame({2, 6, 5, {4, 4}, {1, 1}, 1, {}, {1, 1, 1, 1}});
}

TEST(GpuConvolution, UnequalPads) {
  expectAllSame({2, 3, 8, {6, 5}, {3, 3}, 1, {}, {0, 1, 2, 0}});
  expectAllSame({1, 6, 6, {7, 7}, {3, 3}, 1, {2, 2}, {0, 0, 1, 1}});
  expectAllSame({1, 4, 4, {7, 7}, {2, 3}, 4, {1, 2}, {1, 0, 0, 2}});
}

TEST(GpuConvolution, StridesAndDilations) {
  for (int64_t stride : {1, 2, 3})
    for (int64_t dilation : {1, 2, 3})
      expectAllSame({2, 5, 6, {11, 10}, {3, 2}, 1, {stride, 2}, {2, 1, 2, 1}, {dilation, 1}});
  expectAllSame({1, 3, 9, {8, 8}, {4, 4}, 1, {4, 4}}); // patches
  expectAllSame({1, 6, 5, {9, 2}, {1, 1}, 1, {4, 3}}); // most of X is not read
  expectAllSame(
      {2, 6, 8, {9, 9}, {3, 3}, 1, {2, 2}, {}, {2, 2}}); // strides and dilations have a common divisor
}

TEST(GpuConvolution, Groups) {
  expectAllSame({2, 12, 18, {6, 5}, {3, 3}, 2, {}, {1, 1, 1, 1}});
  expectAllSame({2, 8, 8, {6, 6}, {3, 3}, 4, {2, 2}, {1, 1, 1, 1}});
  expectAllSame({1, 20, 40, {5, 5}, {1, 1}, 2});
}

TEST(GpuConvolution, Depthwise) {
  expectAllSame({2, 5, 5, {9, 9}, {3, 3}, 5, {}, {1, 1, 1, 1}});
  expectAllSame({2, 6, 12, {8, 7}, {5, 5}, 6, {2, 2}, {2, 2, 2, 2}});
  expectAllSame({1, 4, 4, {12, 12}, {7, 7}, 4, {}, {3, 3, 3, 3}});  // more taps than a block sums
  expectAllSame({16, 3, 3, {16, 16}, {3, 3}, 3, {}, {1, 1, 1, 1}}); // in parts
}

TEST(GpuConvolution, FewFilters) {
  expectAllSame({2, 20, 1, {6, 6}, {1, 1}});
  expectAllSame({2, 3, 4, {6, 6}, {3, 3}, 1, {}, {1, 1, 1, 1}});
}

TEST(GpuConvolution, OtherRanks) {
  expectAllSame({2, 5, 6, {19}, {4}, 1, {3}, {2, 1}});
  expectAllSame({3, 6, 6, {12}, {3}, 6, {}, {1, 1}, {1}});
  expectAllSame({2, 3, 6, {4, 5, 6}, {2, 3, 2}, 1, {1, 2, 1}, {1, 1, 0, 0, 1, 1}});
  expectAllSame({1, 4, 4, {3, 4, 5}, {3, 3, 3}, 4, {}, {1, 1, 1, 1, 1, 1}});
}

TEST(GpuConvolution, KernelsLargerThanTheImage) {
  expectAllSame({2, 3, 6, {2, 3}, {5, 5}, 1, {}, {2, 2, 2, 2}});
  expectAllSame({1, 2, 6, {2, 2}, {3, 5}, 1, {}, {3, 2, 1, 2}}); // some windows lie in the padding
  expectAllSame({2, 3, 6, {2, 3}, {5, 5}});                      // no position at all
}

TEST(GpuConvolution, Doubles) {
  expectAllSame({2, 5, 9, {7, 6}, {3, 3}, 1, {2, 1}, {1, 0, 0, 1}}, "f64");
  expectAllSame({2, 6, 6, {7, 6}, {3, 3}, 6, {}, {1, 1, 1, 1}}, "f64");
  expectAllSame({2, 20, 18, {4, 6}, {1, 1}}, "f64");
}

TEST(GpuConvolution, HalfWidths) {
  for (std::string type : {"f16", "bf16"}) {
    expectAllSame({2, 40, 36, {6, 6}, {3, 3}, 1, {}, {1, 1, 1, 1}}, type);
    expectAllSame({2, 24, 20, {4, 8}, {1, 1}}, type);
    expectAllSame({8, 4, 9, {12, 12}, {3, 3}, 1, {}, {1, 1, 1, 1}}, type); // in parts
    expectAllSame({2, 6, 6, {7, 6}, {3, 3}, 6, {2, 1}, {1, 1, 1, 1}}, type);
  }
}

TEST(GpuConvolution, TensorCores) {
  for (std::string type : {"f16", "bf16"}) {
    expectAllSame({1, 64, 72, {6, 6}, {3, 3}, 1, {}, {1, 1, 1, 1}}, type);     // tiles of one tap
    expectAllSame({2, 33, 70, {5, 7}, {3, 2}, 1, {2, 1}, {1, 0, 0, 1}}, type); // nothing is whole
    expectAllSame({2, 12, 18, {9, 8}, {3, 3}, 2, {2, 2}, {2, 2, 2, 2}, {2, 2}}, type);
    expectAllSame({3, 64, 128, {7, 7}, {1, 1}, 1, {2, 2}}, type);
    expectAllSame({2, 24, 40, {8, 8}, {1, 1}}, type); // neighbouring positions at once
    expectAllSame({2, 6, 10, {19}, {4}, 1, {3}, {2, 1}}, type);
    expectAllSame({1, 5, 6, {3, 4, 5}, {2, 3, 2}, 1, {1, 2, 1}, {1, 1, 0, 0, 1, 1}}, type);
    expectAllSame({1, 320, 8, {4, 4}, {3, 3}, 1, {}, {1, 1, 1, 1}}, type); // in parts
  }
  const auto tile = [](const std::string &x, const std::string &w, const std::string &y) {
    expectSameAsCpu("onnx.Conv {} : (tensor<" + x + "xbf16>, tensor<" + w + "xbf16>) -> tensor<" + y +
                        "xbf16>",
                    {0, 0, 1e-5});
  };
  tile("9x6x44x44", "128x6x1x1", "9x128x44x44"); // 128 x 128
  tile("9x6x44x44", "64x6x1x1", "9x64x44x44");   // 64 x 128
  tile("9x6x44x44", "20x6x1x1", "9x20x44x44");   // 32 x 256
}

TEST(GpuConvolution, NothingToSum) {
  expectAllSame({0, 3, 8, {5, 5}, {3, 3}});
  expectAllSame({2, 0, 8, {5, 5}, {3, 3}});
  expectAllSame({2, 3, 0, {5, 5}, {3, 3}});
}

TEST(GpuConvolution, EveryShapeOfTiles) {
  expectAllSame({2, 40, 20, {8, 8}, {1, 1}});                       // 32 x 128
  expectAllSame({1, 16, 100, {3, 4}, {1, 1}});                      // 256 x 16
  expectAllSame({1, 5, 12, {16, 16}, {3, 3}, 1, {}, {1, 1, 1, 1}}); // 16 x 256
  expectSameAsCpu("onnx.Conv {} : (tensor<9x6x44x44xf32>, tensor<128x6x1x1xf32>) -> tensor<9x128x44x44xf32>",
                  {0, 0, 1e-5}); // 128 x 128
}

TEST(GpuConvolution, SumsInParts) {
  expectAllSame({1, 96, 40, {5, 5}, {3, 3}, 1, {}, {1, 1, 1, 1}});
  expectAllSame({8, 4, 9, {12, 12}, {3, 3}, 1, {}, {1, 1, 1, 1}});
  expectAllSame({8, 4, 9, {12, 12}, {3, 3}, 1, {}, {1, 1, 1, 1}}, "f64");
}

TEST(GpuConvolution, Assembles) {
  Shape resnet{32, 64, 64, {56, 56}, {3, 3}, 1, {}, {1, 1, 1, 1}},
      stem{32, 3, 64, {224, 224}, {7, 7}, 1, {2, 2}, {3, 3, 3, 3}},
      depthwise{32, 96, 96, {56, 56}, {7, 7}, 96, {}, {3, 3, 3, 3}},
      pointwise{32, 256, 128, {14, 14}, {1, 1}};
  for (std::string arch : {"sm_80", "sm_89", "sm_90", "sm_100"})
    for (const Shape &shape : {resnet, stem, depthwise, pointwise})
      for (std::string type : {"f32", "f64"})
        if (type == "f32" || arch == "sm_80")
          for (const std::string &call : shape.calls(type))
            if (call.starts_with("onnx.Conv ") || call.starts_with("train.conv_grad")) {
              EXPECT_LE(spillsOf(call, arch), 0) << arch << " " << call;
            }
  for (std::string arch : {"sm_80", "sm_90", "sm_100"})
    for (const Shape &shape : {resnet, stem, pointwise})
      for (const std::string &call : {shape.calls("bf16")[1], shape.calls("f16")[2], shape.calls("bf16")[3]})
        EXPECT_LE(spillsOf(call, arch), 0) << arch << " " << call;
}
