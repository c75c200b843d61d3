#include "NodeCases.h"
#include "kedge/Analysis/ConstantEvaluator.h"
#include "kedge/Dialect/ONNX/MathOps.h"
#include "kedge/Import/GraphImporter.h"
#include "kedge/Support/Error.h"
#include "lib/Import/ModelParse.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <algorithm>
#include <cmath>
#include <filesystem>

namespace fs = std::filesystem;
using namespace kedge;
using kedge::test::CaseResult;

namespace {
/// The data sets hold bfloat16 as uint16 of the same bits: `declared` tells.
std::optional<model::Tensor> readTensor(const fs::path &path, model::DType declared) {
  if (!fs::exists(path))
    return std::nullopt;
  model::LoadOptions options;
  model::ParseContext context{model::MappedFile::open(path.string()), options};
  model::Tensor tensor = model::parseTensor(context, {0, context.file->size()});
  if (declared == model::DType::BFloat16 && tensor.dtype == model::DType::UInt16) {
    model::Bytes bytes = tensor.bytes();
    tensor = model::Tensor::make(tensor.name, declared, tensor.dims, {bytes.data, bytes.data + bytes.size});
  }
  return tensor;
}

/// Empty when equal: rtol 1e-3 and atol 1e-7, as ONNX's own runner; one unit in the last place of bfloat16,
/// which the data sets truncate where the standard rounds.
std::string compare(const model::Tensor &expected, const HostTensor &found) {
  std::vector<int64_t> shape(found.type.getShape().begin(), found.type.getShape().end());
  if (shape != expected.dims)
    return fmt::format("shape [{}], expected [{}]", fmt::join(shape, ","), fmt::join(expected.dims, ","));
  std::vector<double> values = expected.floats();
  const double relative = expected.dtype == model::DType::BFloat16 ? 1.0 / 128 : 1e-3;
  for (size_t i = 0; i < values.size(); ++i) {
    double have = found.floatAt(i), want = values[i];
    bool equal = std::isnan(want) ? std::isnan(have)
                                  : have == want || std::abs(have - want) <= 1e-7 + relative * std::abs(want);
    if (!equal)
      return fmt::format("element {} is {}, expected {}", i, have, want);
  }
  return "";
}

CaseResult runDataSet(const model::Model &model, const fs::path &folder) {
  ImportOptions options;
  auto feeds = model.graph.feeds();
  for (size_t k = 0; k < feeds.size(); ++k)
    if (feeds[k]->kind != model::ValueInfo::Kind::Tensor)
      return {CaseResult::Unsupported, "inputs other than tensors"};
    else if (auto tensor = readTensor(folder / fmt::format("input_{}.pb", k), feeds[k]->dtype)) {
      options.shapes[feeds[k]->name] = tensor->dims;
      options.fixedInputs[feeds[k]->name] = *tensor;
    }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importModel(context, model, options);
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  if (!function.getOps<onnx::DropoutOp>().empty())
    return {CaseResult::Unsupported, "random numbers are not those of the data set"};
  ConstantEvaluator evaluator;
  for (auto [k, value] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
    auto expected = readTensor(folder / fmt::format("output_{}.pb", k), model.graph.outputs[k].dtype);
    const HostTensor *found = evaluator.evaluate(value);
    if (!expected)
      continue;
    if (!found)
      return {CaseResult::Failed, fmt::format("output {} could not be evaluated", k)};
    if (std::string difference = compare(*expected, *found); !difference.empty())
      return {CaseResult::Failed, fmt::format("output {}: {}", k, difference)};
  }
  return {CaseResult::Passed, ""};
}
} // namespace

CaseResult test::runNodeCase(const std::string &folder) {
  try {
    model::Model model = model::loadModel((fs::path(folder) / "model.onnx").string());
    CaseResult result{CaseResult::Failed, "no data set"};
    for (const auto &entry : fs::directory_iterator(folder))
      if (entry.is_directory()) {
        result = runDataSet(model, entry.path());
        if (result.status != CaseResult::Passed)
          break;
      }
    return result;
  } catch (const Error &error) {
    std::string text = error.what();
    bool unsupported = text.find("not supported") != std::string::npos || text.find("expected 9 to 25") != std::string::npos;
    return {unsupported ? CaseResult::Unsupported : CaseResult::Failed, text};
  }
}

std::vector<std::string> test::nodeCaseFolders() {
  std::vector<std::string> folders;
  const fs::path root = "/usr/share/libonnx-testdata/data/node";
  if (fs::is_directory(root))
    for (const auto &entry : fs::directory_iterator(root))
      folders.push_back(entry.path().string());
  std::sort(folders.begin(), folders.end());
  return folders;
}
