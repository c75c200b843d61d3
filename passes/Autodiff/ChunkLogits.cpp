#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "lib/Support/ChunkRows.h"
#include "passes/Autodiff/FunctionEditing.h"
#include "passes/Autodiff/LogitsRegion.h"
#include "passes/Autodiff/Passes.h"

namespace kedge::autodiff {
#define GEN_PASS_DEF_CHUNKLOGITS
#include "passes/Autodiff/Passes.h.inc"

namespace {
using namespace mlir;

/// Builds the region of a head once for each chunk of rows, and joins what leaves it.
class Chunks {
public:
  Chunks(LogitsRegion &region, PlacedBuilder &builder) : region(region), b(builder) {}

  void build(int64_t rowsPerChunk) {
    for (int64_t first = 0; first < region.rows; first += rowsPerChunk)
      buildChunk(first, std::min(first + rowsPerChunk, region.rows), first / rowsPerChunk);
  }

  /// In chunks of rows, in order.
  ArrayRef<Value> parts(Value value) { return partsOf[value]; }

  /// The whole of a value that leaves the region.
  Value whole(Value value) {
    b.enter(placeOfProducer(value));
    if (region.roleOf(value) == LogitsRegion::Role::Sum) {
      Value sum = partsOf[value].back();
      Type element = cast<RankedTensorType>(value.getType()).getElementType();
      return LogitsRegion::sumsInF32(value)
                 ? onnx::CastOp::create(b, value.getLoc(), sum, TypeAttr::get(element)).getResult()
                 : sum;
    }
    Value joined = onnx::ConcatOp::create(b, value.getLoc(), partsOf[value], b.getI64IntegerAttr(0));
    return reshape(joined, cast<RankedTensorType>(value.getType()).getShape());
  }

private:
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    if (cast<RankedTensorType>(value.getType()).getShape() == shape)
      return value;
    return onnx::ReshapeOp::create(b, value.getLoc(), value, b.getDenseI64ArrayAttr(shape));
  }

  /// Rows [first, last) of an operand with a row for each of the region's, flattened: [rows] or [rows,
  /// width].
  Value slice(Value value, int64_t first, int64_t last) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t width = type.getNumElements() / region.rows;
    bool isVector = region.isVector(value);
    PlaceAttr place = placeOfProducer(value);
    b.enter(place ? place : placeOf(region.ops.front()));
    SmallVector<int64_t> flat{region.rows}, starts{first}, ends{last}, steps{1};
    if (!isVector) {
      flat.push_back(width);
      starts.push_back(0);
      ends.push_back(width);
      steps.push_back(1);
    }
    Value &table = flattened[value];
    if (!table)
      table = reshape(value, flat);
    return onnx::SliceOp::create(b, value.getLoc(), table, b.getDenseI64ArrayAttr(starts),
                                 b.getDenseI64ArrayAttr(ends), b.getDenseI64ArrayAttr(steps));
  }

  void buildChunk(int64_t first, int64_t last, int64_t number) {
    IRMapping mapping;
    for (Value value : region.rowOperands)
      mapping.map(value, slice(value, first, last));
    for (Operation *op : region.ops) {
      b.enter(placeOf(op));
      SmallVector<Value> results = region.buildRows(b, op, mapping, sumSoFar(op));
      if (op->getNumResults() && !isa<onnx::ReshapeOp>(op))
        train::ChunkNote(b.getContext())
            .setAttr(results.front().getDefiningOp(), b.getI64IntegerAttr(number));
      for (auto [old, fresh] : llvm::zip(op->getResults(), results)) {
        mapping.map(old, fresh);
        partsOf[old].push_back(fresh);
      }
    }
  }

  Value sumSoFar(Operation *op) {
    Value sum = op->getResult(0);
    return region.roleOf(sum) == LogitsRegion::Role::Sum && !partsOf[sum].empty() ? partsOf[sum].back()
                                                                                  : Value();
  }

  LogitsRegion &region;
  PlacedBuilder &b;
  DenseMap<Value, Value> flattened;
  DenseMap<Value, SmallVector<Value>> partsOf;
};

struct ChunkLogits : impl::ChunkLogitsBase<ChunkLogits> {
  using Base::Base;
  int64_t heads = 0, pieces = 0;

  void run() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || maxBytes <= 0)
      return;
    heads = pieces = 0;
    SmallVector<Operation *> candidates;
    for (Operation &op : function.getBody().front())
      if (LogitsRegion::mayStart(&op, maxBytes))
        candidates.push_back(&op);
    for (Operation *op : candidates)
      if (std::optional<LogitsRegion> region = LogitsRegion::from(op))
        chunk(*region);
    addStatistic("heads", heads);
    addStatistic("chunks", pieces);
  }

  void chunk(LogitsRegion &region) {
    const int64_t rows = rowsOfChunk(region.rows, chunksOf(region.bytes, maxBytes));
    if (rows >= region.rows || !region.gatherOperands())
      return;
    PlacedBuilder builder(region.ops.front());
    Chunks chunks(region, builder);
    chunks.build(rows);
    for (Operation *op : region.ops)
      for (Value result : op->getResults())
        if (region.leaves(result))
          replace(region, chunks, result, rows);
    for (Operation *op : llvm::reverse(region.ops))
      op->erase();
    ++heads;
    pieces += static_cast<int64_t>(llvm::divideCeil(region.rows, rows));
  }

  /// A result that the host reads becomes one result a chunk, so that no two chunks live at a time.
  void replace(LogitsRegion &region, Chunks &chunks, Value value, int64_t rows) {
    func::FuncOp function = getOperation();
    Operation *terminator = returnOf(function);
    if (region.roleOf(value) == LogitsRegion::Role::Logits) {
      SmallVector<unsigned> places;
      for (OpOperand &use : value.getUses())
        if (use.getOwner() == terminator)
          places.push_back(use.getOperandNumber());
      for (unsigned place : places)
        addParts(function, place, chunks.parts(value), rows * region.width);
      eraseResults(function, [&](unsigned index) { return llvm::is_contained(places, index); });
      return;
    }
    Value whole = chunks.whole(value);
    value.replaceUsesWithIf(whole, [&](OpOperand &use) { return !region.contains(use.getOwner()); });
  }

  void addParts(func::FuncOp function, unsigned place, ArrayRef<Value> parts, int64_t elements) {
    Builder builder(&getContext());
    StringRef name = train::bindingOfResult(function, place).getName();
    Type whole = returnOf(function)->getOperand(place).getType();
    for (auto [index, part] : llvm::enumerate(parts))
      addResult(function, part,
                train::BindingAttr::get(&getContext(), train::BindingKind::Output,
                                        builder.getStringAttr(name), static_cast<int64_t>(index) * elements,
                                        whole));
  }
};

} // namespace
} // namespace kedge::autodiff
