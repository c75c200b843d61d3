#include "lib/Interfaces/ShardingOpInterface.h"

using namespace mlir;

namespace kedge {

bool ShardingLoop::isDivisible(int64_t ranks) const {
  return units > 0 && units % ranks == 0 &&
         llvm::all_of(sections, [&](int64_t section) { return section % ranks == 0; });
}

int ShardingRule::addLoop(int64_t units, bool reduced) {
  loops.push_back({units, reduced, {}, ShardingLoop::Sections::OfAnyTensor});
  return static_cast<int>(loops.size()) - 1;
}

int ShardingRule::dimOf(ArrayRef<int> tensor, int loop) {
  const auto *found = llvm::find(tensor, loop);
  return found == tensor.end() ? kWhole : static_cast<int>(found - tensor.begin());
}

RankedTensorType blockOf(Type whole, int dim, int64_t ranks) {
  auto tensor = cast<RankedTensorType>(whole);
  SmallVector<int64_t> shape(tensor.getShape());
  if (dim >= 0)
    shape[dim] /= ranks;
  return RankedTensorType::get(shape, tensor.getElementType());
}

Operation *cloneOnBlocks(OpBuilder &builder, Operation *op, ValueRange operands, const ShardingRule &rule,
                         int loop, int64_t ranks) {
  OperationState state(op->getLoc(), op->getName(), operands, {}, op->getAttrs());
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
    state.addTypes(blockOf(result.getType(), ShardingRule::dimOf(dims, loop), ranks));
  auto first = cast<RankedTensorType>(op->getResult(0).getType());
  const auto said = op->getAttrOfType<DenseI64ArrayAttr>("shape");
  if (said && said.asArrayRef() == first.getShape())
    state.attributes.set("shape",
                         builder.getDenseI64ArrayAttr(cast<RankedTensorType>(state.types[0]).getShape()));
  const auto ends = op->getAttrOfType<DenseI64ArrayAttr>("ends"); // of a slice, in each dim
  if (const int dim = ShardingRule::dimOf(rule.results[0], loop); ends && dim != ShardingRule::kWhole) {
    SmallVector<int64_t> places(ends.asArrayRef());
    places[dim] /= ranks;
    state.attributes.set("ends", builder.getDenseI64ArrayAttr(places));
  }
  if (const auto domain = op->getAttrOfType<DenseI64ArrayAttr>("domain"); domain && loop < domain.size()) {
    SmallVector<int64_t> sizes(domain.asArrayRef());
    sizes[loop] /= ranks;
    state.attributes.set("domain", builder.getDenseI64ArrayAttr(sizes));
  }
  const auto parts = op->getAttrOfType<DenseI64ArrayAttr>("split");
  if (parts && !rule.loops[loop].sections.empty()) {
    SmallVector<int64_t> sizes(parts.asArrayRef());
    for (int64_t &size : sizes)
      size /= ranks;
    state.attributes.set("split", builder.getDenseI64ArrayAttr(sizes));
  }
  return builder.create(state);
}

Type sumTypeOf(Type element) {
  const bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Float32Type::get(element.getContext()) : element;
}

static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

SmallVector<Value> cloneLocal(LocalBuilder &local, Operation *op, ValueRange operands,
                              const ShardingRule &rule, int loop) {
  if (!rule.loops[loop].reduced)
    return SmallVector<Value>(
        cloneOnBlocks(local.builder, op, operands, rule, loop, local.ranks)->getResults());
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(local.cast(operand, sumTypeOf(elementOf(operand))));
  Operation *made = cloneOnBlocks(local.builder, op, wide, rule, loop, local.ranks);
  for (Value result : made->getResults())
    result.setType(cast<RankedTensorType>(result.getType()).clone(sumTypeOf(elementOf(result))));
  SmallVector<Value> results;
  for (auto [value, original, dims] : llvm::zip(made->getResults(), op->getResults(), rule.results)) {
    const bool isSum = ShardingRule::dimOf(dims, loop) == ShardingRule::kWhole;
    results.push_back(isSum ? local.sum(value, elementOf(original)) : local.cast(value, elementOf(original)));
  }
  return results;
}

SmallVector<Value> cloneLocal(LocalBuilder &local, Operation *op, ValueRange operands, int loop) {
  return cloneLocal(local, op, operands, cast<ShardingOpInterface>(op).shardingRule(local.ranks), loop);
}

} // namespace kedge
