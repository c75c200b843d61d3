#include "lib/Export/Onnx/OnnxWriter.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "lib/Export/Onnx/OnnxGraph.h"
#include "lib/Export/Template/ExportTemplateProto.h"
#include "lib/Interpret/ConstantEvaluator.h"
#include "lib/Support/AttrJson.h"
#include "lib/Support/Error.h"
#include "mlir/IR/Builders.h"
#include <filesystem>
#include <fmt/ranges.h>
#include <fstream>

using namespace mlir;

namespace kedge::exporter {
namespace {

model::Tensor ownedTensor(std::string name, RankedTensorType type, const std::vector<char> &bytes) {
  model::Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = onnxType(type.getElementType());
  tensor.dims = type.getShape().vec();
  tensor.owned = std::make_shared<std::vector<uint8_t>>(bytes.begin(), bytes.end());
  tensor.length = bytes.size();
  return tensor;
}

std::vector<char> readBytes(train::WeightAttr weight) {
  std::string path = weight.getFile().str();
  std::error_code missing;
  const uintmax_t size = std::filesystem::file_size(path, missing);
  if (missing || weight.getOffset() < 0 || weight.getLength() < 0 ||
      static_cast<uintmax_t>(weight.getOffset()) > size ||
      static_cast<uintmax_t>(weight.getLength()) > size - static_cast<uintmax_t>(weight.getOffset()))
    fail("{}: has no {} bytes of weights at {}; expected the model that the IR was imported from", path,
         weight.getLength(), weight.getOffset());
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes(weight.getLength());
  file.seekg(weight.getOffset());
  if (!file.read(bytes.data(), bytes.size()))
    fail("{}: cannot read the {} bytes of weights at {}; expected the model that the IR was imported from",
         path, bytes.size(), weight.getOffset());
  return bytes;
}

interpret::HostTensor splatOf(RankedTensorType type, double value) {
  Builder builder(type.getContext());
  Attribute element =
      isa<FloatType>(type.getElementType())
          ? Attribute(builder.getFloatAttr(type.getElementType(), value))
          : Attribute(builder.getIntegerAttr(type.getElementType(), static_cast<int64_t>(value)));
  return interpret::HostTensor::fromAttribute(DenseElementsAttr::get(type, element));
}

model::ValueInfo infoOf(const std::string &name, Value value) {
  model::ValueInfo info;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    fail("'{}' is no tensor of a static shape in the IR, as level 1 has them", name);
  info.name = name;
  info.kind = model::ValueInfo::Kind::Tensor;
  info.dtype = onnxType(type.getElementType());
  info.hasShape = true;
  for (int64_t size : type.getShape())
    info.dims.push_back(model::Dim::of(size));
  return info;
}

/// Nodes are called after where they came from.
std::string nameOfPlace(Operation *op) {
  PlaceAttr place = placeOf(op);
  return place ? place.label().str() : op->getName().stripDialect().str();
}

} // namespace

model::ElementType onnxType(Type element) {
  static const std::map<std::string, model::ElementType> types = {
      {"f32", model::ElementType::Float},   {"f64", model::ElementType::Double},
      {"f16", model::ElementType::Float16}, {"bf16", model::ElementType::BFloat16},
      {"bool", model::ElementType::Bool},   {"i8", model::ElementType::Int8},
      {"i16", model::ElementType::Int16},   {"i32", model::ElementType::Int32},
      {"i64", model::ElementType::Int64},   {"u8", model::ElementType::UInt8},
      {"u16", model::ElementType::UInt16},  {"u32", model::ElementType::UInt32},
      {"u64", model::ElementType::UInt64}};
  auto found = types.find(dtypeName(element));
  if (found == types.end())
    fail("an element type of the IR has no number in ONNX");
  return found->second;
}

OnnxWriter::OnnxWriter(ModuleOp module)
    : module(module), function(train::functionOf(module, train::FunctionKind::Model)) {
  if (!function)
    fail("the IR has no function @model: only level 1 (--import-onnx, 01-model.mlir of --save-ir) can be "
         "written as ONNX");
  graph.name = "model";
  inputs();
  states();
  body();
  outputs();
  if (!missing.empty())
    fail("ops without an ONNX form:\n  {}", fmt::join(missing, "\n  "));
}

std::string OnnxWriter::fresh(const std::string &stem) {
  std::string name = stem;
  for (int64_t k = 1; name.empty() || !taken.insert(name).second; ++k)
    name = fmt::format("{}_{}", stem, k);
  return name;
}

void OnnxWriter::add(model::Tensor tensor) { graph.initializers.push_back(std::move(tensor)); }

void OnnxWriter::inputs() {
  for (BlockArgument argument : function.getArguments())
    if (auto input = train::bindingOfArgument(function, argument.getArgNumber(), train::BindingKind::Input)) {
      names[argument] = fresh(input.getName().str());
      graph.inputs.push_back(infoOf(names[argument], argument));
    }
  // Outputs keep their names: values that happen to be called like them make way.
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto output = train::bindingOfResult(function, i, train::BindingKind::Output))
      taken.insert(output.getName().str());
}

