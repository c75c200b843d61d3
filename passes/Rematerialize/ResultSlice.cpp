#include "passes/Rematerialize/ResultSlice.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/Sched/ResultPlaces.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using kedge::sched::ClusterOp;

namespace kedge::remat {
namespace {

Block &bodyOf(ClusterOp cluster) { return cluster.getBody().front(); }

/// The result other than `result` that the body yields `value` as, or -1.
int otherResult(ClusterOp cluster, Value value, unsigned result) {
  Operation *yield = bodyOf(cluster).getTerminator();
  if (value == yield->getOperand(result))
    return -1;
  for (auto [i, yielded] : llvm::enumerate(yield->getOperands()))
    if (yielded == value)
      return static_cast<int>(i);
  return -1;
}

void insertOnce(SmallVector<unsigned> &list, unsigned value) {
  if (!llvm::is_contained(list, value))
    list.push_back(value);
}

} // namespace

ResultSlice sliceOf(ClusterOp cluster, unsigned result) {
  ResultSlice slice;
  SmallVector<Value> open{bodyOf(cluster).getTerminator()->getOperand(result)};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (int other = otherResult(cluster, value, result); other >= 0) {
      insertOnce(slice.results, other);
      continue;
    }
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      insertOnce(slice.inputs, argument.getArgNumber());
      continue;
    }
    Operation *op = value.getDefiningOp();
    slice.reduces |= isa<sched::ReduceOp>(op);
    if (slice.ops.insert(op))
      llvm::append_range(open, op->getOperands());
  }
  return slice;
}

ClusterOp cloneResult(OpBuilder &builder, ClusterOp cluster, unsigned result, ValueRange inputs,
                      ArrayRef<Value> results) {
  OpBuilder::InsertionGuard guard(builder);
  ResultSlice slice = sliceOf(cluster, result);
  SmallVector<Value> operands;
  SmallVector<Attribute> maps;
  auto copy =
      ClusterOp::create(builder, cluster.getLoc(), cluster.getResult(result).getType(), ValueRange(),
                        cluster.getDomain(), ArrayRef<int64_t>{}, builder.getArrayAttr({}),
                        builder.getArrayAttr({cluster.getOutputMaps()[result]}), IntegerAttr(), StringAttr());
  Block &block = copy.getBody().emplaceBlock();
  IRMapping values;
  auto read = [&](Value tensor, Attribute map, Value scalar) {
    operands.push_back(tensor);
    maps.push_back(map);
    values.map(scalar, block.addArgument(scalar.getType(), scalar.getLoc()));
  };
  for (unsigned i : slice.inputs)
    read(inputs[i], cluster.getInputMaps()[i], bodyOf(cluster).getArgument(i));
  Operation *yield = bodyOf(cluster).getTerminator();
  for (unsigned i : slice.results)
    read(results[i], cluster.getOutputMaps()[i], yield->getOperand(i));
  builder.setInsertionPointToStart(&block);
  for (Operation &op : bodyOf(cluster))
    if (slice.ops.contains(&op))
      builder.clone(op, values);
  sched::YieldOp::create(builder, yield->getLoc(), values.lookup(yield->getOperand(result)));
  copy->setOperands(operands);
  copy.setInputMapsAttr(builder.getArrayAttr(maps));
  setPlace(copy, placeOf(cluster));
  sched::setResultPlaces(copy, {sched::computedAt(cluster, result)});
  setValueNotes(copy, {valueNoteOf(cluster.getResult(result))});
  return copy;
}

} // namespace kedge::remat
