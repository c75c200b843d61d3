#include "passes/Memory/CheckOrder.h"
#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "kedge/abi/Streams.h"
#include "passes/Memory/ByteOwners.h"
#include "passes/Memory/StreamClocks.h"
#include <map>

using namespace mlir;

namespace kedge::memory {
namespace {

using exec::bufferOf;

/// A launch that touches a buffer.
struct Touch {
  int64_t launch;
  bool writes;
};

class OrderChecker {
public:
  explicit OrderChecker(exec::FunctionOp function)
      : launches(llvm::to_vector(function.getBody().getOps<exec::LaunchInterface>())) {}

  LogicalResult run() {
    if (llvm::all_of(launches,
                     [](exec::LaunchInterface launch) { return launch.getStream() == abi::kComputeStream; }))
      return checkEvents(); // one stream is an order
    if (failed(checkEvents()))
      return failure();
    for (auto [at, launch] : llvm::enumerate(launches))
      note(launch, static_cast<int64_t>(at));
    for (auto &[buffer, list] : touches)
      if (failed(checkWithin(buffer, list)))
        return failure();
    return success(succeeded(checkShared(/*onHost=*/false)) && succeeded(checkShared(/*onHost=*/true)));
  }

private:
  LogicalResult checkEvents() {
    std::map<int64_t, int64_t> recorded; // event -> launch
    for (auto [at, launch] : llvm::enumerate(launches)) {
      SmallVector<int64_t> after;
      for (int64_t event : launch.getWaits().value_or(ArrayRef<int64_t>())) {
        if (!recorded.count(event))
          return launch.emitOpError("waits for event ") << event << ", which no earlier launch records";
        after.push_back(recorded[event]);
      }
      clocks.add(launch.getStream(), after);
      if (auto event = launch.getRecords(); event && !recorded.try_emplace(*event, at).second)
        return launch.emitOpError("records event ")
               << static_cast<int64_t>(*event) << ", as an earlier launch does";
    }
    return success();
  }

  void note(exec::LaunchInterface launch, int64_t at) {
    for (Value read : launch.getReads())
      touches[bufferOf(read)].push_back({at, false});
    for (Value write : launch.getWrites())
      touches[bufferOf(write)].push_back({at, true});
    if (Value scratch = launch.getScratch())
      touches[bufferOf(scratch)].push_back({at, true});
  }

  LogicalResult expectOrder(int64_t first, int64_t second, exec::BufferOp buffer) {
    if (first == second || clocks.precedes(first, second))
      return success();
    return launches[second].emitOpError("may start before launch ")
           << first << " on stream " << clocks.streamOf(first) << " is done, and both touch bytes of buffer '"
           << buffer.getName() << "': nothing orders them";
  }

  /// A read comes behind the write before it, a write behind all that touches the buffer before it.
  LogicalResult checkWithin(exec::BufferOp buffer, ArrayRef<Touch> list) {
    std::vector<int64_t> sinceWrite; // the last write, then reads
    for (const Touch &touch : list) {
      ArrayRef<int64_t> before = sinceWrite;
      for (int64_t earlier : touch.writes ? before : before.take_front(hasWrite ? 1 : 0))
        if (failed(expectOrder(earlier, touch.launch, buffer)))
          return failure();
      if (touch.writes)
        sinceWrite.clear();
      hasWrite |= touch.writes;
      sinceWrite.push_back(touch.launch);
    }
    hasWrite = false;
    return success();
  }

  /// By stream: the first and last launch that touches a buffer.
  std::map<int64_t, std::pair<int64_t, int64_t>> extremes(exec::BufferOp buffer) {
    std::map<int64_t, std::pair<int64_t, int64_t>> result;
    for (const Touch &touch : touches.lookup(buffer)) {
      auto [entry, isNew] = result.try_emplace(clocks.streamOf(touch.launch), touch.launch, touch.launch);
      entry->second.second = touch.launch;
    }
    return result;
  }

  /// Buffers that share bytes have lifetimes apart: all that touches the earlier one is done when the later
  /// one's begins.
  LogicalResult checkPair(exec::BufferOp earlier, exec::BufferOp later) {
    for (auto [stream, before] : extremes(earlier))
      for (auto [other, after] : extremes(later))
        if (failed(expectOrder(before.second, after.first, later)))
          return failure();
    return success();
  }

  /// Each with those that had its bytes last: they come after those before them.
  LogicalResult checkShared(bool onHost) {
    SmallVector<exec::BufferOp> sorted;
    for (auto &[buffer, list] : touches)
      if (buffer.getSize() > 0 && buffer.getHost() == onHost)
        sorted.push_back(buffer);
    llvm::stable_sort(sorted, [](exec::BufferOp a, exec::BufferOp b) {
      return static_cast<int64_t>(a.getFirst()) < static_cast<int64_t>(b.getFirst());
    });
    ByteOwners owners;
    for (auto [at, buffer] : llvm::enumerate(sorted)) {
      const int64_t begin = buffer.getOffset(), size = buffer.getSize();
      for (size_t before : owners.take(begin, begin + size, at))
        if (failed(checkPair(sorted[before], buffer)))
          return failure();
    }
    return success();
  }

  SmallVector<exec::LaunchInterface> launches;
  llvm::MapVector<exec::BufferOp, SmallVector<Touch>> touches;
  StreamClocks clocks;
  bool hasWrite = false;
};

} // namespace

LogicalResult checkOrder(exec::FunctionOp function) { return OrderChecker(function).run(); }

} // namespace kedge::memory
