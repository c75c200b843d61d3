#include "lib/Import/GraphImporter.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/InitAllDialects.h"
#include "lib/Import/GraphModules.h"
#include "lib/Import/GraphPlaces.h"
#include "lib/Import/ImportScope.h"
#include "lib/Import/NodeConstants.h"
#include "lib/Interpret/ConstantEvaluator.h"
#include "lib/Lint/Lint.h"
#include "lib/Support/Error.h"
#include "lib/Support/TensorLimits.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::importer;

GraphImporter::GraphImporter(MLIRContext &context, const model::Model &model, const ImportOptions &options)
    : context(context), source(model), options(options), builder(&context), scope(new ImportScope),
      evaluator(new interpret::ConstantEvaluator) {
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  Location loc = NameLoc::get(StringAttr::get(&context, model.path));
  module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  auto func = func::FuncOp::create(builder, loc, "model", builder.getFunctionType({}, {}));
  train::setKind(func, train::FunctionKind::Model);
  function = func;
  builder.setInsertionPointToStart(func.addEntryBlock());
  builder.setListener(&places);
}

GraphImporter::~GraphImporter() = default;

const ImportedValue *GraphImporter::lookup(StringRef name) const { return scope->find(name); }

void GraphImporter::bindSymbols(const model::Graph &graph) {
  for (const model::ValueInfo *input : graph.feeds()) {
    auto given = options.shapes.find(input->name);
    if (given == options.shapes.end() || given->second.size() != input->dims.size())
      continue;
    for (auto [dim, size] : llvm::zip(input->dims, given->second))
      if (dim.kind == model::Dim::Kind::Symbol)
        symbols.emplace(dim.symbol, size);
  }
}

/// "Nx12": what to write after --shape x=.
static std::string shapeTemplate(const model::ValueInfo &input) {
  return fmt::format("{}", fmt::join(llvm::map_range(input.dims,
                                                     [](const model::Dim &dim) {
                                                       return dim.isValue() ? dim.str() : std::string("N");
                                                     }),
                                     "x"));
}

SmallVector<int64_t> GraphImporter::inputShape(const model::ValueInfo &input) {
  auto given = options.shapes.find(input.name);
  if (given == options.shapes.end()) {
    SmallVector<int64_t> shape;
    if (!input.hasShape)
      fail("{}: input {} has no shape; give it with --shape {}=AxBxC", source.path, input.describe(),
           input.name);
    for (auto [k, dim] : llvm::enumerate(input.dims)) {
      auto bound = symbols.find(dim.symbol);
      bool known = dim.kind == model::Dim::Kind::Symbol && bound != symbols.end();
      if (!dim.isValue() && !known)
        fail("{}: dimension {} of input {} has no size ('{}'); give it with --shape {}={}", source.path, k,
             input.describe(), dim.str(), input.name, shapeTemplate(input));
      shape.push_back(known ? bound->second : dim.value);
    }
    return shape;
  }
  const std::vector<int64_t> &dims = given->second;
  if (input.hasShape && input.dims.size() != dims.size())
    fail("{}: --shape {}={} has {} dimensions, but input {} has {}", source.path, input.name,
         fmt::join(dims, "x"), dims.size(), input.describe(), input.dims.size());
  for (auto [k, dim] : llvm::enumerate(input.dims))
    if (dim.isValue() && dim.value != dims[k])
      fail("{}: --shape {}={} differs from input {} in dimension {}: expected {}, found {}; export the model "
           "with "
           "this dimension dynamic to change it",
           source.path, input.name, fmt::join(dims, "x"), input.describe(), k, dim.value, dims[k]);
  return SmallVector<int64_t>(dims.begin(), dims.end());
}

void GraphImporter::importInput(const model::ValueInfo &input) {
  Location loc = NameLoc::get(StringAttr::get(&context, input.name));
  Type element = storedType(context, input.dtype);
  scope->values[input.name].narrow = narrowOr(input.dtype);
  if (input.kind != model::ValueInfo::Kind::Tensor || !element) {
    report("input " + input.describe(), "only tensors of numbers and booleans are supported");
    scope->values[input.name].tensor = unsupportedValue(loc, "input");
    return;
  }
  if (auto fixed = options.fixedInputs.find(input.name); fixed != options.fixedInputs.end()) {
    const model::Tensor &tensor = fixed->second;
    if (tensor.dtype != input.dtype)
      fail("{}: the fixed value of input {} is of type {}", source.path, input.describe(),
           model::dtypeName(tensor.dtype));
    auto value = denseAttribute(RankedTensorType::get(tensor.dims, element), tensor);
    scope->values[input.name].tensor = onnx::ConstantOp::create(builder, loc, value);
    return;
  }
  SmallVector<int64_t> shape = inputShape(input);
  if (std::string why = tooLarge(shape); !why.empty())
    fail("{}: input {} of shape {} cannot be: {}; give a smaller --shape", source.path, input.describe(),
         fmt::join(shape, "x"), why);
  auto type = RankedTensorType::get(shape, element);
  if (type.getNumElements() == 0) { // nothing to give data for
    scope->values[input.name].tensor = emptyConstant(builder, loc, type);
    return;
  }
  Value value = cast<func::FuncOp>(function).front().addArgument(type, loc);
  scope->values[input.name].tensor = value;
  arguments.push_back({value, train::BindingAttr::get(&context, train::BindingKind::Input, input.name)});
}

