// Fourier transforms as products with constant matrices; mel weights.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MovementUtils.h"
#include "lib/Import/Build/NarrowCasts.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

namespace {
/// The matrix has its square, as constants.
constexpr int64_t longestTransform = 4096;

struct Transform {
  int64_t length;
  bool inverse = false, oneSided = false;

  int64_t half() const { return length / 2 + 1; }
  int64_t inputs() const { return inverse && oneSided ? half() : length; }
  int64_t outputs() const { return !inverse && oneSided ? half() : length; }
  bool isReal() const { return inverse && oneSided; } ///< the result
};

/// [inputs x parts, outputs x parts]: rows and columns hold real and imaginary parts in turn.
Value matrixOf(NodeContext &node, Type element, const Transform &t, int64_t partsIn) {
  int64_t partsOut = t.isReal() ? 1 : 2, columns = t.outputs() * partsOut;
  std::vector<double> values(t.inputs() * partsIn * columns);
  for (int64_t i = 0; i < t.inputs(); ++i)
    for (int64_t k = 0; k < t.outputs(); ++k) {
      double angle =
          2 * std::numbers::pi * static_cast<double>(i * k % t.length) / static_cast<double>(t.length);
      // One side of a real signal's spectrum stands for both, but for the ends.
      double twice = t.isReal() && i != 0 && 2 * i != t.length ? 2 : 1;
      double factor = t.inverse ? twice / static_cast<double>(t.length) : 1;
      double cosine = factor * std::cos(angle), sine = factor * (t.inverse ? 1 : -1) * std::sin(angle);
      const double parts[2][2] = {{cosine, sine}, {-sine, cosine}}; // of the real and the imaginary input
      for (int64_t from = 0; from < partsIn; ++from)
        for (int64_t to = 0; to < partsOut; ++to)
          values[(i * partsIn + from) * columns + k * partsOut + to] = parts[from][to];
    }
  return constantNumbers(node, element, {t.inputs() * partsIn, columns}, values);
}

/// x [.., axis, .., parts], along the axis.
Value transformed(NodeContext &node, Value x, int64_t axis, const Transform &t) {
  OpBuilder &b = node.builder;
  int64_t rank = rankOf(x), parts = shapeOf(x).back(), size = shapeOf(x)[axis];
  if (t.length < 1 || t.length > longestTransform)
    node.unsupported(fmt::format("a Fourier transform of length {}", t.length));
  Dims pads(2 * rank, 0);
  pads[rank + axis] = t.inputs() - size;
  x = padConstant(b, node.loc, x, Value(), pads);
  Dims perm, inverse(rank);
  for (int64_t dim = 0; dim < rank - 1; ++dim)
    if (dim != axis)
      perm.push_back(dim);
  perm.append({axis, rank - 1});
  for (auto [to, from] : llvm::enumerate(perm))
    inverse[from] = to;
  x = transpose(b, node.loc, x, perm);
  Dims rest(shapeOf(x).drop_back(2)), flat(rest);
  flat.push_back(t.inputs() * parts);
  Value y = onnx::MatMulOp::create(b, node.loc, reshape(b, node.loc, x, flat),
                                   matrixOf(node, elementOf(x), t, parts), false, false);
  rest.append({t.outputs(), t.isReal() ? 1 : 2});
  return transpose(b, node.loc, reshape(b, node.loc, y, rest), inverse);
}

int64_t oneNumber(NodeContext &node, size_t k, StringRef what, int64_t otherwise) {
  auto values = node.constantInts(k, what);
  if (values && values->size() != 1)
    node.fail("{} has {} elements, expected one", what.str(), values->size());
  return values ? values->front() : otherwise;
}

/// The axis is an attribute before opset 20, an operand since.
void importDft(NodeContext &node) {
  Value x = node.require(0);
  int64_t given = node.opset() < 20 ? node.node.attrInt("axis", 1) : oneNumber(node, 2, "axis", -2);
  int64_t axis = axisOf(node, given, rankOf(x)), parts = shapeOf(x).back();
  if (axis == rankOf(x) - 1 || parts > 2)
    node.fail(
        "expected real numbers or pairs in the last dimension, and another axis; found [{}] and axis {}",
        fmt::join(shapeOf(x), " x "), axis);
  Transform t{0, node.node.attrBool("inverse", false), node.node.attrBool("onesided", false)};
  t.length = oneNumber(node, 1, "dft_length", t.isReal() ? 2 * (shapeOf(x)[axis] - 1) : shapeOf(x)[axis]);
  node.setResult(0, transformed(node, x, axis, t));
}

/// Frames as a gather, times the window, each transformed.
void importStft(NodeContext &node) {
  OpBuilder &b = node.builder;
  Value x = node.require(0);
  if (rankOf(x) == 2)
    x = reshape(b, node.loc, x, {shapeOf(x)[0], shapeOf(x)[1], 1});
  int64_t step = oneNumber(node, 1, "frame_step", 0);
  int64_t length =
      oneNumber(node, 3, "frame_length", node.has(2) ? shapeOf(node.operand(2))[0] : shapeOf(x)[1]);
  if (step <= 0 || length <= 0 || length > shapeOf(x)[1])
    node.fail("frames of {} every {} places do not fit a signal of {}", length, step, shapeOf(x)[1]);
  int64_t count = 1 + (shapeOf(x)[1] - length) / step;
  Dims places;
  for (int64_t frame = 0; frame < count; ++frame)
    for (int64_t k = 0; k < length; ++k)
      places.push_back(frame * step + k);
  Value at = reshape(b, node.loc, node.constantInts1d(places), {count, length});
  Value frames = onnx::GatherOp::create(b, node.loc, x, at, b.getI64IntegerAttr(1), IntegerAttr());
  if (node.has(2))
    frames = onnx::MulOp::create(b, node.loc, frames, reshape(b, node.loc, node.operand(2), {length, 1}));
  node.setResult(0, transformed(node, frames, 2, {length, false, node.node.attrBool("onesided", true)}));
}

double oneFloat(NodeContext &node, size_t k, StringRef what) {
  auto values = node.constantFloats(k, what);
  if (!values || values->size() != 1)
    node.fail("{} is missing or no single number", what.str());
  return values->front();
}

/// Triangles between neighbouring mel frequencies, in bins of the spectrum.
void importMelWeights(NodeContext &node) {
  int64_t count = oneNumber(node, 0, "num_mel_bins", 0), length = oneNumber(node, 1, "dft_length", 0);
  int64_t rate = oneNumber(node, 2, "sample_rate", 0), bins = length / 2 + 1;
  if (count <= 0 || length <= 0 || rate <= 0)
    node.fail("expected positive numbers of mel bins, transform length and sample rate");
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double low = mel(oneFloat(node, 3, "lower_edge_hertz")), high = mel(oneFloat(node, 4, "upper_edge_hertz"));
  Dims edges;
  for (int64_t k = 0; k < count + 2; ++k) {
    double hertz =
        700 *
        (std::pow(10, (low + static_cast<double>(k) * (high - low) / static_cast<double>(count + 2)) / 2595) -
         1);
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
    if (edges.back() < 0 || edges.back() >= bins + (k > count))
      node.fail("the edge of mel bin {} is at bin {} of a spectrum of {}", k, edges.back(), bins);
  }
  std::vector<double> weights(bins * count);
  for (int64_t k = 0; k < count; ++k) {
    int64_t first = edges[k], middle = edges[k + 1], last = edges[k + 2];
    for (int64_t j = first; j <= middle; ++j)
      weights[j * count + k] =
          first == middle ? 1 : static_cast<double>(j - first) / static_cast<double>(middle - first);
    for (int64_t j = middle; j < last; ++j)
      weights[j * count + k] = static_cast<double>(last - j) / static_cast<double>(last - middle);
  }
  Type element = node.elementType(static_cast<model::ElementType>(node.node.attrInt("output_datatype", 1)));
  node.setResult(0, constantNumbers(node, element, {bins, count}, weights));
}
} // namespace

void kedge::importer::registerSignalImporters(NodeImporters &importers) {
  importers.add("DFT", importDft);
  importers.add("STFT", importStft);
  importers.add("MelWeightMatrix", importMelWeights);
}
