#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

/// out[index] = in[source(index)] for float tensors.
template <typename F> std::vector<double> mapped(const Array &in, const Shape &out, F &&source) {
  std::vector<double> values;
  forEachIndex(out, [&](const Shape &index) {
    values.push_back(in.data<float>()[flatten(in.desc.shape, source(index))]);
  });
  return values;
}

void checkTranspose(const Shape &shape, const Shape &perm) {
  Array x = Array::random<float>(shape, 1);
  Shape out;
  for (int64_t p : perm)
    out.push_back(shape[p]);
  auto expected = mapped(x, out, [&](const Shape &index) {
    Shape from(index.size());
    for (size_t i = 0; i < perm.size(); ++i)
      from[perm[i]] = index[i];
    return from;
  });
  expectNear(runKernel1("onnx.Transpose", {{"perm", perm}}, {x}, {DType::F32, out}), expected, 0);
}

TEST(KernelTranspose, AnyPermutation) {
  checkTranspose({100, 130}, {1, 0});
  checkTranspose({64, 64}, {1, 0});
  checkTranspose({2, 17, 3, 9}, {0, 2, 1, 3});
  checkTranspose({2, 17, 3, 9}, {3, 1, 0, 2});
  checkTranspose({2, 17, 3, 9}, {0, 3, 1, 2});
  checkTranspose({5, 1, 7}, {2, 1, 0});
  checkTranspose({5, 0, 7}, {2, 1, 0});
  checkTranspose({}, {});
}

TEST(KernelTranspose, OtherElementSizes) {
  for (DType type : {DType::Bool, DType::F16, DType::I64}) {
    Array x({type, {19, 35}});
    for (size_t i = 0; i < x.desc.bytes(); ++i)
      x.data<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + 1);
    Array y = runKernel1("onnx.Transpose", {}, {x}, {type, {35, 19}});
    size_t size = dtypeSize(type);
    for (int64_t i = 0; i < 35; ++i)
      for (int64_t j = 0; j < 19; ++j)
        ASSERT_EQ(
            std::memcmp(y.data<char>() + (i * 19 + j) * size, x.data<char>() + (j * 35 + i) * size, size), 0);
  }
}

TEST(KernelExpandTile, RepeatValues) {
  Array x = Array::random<float>({3, 1, 4}, 1);
  expectNear(runKernel1("onnx.Expand", {}, {x}, {DType::F32, {2, 3, 5, 4}}),
             mapped(x, {2, 3, 5, 4}, [](const Shape &i) { return Shape{i[1], 0, i[3]}; }), 0);
  expectNear(runKernel1("onnx.Tile", {}, {x}, {DType::F32, {6, 3, 4}}),
             mapped(x, {6, 3, 4}, [](const Shape &i) { return Shape{i[0] % 3, 0, i[2]}; }), 0);
  expectNear(runKernel1("onnx.Tile", {}, {x}, {DType::F32, {3, 0, 4}}), {}, 0);
}

TEST(KernelDepthToSpace, BothModesAndBack) {
  Array x = Array::random<float>({2, 8, 3, 5}, 1);
  for (std::string mode : {"DCR", "CRD"}) {
    auto source = [&](const Shape &i) {
      int64_t c = i[1], row = i[2] % 2, column = i[3] % 2;
      return Shape{i[0], mode == "DCR" ? (row * 2 + column) * 2 + c : c * 4 + row * 2 + column, i[2] / 2,
                   i[3] / 2};
    };
    json attrs = {{"blocksize", 2}, {"mode", mode}};
    Array y = runKernel1("onnx.DepthToSpace", attrs, {x}, {DType::F32, {2, 2, 6, 10}});
    expectNear(y, mapped(x, {2, 2, 6, 10}, source), 0);
    expectNear(runKernel1("onnx.SpaceToDepth", attrs, {y}, x.desc), x.doubles(), 0);
  }
}

TEST(KernelConcatSplit, AreInverses) {
  for (int64_t axis : {0, 1, -1}) {
    Shape whole = {4, 6, 5}, part = whole, rest = whole, none = whole;
    int64_t a = axis < 0 ? axis + 3 : axis;
    part[a] = 1, rest[a] = whole[a] - 1, none[a] = 0;
    Array x = Array::random<float>(whole, 1);
    std::vector<Array> parts = runKernel("onnx.Split", {{"axis", axis}}, {x},
                                         {{DType::F32, part}, {DType::F32, none}, {DType::F32, rest}});
    expectNear(parts[2],
               mapped(x, rest,
                      [&](Shape i) {
                        ++i[a];
                        return i;
                      }),
               0);
    expectNear(runKernel1("onnx.Concat", {{"axis", axis}}, parts, x.desc), x.doubles(), 0);
  }
  Array x = Array::random<float>({4, 6}, 1);
  EXPECT_NE(errorOf("onnx.Concat", {{"axis", 1}}, {x}, {{DType::F32, {4, 7}}}), "");
}

