#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "kedge/Dialect/Exec/Lifetimes.h"
#include "kedge/abi/Streams.h"
#include "passes/Memory/Passes.h"
#include "passes/Memory/StreamClocks.h"
#include <array>
#include <map>

namespace kedge::memory {
#define GEN_PASS_DEF_PLACECOPIES
#include "passes/Memory/Passes.h.inc"

namespace {
using namespace mlir;

using abi::Stream, abi::kStreams;
using exec::ArenaRange;

/// Between two stages of a pipeline.
bool isTransfer(exec::LaunchOp launch) {
  return launch.calls<dist::SendOp>() || launch.calls<dist::ReceiveOp>();
}

/// A launch and the bytes that it touches.
struct Launch {
  exec::LaunchInterface op;
  exec::LaunchBytes bytes;
  Stream stream = abi::kComputeStream;
  /// Whether the launch may run early: it copies from host memory, or gathers states from ranks.
  bool fetches = false;

  explicit Launch(exec::LaunchInterface op) : op(op), bytes(op) {
    if (isa<exec::CopyOp>(*op)) {
      fetches = exec::bufferOf(op.getReads().front()).getHost();
      stream = fetches ? abi::kToDeviceStream : abi::kToHostStream;
    } else if (auto launch = cast<exec::LaunchOp>(*op); launch.getCollective()) {
      stream = memory::isTransfer(launch) ? abi::kTransferStream : abi::kRankStream;
      fetches = allPersistent(op.getReads()) && !llvm::any_of(op.getWrites(), isPersistent);
    } else if (launch.getStream() == abi::kSideStream) {
      stream = abi::kSideStream;
    }
  }

  /// Or a kernel beside the others.
  bool isTransfer() const { return stream != abi::kComputeStream; }
  /// What keeps its order in the list. All of a rank's communication does: of that order it is proven that no
  /// ranks wait for each other.
  Stream lane() const { return stream == abi::kTransferStream ? abi::kRankStream : stream; }

  /// What it works on; first what it only reads.
  SmallVector<exec::BufferOp> sources() { return buffersOf(op.getReads()); }
  SmallVector<exec::BufferOp> destinations() {
    SmallVector<exec::BufferOp> made = buffersOf(op.getWrites());
    if (Value scratch = op.getScratch())
      made.push_back(exec::bufferOf(scratch));
    return made;
  }

private:
  static bool isPersistent(Value value) { return exec::bufferOf(value).isPersistent(); }
  static bool allPersistent(ValueRange values) { return llvm::all_of(values, isPersistent); }
  static SmallVector<exec::BufferOp> buffersOf(ValueRange values) {
    SmallVector<exec::BufferOp> buffers;
    for (Value value : values)
      buffers.push_back(exec::bufferOf(value));
    return buffers;
  }
};

/// The launches of one function, in an order that may change.
class CopyPlacer {
public:
  explicit CopyPlacer(exec::FunctionOp function) : lifetimes(function) {
    for (auto launch : function.getBody().getOps<exec::LaunchInterface>())
      order.emplace_back(launch);
  }

  bool hasTransfers() const {
    return llvm::any_of(order, [](const Launch &launch) { return launch.isTransfer(); });
  }

  void startFetchesEarly() {
    std::array<int64_t, kStreams> earliest{}; // what is needed earlier keeps its turn
    for (int64_t at = 0; at < size(); ++at) {
      if (!order[at].isTransfer())
        continue;
      const Stream lane = order[at].lane();
      int64_t start = at;
      if (order[at].fetches)
        start = std::min(at, std::max(earliest[lane], earliestStart(at)));
      if (start < at) {
        move(at, start);
        ++startedEarlier;
        passed += at - start;
        for (int64_t &place : earliest)
          place += place > start;
      }
      earliest[lane] = start + 1;
    }
  }

  void assignStreams() {
    unused.fill(true);
    for (Launch &launch : order) {
      launch.op.setStream(launch.stream);
      unused[launch.stream] = false;
    }
  }

  void placeWaits() {
    StreamClocks clocks;
    std::vector<SmallVector<int64_t>> waited(order.size());
    for (int64_t at = 0; at < size(); ++at) {
      clocks.add(streamOf(at), {});
      for (int64_t earlier : latestConflicts(at, clocks))
        if (!clocks.precedes(earlier, at)) {
          clocks.wait(earlier);
          waited[at].push_back(earlier);
        }
    }
    numberEvents(waited);
  }

  /// What a copy touches stays until the first launch that takes those bytes, which waits for it. Kernels
  /// beside others change no lifetime: plans with kernels and without are the same.
  void holdBytesUntilTheWait() {
    for (int64_t at = 0; at < size(); ++at)
      if (order[at].isTransfer() && order[at].stream != abi::kSideStream)
        for (exec::BufferOp buffer :
             llvm::concat<exec::BufferOp>(order[at].sources(), order[at].destinations()))
          if (static_cast<int64_t>(buffer.getLast()) == at)
            buffer.setLast(nextTouch(buffer, at) - 1);
  }

  int64_t startedEarlier = 0, passed = 0, waits = 0;

private:
  int64_t size() const { return static_cast<int64_t>(order.size()); }
  int64_t streamOf(int64_t at) { return static_cast<int64_t>(order[at].op.getStream()); }

  /// The first place in the list where the fetch at `at` may stand.
  int64_t earliestStart(int64_t at) {
    SmallVector<exec::BufferOp> made = order[at].destinations();
    int64_t start = 0;
    for (exec::BufferOp buffer : lifetimes.buffers())
      if (!llvm::is_contained(made, buffer) && static_cast<int64_t>(buffer.getFirst()) < at &&
          meetsAny(buffer, made))
        start = std::max(start, static_cast<int64_t>(buffer.getLast()) + 1);
    for (int64_t before = at; before-- > start;)
      if (mustPrecede(order[before], order[at]))
        return before + 1;
    return std::min(start, at);
  }

