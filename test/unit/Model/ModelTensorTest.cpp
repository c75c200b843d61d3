// Every way in which ONNX stores elements gives the same bytes.
#include "lib/Model/Model.h"
#include "lib/Model/ModelFile.h"
#include "test/support/OnnxBytes.h"
#include "test/support/TempFolder.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace kedge::model;
using namespace kedge::test;

namespace {

Model modelWith(const Msg &tensor) { return parseModel(asBytes(modelOf(Msg().sub(5, tensor))), "t.onnx"); }

Tensor load(const Msg &tensor) { return modelWith(tensor).graph.initializers[0]; }

std::string errorOf(const Msg &tensor) {
  return messageOf([&] { load(tensor); });
}

std::string varints(const std::vector<int64_t> &values) {
  Msg m;
  for (int64_t v : values)
    m.raw(static_cast<uint64_t>(v));
  return m.bytes;
}

std::vector<uint8_t> decoded(const Tensor &tensor) {
  Bytes bytes = tensor.bytes();
  return {bytes.data, bytes.data + bytes.size};
}

TEST(ModelTensor, RawDataStaysInTheFile) {
  Model model = modelWith(rawTensor<float>("w", 1, {2, 2}, {1, 2, 3, 4}));
  const Tensor &w = model.graph.initializers[0];
  EXPECT_EQ(w.storage, Tensor::Storage::Inline);
  EXPECT_EQ(w.bytes().data, model.file->data() + w.offset);
  EXPECT_EQ(w.length, 16u);
  EXPECT_EQ(w.floats(), (std::vector<double>{1, 2, 3, 4}));
}

/// Found by fuzzing: two trillion elements, of which there is no byte.
TEST(ModelTensor, AShapeAloneTakesNoMemory) {
  std::string length = std::to_string(uint64_t(4) << 41);
  Msg graph = Msg().sub(5, externalTensor("w", {1 << 20, 1 << 21}, "none.bin", "0", length));
  Tensor w =
      parseModel(asBytes(modelOf(graph)), "t.onnx", {.requireExternalData = false}).graph.initializers[0];
  EXPECT_NE(messageOf([&] { w.floats(); }).find("external data file 'none.bin' is missing"),
            std::string::npos);
}

TEST(ModelTensor, PackedFloatsAreContiguous) {
  Tensor w = load(tensorHead("w", 1, {3}).text(4, pack<float>({1, -2, 0.5f})));
  EXPECT_EQ(w.storage, Tensor::Storage::Inline);
  EXPECT_EQ(w.floats(), (std::vector<double>{1, -2, 0.5}));
}

TEST(ModelTensor, UnpackedAndSplitFloatsAreDecoded) {
  Tensor unpacked = load(tensorHead("w", 1, {2}).real(4, 7).real(4, 8));
  EXPECT_EQ(unpacked.storage, Tensor::Storage::Encoded);
  EXPECT_EQ(unpacked.floats(), (std::vector<double>{7, 8}));
  Tensor split = load(tensorHead("w", 1, {3}).text(4, pack<float>({1, 2})).text(4, pack<float>({3})));
  EXPECT_EQ(split.storage, Tensor::Storage::Encoded);
  EXPECT_EQ(split.floats(), (std::vector<double>{1, 2, 3}));
}

TEST(ModelTensor, Int32DataHoldsTheSmallTypes) {
  EXPECT_EQ(load(tensorHead("w", 6, {2}).text(5, varints({-5, 70000}))).ints(),
            (std::vector<int64_t>{-5, 70000}));
  EXPECT_EQ(load(tensorHead("w", 3, {2}).text(5, varints({-5, 100}))).ints(),
            (std::vector<int64_t>{-5, 100}));
  EXPECT_EQ(load(tensorHead("w", 2, {2}).text(5, varints({250, 1}))).ints(), (std::vector<int64_t>{250, 1}));
  EXPECT_EQ(load(tensorHead("w", 9, {2}).text(5, varints({1, 0}))).ints(), (std::vector<int64_t>{1, 0}));
  // fp16: bit patterns of 1.5, -2, the smallest denormal, infinity.
  Tensor half = load(tensorHead("w", 10, {4}).text(5, varints({0x3e00, 0xc000, 1, 0x7c00})));
  EXPECT_EQ(half.floats(), (std::vector<double>{1.5, -2, 0x1p-24, INFINITY}));
  Tensor bfloat = load(tensorHead("w", 16, {2}).text(5, varints({0x3fc0, 0xc000})));
  EXPECT_EQ(bfloat.floats(), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(decoded(bfloat), (std::vector<uint8_t>{0xc0, 0x3f, 0x00, 0xc0}));
}

TEST(ModelTensor, FourBitElementsShareBytes) {
  Tensor packed = load(tensorHead("w", 22, {3}).text(5, varints({0x7f, 0x08})));
  EXPECT_EQ(packed.byteSize(), 2u);
  EXPECT_EQ(packed.ints(), (std::vector<int64_t>{-1, 7, -8}));
}

TEST(ModelTensor, WideTypes) {
  EXPECT_EQ(load(tensorHead("w", 7, {2}).text(7, varints({-1, int64_t(1) << 40}))).ints(),
            (std::vector<int64_t>{-1, int64_t(1) << 40}));
  EXPECT_EQ(load(tensorHead("w", 12, {1}).text(11, varints({4000000000}))).ints(),
            (std::vector<int64_t>{4000000000}));
  EXPECT_EQ(load(tensorHead("w", 11, {2}).text(10, pack<double>({0.1, -3}))).floats(),
            (std::vector<double>{0.1, -3}));
  Tensor strings = load(tensorHead("w", 8, {2}).text(6, "a").text(6, "bc"));
  EXPECT_EQ(strings.strings, (std::vector<std::string>{"a", "bc"}));
  EXPECT_NE(messageOf([&] { strings.bytes(); }), "");
}

TEST(ModelTensor, ScalarsAndEmptyTensors) {
  EXPECT_EQ(load(rawTensor<int64_t>("w", 7, {}, {42})).ints(), std::vector<int64_t>{42});
  Tensor empty = load(tensorHead("w", 1, {0, 5}));
  EXPECT_EQ(empty.numElements(), 0);
  EXPECT_TRUE(empty.floats().empty());
}

TEST(ModelTensor, WrongCountsAreErrors) {
  EXPECT_NE(errorOf(rawTensor<float>("w", 1, {3}, {1, 2})).find("expected 12"), std::string::npos);
  EXPECT_NE(errorOf(tensorHead("w", 7, {3}).text(7, varints({1}))).find("has 1 values; expected 3"),
            std::string::npos);
  EXPECT_NE(errorOf(tensorHead("w", 1, {1})), "");
  EXPECT_NE(errorOf(tensorHead("w", 1, {1}).text(7, varints({1}))), "");
  EXPECT_NE(errorOf(tensorHead("w", 1, {-2})).find("negative dimension"), std::string::npos);
  EXPECT_NE(errorOf(tensorHead("w", 99, {1})).find("unknown element type 99"), std::string::npos);
  EXPECT_NE(
      errorOf(rawTensor<float>("w", 1, {int64_t(1) << 40, int64_t(1) << 40}, {1})).find("impossibly large"),
      std::string::npos);
  std::string both = errorOf(rawTensor<float>("w", 1, {1}, {1}).text(4, pack<float>({1})));
  EXPECT_NE(both.find("both raw_data"), std::string::npos);
}

TEST(ModelTensor, ConversionsRefuseWhatIsNoInteger) {
  Tensor nan = load(rawTensor<float>("w", 1, {1}, {NAN}));
  EXPECT_NE(messageOf([&] { nan.ints(); }).find("expected integers"), std::string::npos);
}

TEST(ModelTensor, ConstantsInEveryForm) {
  auto constant = [](const Msg &attribute) {
    Msg graph = Msg().sub(1, node("Constant", {}, {"c"}).sub(5, attribute));
    return constantValue(parseModel(asBytes(modelOf(graph)), "t.onnx").graph.nodes.at(0));
  };
  EXPECT_EQ(
      constant(Msg().text(1, "value").sub(5, rawTensor<float>("", 1, {1}, {3})).varint(20, 4)).floats()[0],
      3);
  EXPECT_EQ(constant(intAttribute("value_int", -4)).ints(), std::vector<int64_t>{-4});
  Tensor ints = constant(Msg().text(1, "value_ints").text(8, varints({1, 2})).varint(20, 7));
  EXPECT_EQ(ints.ints(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(ints.dims, std::vector<int64_t>{2});
  EXPECT_EQ(ints.name, "c");
  EXPECT_EQ(constant(Msg().text(1, "value_float").real(2, 2.5f).varint(20, 1)).floats()[0], 2.5);
  EXPECT_EQ(constant(Msg().text(1, "value_floats").real(7, 1).real(7, 2).varint(20, 6)).floats().size(), 2u);
  EXPECT_EQ(constant(Msg().text(1, "value_string").text(4, "hi").varint(20, 3)).strings.at(0), "hi");
  std::string sparse = messageOf([&] { constant(Msg().text(1, "sparse_value").varint(20, 11)); });
  EXPECT_NE(sparse.find("sparse_value"), std::string::npos);
}

} // namespace
