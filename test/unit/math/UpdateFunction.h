// One op that updates a parameter, compiled, with its operands and results by number.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "test/support/CompiledFunction.h"
#include "test/unit/math/OpHarness.h"
#include <cstring>
#include <fmt/format.h>

namespace kedge::test {

class UpdateFunction {
public:
  /// `operands`, `results`: types, joined by ", ".
  UpdateFunction(const std::string &op, const std::string &attributes, const std::string &operands,
                 const std::string &results) {
    llvm::SmallVector<llvm::StringRef> operandTypes, resultTypes;
    llvm::StringRef(operands).split(operandTypes, ", ");
    llvm::StringRef(results).split(resultTypes, ", ");
    std::string names, arguments, returned;
    for (size_t k = 0; k < operandTypes.size(); ++k) {
      names += fmt::format("{}%a{}", k ? ", " : "", k);
      arguments += fmt::format("{}%a{}: {}", k ? ", " : "", k, operandTypes[k].str());
    }
    for (size_t k = 0; k < resultTypes.size(); ++k)
      returned += fmt::format("{}%r#{}", k ? ", " : "", k);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        fmt::format("func.func @op({}) -> ({}) {{ %r:{} = {} {} {{{}}} : ({}) -> ({})\nreturn {} : {} }}",
                    arguments, results, resultTypes.size(), op, names, attributes, operands, results,
                    returned, results),
        &harness.context);
    if (!module)
      throw std::runtime_error("the update does not parse");
    function = std::make_unique<CompiledFunction>(
        CompiledFunction::isolate(*module->getOps<mlir::func::FuncOp>().begin()));
  }

  template <typename T> void give(int operand, const std::vector<T> &values) {
    interpret::HostTensor tensor{{}, {}};
    tensor.bytes.assign(reinterpret_cast<const char *>(values.data()),
                        reinterpret_cast<const char *>(values.data() + values.size()));
    function->setInput(std::to_string(operand), tensor);
  }
  void run() { function->run(); }
  template <typename T> void take(int result, std::vector<T> &values) {
    const std::vector<char> found = function->output(std::to_string(result)).bytes;
    values.resize(found.size() / sizeof(T));
    std::memcpy(values.data(), found.data(), found.size());
  }

private:
  OpHarness harness; // its context knows the dialects
  std::unique_ptr<CompiledFunction> function;
};

} // namespace kedge::test