void OnnxWriter::states() {
  for (BlockArgument argument : function.getArguments()) {
    auto symbol = train::stateOfArgument(function, argument.getArgNumber());
    if (!symbol)
      continue;
    auto state = module.lookupSymbol<train::StateOp>(symbol.getValue());
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!state || !type || !type.hasStaticShape())
      fail("the IR binds an argument of @model to '{}', which is no train.state of a static shape",
           symbol.getValue().str());
    std::string name = fresh(state.getOnnxName().value_or(state.getSymName()).str());
    Attribute init = state.getInitAttr();
    if (auto weight = dyn_cast_or_null<train::WeightAttr>(init)) {
      model::Tensor tensor = ownedTensor(name, type, readBytes(weight));
      if (auto resized = tune::resizedOf(state))
        tensor.resized = rt::Resized{static_cast<size_t>(resized.getAxis()), resized.getBefore()};
      add(std::move(tensor));
      names[argument] = name;
      continue;
    }
    auto fill = dyn_cast_or_null<FloatAttr>(init);
    auto elements = dyn_cast_or_null<ElementsAttr>(init);
    interpret::HostTensor tensor = elements ? interpret::HostTensor::fromAttribute(elements)
                                            : splatOf(type, fill ? fill.getValueAsDouble() : 0);
    add(ownedTensor(name, type, tensor.bytes));
    names[argument] = name;
  }
}

void OnnxWriter::body() {
  for (Operation &op : function.getBody().front().without_terminator()) {
    current = &op;
    writeOp(*this, &op);
    // Errors are reported at the end: a value that could not be written gets a name, so that the rest can be
    // written.
    for (Value result : op.getResults())
      if (!names.contains(result))
        names[result] = fresh(nameOfPlace(&op));
  }
}

void OnnxWriter::outputs() {
  Operation *end = function.getBody().front().getTerminator();
  for (auto [i, returned] : llvm::enumerate(end->getOperands()))
    if (auto output = train::bindingOfResult(function, i, train::BindingKind::Output)) {
      model::Node identity;
      identity.opType = "Identity";
      identity.inputs = {nameOf(returned)};
      identity.outputs = {output.getName().str()};
      graph.nodes.push_back(std::move(identity));
      graph.outputs.push_back(infoOf(output.getName().str(), returned));
    }
}

OnnxWriter::Names OnnxWriter::operands(Operation *op) const {
  Names result;
  auto sizes = op->getAttrOfType<DenseI32ArrayAttr>("operandSegmentSizes");
  if (!sizes) {
    for (Value operand : op->getOperands())
      result.push_back(nameOf(operand));
    return result;
  }
  unsigned at = 0;
  for (int32_t size : sizes.asArrayRef()) {
    if (size == 0)
      result.push_back("");
    for (int32_t k = 0; k < size; ++k)
      result.push_back(nameOf(op->getOperand(at++)));
  }
  while (!result.empty() && result.back().empty())
    result.pop_back();
  return result;
}

void OnnxWriter::node(Operation *op, const std::string &type, Names inputs, Attributes attributes,
                      unsigned count) {
  model::Node node;
  node.opType = type;
  node.name = nameOfPlace(op) + "/" + type + std::to_string(graph.nodes.size());
  node.inputs = std::move(inputs);
  for (Value result : op->getResults().take_front(std::min(count, op->getNumResults())))
    node.outputs.push_back(names[result] = fresh(nameOfPlace(op)));
  node.attributes = std::move(attributes);
  graph.nodes.push_back(std::move(node));
}

std::string OnnxWriter::value(const std::string &type, Names inputs, Attributes attributes) {
  model::Node node;
  node.opType = type;
  node.name = (current ? nameOfPlace(current) : "weights") + "/" + type + std::to_string(graph.nodes.size());
  node.inputs = std::move(inputs);
  node.outputs = {fresh(type)};
  node.attributes = std::move(attributes);
  graph.nodes.push_back(node);
  return node.outputs[0];
}

void OnnxWriter::result(Operation *op, const std::string &type, Names inputs, Attributes attributes) {
  names[op->getResult(0)] = value(type, std::move(inputs), std::move(attributes));
}

std::string OnnxWriter::ints(ArrayRef<int64_t> values) {
  auto type =
      RankedTensorType::get({static_cast<int64_t>(values.size())}, IntegerType::get(module.getContext(), 64));
  return constant(DenseElementsAttr::get(type, values));
}

std::string OnnxWriter::intScalar(int64_t value) {
  return number(IntegerType::get(module.getContext(), 64), value);
}

std::string OnnxWriter::number(Type element, double value) {
  std::string name = fresh("constant");
  auto type = RankedTensorType::get({}, element);
  add(ownedTensor(name, type, splatOf(type, value).bytes));
  return name;
}

std::string OnnxWriter::constant(ElementsAttr elements) {
  std::string name = fresh("constant");
  add(ownedTensor(name, cast<RankedTensorType>(elements.getShapedType()),
                  interpret::HostTensor::fromAttribute(elements).bytes));
  return name;
}

void OnnxWriter::unsupported(Operation *op, const std::string &why) {
  missing.insert(op->getName().getStringRef().str() + (why.empty() ? "" : " " + why));
}

} // namespace kedge::exporter

std::string kedge::exporter::onnxModel(ModuleOp module) {
  using namespace exporter;
  OnnxWriter writer(module);
  model::Graph graph = writer.take();
  std::string body = encodeGraph(graph), bytes, opset;
  if (body.size() > 2'147'000'000)
    fail("the ONNX file would have {} bytes, expected less than 2 GB", body.size());
  putVarint(bytes, 1, writer.opset() > 22 ? 11 : 10); // IR version of that opset
  putBytes(bytes, 2, "kedge");
  putBytes(bytes, 7, body);
  putBytes(opset, 1, "");
  putVarint(opset, 2, static_cast<uint64_t>(writer.opset()));
  putBytes(bytes, 8, opset);
  return bytes;
}
