// Initializers and constants: states of the program, or small constants in the IR.
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Train/Quantized/QuantizedOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Dialect/Tune/TuneAttrs.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Import/GraphPlaces.h"
#include "lib/Import/ImportScope.h"
#include "lib/Import/NodeConstants.h"
#include "lib/Lint/ExporterMetadata.h"
#include "lib/Model/NarrowTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

/// Constants of more elements stay in their file.
static constexpr int64_t smallConstant = 1024;
/// Integers are indices and shapes, which folding wants to see; tables beyond this stay in their file.
static constexpr int64_t smallIntegers = 1 << 22;

static llvm::StringSet<> usedNames(const model::Graph &graph) {
  llvm::StringSet<> names;
  model::forEachNode(graph, [&](const model::Node &node) {
    for (const std::string &input : node.inputs)
      names.insert(input);
    for (const model::Attribute &attribute : node.attributes)
      for (const auto &branch : attribute.graphs)
        for (const model::ValueInfo &output : branch->outputs)
          names.insert(output.name);
  });
  for (const model::ValueInfo &output : graph.outputs)
    names.insert(output.name);
  return names;
}

void GraphImporter::importInitializers(const model::Graph &graph, ImportScope &target) {
  llvm::StringSet<> used = usedNames(graph);
  // A second graph may use what the first one did not.
  bool outermost = &target == scope.get();
  for (const model::Tensor &tensor : graph.initializers)
    if (used.contains(tensor.name) || (outermost && storedType(context, tensor.dtype)))
      target.values[tensor.name] = importInitializer(tensor);
}

ImportedValue GraphImporter::importInitializer(const model::Tensor &tensor) {
  Location loc = NameLoc::get(StringAttr::get(&context, tensor.name));
  if (!storedType(context, tensor.dtype)) {
    report(tensor.describe(),
           fmt::format("element type {} is not supported", model::dtypeName(tensor.dtype)));
    return {unsupportedValue(loc, "initializer")};
  }
  if (auto packed = importPacked(tensor, loc))
    return *packed;
  if (model::isNarrow(tensor.dtype))
    return {importConstant(tensor, loc), std::nullopt, tensor.dtype};
  auto verdict = options.roles.find(tensor.name);
  bool trainable = model::isFloat(tensor.dtype) && tensor.numElements() != 0;
  train::Role role = verdict != options.roles.end() ? verdict->second
                     : trainable                    ? train::Role::Parameter
                                                    : train::Role::Constant;
  if (role == train::Role::Constant)
    return {importConstant(tensor, loc)};
  return {importState(tensor, role)};
}

static tune::Part partOf(model::FewBits::Part part) {
  return part == model::FewBits::Part::Codes    ? tune::Part::Codes
         : part == model::FewBits::Part::Scales ? tune::Part::Absmax
                                                : tune::Part::ZeroPoints;
}

static tune::EncodingAttr encodingOf(MLIRContext &context, const model::FewBits &bits) {
  using Table = model::FewBits::Table;
  Builder b(&context);
  const bool isOfTable = bits.table != Table::None;
  const tune::Format format = bits.table == Table::NF4   ? tune::Format::NF4
                              : bits.table == Table::FP4 ? tune::Format::FP4
                                                         : packedFormat(bits.type);
  return tune::EncodingAttr::get(&context, format, partOf(bits.part),
                                 RankedTensorType::get(bits.whole, b.getF32Type()), b.getBoolAttr(false),
                                 isOfTable ? IntegerAttr() : b.getI64IntegerAttr(bits.zero),
                                 isOfTable ? b.getI64IntegerAttr(bits.block) : IntegerAttr());
}

std::optional<ImportedValue> GraphImporter::importPacked(const model::Tensor &tensor, Location loc) {
  using Part = model::FewBits::Part;
  const bool isOther = tensor.fewBits && tensor.fewBits->part == Part::Other;
  const bool isScale = tensor.fewBits && tensor.fewBits->part == Part::Scales;
  const bool isLarge = model::narrowInteger(tensor.dtype) && tensor.numElements() > smallConstant;
  if (!(tensor.fewBits || isLarge) || tensor.storage == model::Tensor::Storage::Encoded)
    return std::nullopt;
  if (auto verdict = options.roles.find(tensor.name);
      verdict != options.roles.end() && verdict->second == train::Role::Parameter)
    return std::nullopt;
  if (isOther)
    return ImportedValue{importState(tensor, train::Role::Constant)};
  model::Tensor bytes = tensor;
  if (!isScale) {
    bytes.dtype = model::ElementType::UInt8;
    bytes.dims = {static_cast<int64_t>(tensor.byteSize())};
  }
  ImportedValue value{importState(bytes, train::Role::Frozen)};
  if (tensor.fewBits) {
    auto state = cast<train::StateOp>(states.lookup(arguments.back().binding.getName()));
    state->setAttr(tune::encodingName, encodingOf(context, *tensor.fewBits));
    if (tensor.fewBits->part != Part::Codes)
      state.setOfAttr(FlatSymbolRefAttr::get(&context, tensor.fewBits->codes));
    value.packed = value.tensor;
  }
  if (isScale)
    return value;
  auto type = RankedTensorType::get(tensor.dims, storedType(context, tensor.dtype));
  value.tensor =
      train::UnpackOp::create(builder, loc, value.tensor,
                              builder.getI64IntegerAttr(model::dtypeBits(tensor.dtype)), TypeAttr::get(type));
  if (model::isNarrow(tensor.dtype))
    value.narrow = tensor.dtype;
  return value;
}

