#include "kedge/Dialect/Sched/BuildCluster.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Interfaces/ClusterableOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kedge;

namespace {
Type scalarType(Type tensor) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Value widen(OpBuilder &builder, Location loc, Value scalar) {
  Type wide = bodyType(scalar.getType());
  return wide == scalar.getType() ? scalar : arith::ExtFOp::create(builder, loc, wide, scalar).getResult();
}

Value narrow(OpBuilder &builder, Location loc, Value scalar, Type type) {
  return scalar.getType() == type ? scalar : arith::TruncFOp::create(builder, loc, type, scalar).getResult();
}

/// Where no dim is reduced, a reduction is of one element. It must not stay: fused into a cluster that
/// reduces, it would reduce there.
void dropReductionsOfOne(sched::ClusterOp cluster) {
  if (!cluster.getReduced().empty())
    return;
  for (auto reduce : llvm::make_early_inc_range(cluster.getBody().front().getOps<sched::ReduceOp>())) {
    reduce.getResult().replaceAllUsesWith(reduce.getInput());
    reduce.erase();
  }
}

/// Erases body ops and inputs that no yielded scalar needs.
void dropUnused(sched::ClusterOp cluster) {
  Block &block = cluster.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  SmallVector<Attribute> maps;
  llvm::BitVector dead(block.getNumArguments());
  for (unsigned i = 0; i < block.getNumArguments(); ++i)
    if (block.getArgument(i).use_empty())
      dead.set(i);
    else
      maps.push_back(cluster.getInputMaps()[i]);
  block.eraseArguments(dead);
  cluster->eraseOperands(dead);
  cluster.setInputMapsAttr(ArrayAttr::get(cluster.getContext(), maps));
}
} // namespace

bool kedge::isClusterable(Operation *op) {
  auto clusterable = dyn_cast<ClusterableOpInterface>(op);
  return clusterable && clusterable.isClusterable();
}

sched::ClusterOp kedge::buildCluster(OpBuilder &builder, Operation *op, const llvm::BitVector &used) {
  OpBuilder::InsertionGuard guard(builder);
  auto clusterable = cast<ClusterableOpInterface>(op);
  ClusterSpec spec;
  clusterable.describeCluster(spec);
  SmallVector<int64_t> reduced;
  for (auto [dim, isReduced] : llvm::enumerate(spec.reduced))
    if (isReduced)
      reduced.push_back(dim);
  SmallVector<Type> types;
  SmallVector<AffineMap> outputMaps;
  for (unsigned i : used.set_bits()) {
    types.push_back(op->getResult(i).getType());
    outputMaps.push_back(spec.outputMaps[i]);
  }
  auto cluster =
      sched::ClusterOp::create(builder, op->getLoc(), types, op->getOperands(), spec.domain, reduced,
                               builder.getAffineMapArrayAttr(spec.inputMaps),
                               builder.getAffineMapArrayAttr(outputMaps), IntegerAttr(), StringAttr());
  Block &block = cluster.getBody().emplaceBlock();
  builder.setInsertionPointToStart(&block);
  SmallVector<Value> scalars, results, yielded;
  for (Value operand : op->getOperands())
    scalars.push_back(
        widen(builder, op->getLoc(), block.addArgument(scalarType(operand.getType()), op->getLoc())));
  ClusterBodyBuilder body(builder, op->getLoc());
  clusterable.buildClusterBody(body, scalars, results);
  for (unsigned i : used.set_bits())
    yielded.push_back(narrow(builder, op->getLoc(), results[i], scalarType(op->getResult(i).getType())));
  sched::YieldOp::create(builder, op->getLoc(), yielded);
  dropReductionsOfOne(cluster);
  dropUnused(cluster);
  return cluster;
}

sched::LibraryOp kedge::buildLibraryCall(OpBuilder &builder, Operation *op) {
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute attr : attributesWithoutPlace(op)) {
    if (attr.getName() != "operandSegmentSizes") {
      attrs.push_back(attr);
      continue;
    }
    SmallVector<bool> present;
    for (int32_t size : cast<DenseI32ArrayAttr>(attr.getValue()).asArrayRef())
      present.append(std::max(size, 1), size > 0);
    attrs.push_back(builder.getNamedAttr("operands", builder.getDenseBoolArrayAttr(present)));
  }
  return sched::LibraryOp::create(builder, op->getLoc(), op->getResultTypes(), op->getName().getStringRef(),
                                  op->getOperands(), builder.getDictionaryAttr(attrs), IntegerAttr(),
                                  dist::isCollective(op), StringAttr());
}
