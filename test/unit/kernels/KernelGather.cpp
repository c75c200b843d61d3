#include "test/unit/kernels/KernelTest.h"

namespace kedge::rt::test {
namespace {

TEST(KernelGather, RowsAndColumnsWithNegativeIndices) {
  Array x = Array::random<float>({7, 10, 3}, 1);
  Array rows = Array::of<int64_t>({2, 2}, {0, 6, -1, 3}), columns = Array::of<int32_t>({2}, {-10, 9});
  std::vector<double> expected;
  for (int64_t row : {0, 6, 6, 3})
    for (int64_t i = 0; i < 30; ++i)
      expected.push_back(x.data<float>()[row * 30 + i]);
  expectNear(runKernel1("onnx.Gather", {}, {x, rows}, {DType::F32, {2, 2, 10, 3}}), expected, 0);
  expected.clear();
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t column : {0, 9})
      for (int64_t k = 0; k < 3; ++k)
        expected.push_back(x.data<float>()[(i * 10 + column) * 3 + k]);
  expectNear(runKernel1("onnx.Gather", {{"axis", 1}}, {x, columns}, {DType::F32, {7, 2, 3}}), expected, 0);
}

TEST(KernelGather, ScalarIndexEmptyIndicesAndOutOfRange) {
  Array x = Array::random<float>({4, 3}, 1);
  Array y = runKernel1("onnx.Gather", {}, {x, Array::of<int64_t>({}, {2})}, {DType::F32, {3}});
  EXPECT_EQ(y.data<float>()[0], x.data<float>()[6]);
  runKernel1("onnx.Gather", {}, {x, Array::of<int64_t>({0}, {})}, {DType::F32, {0, 3}});
  std::string error =
      errorOf("onnx.Gather", {}, {x, Array::of<int64_t>({2}, {1, 4})}, {{DType::F32, {2, 3}}});
  EXPECT_NE(error.find("index 4 at position 1 is outside [-4, 4)"), std::string::npos) << error;
}

template <typename T> void checkGatherGrad(int64_t axis, const json &extra, double tolerance) {
  Shape shape = {50, 6, 300};
  std::vector<int64_t> indices;
  for (int i = 0; i < 40; ++i)
    indices.push_back(i * i % shape[axis] - (i % 3 == 0 ? shape[axis] : 0));
  Shape out = shape;
  out[axis] = 40;
  Array dy = Array::random<T>(out, 1);
  std::vector<double> expected(50 * 6 * 300), grad = dy.doubles();
  forEachIndex(out, [&](const Shape &i) {
    Shape place = i;
    place[axis] = (indices[i[axis]] + shape[axis]) % shape[axis];
    if (extra.contains("padding_idx") && place[axis] == extra["padding_idx"])
      return;
    expected[flatten(shape, place)] += grad[flatten(out, i)];
  });
  json attrs = extra;
  attrs["axis"] = axis;
  Array dx =
      runKernel1("train.gather_grad", attrs, {dy, Array::of<int64_t>({40}, indices)}, {dtypeOf<T>(), shape});
  expectNear(dx, expected, tolerance);
}

TEST(KernelGatherGrad, SumsRepeatedRows) {
  for (int64_t axis : {0, 1, 2}) {
    checkGatherGrad<float>(axis, json::object(), 1e-6);
    checkGatherGrad<double>(axis, json::object(), 1e-15);
    checkGatherGrad<BFloat16>(axis, json::object(), 1e-6);
    checkGatherGrad<Float16>(axis, json::object(), 1e-6);
  }
  checkGatherGrad<float>(0, {{"padding_idx", 4}}, 1e-6);
}

/// The bits of train.gather_grad and a sum; the addend's place may be the result's.
template <typename T> void checkAddGatherGrad() {
  Array dy = Array::random<T>({9, 300}, 1), addend = Array::random<T>({50, 300}, 2);
  Array indices = Array::of<int64_t>({9}, {3, 7, 3, -1, 0, 3, 7, 20, 21});
  Array rows = runKernel1("train.gather_grad", {{"padding_idx", 20}}, {dy, indices}, addend.desc);
  Array found =
      runKernel1("train.add_gather_grad", {{"padding_idx", 20}}, {dy, indices, addend}, addend.desc);
  const std::vector<double> before = addend.doubles(), added = rows.doubles(), after = found.doubles();
  for (size_t i = 0; i < after.size(); ++i) {
    using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T sum = static_cast<T>(static_cast<Sum>(before[i]) + static_cast<Sum>(added[i]));
    ASSERT_EQ(after[i], static_cast<double>(sum)) << i;
  }
}

TEST(KernelGatherGrad, IsAddedOntoATable) {
  checkAddGatherGrad<float>();
  checkAddGatherGrad<double>();
  checkAddGatherGrad<BFloat16>();
  checkAddGatherGrad<Float16>();
}

/// indices smaller than the data in every dimension, values repeated along the axis.
Array elementIndices(const Shape &shape, int64_t limit) {
  std::vector<int64_t> values;
  forEachIndex(shape, [&](const Shape &i) {
    int64_t value = (i[0] * 7 + i[1] * 3 + i[2] * 5) % limit;
    values.push_back(value % 2 ? value - limit : value);
  });
  return Array::of<int64_t>(shape, values);
}

TEST(KernelGatherElements, ValuesAndGradient) {
  for (int64_t axis : {0, 1, 2}) {
    Shape data = {6, 5, 8}, shape = {4, 3, 7};
    Array x = Array::random<float>(data, 1), dy = Array::random<float>(shape, 2);
    Array indices = elementIndices(shape, data[axis]);
    std::vector<double> expected, gradient(x.size());
    forEachIndex(shape, [&](const Shape &i) {
      Shape place = i;
      place[axis] = (indices.data<int64_t>()[flatten(shape, i)] + data[axis]) % data[axis];
      expected.push_back(x.data<float>()[flatten(data, place)]);
      gradient[flatten(data, place)] += dy.data<float>()[flatten(shape, i)];
    });
    json attrs = {{"axis", axis}};
    expectNear(runKernel1("onnx.GatherElements", attrs, {x, indices}, dy.desc), expected, 0);
    expectNear(runKernel1("train.gather_elements_grad", attrs, {dy, indices}, x.desc), gradient, 1e-6);
  }
}

TEST(KernelGatherND, SlicesBatchesAndGradient) {
  Array x = Array::random<float>({2, 3, 4}, 1);
  Array whole = Array::of<int64_t>({3, 2}, {0, 1, -1, 2, 0, 1}),
        batched = Array::of<int64_t>({2, 2, 1}, {1, 1, 0, -1});
  std::vector<int64_t> slots = {1, 5, 1}, batchSlots = {1, 1, 3, 5};
  auto check = [&](const json &attrs, const Array &indices, const std::vector<int64_t> &rows,
                   const Shape &out) {
    Array dy = Array::random<float>(out, 2);
    std::vector<double> expected, gradient(24);
    for (size_t r = 0; r < rows.size(); ++r)
      for (int64_t k = 0; k < 4; ++k) {
        expected.push_back(x.data<float>()[rows[r] * 4 + k]);
        gradient[rows[r] * 4 + k] += dy.data<float>()[r * 4 + k];
      }
    expectNear(runKernel1("onnx.GatherND", attrs, {x, indices}, dy.desc), expected, 0);
    expectNear(runKernel1("train.gather_nd_grad", attrs, {dy, indices}, x.desc), gradient, 1e-6);
  };
  check(json::object(), whole, slots, {3, 4});
  check({{"batch_dims", 1}}, batched, batchSlots, {2, 2, 4});
}

TEST(KernelScatter, ElementsWithReductions) {
  Shape data = {6, 5, 8}, shape = {4, 3, 7};
  for (std::string reduction : {"none", "add", "mul", "max", "min"}) {
    Array x = Array::random<float>(data, 1), updates = Array::random<float>(shape, 2);
    Array indices = elementIndices(shape, data[1]);
    std::vector<double> expected = x.doubles();
    forEachIndex(shape, [&](const Shape &i) {
      Shape at = i;
      at[1] = (indices.data<int64_t>()[flatten(shape, i)] + data[1]) % data[1];
      double &place = expected[flatten(data, at)], update = updates.data<float>()[flatten(shape, i)];
      place = reduction == "none"  ? update
              : reduction == "add" ? place + update
              : reduction == "mul" ? place * update
              : reduction == "max" ? std::max(place, update)
                                   : std::min(place, update);
    });
    json attrs = {{"axis", 1}, {"reduction", reduction}};
    expectNear(runKernel1("onnx.ScatterElements", attrs, {x, indices, updates}, x.desc), expected, 1e-6);
  }
}

/// 256 and twenty ones: added one by one in bf16, whose steps are 2 there, they would all be lost.
TEST(KernelScatter, NarrowSumsAreRoundedOnce) {
  const int64_t count = 20;
  Array x = Array::of<BFloat16>({2}, {256, 1}),
        ones = Array::of<BFloat16>({count}, std::vector<BFloat16>(count, 1));
  Array first = Array::of<int64_t>({count}, std::vector<int64_t>(count, 0)), tuples = first;
  tuples.desc.shape = {count, 1};
  json add = {{"reduction", "add"}};
  expectNear(runKernel1("onnx.ScatterElements", add, {x, first, ones}, x.desc), {276, 1}, 0);
  expectNear(runKernel1("onnx.ScatterND", add, {x, tuples, ones}, x.desc), {276, 1}, 0);
}

TEST(KernelScatter, NDInOrder) {
  Array x = Array::random<int32_t>({4, 3}, 1),
        updates = Array::of<int32_t>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Array indices = Array::of<int64_t>({3, 1}, {2, -4, 2});
  Array last = runKernel1("onnx.ScatterND", {}, {x, indices, updates}, x.desc);
  Array sum = runKernel1("onnx.ScatterND", {{"reduction", "add"}}, {x, indices, updates}, x.desc);
  for (int64_t k = 0; k < 3; ++k) {
    EXPECT_EQ(last.data<int32_t>()[6 + k], 7 + k);
    EXPECT_EQ(last.data<int32_t>()[k], 4 + k);
    EXPECT_EQ(last.data<int32_t>()[9 + k], x.data<int32_t>()[9 + k]);
    EXPECT_EQ(sum.data<int32_t>()[6 + k], x.data<int32_t>()[6 + k] + 8 + 2 * k);
  }
}

} // namespace
} // namespace kedge::rt::test
