#include "lib/Dialect/ONNX/Positions.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/PositionOpInterface.h"

using namespace mlir;

namespace kedge::onnx {
namespace {

/// Loops: the indices, and the dims of data but for the one that is looked up in.
struct GatherPositions : PositionOpInterface::ExternalModel<GatherPositions, GatherOp> {
  ShardingRule positionRule(Operation *op) const {
    auto gather = cast<GatherOp>(op);
    const int64_t axis = gather.getAxis();
    ShardingRule rule;
    SmallVector<int> data, indices;
    for (auto [i, size] : llvm::enumerate(shapeOf(gather.getData())))
      data.push_back(static_cast<int64_t>(i) == axis ? ShardingRule::kWhole : rule.addLoop(size));
    for (int64_t size : shapeOf(gather.getIndices()))
      indices.push_back(rule.addLoop(size));
    SmallVector<int> result(data.begin(), data.begin() + axis);
    result.append(indices);
    result.append(data.begin() + axis + 1, data.end());
    rule.operands = {data, indices};
    rule.results = {result};
    return rule;
  }
};

} // namespace

void registerPositions(MLIRContext *context) { GatherOp::attachInterface<GatherPositions>(*context); }

} // namespace kedge::onnx
