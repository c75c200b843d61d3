#include "kedge/Analysis/PersistentRegion.h"
#include "kedge/Analysis/LibraryCall.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <set>

using namespace mlir;

namespace kedge::analysis {
namespace {
int64_t aligned(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

bool livesOnHost(train::StateOp state) { return state->hasAttr("sched.host"); }

class Counter {
public:
  int64_t count(ModuleOp module) {
    alignment = arenaAlignment(module);
    for (auto state : module.getOps<train::StateOp>())
      if (!livesOnHost(state))
        add("state:" + state.getSymName().str(), state.getType());
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && !function.isPrivate())
        countFunction(function);
    return bytes;
  }

private:
  void countFunction(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      if (auto scalar = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "train.scalar"))
        add("scalar:" + scalar.getValue().str(), argument.getType());
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      if (auto result = function.getResultAttrOfType<StringAttr>(index, "train.result"))
        add(("result:" + function.getName() + ":" + result.getValue()).str(), type);
    function.walk([&](onnx::ConstantOp constant) {
      if (constants.insert(constant.getValue()).second)
        add("constant " + std::to_string(constants.size()), constant.getResult().getType());
    });
  }

  void add(const std::string &key, Type type) {
    if (known.insert(key).second)
      bytes += aligned(sched::bytesOf(type), alignment);
  }

  std::set<std::string> known;
  DenseSet<Attribute> constants;
  int64_t bytes = 0, alignment = 1;
};
} // namespace

llvm::DenseSet<StringAttr> hostStates(ModuleOp module) {
  llvm::DenseSet<StringAttr> names;
  for (auto state : module.getOps<train::StateOp>())
    if (livesOnHost(state))
      names.insert(state.getSymNameAttr());
  return names;
}

int64_t hostStateBytes(ModuleOp module) {
  int64_t bytes = 0, alignment = arenaAlignment(module);
  for (auto state : module.getOps<train::StateOp>())
    if (livesOnHost(state))
      bytes += aligned(sched::bytesOf(state.getType()), alignment);
  return bytes;
}

int64_t persistentBytes(ModuleOp module) { return Counter().count(module); }

} // namespace kedge::analysis
