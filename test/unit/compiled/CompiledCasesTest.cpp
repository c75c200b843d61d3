// ONNX's own backend node cases through generated kernels and library calls.
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "test/support/CompiledFunction.h"
#include "test/unit/import/NodeCases.h"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

using namespace kedge;
using kedge::test::CaseResult;

namespace {
std::map<std::string, interpret::HostTensor>
runCompiled(mlir::ModuleOp module, const std::map<std::string, interpret::HostTensor> &inputs) {
  auto function = train::functionOf(module, train::FunctionKind::Model);
  std::vector<std::string> names;
  for (unsigned k = 0; k < function.getNumResults(); ++k)
    if (auto output = train::bindingOfResult(function, k, train::BindingKind::Output))
      names.push_back(output.getName().str());
  test::CompiledFunction compiled(module.clone());
  for (const auto &[name, tensor] : inputs)
    if (compiled.hasInput(name))
      compiled.setInput(name, tensor);
  compiled.run();
  std::map<std::string, interpret::HostTensor> outputs;
  for (const std::string &name : names)
    outputs[name] = compiled.output(name);
  return outputs;
}

std::string oneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}
} // namespace

TEST(CompiledNodeCases, ResultsEqualTheDataSets) {
  auto folders = kedge::test::nodeCaseFolders();
  if (folders.empty())
    GTEST_SKIP() << "libonnx-testdata is not installed";
  const char *filter = std::getenv("KEDGE_NODE_CASES");
  // A line a case: what became of it, its name, why.
  std::ofstream report;
  if (const char *path = std::getenv("KEDGE_NODE_CASES_REPORT"))
    report.open(path);
  constexpr const char *words[] = {"passed", "unsupported", "failed"};
  int counts[3] = {};
  for (const std::string &folder : folders) {
    std::string name = folder.substr(folder.rfind('/') + 1);
    if (filter && name.find(filter) == std::string::npos)
      continue;
    CaseResult result = kedge::test::runNodeCase(folder, runCompiled);
    ++counts[result.status];
    report << words[result.status] << '\t' << name << '\t' << oneLine(result.message) << '\n' << std::flush;
    if (result.status == CaseResult::Failed)
      ADD_FAILURE() << name << ": " << result.message;
    else if (result.status == CaseResult::Unsupported && filter)
      std::printf("unsupported %s: %s\n", name.c_str(), result.message.c_str());
  }
  std::printf("%d passed, %d unsupported, %d failed\n", counts[0], counts[1], counts[2]);
}
