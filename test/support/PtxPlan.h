// The launches of a program's plan in the interpreter of PTX.
#pragma once
#include "kedge/Dialect/Exec/ExecOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/support/PtxInterpreter.h"
#include "llvm/ADT/DenseSet.h"
#include <random>
#include <set>

namespace kedge::test {

/// Runs each kernel of each launch with addresses of one arena, as the program would. Numbers are random and
/// of their tensors' types; what libraries and copies would write is random, too. Integers are 0 or 1, so
/// that they are indices of everything.
class PtxPlan {
public:
  struct Options {
    int64_t mostBlocks = 32; ///< of a kernel's grid; kernels that hand on a workspace run whole
    int64_t seed = 1;
  };
  PtxPlan(PtxProgram &program, const Options &options);

  /// A module at level 4.
  void run(mlir::ModuleOp module);
  std::vector<std::string> findings() const;
  /// "46 kernels of 46 ran, 83 launches, 433 blocks"
  std::string summary() const;

private:
  void run(exec::FunctionOp function);
  void run(exec::LaunchOp launch);
  void run(mlir::DictionaryAttr kernel, exec::LaunchOp launch, int64_t mostBlocks);
  std::span<char> bytesOf(mlir::Value buffer);
  void fillOnce(mlir::Value buffer);

  PtxProgram &program;
  PtxInterpreter interpreter;
  Options options;
  std::mt19937 random;
  std::vector<char> memory;
  char *arena = nullptr;
  llvm::DenseSet<mlir::Value> filled;
  std::set<std::string> ran;
  int64_t launches = 0;
};

} // namespace kedge::test