  static bool meetsAny(exec::BufferOp buffer, ArrayRef<exec::BufferOp> others) {
    return llvm::any_of(others,
                        [&](exec::BufferOp other) { return ArenaRange(buffer).overlaps(ArenaRange(other)); });
  }

  static bool mustPrecede(Launch &earlier, Launch &fetch) {
    return llvm::any_of(fetch.destinations(),
                        [&](exec::BufferOp to) { return earlier.bytes.touches(ArenaRange(to)); }) ||
           llvm::any_of(fetch.sources(),
                        [&](exec::BufferOp from) { return earlier.bytes.writes(ArenaRange(from)); });
  }

  /// Takes the launch at `from` to `to`, which is earlier; indices follow.
  void move(int64_t from, int64_t to) {
    order[from].op->moveBefore(order[to].op);
    std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
    SmallVector<exec::BufferOp> begin, unread, end;
    for (exec::BufferOp buffer : order[to].destinations()) {
      if (static_cast<int64_t>(buffer.getFirst()) == from)
        begin.push_back(buffer);
      if (static_cast<int64_t>(buffer.getLast()) == from)
        unread.push_back(buffer);
    }
    for (exec::BufferOp buffer : order[to].sources())
      if (static_cast<int64_t>(buffer.getLast()) == from)
        end.push_back(buffer);
    SmallVector<exec::GradientOp> whole; // gradients that a collective completes
    for (auto gradient : order[to].op->getBlock()->getOps<exec::GradientOp>())
      if (static_cast<int64_t>(gradient.getAfter()) == from)
        whole.push_back(gradient);
    auto shifted = [&](int64_t index) { return index >= to && index < from ? index + 1 : index; };
    lifetimes.renumber(shifted);
    for (exec::BufferOp buffer : begin)
      buffer.setFirst(to);
    for (exec::BufferOp buffer : unread)
      buffer.setLast(to);
    for (exec::GradientOp gradient : whole)
      gradient.setAfter(to);
    for (exec::BufferOp buffer : end)
      buffer.setLast(lastTouch(buffer, from));
  }

  /// The last launch up to `end` that touches the bytes of `buffer`; behind its life they are another's.
  int64_t lastTouch(exec::BufferOp buffer, int64_t end) {
    int64_t at = end;
    while (at >= 0 && !order[at].bytes.touches(ArenaRange(buffer)))
      --at;
    return at;
  }

  /// The first launch behind `after` that touches the bytes of `buffer`; the number of launches when there is
  /// none.
  int64_t nextTouch(exec::BufferOp buffer, int64_t after) {
    int64_t at = after + 1;
    while (at < size() && !order[at].bytes.touches(ArenaRange(buffer)))
      ++at;
    return at;
  }

  /// Two streams of ranks run one at a time: kernels of two groups of ranks may be in each other's way on a
  /// GPU, and then only the list's order is known to have no circle.
  static bool mustFollow(Launch &earlier, Launch &later) {
    return (earlier.lane() == abi::kRankStream && later.lane() == abi::kRankStream) ||
           earlier.bytes.conflictsWith(later.bytes);
  }

  /// For every other stream, the last launch before `at` that must be done before it starts, unless it is
  /// known to be done; latest first.
  SmallVector<int64_t> latestConflicts(int64_t at, const StreamClocks &clocks) {
    SmallVector<int64_t> found;
    std::array<bool, kStreams> settled = unused;
    settled[streamOf(at)] = true;
    for (int64_t before = at; before-- > 0 && !llvm::all_of(settled, [](bool is) { return is; });) {
      bool &isSettled = settled[streamOf(before)];
      if (isSettled || !(isSettled = clocks.precedes(before, at) || mustFollow(order[before], order[at])))
        continue;
      if (!clocks.precedes(before, at))
        found.push_back(before);
    }
    return found;
  }

  /// One event per launch that others wait for, in order.
  void numberEvents(ArrayRef<SmallVector<int64_t>> waited) {
    Builder builder(order.front().op->getContext());
    std::map<int64_t, int64_t> events;
    for (const auto &list : waited)
      for (int64_t launch : list)
        events[launch] = 0;
    for (int64_t next = 0; auto &[launch, event] : events) {
      event = next++;
      order[launch].op.setRecords(event);
    }
    for (auto [at, list] : llvm::enumerate(waited)) {
      SmallVector<int64_t> ids;
      for (int64_t launch : list)
        ids.push_back(events[launch]);
      llvm::sort(ids);
      if (!ids.empty())
        order[at].op.setWaitsAttr(builder.getDenseI64ArrayAttr(ids));
      waits += static_cast<int64_t>(ids.size());
    }
  }

  std::vector<Launch> order;
  std::array<bool, kStreams> unused{}; ///< by stream, once they are assigned
  exec::Lifetimes lifetimes;
};

struct PlaceCopies : impl::PlaceCopiesBase<PlaceCopies> {
  void run() override {
    for (auto function : getOperation().getOps<exec::FunctionOp>()) {
      CopyPlacer placer(function);
      if (!placer.hasTransfers())
        continue;
      placer.startFetchesEarly();
      placer.assignStreams();
      placer.placeWaits();
      placer.holdBytesUntilTheWait();
      addStatistic("copies started earlier", placer.startedEarlier);
      addStatistic("launches that they passed", placer.passed);
      addStatistic("waits", placer.waits);
    }
  }
};
} // namespace
} // namespace kedge::memory
