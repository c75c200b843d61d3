#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Support/Statistics.h"
#include "passes/Memory/Passes.h"

namespace kedge::memory {
#define GEN_PASS_DEF_CHECKMEMORY
#include "passes/Memory/Passes.h.inc"

namespace {
using namespace mlir;

/// What the launches say of a buffer, whatever it declares.
struct Observed {
  int64_t first = std::numeric_limits<int64_t>::max(), last = -2;
  void touch(int64_t at) {
    first = std::min(first, at);
    last = std::max(last, at);
  }
};

struct CheckMemory : impl::CheckMemoryBase<CheckMemory> {
  int64_t pairs = 0;

  void runOnOperation() override {
    exec::ArenaOp arena;
    for (auto op : getOperation().getOps<exec::ArenaOp>())
      arena = op;
    for (auto function : getOperation().getOps<exec::FunctionOp>())
      if (!arena || failed(check(function, arena))) {
        if (!arena)
          function.emitOpError("has no exec.arena in its module");
        return signalPassFailure();
      }
    addStatistic("kedge-check-memory", "pairs compared", pairs);
  }

  LogicalResult check(exec::FunctionOp function, exec::ArenaOp arena) {
    llvm::MapVector<exec::BufferOp, Observed> seen;
    for (auto buffer : function.getBody().getOps<exec::BufferOp>())
      seen[buffer] = {};
    int64_t launches = 0;
    for (auto launch : function.getBody().getOps<exec::LaunchOp>())
      if (failed(observe(launch, launches++, seen)))
        return failure();
    for (auto gradient : function.getBody().getOps<exec::GradientOp>())
      seen[gradient.getBuffer().getDefiningOp<exec::BufferOp>()].touch(static_cast<int64_t>(gradient.getAfter()));
    for (auto &[buffer, observed] : seen)
      if (failed(checkBuffer(buffer, observed, launches, arena)))
        return failure();
    return checkOverlaps(seen, arena);
  }

  LogicalResult observe(exec::LaunchOp launch, int64_t at, llvm::MapVector<exec::BufferOp, Observed> &seen) {
    for (Value read : launch.getReads()) {
      auto buffer = read.getDefiningOp<exec::BufferOp>();
      bool written = seen[buffer].first < at || static_cast<int64_t>(buffer.getFirst()) < 0;
      if (!written)
        return launch.emitOpError("reads buffer '") << buffer.getName() << "' before any launch writes it";
      seen[buffer].touch(at);
    }
    for (Value write : launch.getWrites())
      seen[write.getDefiningOp<exec::BufferOp>()].touch(at);
    if (launch.getWorkspace())
      seen[launch.getWorkspace().getDefiningOp<exec::BufferOp>()].touch(at);
    return checkOperands(launch);
  }

  static int64_t bytesOf(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getNumElements() * std::max<int64_t>(8, tensor.getElementTypeBitWidth()) / 8;
  }

  LogicalResult checkOperands(exec::LaunchOp launch) {
    auto check = [&](ValueRange buffers, ArrayAttr types) -> LogicalResult {
      for (auto [value, type] : llvm::zip_equal(buffers, types)) {
        auto buffer = value.getDefiningOp<exec::BufferOp>();
        int64_t needed = bytesOf(cast<TypeAttr>(type).getValue());
        if (static_cast<int64_t>(buffer.getSize()) < needed)
          return launch.emitOpError("touches ") << needed << " bytes (" << type << ") of buffer '" << buffer.getName()
                                                << "', which has " << static_cast<int64_t>(buffer.getSize());
      }
      return success();
    };
    if (failed(check(launch.getReads(), launch.getReadTypes())))
      return failure();
    return check(launch.getWrites(), launch.getWriteTypes());
  }

  LogicalResult checkBuffer(exec::BufferOp buffer, const Observed &observed, int64_t launches, exec::ArenaOp arena) {
    int64_t begin = buffer.getOffset(), end = begin + static_cast<int64_t>(buffer.getSize());
    if (begin < 0 || end > static_cast<int64_t>(arena.getBytes()))
      return buffer.emitOpError("lies at [") << begin << ", " << end << "), outside the arena of " << arena.getBytes() << " bytes";
    if (begin % static_cast<int64_t>(arena.getAlign()) != 0)
      return buffer.emitOpError("lies at ") << begin << ", which is no multiple of " << arena.getAlign();
    int64_t first = buffer.getFirst(), last = buffer.getLast();
    bool hostReads = false;
    if (auto bindings = buffer.getBindings())
      for (Attribute binding : *bindings)
        hostReads |= cast<StringAttr>(binding).getValue().starts_with("output:");
    int64_t needed = hostReads ? launches : observed.last;
    if (observed.first < first || needed > last)
      return buffer.emitOpError("declares the lifetime [") << first << ", " << last << "], but launches use it in ["
                                                           << observed.first << ", " << needed << "]";
    return success();
  }

  /// Sweep over offsets: only neighbours in memory are compared.
  LogicalResult checkOverlaps(llvm::MapVector<exec::BufferOp, Observed> &seen, exec::ArenaOp arena) {
    SmallVector<exec::BufferOp> order;
    for (auto &[buffer, observed] : seen)
      if (buffer.getSize() > 0)
        order.push_back(buffer);
    llvm::stable_sort(order, [](exec::BufferOp a, exec::BufferOp b) { return a.getOffset() < b.getOffset(); });
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size() && order[j].getOffset() < order[i].getOffset() + order[i].getSize(); ++j) {
        ++pairs;
        exec::BufferOp a = order[i], b = order[j];
        if (static_cast<int64_t>(a.getFirst()) <= static_cast<int64_t>(b.getLast()) &&
            static_cast<int64_t>(b.getFirst()) <= static_cast<int64_t>(a.getLast()))
          return b.emitOpError("shares bytes with live buffer '") << a.getName() << "'";
      }
    return success();
  }
};
} // namespace
} // namespace kedge::memory
