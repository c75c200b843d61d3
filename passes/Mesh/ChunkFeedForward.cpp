#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Support/StorageBytes.h"
#include "lib/Support/ChunkRows.h"
#include "passes/Mesh/Passes.h"
#include "passes/Mesh/WideRegion.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_CHUNKFEEDFORWARD
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;
using namespace kedge::onnx;

/// Builds a region once for each chunk of rows, phase by phase, and joins what leaves it.
class Chunks {
public:
  Chunks(WideRegion &region, int64_t rowsPerChunk) : region(region), step(rowsPerChunk) {}

  void build() {
    for (int phase = 0; phase < region.phases; ++phase) {
      PlacedBuilder builder(region.firstOf(phase));
      for (int64_t first = 0; first < region.rows; first += step)
        for (const WideRegion::Member &member : region.members)
          if (member.phase == phase)
            buildOn(builder, member, first);
      for (const WideRegion::Member &member : region.members)
        if (member.phase == phase)
          replaceOutside(builder, member);
    }
    for (const WideRegion::Member &member : llvm::reverse(region.members)) {
      member.op->dropAllUses();
      member.op->erase();
    }
  }

private:
  /// Rows of the region's outermost dimension; of a tensor in which `size` elements run along it.
  int64_t roomOf(int64_t first, int64_t size) const {
    return std::min(step, region.rows - first) * (size / region.rows);
  }