/// A slice and its gradient: the gradient of slice(x) . g with respect to x is g at the places of the slice.
void checkSlice(const Shape &shape, const json &attrs, const Shape &out, const Shape &start,
                const Shape &step) {
  Array x = Array::random<float>(shape, 1), g = Array::random<float>(out, 2);
  auto place = [&](Shape i) {
    for (size_t d = 0; d < i.size(); ++d)
      i[d] = start[d] + i[d] * step[d];
    return i;
  };
  expectNear(runKernel1("onnx.Slice", attrs, {x}, {DType::F32, out}), mapped(x, out, place), 0);
  std::vector<double> expected(x.size());
  forEachIndex(
      out, [&](const Shape &i) { expected[flatten(shape, place(i))] = g.data<float>()[flatten(out, i)]; });
  expectNear(runKernel1("train.slice_grad", attrs, {g}, x.desc), expected, 0);
}

TEST(KernelSlice, StepsAndClamping) {
  checkSlice({5, 8}, {{"starts", {1, 2}}, {"ends", {4, 7}}}, {3, 5}, {1, 2}, {1, 1});
  checkSlice({5, 8}, {{"starts", {1}}, {"ends", {1000}}, {"axes", {-1}}, {"steps", {3}}}, {5, 3}, {0, 1},
             {1, 3});
  checkSlice({5, 8}, {{"starts", {-1, 6}}, {"ends", {INT64_MIN, 1}}, {"axes", {0, 1}}, {"steps", {-1, -2}}},
             {5, 3}, {4, 6}, {-1, -2});
  checkSlice({5, 8}, {{"starts", {3}}, {"ends", {2}}}, {0, 8}, {3, 0}, {1, 1});
  checkSlice({200, 300}, {{"starts", {300}}, {"ends", {-301}}, {"axes", {1}}, {"steps", {-1}}}, {200, 300},
             {0, 299}, {1, -1});
  checkSlice({0, 8}, {{"starts", {0}}, {"ends", {-1}}, {"steps", {-1}}}, {0, 8}, {0, 0}, {1, 1});
}

int64_t padSource(const std::string &mode, int64_t i, int64_t n) {
  while (i < 0 || i >= n) {
    if (mode == "edge")
      return i < 0 ? 0 : n - 1;
    if (mode == "wrap")
      i += i < 0 ? n : -n;
    else
      i = i < 0 ? -i : 2 * (n - 1) - i;
  }
  return i;
}

TEST(KernelPad, AllModesAndTheirGradients) {
  Array x = Array::random<float>({4, 5}, 1), g = Array::random<float>({4 + 3, 5 + 1}, 2);
  for (std::string mode : {"reflect", "edge", "wrap"}) {
    json attrs = {{"mode", mode}, {"pads", {1, -1, 2, 2}}};
    auto source = [&](const Shape &i) {
      return Shape{padSource(mode, i[0] - 1, 4), padSource(mode, i[1] + 1, 5)};
    };
    expectNear(runKernel1("onnx.Pad", attrs, {x}, g.desc), mapped(x, g.desc.shape, source), 0);
    std::vector<double> expected(20);
    forEachIndex(g.desc.shape, [&](const Shape &i) {
      expected[flatten({4, 5}, source(i))] += g.data<float>()[flatten(g.desc.shape, i)];
    });
    expectNear(runKernel1("train.pad_grad", attrs, {g}, x.desc), expected, 1e-6);
  }
}

TEST(KernelPad, ConstantWithCropping) {
  Array x = Array::random<float>({4, 5}, 1), value = Array::of<float>({}, {3});
  json attrs = {{"pads", {1, -2, 0, 3}}};
  std::vector<double> expected, gradient(20);
  Array g = Array::random<float>({5, 6}, 2);
  forEachIndex({5, 6}, [&](const Shape &i) {
    int64_t row = i[0] - 1, column = i[1] + 2;
    bool inside = row >= 0 && column < 5;
    expected.push_back(inside ? x.data<float>()[row * 5 + column] : 3);
    if (inside)
      gradient[row * 5 + column] = g.data<float>()[i[0] * 6 + i[1]];
  });
  expectNear(runKernel1("onnx.Pad", attrs, {x, value}, g.desc), expected, 0);
  expectNear(runKernel1("train.pad_grad", attrs, {g}, x.desc), gradient, 0);
  attrs["value"] = 3;
  expectNear(runKernel1("onnx.Pad", attrs, {x}, g.desc), expected, 0);
}

TEST(KernelCenterCropPad, CropsAndPads) {
  Array x = Array::random<float>({5, 4}, 1);
  std::vector<double> expected;
  forEachIndex({2, 7}, [&](const Shape &i) {
    expected.push_back(i[1] >= 1 && i[1] < 5 ? x.data<float>()[(i[0] + 1) * 4 + i[1] - 1] : 0);
  });
  expectNear(runKernel1("onnx.CenterCropPad", {}, {x}, {DType::F32, {2, 7}}), expected, 0);
}

} // namespace
} // namespace kedge::rt::test
