#include "kedge/Interfaces/PositionOpInterface.h"
#include "kedge/Interfaces/ShardingOpInterface.h"

using namespace mlir;

namespace kedge {

bool ShardingLoop::isDivisible(int64_t ranks) const {
  return units > 0 && units % ranks == 0 &&
         llvm::all_of(sections, [&](int64_t section) { return section % ranks == 0; });
}

int64_t ShardBlocks::room(int64_t size, int64_t ranks) const {
  return isPadded() ? llvm::sum_of(rooms) : size / ranks;
}

int ShardingRule::addLoop(int64_t units, bool reduced) {
  loops.push_back({units, reduced, false, {}});
  return static_cast<int>(loops.size()) - 1;
}

bool ShardingRule::keepsBits(int loop) const {
  const bool isWhole =
      llvm::any_of(results, [&](ArrayRef<int> dims) { return !llvm::is_contained(dims, loop); });
  return loops[loop].isExact || (!loops[loop].reduced && !isWhole);
}

int ShardingRule::dimOf(ArrayRef<int> tensor, int loop) {
  const auto *found = llvm::find(tensor, loop);
  return found == tensor.end() ? kWhole : static_cast<int>(found - tensor.begin());
}

RankedTensorType blockOf(Type whole, const Layout &layout, int64_t ranks) {
  auto tensor = cast<RankedTensorType>(whole);
  SmallVector<int64_t> shape(tensor.getShape());
  if (layout.isCut())
    shape[layout.dim] = layout.room(shape[layout.dim], ranks);
  return RankedTensorType::get(shape, tensor.getElementType());
}

namespace {
using Sections = ShardingLoop::Sections;

/// Of tensor `number` of those on its side of the op.
Layout layoutOfTensor(const ShardingRule &rule, const CutLoop &cut, unsigned number, ArrayRef<int> dims,
                      Type type, Sections side) {
  Layout layout;
  layout.dim = ShardingRule::dimOf(dims, cut.loop);
  if (!layout.isCut())
    return layout;
  const ShardingLoop &loop = rule.loops[cut.loop];
  if (!loop.sections.empty() && loop.of != side) { // this tensor is one of the sections
    if (cut.isPadded())
      layout.rooms = {cut.rooms[number]};
    return layout;
  }
  layout.sections = loop.sections.empty() ? cut.sections : loop.sections;
  layout.rooms = cut.rooms;
  const int64_t perUnit = cast<RankedTensorType>(type).getDimSize(layout.dim) / loop.units;
  for (int64_t &room : layout.rooms)
    room *= perUnit;
  return layout;
}

} // namespace

void simplify(ShardBlocks &blocks, int64_t size, int64_t ranks) {
  SmallVector<int64_t> sections = blocks.sections;
  if (sections.empty())
    sections.push_back(size);
  if (llvm::all_of(llvm::zip(sections, blocks.rooms),
                   [&](auto pair) { return std::get<0>(pair) == std::get<1>(pair) * ranks; }))
    blocks.rooms.clear();
}

static Layout simplified(Layout layout, Type type, int64_t ranks) {
  if (layout.isCut())
    simplify(layout, cast<RankedTensorType>(type).getDimSize(layout.dim), ranks);
  return layout;
}

Layout layoutOfOperand(Operation *op, const ShardingRule &rule, const CutLoop &cut, unsigned operand,
                       int64_t ranks) {
  if (!cut.isCut())
    return {};
  const Type type = op->getOperand(operand).getType();
  return simplified(layoutOfTensor(rule, cut, operand, rule.operands[operand], type, Sections::OfOperands),
                    type, ranks);
}

Layout layoutOfResult(Operation *op, const ShardingRule &rule, const CutLoop &cut, unsigned result,
                      int64_t ranks) {
  if (!cut.isCut())
    return {};
  const Type type = op->getResult(result).getType();
  return simplified(layoutOfTensor(rule, cut, result, rule.results[result], type, Sections::OfResults), type,
                    ranks);
}

/// Attributes that say sizes of whole tensors or loops say those of blocks.
static void localizeSizes(OperationState &state, Operation *op, const ShardingRule &rule, const CutLoop &cut,
                          int64_t ranks) {
  Builder builder(op->getContext());
  const auto set = [&](StringRef name, ArrayRef<int64_t> sizes) {
    state.attributes.set(name, builder.getDenseI64ArrayAttr(sizes));
  };
  const auto sizesOf = [&](StringRef name) -> std::optional<SmallVector<int64_t>> {
    const auto sizes = op->getAttrOfType<DenseI64ArrayAttr>(name);
    return sizes ? std::optional(SmallVector<int64_t>(sizes.asArrayRef())) : std::nullopt;
  };
  ArrayRef<int64_t> shape = cast<RankedTensorType>(state.types[0]).getShape();
  if (auto said = sizesOf("shape");
      said && ArrayRef(*said) == cast<RankedTensorType>(op->getResult(0).getType()).getShape())
    set("shape", shape);
  const int dim = ShardingRule::dimOf(rule.results[0], cut.loop);
  if (auto ends = sizesOf("ends"); ends && dim != ShardingRule::kWhole) { // of a slice, in each dim
    (*ends)[dim] = shape[dim];
    set("ends", *ends);
  }
  if (auto domain = sizesOf("domain"); domain && cut.loop < static_cast<int>(domain->size())) {
    (*domain)[cut.loop] = cut.room((*domain)[cut.loop], ranks);
    set("domain", *domain);
  }
  if (auto parts = sizesOf("split"); parts && !rule.loops[cut.loop].sections.empty()) {
    for (auto [part, type] : llvm::zip(*parts, state.types))
      part = cast<RankedTensorType>(type).getDimSize(dim);
    set("split", *parts);
  }
}

Operation *cloneOnBlocks(OpBuilder &builder, Operation *op, ValueRange operands, const ShardingRule &rule,
                         const CutLoop &cut, int64_t ranks) {
  OperationState state(op->getLoc(), op->getName(), operands, {}, op->getAttrs());
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    state.addTypes(blockOf(op->getResult(i).getType(), layoutOfResult(op, rule, cut, i, ranks), ranks));
  localizeSizes(state, op, rule, cut, ranks);
  return builder.create(state);
}

Type sumTypeOf(Type element) {
  const bool isNarrow = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Float32Type::get(element.getContext()) : element;
}

static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

SmallVector<Value> cloneLocal(LocalBuilder &local, Operation *op, ValueRange operands,
                              const ShardingRule &rule) {
  if (!rule.loops[local.cut.loop].reduced)
    return SmallVector<Value>(
        cloneOnBlocks(local.builder, op, operands, rule, local.cut, local.ranks)->getResults());
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(local.cast(operand, sumTypeOf(elementOf(operand))));
  Operation *made = cloneOnBlocks(local.builder, op, wide, rule, local.cut, local.ranks);
  for (Value result : made->getResults())
    result.setType(cast<RankedTensorType>(result.getType()).clone(sumTypeOf(elementOf(result))));
  SmallVector<Value> results;
  for (auto [value, original, dims] : llvm::zip(made->getResults(), op->getResults(), rule.results)) {
    const bool isSum = ShardingRule::dimOf(dims, local.cut.loop) == ShardingRule::kWhole;
    results.push_back(isSum ? local.sum(value, elementOf(original)) : local.cast(value, elementOf(original)));
  }
  return results;
}

SmallVector<Value> cloneLocal(LocalBuilder &local, Operation *op, ValueRange operands) {
  return cloneLocal(local, op, operands, cast<ShardingOpInterface>(op).shardingRule(local.ranks));
}

SmallVector<Value> cloneOnPositions(LocalBuilder &local, Operation *op, ValueRange operands) {
  const ShardingRule rule = cast<PositionOpInterface>(op).positionRule();
  return SmallVector<Value>(
      cloneOnBlocks(local.builder, op, operands, rule, local.cut, local.ranks)->getResults());
}

} // namespace kedge