  void buildOn(PlacedBuilder &b, const WideRegion::Member &member, int64_t first) {
    b.enter(placeOf(member.op));
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(member.op->getOperands()))
      operands.push_back(rowsOf(b, operand, member.dimOfOperand(i), first));
    SmallVector<Value> results =
        member.isSum() ? addUp(b, member, operands, first) : clone(b, member, operands, first);
    if (!isa<ReshapeOp>(member.op))
      train::ChunkNote(b.getContext())
          .setAttr(results.front().getDefiningOp(), b.getI64IntegerAttr(first / step));
    for (auto [old, fresh] : llvm::zip(member.op->getResults(), results))
      parts[old].push_back(fresh);
  }

  Value rowsOf(PlacedBuilder &b, Value operand, int dim, int64_t first) {
    if (dim == ShardingRule::kWhole)
      return wholes.contains(operand) ? wholes[operand] : operand;
    if (auto found = parts.find(operand); found != parts.end())
      return found->second[first / step];
    Value &slice = slices[{operand, first, dim}];
    if (slice)
      return slice;
    SmallVector<int64_t> starts(rankOf(operand), 0), ends(shapeOf(operand)), steps(rankOf(operand), 1);
    const int64_t size = ends[dim];
    starts[dim] = first * (size / region.rows);
    ends[dim] = starts[dim] + roomOf(first, size);
    return slice = SliceOp::create(b, operand.getLoc(), operand, starts, ends, steps);
  }

  SmallVector<Value> clone(PlacedBuilder &b, const WideRegion::Member &member, ValueRange operands,
                           int64_t first) {
    const int64_t units = member.rule.loops[member.loop].units;
    const CutLoop cut(member.loop, ShardBlocks{{}, {roomOf(first, units)}});
    const int64_t chunks = llvm::divideCeil(region.rows, step);
    Operation *made = cloneOnBlocks(b, member.op, operands, member.rule, cut, chunks);
    made->removeDiscardableAttr(valuesName);
    return SmallVector<Value>(made->getResults());
  }

  /// The sums so far. Those of 16 bits would be rounded once a chunk: they are wider up to the last one.
  SmallVector<Value> addUp(PlacedBuilder &b, const WideRegion::Member &member, SmallVector<Value> &operands,
                           int64_t first) {
    if (isMatmul(member.op))
      return {addMatmul(b, member.op, operands)};
    for (Value &operand : operands)
      operand = cast(b, operand, sumTypeOf(elementOf(operand)));
    SmallVector<Value> summands = clone(b, member, operands, first);
    for (auto [i, summand] : llvm::enumerate(summands)) {
      Value old = member.op->getResult(i);
      summand.setType(llvm::cast<RankedTensorType>(summand.getType()).clone(sumTypeOf(elementOf(old))));
      if (first > 0 && member.dimOfResult(i) == ShardingRule::kWhole)
        summand = AddOp::create(b, old.getLoc(), parts[old].back(), summand);
    }
    return summands;
  }

  /// A product that adds to its result: separate additions would be fused with later ones, and all summands
  /// would stay live.
  Value addMatmul(PlacedBuilder &b, Operation *op, ArrayRef<Value> operands) {
    const Type element = elementOf(op->getResult(0));
    auto wide = sumTypeOf(element) == element ? BoolAttr() : b.getBoolAttr(true);
    auto gemm = dyn_cast<GemmOp>(op);
    auto alpha = gemm ? gemm.getAlphaAttr() : b.getF32FloatAttr(1);
    ArrayRef<Value> before = parts[op->getResult(0)];
    return GemmOp::create(b, op->getLoc(), operands[0], operands[1], before.empty() ? Value() : before.back(),
                          b.getBoolAttr(true), b.getBoolAttr(false), alpha, b.getF32FloatAttr(1), wide);
  }

  Value cast(PlacedBuilder &b, Value value, Type element) {
    return elementOf(value) == element ? value
                                       : CastOp::create(b, value.getLoc(), value, TypeAttr::get(element));
  }

  /// What ops outside of the region, or of another phase, read whole.
  void replaceOutside(PlacedBuilder &b, const WideRegion::Member &member) {
    b.enter(placeOf(member.op));
    for (auto [i, result] : llvm::enumerate(member.op->getResults())) {
      const int dim = member.dimOfResult(i);
      if (dim != ShardingRule::kWhole && !region.leaves(result))
        continue;
      Value whole =
          dim == ShardingRule::kWhole
              ? cast(b, parts[result].back(), elementOf(result))
              : ConcatOp::create(b, result.getLoc(), parts[result], b.getI64IntegerAttr(dim)).getResult();
      giveValueNote(whole, valueNoteOf(result));
      if (dim == ShardingRule::kWhole)
        wholes[result] = whole;
      result.replaceUsesWithIf(whole, [&](OpOperand &use) { return !region.memberOf(use.getOwner()); });
    }
  }

  WideRegion &region;
  int64_t step;
  DenseMap<Value, SmallVector<Value>> parts;               ///< by chunk; of a sum, the sums so far
  DenseMap<Value, Value> wholes;                           ///< sums
  DenseMap<std::tuple<Value, int64_t, int>, Value> slices; ///< of a value, from a row on, along a dimension
};

struct ChunkFeedForward : impl::ChunkFeedForwardBase<ChunkFeedForward> {
  using Base::Base;
  int64_t regions = 0, pieces = 0;

  void run() override {
    regions = pieces = 0;
    if (maxBytes <= 0)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        runOn(function);
    addStatistic("regions", regions);
    addStatistic("chunks", pieces);
  }

  void runOn(func::FuncOp function) {
    SmallVector<Operation *> candidates;
    for (Operation &op : function.getBody().front())
      if (WideRegion::mayStart(&op, maxBytes))
        candidates.push_back(&op);
    DenseSet<Operation *> done; // erased, or found to be in one piece
    for (Operation *op : candidates) {
      if (done.contains(op))
        continue;
      const int64_t count = chunksOf(bytesOf(op->getResult(0).getType()), maxBytes);
      std::optional<WideRegion> region = WideRegion::from(op, count);
      if (!region)
        continue;
      for (const WideRegion::Member &member : region->members)
        done.insert(member.op);
      const int64_t rows = rowsOfChunk(region->rows, count);
      if (rows >= region->rows || !region->gatherOperands())
        continue;
      Chunks(*region, rows).build();
      ++regions;
      pieces += static_cast<int64_t>(llvm::divideCeil(region->rows, rows));
    }
  }
};

} // namespace
} // namespace kedge::mesh