void GraphImporter::checkShapeNames() {
  std::vector<const model::ValueInfo *> feeds = source.graph.feeds();
  for (const model::TrainingInfo &info : source.trainingInfo)
    if (info.algorithm)
      llvm::append_range(feeds, info.algorithm->feeds());
  for (const auto &[name, dims] : options.shapes)
    if (!source.graph.findInput(name) && !llvm::is_contained(source.fileInputs, name) &&
        llvm::none_of(feeds, [&](auto *v) { return v->name == name; }))
      fail("{}: --shape names '{}', which is no input; the inputs are: {}", source.path, name,
           fmt::join(llvm::map_range(feeds, [](const model::ValueInfo *v) { return v->describe(); }), ", "));
}

void GraphImporter::importGraph(const model::Graph &graph) {
  if (&graph == &source.graph)
    checkShapeNames();
  bindSymbols(graph);
  for (const model::ValueInfo *input : graph.feeds())
    if (!scope->find(input->name))
      importInput(*input);
  importInitializers(graph, *scope);
  importNodes(graph, *scope);
  for (const model::ValueInfo &output : graph.outputs) {
    const ImportedValue *value = scope->find(output.name);
    if (!value)
      fail("{}: output '{}' is made by no node", source.path, output.name);
    if (value->sequence)
      report("output " + output.describe(), "sequences are not supported as outputs");
    else
      results.push_back(
          {value->tensor, train::BindingAttr::get(&context, train::BindingKind::Output, output.name)});
  }
  if (options.needsElements && &graph == &source.graph)
    checkElements();
  if (&graph == &source.graph && (!options.configuration.empty() || options.notesAllNodes) && reports.empty())
    importAnnotations();
  for (const model::Node &node : graph.nodes)
    if (node.domain == lint::ownDomain && node.has("updates"))
      updateBuffer(node);
}

/// Sizes of 0 are sizes, but there must be something to compute.
void GraphImporter::checkElements() {
  auto isEmpty = [](const Result &result) {
    auto type = dyn_cast<RankedTensorType>(result.value.getType());
    return type && type.getNumElements() == 0;
  };
  if (!results.empty() && llvm::all_of(results, isEmpty))
    fail("{}: with these sizes output '{}' has no elements (its shape is {}), and nothing is left to train; "
         "give a --shape with "
         "one row at least",
         source.path, results.front().binding.getName().str(),
         fmt::join(cast<RankedTensorType>(results.front().value.getType()).getShape(), "x"));
}

void GraphImporter::updateBuffer(const model::Node &node) {
  const std::string buffer = node.attrString("updates");
  Value next = scope->find(node.output(0))->tensor;
  FlatSymbolRefAttr state = variable(buffer);
  if (!next || !state)
    return; // an operator before it is not supported, and reported
  Type expected = scope->find(buffer)->tensor.getType();
  if (next.getType() != expected)
    return report(describePlace(node),
                  fmt::format("the next value of buffer '{}' is of type {}, the buffer of {}", buffer,
                              typeText(next.getType()), typeText(expected)));
  results.push_back({next, train::BindingAttr::get(&context, train::BindingKind::State, state.getValue())});
}

void GraphImporter::removeUnusedStates() {
  auto func = cast<func::FuncOp>(function);
  SmallVector<Argument> kept;
  llvm::DenseSet<Attribute> updates;
  for (const Result &result : results)
    updates.insert(result.binding);
  llvm::BitVector unused(func.front().getNumArguments());
  for (Argument &argument : arguments) {
    FlatSymbolRefAttr symbol = argument.binding.getSymbol();
    if (!symbol || updates.contains(argument.binding) || !argument.value.use_empty()) {
      kept.push_back(argument);
      continue;
    }
    const auto state = states.find(symbol.getValue());
    state->second->erase();
    states.erase(state);
    unused.set(cast<BlockArgument>(argument.value).getArgNumber());
  }
  func.front().eraseArguments(unused);
  arguments.assign(kept.begin(), kept.end());
}

OwningOpRef<ModuleOp> GraphImporter::finish() {
  auto func = cast<func::FuncOp>(function);
  SmallVector<Value> returned;
  for (Result &result : results)
    returned.push_back(result.value);
  func::ReturnOp::create(builder, func.getLoc(), returned);
  evaluator = std::make_unique<interpret::ConstantEvaluator>(); // folding erases values that it knows
  foldConstants(func);
  removeUnusedStates();
  Operation *terminator = func.front().getTerminator();
  func.setType(builder.getFunctionType(func.front().getArgumentTypes(), terminator->getOperandTypes()));
  SmallVector<DictionaryAttr> bound;
  for (const Argument &argument : arguments)
    bound.push_back(train::boundTo(argument.binding));
  func.setAllArgAttrs(bound);
  bound.clear();
  for (const Result &result : results)
    bound.push_back(train::boundTo(result.binding));
  func.setAllResultAttrs(bound);
  return std::move(module);
}

OwningOpRef<ModuleOp> kedge::importer::importModel(MLIRContext &context, const model::Model &model,
                                                   const ImportOptions &options) {
  GraphImporter importer(context, model, options);
  importer.importGraph(model.graph);
  if (!model.trainingInfo.empty())
    importer.importTraining();
  auto module = importer.finish();
  recordModuleClasses(*module, model);
  for (const std::string &remark : importer.remarked())
    emitRemark(module->getLoc()) << remark;
  std::vector<std::string> reports = importer.unsupported();
  if (!reports.empty() && !options.keepUnsupported)
    fail("{}: not supported:\n  {}", model.path, fmt::join(reports, "\n  "));
  return module;
}
