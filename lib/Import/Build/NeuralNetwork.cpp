// Products, convolutions, recurrent layers from any opset to the canonical ops. Pools: NeuralNetworkPool.cpp.
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Import/Build/MathImporters.h"
#include "lib/Import/Build/NeuralNetworkWindow.h"
#include "lib/Import/NodeImporter.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;
using namespace kedge::onnx;

Value kedge::importer::integerConvolution(NodeContext &c, Value x, Value w, Value zeroX, Value zeroW) {
  ImportedWindow window = importWindow(c, x, shapeOf(w).drop_front(std::min<int64_t>(2, rankOf(w))));
  return ConvIntegerOp::create(c.builder, c.loc, x, w, zeroX, zeroW, window.strides, window.pads,
                               window.dilations, c.node.attrInt("group", 1));
}

namespace {
void importMatMul(NodeContext &c) {
  c.setResult(0, MatMulOp::create(c.builder, c.loc, c.require(0), c.require(1), false, false));
}

void importGemm(NodeContext &c) {
  APFloat alpha(c.node.attrFloat("alpha", 1.0f)), beta(c.node.attrFloat("beta", 1.0f));
  c.setResult(0, GemmOp::create(c.builder, c.loc, c.require(0), c.require(1), c.operand(2),
                                c.node.attrBool("transA", false), c.node.attrBool("transB", false), alpha,
                                beta));
}

void importMatMulInteger(NodeContext &c) {
  c.setResult(
      0, MatMulIntegerOp::create(c.builder, c.loc, c.require(0), c.require(1), c.operand(2), c.operand(3)));
}

void importQLinearMatMul(NodeContext &c) {
  SmallVector<Value> operands;
  for (size_t k = 0; k < 8; ++k)
    operands.push_back(c.require(k));
  c.setResult(0, QLinearMatMulOp::create(c.builder, c.loc, operands));
}

//===--- Convolutions -----------------------------------------------------------------------------------===//

/// onnxruntime reads as many elements of a bias as there are channels, whatever its shape. Of zeros it makes
/// nothing; torch 2.15 writes [channels, 2] of them for a Conv3d without bias.
Value convolutionBias(NodeContext &c, int64_t channels) {
  Value bias = c.operand(2);
  if (!bias || shapeOf(bias) == ArrayRef<int64_t>{channels} || elementCount(shapeOf(bias)) < channels ||
      !c.isZero(2))
    return bias;
  c.remark("a bias of zeros whose shape does not fit is left out, as it adds nothing (onnxruntime reads one "
           "zero a channel)");
  return {};
}

void importConv(NodeContext &c) {
  Value x = c.require(0), w = c.require(1);
  ImportedWindow window = importWindow(c, x, shapeOf(w).drop_front(std::min<int64_t>(2, rankOf(w))));
  Value bias = convolutionBias(c, rankOf(w) ? shapeOf(w)[0] : 0);
  c.setResult(0, ConvOp::create(c.builder, c.loc, x, w, bias, window.strides, window.pads, window.dilations,
                                c.node.attrInt("group", 1)));
}

void importConvInteger(NodeContext &c) {
  c.setResult(0, integerConvolution(c, c.require(0), c.require(1), c.operand(2), c.operand(3)));
}

/// Pads of ConvTranspose such that spatial dim i has size `wanted`; what no pad can add goes to the output
/// padding.
void padsForOutput(NodeContext &c, ArrayRef<int64_t> input, ArrayRef<int64_t> wanted, ImportedWindow &window,
                   SmallVectorImpl<int64_t> &outputPadding) {
  bool upper = c.node.attrString("auto_pad", "NOTSET") == "SAME_UPPER";
  for (size_t i = 0; i < input.size(); ++i) {
    int64_t full = window.strides[i] * (input[i] - 1) + outputPadding[i] +
                   (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t total = full - wanted[i];
    if (total < 0) {
      outputPadding[i] -= total;
      total = 0;
    }
    int64_t begin = upper ? total / 2 : total - total / 2;
    window.pads[i] = begin;
    window.pads[i + input.size()] = total - begin;
  }
}

void importConvTranspose(NodeContext &c) {
  Value x = c.require(0), w = c.require(1);
  if (rankOf(x) < 3 || rankOf(w) != rankOf(x))
    c.fail("ConvTranspose needs X [N, C, spatial] and W of the same rank");
  ArrayRef<int64_t> input = shapeOf(x).drop_front(2);
  ImportedWindow window = importWindow(c, x, shapeOf(w).drop_front(2), /*resolveAuto=*/false);
  std::vector<int64_t> padding = c.node.attrInts("output_padding", std::vector<int64_t>(input.size(), 0));
  SmallVector<int64_t> outputPadding(padding.begin(), padding.end());
  std::string autoPad = c.node.attrString("auto_pad", "NOTSET");
  auto wanted = c.node.attrIntsIf("output_shape");
  if (wanted && wanted->size() == input.size() + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (!wanted && (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER")) {
    wanted.emplace();
    for (size_t i = 0; i < input.size(); ++i)
      wanted->push_back(input[i] * window.strides[i]);
  }
  if (wanted && (wanted->size() != input.size() || outputPadding.size() != input.size()))
    c.fail("output_shape and output_padding need one entry for each of {} spatial dimensions", input.size());
  if (wanted)
    padsForOutput(c, input, *wanted, window, outputPadding);
  const int64_t group = c.node.attrInt("group", 1);
  Value bias = convolutionBias(c, shapeOf(w)[1] * group);
  c.setResult(0, ConvTransposeOp::create(c.builder, c.loc, x, w, bias, window.strides, window.pads,
                                         window.dilations, outputPadding, group));
}

//===--- Recurrent --------------------------------------------------------------------------------------===//

void checkActivations(NodeContext &c, ArrayRef<std::string> names) {
  static const std::vector<std::string> known = {"Affine",   "Elu",        "HardSigmoid",    "LeakyRelu",
                                                 "Relu",     "ScaledTanh", "Sigmoid",        "Softplus",
                                                 "Softsign", "Tanh",       "ThresholdedRelu"};
  size_t expected = (c.node.opType == "LSTM"  ? 3
                     : c.node.opType == "GRU" ? 2
                                              : 1) *
                    (c.node.attrString("direction", "forward") == "bidirectional" ? 2 : 1);
  if (names.size() != expected)
    c.fail("{} activations are given, expected {}", names.size(), expected);
  for (const std::string &name : names)
    if (llvm::none_of(known, [&](StringRef other) { return other.equals_insensitive(name); }))
      c.fail("activation '{}' is not known; expected one of {}", name, fmt::join(known, ", "));
}

/// Attributes that LSTM, GRU and RNN share, as ONNX names them.
template <typename Op> void setRecurrentAttrs(NodeContext &c, Op op) {
  Builder &b = c.builder;
  if (c.node.has("activations")) {
    std::vector<std::string> names = c.node.attrStrings("activations");
    checkActivations(c, names);
    SmallVector<StringRef> refs(names.begin(), names.end());
    op.setActivationsAttr(b.getStrArrayAttr(refs));
  }
  if (c.node.has("activation_alpha"))
    op.setActivationAlphaAttr(b.getDenseF32ArrayAttr(c.node.attrFloats("activation_alpha")));
  if (c.node.has("activation_beta"))
    op.setActivationBetaAttr(b.getDenseF32ArrayAttr(c.node.attrFloats("activation_beta")));
  if (!c.node.has("clip"))
    return;
  const float clip = c.node.attrFloat("clip");
  if (!(clip > 0))
    c.fail("clip is {}, expected a number above 0; leave it out to clip nothing", clip);
  op.setClipAttr(b.getF32FloatAttr(clip));
}

/// Biases, lengths, first states and peepholes; the op checks X, W and R.
void checkRecurrentShapes(NodeContext &c, int64_t hidden) {
  const int64_t directions = c.node.attrString("direction", "forward") == "bidirectional" ? 2 : 1;
  const int64_t gates = c.node.opType == "LSTM" ? 4 : c.node.opType == "GRU" ? 3 : 1;
  if (rankOf(c.require(0)) != 3)
    return;
  const bool batchFirst = c.node.attrInt("layout", 0) == 1;
  const int64_t batch = shapeOf(c.require(0))[batchFirst ? 0 : 1];
  const SmallVector<int64_t> state = batchFirst ? SmallVector<int64_t>{batch, directions, hidden}
                                                : SmallVector<int64_t>{directions, batch, hidden};
  auto expect = [&](size_t k, const char *what, ArrayRef<int64_t> shape) {
    if (c.has(k) && shapeOf(c.operand(k)) != shape)
      c.fail("{} ('{}') is [{}], expected [{}] with hidden_size {}: export the model again{}", what,
             c.node.input(k), fmt::join(shapeOf(c.operand(k)), ", "), fmt::join(shape, ", "), hidden,
             c.node.opType == "LSTM" ? "; ONNX's LSTM has no projection (proj_size of PyTorch)" : "");
  };
  expect(3, "B", {directions, 2 * gates * hidden});
  expect(4, "sequence_lens", {batch});
  expect(5, "initial_h", state);
  expect(6, "initial_c", state);
  expect(7, "P", {directions, 3 * hidden});
}

struct RecurrentBasics {
  IntegerAttr hidden, layout;
  StringAttr direction;

  explicit RecurrentBasics(NodeContext &c) {
    Value r = c.require(2);
    int64_t size = rankOf(r) == 0 ? 0 : shapeOf(r).back();
    hidden = c.builder.getI64IntegerAttr(c.node.attrInt("hidden_size", size));
    layout = c.builder.getI64IntegerAttr(c.node.attrInt("layout", 0));
    direction = c.builder.getStringAttr(c.node.attrString("direction", "forward"));
    checkRecurrentShapes(c, hidden.getInt());
  }
};

void importLSTM(NodeContext &c) {
  RecurrentBasics basics(c);
  auto inputForget = c.builder.getI64IntegerAttr(c.node.attrInt("input_forget", 0));
  auto op =
      LSTMOp::create(c.builder, c.loc, c.require(0), c.require(1), c.require(2), c.operand(3), c.operand(4),
                     c.operand(5), c.operand(6), c.operand(7), basics.hidden, basics.direction, ArrayAttr(),
                     DenseF32ArrayAttr(), DenseF32ArrayAttr(), FloatAttr(), basics.layout, inputForget);
  setRecurrentAttrs(c, op);
  c.setResults(op->getResults());
}

void importGRU(NodeContext &c) {
  RecurrentBasics basics(c);
  auto linear = c.builder.getI64IntegerAttr(c.node.attrInt("linear_before_reset", 0));
  auto op = GRUOp::create(c.builder, c.loc, c.require(0), c.require(1), c.require(2), c.operand(3),
                          c.operand(4), c.operand(5), basics.hidden, basics.direction, ArrayAttr(),
                          DenseF32ArrayAttr(), DenseF32ArrayAttr(), FloatAttr(), basics.layout, linear);
  setRecurrentAttrs(c, op);
  c.setResults(op->getResults());
}

void importRNN(NodeContext &c) {
  RecurrentBasics basics(c);
  auto op = RNNOp::create(c.builder, c.loc, c.require(0), c.require(1), c.require(2), c.operand(3),
                          c.operand(4), c.operand(5), basics.hidden, basics.direction, ArrayAttr(),
                          DenseF32ArrayAttr(), DenseF32ArrayAttr(), FloatAttr(), basics.layout);
  setRecurrentAttrs(c, op);
  c.setResults(op->getResults());
}
} // namespace

void kedge::importer::registerNeuralNetworkImporters(NodeImporters &importers) {
  importers.add("MatMul", importMatMul);
  importers.add("Gemm", importGemm);
  importers.add("MatMulInteger", importMatMulInteger);
  importers.add("QLinearMatMul", importQLinearMatMul);
  importers.add("Conv", importConv);
  importers.add("ConvInteger", importConvInteger);
  importers.add("ConvTranspose", importConvTranspose);
  importers.add("LSTM", importLSTM);
  importers.add("GRU", importGRU);
  importers.add("RNN", importRNN);
  registerPoolImporters(importers);
}
