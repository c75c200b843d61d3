#include "kedge/Dialect/Exec/ExecDialect.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/StorageBytes.h"
#include "passes/Memory/ByteOwners.h"
#include "passes/Memory/CheckKept.h"
#include "passes/Memory/CheckOrder.h"
#include "passes/Memory/Passes.h"

namespace kedge::memory {
#define GEN_PASS_DEF_CHECKMEMORY
#include "passes/Memory/Passes.h.inc"

namespace {
using namespace mlir;

/// The uses of a buffer by launches, whatever lifetime it declares.
struct Observed {
  int64_t first = std::numeric_limits<int64_t>::max(), last = -2;
  void touch(int64_t at) {
    first = std::min(first, at);
    last = std::max(last, at);
  }
};

/// One of the allocations, as its op declares it.
struct Arena {
  const char *name;
  int64_t bytes, align;
};

struct CheckMemory : impl::CheckMemoryBase<CheckMemory> {
  int64_t pairs = 0;
  Arena device{"arena", -1, 1}, host{"host arena", 0, 64};

  void run() override {
    for (auto op : getOperation().getOps<exec::ArenaOp>())
      device = {"arena", static_cast<int64_t>(op.getBytes()), static_cast<int64_t>(op.getAlign())};
    for (auto op : getOperation().getOps<exec::HostArenaOp>())
      host = {"host arena", static_cast<int64_t>(op.getBytes()), static_cast<int64_t>(op.getAlign())};
    for (auto state : getOperation().getOps<train::StateOp>())
      if (failed(checkState(state)))
        return signalPassFailure();
    for (auto function : getOperation().getOps<exec::FunctionOp>())
      if (device.bytes < 0 || failed(check(function))) {
        if (device.bytes < 0)
          function.emitOpError("has no exec.arena in its module");
        return signalPassFailure();
      }
    if (failed(checkKept(getOperation())) || failed(checkIterations(getOperation())))
      return signalPassFailure();
    addStatistic("pairs compared", pairs);
  }

  LogicalResult checkState(train::StateOp state) {
    Attribute offset = state->getAttr(exec::OffsetNote::getNameStr());
    if (!offset)
      return success(); // planned IR that is not to run
    int64_t at = isa<IntegerAttr>(offset) ? cast<IntegerAttr>(offset).getInt() : -1;
    int64_t room = std::max(device.bytes, host.bytes), size = bytesOf(state.getType());
    if (at < 0 || at > room || size > room - at)
      return state.emitOpError("has the place ")
             << offset << " ('exec.offset') outside of an arena of " << room << " bytes";
    return success();
  }

  LogicalResult check(exec::FunctionOp function) {
    llvm::MapVector<exec::BufferOp, Observed> seen;
    for (auto buffer : function.getBody().getOps<exec::BufferOp>())
      seen[buffer] = {};
    int64_t launches = 0;
    for (auto launch : function.getBody().getOps<exec::LaunchInterface>())
      if (failed(observe(launch, launches++, seen)))
        return failure();
    for (auto gradient : function.getBody().getOps<exec::GradientOp>())
      seen[gradient.getBuffer().getDefiningOp<exec::BufferOp>()].touch(
          static_cast<int64_t>(gradient.getAfter()));
    for (auto &[buffer, observed] : seen)
      if (failed(checkBuffer(buffer, observed, launches)))
        return failure();
    if (failed(checkOverlaps(seen, /*onHost=*/false)) || failed(checkOverlaps(seen, /*onHost=*/true)))
      return failure();
    return checkOrder(function);
  }

  LogicalResult observe(exec::LaunchInterface launch, int64_t at,
                        llvm::MapVector<exec::BufferOp, Observed> &seen) {
    for (Value read : launch.getReads()) {
      auto buffer = read.getDefiningOp<exec::BufferOp>();
      bool written = seen[buffer].first < at || static_cast<int64_t>(buffer.getFirst()) < 0;
      if (!written)
        return launch.emitOpError("reads buffer '") << buffer.getName() << "' before any launch writes it";
      seen[buffer].touch(at);
    }
    for (Value write : launch.getWrites())
      seen[write.getDefiningOp<exec::BufferOp>()].touch(at);
    if (Value scratch = launch.getScratch())
      seen[scratch.getDefiningOp<exec::BufferOp>()].touch(at);
    return success();
  }

  LogicalResult checkBuffer(exec::BufferOp buffer, const Observed &observed, int64_t launches) {
    const Arena &arena = buffer.getHost() ? host : device;
    int64_t begin = buffer.getOffset(), size = buffer.getSize();
    if (begin < 0 || size < 0 || begin > arena.bytes || size > arena.bytes - begin)
      return buffer.emitOpError("is at [") << begin << ", " << begin << " + " << size << "), outside the "
                                           << arena.name << " of " << arena.bytes << " bytes";
    if (begin % arena.align != 0)
      return buffer.emitOpError("is at ") << begin << ", which is no multiple of " << arena.align;
    int64_t first = buffer.getFirst(), last = buffer.getLast();
    int64_t needed = buffer.holdsOutput() ? launches : observed.last;
    if (observed.first < first || needed > last)
      return buffer.emitOpError("declares the lifetime [")
             << first << ", " << last << "], but launches use it in [" << observed.first << ", " << needed
             << "]";
    return success();
  }

  /// Buffers take their bytes in the order of their lifetimes: who had them before is done.
  LogicalResult checkOverlaps(llvm::MapVector<exec::BufferOp, Observed> &seen, bool onHost) {
    SmallVector<exec::BufferOp> order;
    for (auto &[buffer, observed] : seen)
      if (buffer.getSize() > 0 && buffer.getHost() == onHost)
        order.push_back(buffer);
    llvm::stable_sort(order, [](exec::BufferOp a, exec::BufferOp b) {
      return static_cast<int64_t>(a.getFirst()) < static_cast<int64_t>(b.getFirst());
    });
    ByteOwners owners;
    for (auto [at, buffer] : llvm::enumerate(order)) {
      const int64_t begin = buffer.getOffset(), size = buffer.getSize();
      for (size_t before : owners.take(begin, begin + size, at)) {
        ++pairs;
        if (static_cast<int64_t>(order[before].getLast()) >= static_cast<int64_t>(buffer.getFirst()))
          return reportShared(order[before], buffer);
      }
    }
    return success();
  }

  /// At the one that begins later in the arena, or else in time.
  static LogicalResult reportShared(exec::BufferOp a, exec::BufferOp b) {
    if (a.getOffset() > b.getOffset())
      std::swap(a, b);
    return b.emitOpError("shares bytes with live buffer '") << a.getName() << "'";
  }
};
} // namespace
} // namespace kedge::memory
