#include "test/unit/kernels/KernelTest.h"
#include <numeric>

namespace kedge::rt::test {
namespace {

Array resize(const Array &x, const Shape &out, const json &attrs) {
  return runKernel1("onnx.Resize", attrs, {x}, {x.desc.type, out});
}

double dot(const Array &a, const Array &b) {
  std::vector<double> left = a.doubles(), right = b.doubles();
  return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
}

TEST(KernelResize, NearestModes) {
  Array x = Array::of<float>({1, 4}, {1, 2, 3, 4});
  json attrs = {
      {"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}};
  expectNear(resize(x, {1, 8}, attrs), {1, 1, 2, 2, 3, 3, 4, 4}, 0);
  attrs["nearest_mode"] = "ceil";
  expectNear(resize(x, {1, 8}, attrs), {1, 2, 2, 3, 3, 4, 4, 4}, 0);
  Array whole = Array::of<int64_t>({2, 2}, {1, 2, 3, 4});
  expectNear(resize(whole, {4, 2}, {}), {1, 2, 1, 2, 3, 4, 3, 4}, 0);
}

TEST(KernelResize, LinearKnownValues) {
  Array x = Array::of<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  json attrs = {{"mode", "linear"}};
  expectNear(resize(x, {1, 1, 4, 4}, attrs),
             {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}, 1e-6);
  attrs["coordinate_transformation_mode"] = "align_corners";
  expectNear(resize(Array::of<float>({1, 3}, {0, 1, 2}), {1, 5}, attrs), {0, 0.5, 1, 1.5, 2}, 1e-6);
  attrs["scales"] = {1.0, 0.6};
  expectNear(resize(Array::of<float>({1, 4}, {1, 2, 3, 4}), {1, 2}, attrs), {1, 1 + 3 / 1.4}, 1e-6);
}

/// ONNX's reference with a size of 1.7: the coordinate of element 0 is 0.5 / 0.34 - 0.5.
TEST(KernelResize, OneElementOfAFractionIsNotTheFirst) {
  Array x = Array::of<float>({5}, {0, 1, 2, 3, 4});
  json attrs = {
      {"mode", "linear"}, {"coordinate_transformation_mode", "pytorch_half_pixel"}, {"scales", {0.34}}};
  expectNear(resize(x, {1}, attrs), {0.5 / 0.34 - 0.5}, 1e-6);
  attrs["scales"] = {0.2};
  expectNear(resize(x, {1}, attrs), {0}, 1e-6);
}

/// 3 / 0.6 is 5, though 0.6 in fp32 is larger than 0.6; elsewhere scales are what they are in fp32.
TEST(KernelResize, NearestByAScaleIsPyTorchs) {
  std::vector<float> values{0, 1, 2, 3, 4, 5, 6, 7};
  Array x = Array::of<float>({8}, values);
  json attrs = {{"mode", "nearest"},
                {"coordinate_transformation_mode", "asymmetric"},
                {"nearest_mode", "floor"},
                {"scales", {double(0.6f)}}};
  expectNear(resize(x, {4}, attrs), {0, 1, 3, 5}, 0);
  Array rows = resize(x, {18}, {{"mode", "nearest"}, {"scales", {double(2.3f)}}});
  EXPECT_EQ(rows.doubles()[11], 5);
}

TEST(KernelResize, CropExtrapolatesOutside) {
  Array x = Array::of<float>({4}, {1, 2, 3, 4});
  json attrs = {{"mode", "linear"},
                {"coordinate_transformation_mode", "tf_crop_and_resize"},
                {"roi", {0.5, 1.5}},
                {"extrapolation_value", 10}};
  expectNear(resize(x, {3}, attrs), {2.5, 4, 10}, 1e-6);
}

/// All filters keep constants, and the gradient is the transpose: <resize(x), g> = <x, grad(g)>.
TEST(KernelResize, FiltersKeepConstantsAndGradientIsTheTranspose) {
  for (std::string mode : {"nearest", "linear", "cubic"})
    for (std::string coordinates :
         {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"})
      for (bool antialias : {false, true})
        for (Shape out : {Shape{2, 3, 11, 4}, {2, 3, 3, 15}, {2, 3, 1, 7}}) {
          json attrs = {{"mode", mode},
                        {"coordinate_transformation_mode", coordinates},
                        {"antialias", antialias},
                        {"exclude_outside", mode == "cubic"}};
          Array x = Array::random<float>({2, 3, 5, 7}, 1), g = Array::random<float>(out, 2);
          Array ones = Array::of<float>({2, 3, 5, 7}, std::vector<float>(210, 1));
          expectNear(resize(ones, out, attrs), std::vector<double>(g.size(), 1), 1e-5);
          Array y = resize(x, out, attrs), dx = runKernel1("train.resize_grad", attrs, {g}, x.desc);
          EXPECT_NEAR(dot(y, g), dot(x, dx), 1e-4) << attrs.dump();
        }
}

} // namespace
} // namespace kedge::rt::test
