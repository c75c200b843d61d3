// ONNX's own backend node cases through generated kernels and library calls.
#include "../import/NodeCases.h"
#include "CompiledFunction.h"
#include <cstdlib>
#include <gtest/gtest.h>

using kedge::test::CaseResult;

TEST(CompiledNodeCases, ResultsEqualTheDataSets) {
  auto folders = kedge::test::nodeCaseFolders();
  if (folders.empty())
    GTEST_SKIP() << "libonnx-testdata is not installed";
  const char *filter = std::getenv("KEDGE_NODE_CASES");
  int counts[3] = {};
  for (const std::string &folder : folders) {
    std::string name = folder.substr(folder.rfind('/') + 1);
    if (filter && name.find(filter) == std::string::npos)
      continue;
    CaseResult result = kedge::test::runNodeCase(folder, kedge::test::runCompiled);
    ++counts[result.status];
    if (result.status == CaseResult::Failed)
      ADD_FAILURE() << name << ": " << result.message;
    else if (result.status == CaseResult::Unsupported && filter)
      std::printf("unsupported %s: %s\n", name.c_str(), result.message.c_str());
  }
  std::printf("%d passed, %d unsupported, %d failed\n", counts[0], counts[1], counts[2]);
}
