// KEDGE_NODE_CASES=resize,pad runs only folders whose names hold one of these and lists what is unsupported.
#include "test/unit/import/NodeCases.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>

using kedge::test::CaseResult;

static std::vector<std::string> filters() {
  std::vector<std::string> result;
  std::stringstream text(std::getenv("KEDGE_NODE_CASES") ? std::getenv("KEDGE_NODE_CASES") : "");
  for (std::string part; std::getline(text, part, ',');)
    result.push_back(part);
  return result;
}

TEST(NodeCases, InterpretedResultsEqualTheDataSets) {
  auto folders = kedge::test::nodeCaseFolders();
  if (folders.empty())
    GTEST_SKIP() << "libonnx-testdata is not installed";
  auto wanted = filters();
  int counts[3] = {};
  for (const std::string &folder : folders) {
    std::string name = folder.substr(folder.rfind('/') + 1);
    bool chosen = wanted.empty();
    for (const std::string &part : wanted)
      chosen |= name.find(part) != std::string::npos;
    if (!chosen)
      continue;
    CaseResult result = kedge::test::runNodeCase(folder);
    ++counts[result.status];
    if (result.status == CaseResult::Failed)
      ADD_FAILURE() << name << ": " << result.message;
    else if (result.status == CaseResult::Unsupported && !wanted.empty())
      std::printf("unsupported %s: %s\n", name.c_str(), result.message.c_str());
  }
  std::printf("%d passed, %d unsupported, %d failed\n", counts[0], counts[1], counts[2]);
}
