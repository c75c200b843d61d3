#include "test/unit/import/NodeCases.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "lib/Import/GraphImporter.h"
#include "lib/Interpret/ConstantEvaluator.h"
#include "lib/Model/ModelParse.h"
#include "lib/Model/NarrowTypes.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;
using namespace kedge;
using kedge::test::CaseResult;

namespace {
/// The data sets hold bfloat16 as uint16 of the same bits: `declared` tells.
std::optional<model::Tensor> readTensor(const fs::path &path, model::ElementType declared) {
  if (!fs::exists(path))
    return std::nullopt;
  model::LoadOptions options;
  model::ParseContext context{model::MappedFile::open(path.string()), options};
  model::Tensor tensor = model::parseTensor(context, {0, context.file->size()});
  if (declared == model::ElementType::BFloat16 && tensor.dtype == model::ElementType::UInt16) {
    model::Bytes bytes = tensor.bytes();
    tensor = model::Tensor::make(tensor.name, declared, tensor.dims, {bytes.data, bytes.data + bytes.size});
  }
  return tensor;
}

/// Units in the last place of 16-bit results that may differ: one of bfloat16, which the data sets truncate
/// where the standard rounds; two of attention, whose scores and weights they round where ours stay in f32.
int unitsOf(const std::string &name) { return name.find("attention") != std::string::npos ? 2 : 1; }

/// Empty when equal: rtol 1e-3 and atol 1e-7, as ONNX's own runner, but for 16 bits.
std::string compare(const model::Tensor &expected, const interpret::HostTensor &found, int units) {
  std::vector<int64_t> shape(found.type.getShape().begin(), found.type.getShape().end());
  if (shape != expected.dims)
    return fmt::format("shape [{}], expected [{}]", fmt::join(shape, ","), fmt::join(expected.dims, ","));
  std::vector<double> values = expected.floats();
  const double relative = expected.dtype == model::ElementType::BFloat16  ? units / 128.0
                          : expected.dtype == model::ElementType::Float16 ? std::max(1e-3, units / 1024.0)
                                                                          : 1e-3;
  // What cancels leaves the rounding of what it came from.
  double absolute = 1e-7;
  for (double value : values)
    if (std::isfinite(value))
      absolute = std::max(absolute, 1e-7 * std::abs(value));
  for (size_t i = 0; i < values.size(); ++i) {
    double have = found.floatAt(i), want = values[i];
    if (model::narrowFloat(expected.dtype) || expected.dtype == model::ElementType::Float8E8M0)
      have = model::narrowValue(expected.dtype, static_cast<uint8_t>(found.intAt(i)));
    bool equal = std::isnan(want)
                     ? std::isnan(have)
                     : have == want || std::abs(have - want) <= absolute + relative * std::abs(want);
    if (!equal)
      return fmt::format("element {} is {}, expected {}", i, have, want);
  }
  return "";
}

struct DataSet {
  std::map<std::string, model::Tensor> inputs;
  std::vector<std::optional<model::Tensor>> outputs;
};

DataSet readDataSet(const model::Model &model, const fs::path &folder) {
  DataSet data;
  auto feeds = model.graph.feeds();
  for (size_t k = 0; k < feeds.size(); ++k)
    if (auto tensor = readTensor(folder / fmt::format("input_{}.pb", k), feeds[k]->dtype))
      data.inputs[feeds[k]->name] = *tensor;
  for (size_t k = 0; k < model.graph.outputs.size(); ++k)
    data.outputs.push_back(readTensor(folder / fmt::format("output_{}.pb", k), model.graph.outputs[k].dtype));
  return data;
}

CaseResult compareAll(const DataSet &data, int units,
                      llvm::function_ref<const interpret::HostTensor *(size_t)> found) {
  for (size_t k = 0; k < data.outputs.size(); ++k) {
    if (!data.outputs[k])
      continue;
    const interpret::HostTensor *output = found(k);
    if (!output)
      return {CaseResult::Failed, fmt::format("output {} could not be evaluated", k)};
    if (std::string difference = compare(*data.outputs[k], *output, units); !difference.empty())
      return {CaseResult::Failed, fmt::format("output {}: {}", k, difference)};
  }
  return {CaseResult::Passed, ""};
}

CaseResult runImported(const model::Model &model, const DataSet &data, const importer::ImportOptions &options,
                       const test::RunModule &run) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importer::importModel(context, model, options);
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  bool random = llvm::any_of(function.getOps(), [](mlir::Operation &op) {
    return mlir::isa<onnx::DropoutOp, onnx::RandomNormalOp, onnx::RandomUniformOp>(op);
  });
  if (random)
    return {CaseResult::Unsupported, "random numbers are not those of the data set"};
  if (!run) {
    interpret::ConstantEvaluator evaluator;
    return compareAll(data, unitsOf(model.graph.name), [&](size_t k) {
      return evaluator.evaluate(function.front().getTerminator()->getOperand(k));
    });
  }
  std::map<std::string, interpret::HostTensor> inputs;
  for (mlir::BlockArgument argument : function.getArguments())
    if (auto input = train::bindingOfArgument(function, argument.getArgNumber(), train::BindingKind::Input)) {
      const model::Tensor &given = data.inputs.at(input.getName().str());
      auto type = mlir::cast<mlir::RankedTensorType>(argument.getType());
      model::Bytes bytes = given.bytes();
      std::vector<uint8_t> codes =
          model::isNarrow(given.dtype) ? model::narrowCodes(given) : std::vector<uint8_t>();
      inputs[input.getName().str()] = {type, codes.empty()
                                                 ? std::vector<char>(bytes.data, bytes.data + bytes.size)
                                                 : std::vector<char>(codes.begin(), codes.end())};
    }
  auto outputs = run(*module, inputs);
  return compareAll(data, unitsOf(model.graph.name), [&](size_t k) -> const interpret::HostTensor * {
    auto output = outputs.find(model.graph.outputs[k].name);
    return output == outputs.end() ? nullptr : &output->second;
  });
}

