// Ops of level 1 as ONNX nodes: what became an attribute at import is an operand again.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/LogicOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/Reduction/ReductionOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "lib/Export/Onnx/OnnxWriter.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kedge::exporter {
namespace {
using Attr = model::Attribute;
using Names = OnnxWriter::Names;

/// As PyTorch's scalars, a rank-0 float may have another type; ONNX wants one.
Names sameTypes(OnnxWriter &w, Operation *op, Names inputs) {
  if (op->getNumOperands() != 2 || isa<onnx::PowOp>(op))
    return inputs;
  for (unsigned k : {0u, 1u}) {
    Type own = elementOf(op->getOperand(k)), other = elementOf(op->getOperand(1 - k));
    if (own != other && isa<FloatType>(own) && isa<FloatType>(other) && rankOf(op->getOperand(k)) == 0)
      inputs[k] = w.value("Cast", {inputs[k]}, {Attr::makeInt("to", static_cast<int64_t>(onnxType(other)))});
  }
  return inputs;
}

void writeReduction(OnnxWriter &w, Operation *op) {
  auto axes = op->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
  auto keep = op->getAttrOfType<BoolAttr>("keepdims");
  w.result(op, op->getName().stripDialect().str(), {w.nameOf(op->getOperand(0)), w.ints(axes)},
           {Attr::makeInt("keepdims", keep && keep.getValue()), Attr::makeInt("noop_with_empty_axes", 1)});
}

std::string swapped(OnnxWriter &w, const std::string &name, int64_t rank, bool swap) {
  if (!swap)
    return name;
  std::vector<int64_t> perm(rank);
  for (int64_t d = 0; d < rank; ++d)
    perm[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
  return w.value("Transpose", {name}, {Attr::makeInts("perm", perm)});
}

void writeMatMul(OnnxWriter &w, onnx::MatMulOp op) {
  w.result(op, "MatMul",
           {swapped(w, w.nameOf(op.getA()), rankOf(op.getA()), op.getTransA()),
            swapped(w, w.nameOf(op.getB()), rankOf(op.getB()), op.getTransB())});
}

/// ONNX's Gemm has matrices only: with more leading dims it is a product and a sum.
void writeGemm(OnnxWriter &w, onnx::GemmOp op) {
  if (rankOf(op.getA()) == 2)
    return w.result(op, "Gemm", w.operands(op), attributesOf(op));
  Type element = elementOf(op.getY());
  std::string sum =
      w.value("MatMul", {w.nameOf(op.getA()), swapped(w, w.nameOf(op.getB()), 2, op.getTransB())});
  auto scaled = [&](const std::string &name, double factor) {
    return factor == 1 ? name : w.value("Mul", {name, w.number(element, factor)});
  };
  sum = scaled(sum, op.getAlpha().convertToDouble());
  if (!op.getC())
    return w.result(op, "Identity", {sum});
  w.result(op, "Add", {sum, scaled(w.nameOf(op.getC()), op.getBeta().convertToDouble())});
}

void writeResize(OnnxWriter &w, onnx::ResizeOp op) {
  auto floats = [&](ArrayRef<float> values) {
    auto type =
        RankedTensorType::get({static_cast<int64_t>(values.size())}, Float32Type::get(op.getContext()));
    return w.constant(DenseElementsAttr::get(type, values));
  };
  std::string roi = op.getRoi() ? floats(*op.getRoi()) : "";
  Names inputs = {w.nameOf(op.getX()), roi};
  if (op.getScales())
    inputs.push_back(floats(*op.getScales()));
  else
    inputs.insert(inputs.end(), {"", w.ints(op.getSizes())});
  w.result(op, "Resize", inputs, attributesOf(op, {"sizes", "scales", "roi"}));
}

/// An op whose operands and attributes are ONNX's own, but for what import added.
void writePlain(OnnxWriter &w, Operation *op) {
  OnnxWriter::Attributes attributes = attributesOf(op, {"with_indices", "padding_idx", "with_log_prob"});
  // The IR's default is not ONNX's.
  if (isa<onnx::ArgMaxOp, onnx::ArgMinOp>(op) && !op->getAttr("keepdims"))
    attributes.push_back(Attr::makeInt("keepdims", 0));
  w.node(op, op->getName().stripDialect().str(), sameTypes(w, op, w.operands(op)), attributes);
}

void writeMovement(OnnxWriter &w, Operation *operation) {
  auto in = [&](Value v) { return w.nameOf(v); };
  auto all = [&](int64_t rank) { return w.ints(llvm::to_vector(llvm::seq<int64_t>(0, rank))); };
  llvm::TypeSwitch<Operation *>(operation)
      .Case([&](onnx::ReshapeOp op) {
        w.result(op, "Reshape", {in(op.getData()), w.ints(op.getShape())}, {Attr::makeInt("allowzero", 1)});
      })
      .Case([&](onnx::ExpandOp op) { w.result(op, "Expand", {in(op.getInput()), w.ints(op.getShape())}); })
      .Case([&](onnx::TileOp op) { w.result(op, "Tile", {in(op.getInput()), w.ints(op.getRepeats())}); })
      .Case([&](onnx::SplitOp op) {
        w.node(op, "Split", {in(op.getInput()), w.ints(op.getSplit())},
               {Attr::makeInt("axis", op.getAxis())});
      })
      .Case([&](onnx::SliceOp op) {
        w.result(op, "Slice",
                 {in(op.getData()), w.ints(op.getStarts()), w.ints(op.getEnds()), all(rankOf(op.getData())),
                  w.ints(op.getSteps())});
      })
      .Case([&](onnx::PadOp op) {
        Names inputs = {in(op.getData()), w.ints(op.getPads())};
        if (op.getConstantValue())
          inputs.push_back(in(op.getConstantValue()));
        w.result(op, "Pad", inputs, {Attr::makeString("mode", stringifyEnum(op.getMode()).str())});
      })
      .Case([&](onnx::RangeOp op) {
        Type type = elementOf(op.getStart());
        std::string length =
            w.value("Mul", {in(op.getDelta()), w.number(type, static_cast<double>(op.getSize()))});
        w.result(op, "Range",
                 {in(op.getStart()), w.value("Add", {in(op.getStart()), length}), in(op.getDelta())});
      })
      .Case([&](onnx::TriluOp op) {
        w.result(op, "Trilu", {in(op.getInput()), w.intScalar(op.getK())},
                 {Attr::makeInt("upper", op.getUpper())});
      })
      .Case([&](onnx::OneHotOp op) {
        std::string one = w.ints({1});
        std::string values = w.value(
            "Concat", {w.value("Reshape", {in(op.getOff()), one}), w.value("Reshape", {in(op.getOn()), one})},
            {Attr::makeInt("axis", 0)});
        w.result(op, "OneHot", {in(op.getIndices()), w.intScalar(op.getDepth()), values},
                 {Attr::makeInt("axis", op.getAxis())});
      })
      .Case([&](onnx::EyeLikeOp op) {
        w.result(op, "EyeLike", {w.value("ConstantOfShape", {w.ints(op.getShape())})},
                 {Attr::makeInt("k", op.getK()),
                  Attr::makeInt("dtype", static_cast<int64_t>(onnxType(op.getDtype())))});
      })
      .Case([&](onnx::UnsupportedOp op) { w.unsupported(op); })
      .Default([&](Operation *op) { writePlain(w, op); });
}

void writeOther(OnnxWriter &w, Operation *operation) {
  auto in = [&](Value v) { return w.nameOf(v); };
  llvm::TypeSwitch<Operation *>(operation)
      .Case([&](onnx::ConstantOp op) { w.result(op, "Identity", {w.constant(op.getValue())}); })
      .Case([&](onnx::CastOp op) {
        w.result(op, "Cast", {in(op.getX())},
                 {Attr::makeInt("to", static_cast<int64_t>(onnxType(op.getTo())))});
      })
      .Case([&](onnx::BitCastOp op) {
        w.needOpset(26);
        w.result(op, "BitCast", {in(op.getData())},
                 {Attr::makeInt("to", static_cast<int64_t>(onnxType(op.getTo())))});
      })
      .Case<onnx::RandomNormalOp, onnx::RandomUniformOp>([&](auto op) {
        OnnxWriter::Attributes attributes = attributesOf(op, {"dtype", "op_id"});
        attributes.push_back(Attr::makeInt("dtype", static_cast<int64_t>(onnxType(op.getDtype()))));
        w.result(op, op->getName().stripDialect().str(), {}, attributes);
      })
      .Case([&](onnx::BitShiftOp op) {
        w.result(op, "BitShift", {in(op.getA()), in(op.getB())},
                 {Attr::makeString("direction", op.getLeft() ? "LEFT" : "RIGHT")});
      })
      .Case([&](onnx::MatMulOp op) { writeMatMul(w, op); })
      .Case([&](onnx::GemmOp op) { writeGemm(w, op); })
      .Case([&](onnx::ResizeOp op) { writeResize(w, op); })
      .Case([&](onnx::CumSumOp op) {
        w.result(op, "CumSum", {in(op.getX()), w.intScalar(op.getAxis())}, attributesOf(op, {"axis"}));
      })
      .Case([&](onnx::TopKOp op) {
        w.node(op, "TopK", {in(op.getX()), w.ints({static_cast<int64_t>(op.getK())})},
               attributesOf(op, {"k"}));
      })
      .Case([&](onnx::DropoutOp op) {
        w.node(op, "Dropout",
               {in(op.getX()), w.number(Float32Type::get(op.getContext()), op.getRatio().convertToDouble()),
                w.number(IntegerType::get(op.getContext(), 1), op.getTrainingMode())});
      })
      .Case([&](onnx::GridSampleOp op) {
        // Names of opset 16, which import leaves as they are.
        using enum onnx::GridMode;
        const onnx::GridMode given = op.getMode();
        const onnx::GridMode mode = given == Bilinear ? Linear : given == Bicubic ? Cubic : given;
        OnnxWriter::Attributes attributes = attributesOf(op, {"mode"});
        attributes.push_back(Attr::makeString("mode", stringifyEnum(mode).str()));
        w.result(op, "GridSample", w.operands(op), attributes);
      })
      .Default([&](Operation *op) { writeMovement(w, op); });
}

} // namespace

OnnxWriter::Attributes attributesOf(Operation *op, const std::set<std::string> &without) {
  OnnxWriter::Attributes result;
  for (NamedAttribute named : op->getAttrDictionary()) {
    std::string name = named.getName().str();
    Attribute value = named.getValue();
    if (without.count(name) || name == "operandSegmentSizes")
      continue;
    if (auto boolean = dyn_cast<BoolAttr>(value))
      result.push_back(Attr::makeInt(name, boolean.getValue()));
    else if (auto integer = dyn_cast<IntegerAttr>(value))
      result.push_back(Attr::makeInt(name, integer.getInt()));
    else if (auto number = dyn_cast<FloatAttr>(value))
      result.push_back(Attr::makeFloat(name, static_cast<float>(number.getValueAsDouble())));
    else if (auto text = dyn_cast<StringAttr>(value))
      result.push_back(Attr::makeString(name, text.str()));
    else if (auto ints = dyn_cast<DenseI64ArrayAttr>(value))
      result.push_back(Attr::makeInts(name, ints.asArrayRef().vec()));
    else if (auto floats = dyn_cast<DenseF32ArrayAttr>(value))
      result.push_back(Attr::makeFloats(name, floats.asArrayRef().vec()));
    else if (auto list = dyn_cast<ArrayAttr>(value)) {
      Attr strings;
      strings.name = name, strings.kind = Attr::Kind::Strings;
      for (Attribute element : list)
        strings.strings.push_back(cast<StringAttr>(element).str());
      result.push_back(std::move(strings));
    }
  }
  return result;
}

void writeOp(OnnxWriter &w, Operation *op) {
  if (writeComposite(w, op))
    return;
  if (!isa<onnx::ONNXDialect>(op->getDialect()))
    return w.unsupported(op);
  if (op->getName().stripDialect().starts_with("Reduce"))
    return writeReduction(w, op);
  writeOther(w, op);
}

} // namespace kedge::exporter
