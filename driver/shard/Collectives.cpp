#include "driver/shard/Collectives.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Support/StorageBytes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Mesh/Annotations.h"

using namespace mlir;

namespace kedge::driver {
namespace {

using train::FunctionKind;

/// Those that a step runs.
SmallVector<func::FuncOp> functionsOfStep(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (FunctionKind kind : {FunctionKind::Step, FunctionKind::Micro, FunctionKind::Update})
    if (func::FuncOp function = train::functionOf(module, kind))
      functions.push_back(function);
  return functions;
}

nlohmann::json placeRow(Operation &op) {
  PlaceAttr place = kedge::placeOf(&op);
  if (!place)
    return {{"phase", ""}, {"module", ""}, {"node", ""}};
  return {{"phase", stringifyTrainingPhase(place.getPhase()).str()},
          {"module", place.getModule().str()},
          {"node", place.getNode().str()}};
}

/// The tensor that all ranks together send.
RankedTensorType sentBy(Operation &op) {
  return cast<RankedTensorType>(isa<dist::AllGatherOp>(op) ? op.getResult(0).getType()
                                                           : op.getOperand(0).getType());
}

std::string elementText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << cast<RankedTensorType>(type).getElementType();
  return text;
}
} // namespace

nlohmann::json collectivesOf(ModuleOp level2) {
  nlohmann::json rows = nlohmann::json::array();
  for (func::FuncOp function : functionsOfStep(level2))
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (!dist::isCollective(&op))
        continue;
      const RankedTensorType type = sentBy(op);
      const int64_t times = isa<dist::AllReduceOp>(op) ? 2 : 1;
      nlohmann::json row = placeRow(op);
      auto axis = op.getAttrOfType<StringAttr>("axis");
      row["collective"] = op.getName().stripDialect().str();
      row["axis"] = axis ? axis.str() : "";
      row["type"] = elementText(type);
      row["elements"] = times * type.getNumElements();
      row["bytes"] = times * bytesOf(type);
      rows.push_back(std::move(row));
    }
  return rows;
}

nlohmann::json opsWithoutRule(ModuleOp level2) {
  nlohmann::json rows = nlohmann::json::array();
  const int64_t ranks = mesh::tensorGroup(level2).ranks;
  for (func::FuncOp function : functionsOfStep(level2))
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (!mesh::isForward(&op) || isa<onnx::ConstantOp>(op) || isa<dist::DistDialect>(op.getDialect()) ||
          op.getNumOperands() == 0)
        continue;
      const ShardingRule rule = mesh::ruleOf(&op, ranks);
      if (llvm::any_of(rule.loops, [](const ShardingLoop &loop) { return loop.units > 0; }))
        continue;
      nlohmann::json row = placeRow(op);
      row["op"] = op.getName().getStringRef().str();
      rows.push_back(std::move(row));
    }
  return rows;
}

} // namespace kedge::driver
