// ONNX's backend node tests, imported with their inputs as constants and interpreted.
#pragma once
#include <string>
#include <vector>

namespace kedge::test {

struct CaseResult {
  enum Status { Passed, Unsupported, Failed } status = Failed;
  std::string message;
};

/// Runs one folder with model.onnx and test_data_set_*.
CaseResult runNodeCase(const std::string &folder);
/// Folders below libonnx-testdata's data/node; empty where the package is missing.
std::vector<std::string> nodeCaseFolders();

} // namespace kedge::test