Value GraphImporter::importConstant(const model::Tensor &tensor, Location loc) {
  if (auto verdict = options.roles.find(tensor.name);
      verdict != options.roles.end() && verdict->second != train::Role::Constant)
    return importState(tensor, verdict->second);
  int64_t limit = model::isFloat(tensor.dtype) ? smallConstant : smallIntegers;
  // Codes of less than a byte are packed in their file.
  bool inBytes = model::dtypeBits(tensor.dtype) >= 8;
  if (tensor.numElements() > limit && inBytes)
    return importState(tensor, train::Role::Constant);
  auto type = RankedTensorType::get(tensor.dims, storedType(context, tensor.dtype));
  return onnx::ConstantOp::create(builder, loc, denseAttribute(type, tensor));
}

Value GraphImporter::importState(const model::Tensor &tensor, train::Role role) {
  using Storage = model::Tensor::Storage;
  Location loc = NameLoc::get(StringAttr::get(&context, tensor.name));
  auto type = RankedTensorType::get(tensor.dims, storedType(context, tensor.dtype));
  bool inFile = tensor.storage == Storage::Inline || tensor.storage == Storage::External;
  Attribute init =
      inFile ? Attribute(train::WeightAttr::get(&context, tensor.path, tensor.offset, tensor.length))
             : Attribute(denseAttribute(type, tensor));
  std::string symbol = tensor.name;
  // Functions of the program share the name space.
  auto isReserved = [](StringRef name) { return train::symbolizeFunctionKind(name).has_value(); };
  for (int k = 0; symbol.empty() || isReserved(symbol) || states.contains(symbol); ++k)
    symbol = fmt::format("{}.{}", tensor.name, k);
  OpBuilder atModule(function);
  states[symbol] =
      train::StateOp::create(atModule, loc, symbol, role, type, init, builder.getStringAttr(tensor.name),
                             FlatSymbolRefAttr(), /*decay=*/true, llvm::APFloat(1.0), dist::ShardingAttr());
  if (tensor.resized && inFile)
    states.lookup(symbol)->setAttr(
        tune::resizedName, tune::ResizedAttr::get(&context, tensor.resized->axis, tensor.resized->before));
  Value value = cast<func::FuncOp>(function).front().addArgument(type, loc);
  arguments.push_back({value, train::BindingAttr::get(&context, train::BindingKind::State, symbol)});
  return value;
}

bool GraphImporter::isChanged(const std::string &name) {
  if (!changedBuffers) {
    changedBuffers.emplace();
    const lint::Signature signature = lint::Signature::of(source.graph);
    for (const lint::SignatureEntry &entry : signature.mutations())
      changedBuffers->insert(entry.target);
  }
  return changedBuffers->count(name) != 0;
}

bool GraphImporter::bindMasks(Value value) {
  constexpr int64_t most = 1 << 20;
  bool any = false;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    const Value one = open.pop_back_val();
    if (!seenBehind.insert(one).second)
      continue;
    if (Operation *op = one.getDefiningOp()) {
      llvm::append_range(open, op->getOperands());
      continue;
    }
    auto argument = llvm::find_if(arguments, [&](const Argument &entry) { return entry.value == one; });
    auto type = dyn_cast<RankedTensorType>(one.getType());
    if (argument == arguments.end() || !type || !type.getElementType().isInteger() ||
        type.getNumElements() > most)
      continue;
    auto state = dyn_cast_or_null<train::StateOp>(states.lookup(argument->binding.getName()));
    const model::Tensor *tensor =
        state && state.getOnnxName() ? source.graph.findInitializer(*state.getOnnxName()) : nullptr;
    if (!tensor || isChanged(tensor->name))
      continue;
    evaluator->bind(one, interpret::HostTensor::fromAttribute(denseAttribute(type, *tensor)));
    any = true;
  }
  return any;
}
