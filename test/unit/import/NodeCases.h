// ONNX's backend node tests, imported with their inputs as constants and interpreted.
#pragma once
#include "lib/Interpret/ConstantEvaluator.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace kedge::test {

struct CaseResult {
  enum Status { Passed, Unsupported, Failed } status = Failed;
  std::string message;
};

/// Runs one folder with model.onnx and test_data_set_*.
/// Runs @model of a module on inputs by name; outputs by name. Null: the interpreter.
using RunModule = std::function<std::map<std::string, interpret::HostTensor>(
    mlir::ModuleOp, const std::map<std::string, interpret::HostTensor> &)>;
CaseResult runNodeCase(const std::string &folder, const RunModule &run = {});
/// Folders below KEDGE_NODE_CASES_DIR, else libonnx-testdata's data/node; empty where the package is missing.
std::vector<std::string> nodeCaseFolders();

} // namespace kedge::test