CaseResult runDataSet(const model::Model &model, const fs::path &folder, const test::RunModule &run) {
  for (const model::ValueInfo *feed : model.graph.feeds())
    if (feed->kind != model::ValueInfo::Kind::Tensor)
      return {CaseResult::Unsupported, "inputs other than tensors"};
  for (const model::ValueInfo &output : model.graph.outputs)
    if (output.kind != model::ValueInfo::Kind::Tensor)
      return {CaseResult::Unsupported, "outputs other than tensors"};
  DataSet data = readDataSet(model, folder);
  importer::ImportOptions options;
  for (const auto &[name, tensor] : data.inputs)
    options.shapes[name] = tensor.dims;
  // Operands that must be known at compile time (shapes, axes, ratios) are given as constants; how many that
  // are, the importer says. The interpreter knows constants only.
  auto feeds = model.graph.feeds();
  for (size_t free = run ? feeds.size() : 0;; --free) {
    options.fixedInputs.clear();
    for (size_t k = free; k < feeds.size(); ++k)
      if (auto found = data.inputs.find(feeds[k]->name); found != data.inputs.end())
        options.fixedInputs[found->first] = found->second;
    try {
      return runImported(model, data, options, run);
    } catch (const Error &) {
      if (free == 0)
        throw;
    }
  }
}
} // namespace

/// Cases whose data do not follow from their model, and why.
static std::string defectOf(const std::string &folder) {
  if (fs::path(folder).filename() == "test_adam_multiple")
    return "the data were computed with epsilon 1e-2, which the model does not carry (its default is 1e-6)";
  return "";
}

CaseResult test::runNodeCase(const std::string &folder, const RunModule &run) {
  if (std::string defect = defectOf(folder); !defect.empty())
    return {CaseResult::Unsupported, defect};
  try {
    model::Model model = model::loadModel((fs::path(folder) / "model.onnx").string());
    CaseResult result{CaseResult::Failed, "no data set"};
    for (const auto &entry : fs::directory_iterator(folder))
      if (entry.is_directory()) {
        result = runDataSet(model, entry.path(), run);
        if (result.status != CaseResult::Passed)
          break;
      }
    return result;
  } catch (const Error &error) {
    std::string text = error.what();
    bool unsupported =
        text.find("not supported") != std::string::npos || text.find("expected 7 to 28") != std::string::npos;
    return {unsupported ? CaseResult::Unsupported : CaseResult::Failed, text};
  } catch (const std::exception &error) {
    return {CaseResult::Failed, error.what()};
  }
}

std::vector<std::string> test::nodeCaseFolders() {
  std::vector<std::string> folders;
  const char *other = std::getenv("KEDGE_NODE_CASES_DIR");
  const fs::path root = other ? other : "/usr/share/libonnx-testdata/data/node";
  if (fs::is_directory(root))
    for (const auto &entry : fs::directory_iterator(root))
      folders.push_back(entry.path().string());
  std::sort(folders.begin(), folders.end());
  return folders;
}
