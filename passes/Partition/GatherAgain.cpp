#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Support/Statistics.h"
#include "passes/Partition/Passes.h"

namespace kedge::partition {
#define GEN_PASS_DEF_GATHERAGAIN
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

/// What was gathered stays for readers at most this many launches apart.
constexpr int64_t reach = 4;

/// A launch that reads something gathered, and the value of it that it reads, maybe a view.
struct Reader {
  Operation *launch;
  Value value;
};

struct GatherAgain : impl::GatherAgainBase<GatherAgain> {
  DenseMap<Operation *, int64_t> position;
  int64_t clones = 0;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    position.clear();
    Block &block = getOperation().getBody().front();
    SmallVector<sched::LibraryOp> gathers;
    for (Operation &op : block) {
      position[&op] = static_cast<int64_t>(position.size());
      auto library = dyn_cast<sched::LibraryOp>(op);
      auto isArgument = [](Value input) { return isa<BlockArgument>(input); };
      if (library && library.getKernel() == "dist.all_gather" && llvm::all_of(library.getInputs(), isArgument))
        gathers.push_back(library);
    }
    for (sched::LibraryOp gather : gathers)
      divide(gather);
    addStatistic("kedge-gather-again", "gathers", clones);
  }

  static void readersOf(Value value, SmallVectorImpl<Reader> &readers) {
    for (Operation *user : value.getUsers()) {
      if (auto view = dyn_cast<sched::ViewOp>(user))
        readersOf(view.getResult(), readers);
      else if (sched::isLaunch(*user))
        readers.push_back({user, value});
    }
  }

  /// Readers far behind the ones before them get a gather of their own.
  void divide(sched::LibraryOp gather) {
    SmallVector<Reader> readers;
    for (Value whole : gather.getOutputs())
      readersOf(whole, readers);
    llvm::stable_sort(readers, [&](const Reader &a, const Reader &b) {
      return position.lookup(a.launch) < position.lookup(b.launch);
    });
    for (size_t begin = 0, at = 0; at < readers.size(); ++at) {
      bool isLast = at + 1 == readers.size();
      if (!isLast && position.lookup(readers[at + 1].launch) - position.lookup(readers[at].launch) <= reach)
        continue;
      if (begin > 0)
        gatherFor(gather, ArrayRef(readers).slice(begin, at + 1 - begin));
      begin = at + 1;
    }
  }

  void gatherFor(sched::LibraryOp gather, ArrayRef<Reader> readers) {
    PlacedBuilder builder(readers.front().launch, placeOf(gather));
    SmallVector<unsigned> needed;
    for (const Reader &reader : readers)
      if (unsigned index = cast<OpResult>(sched::rootOf(reader.value)).getResultNumber(); !llvm::is_contained(needed, index))
        needed.push_back(index);
    llvm::sort(needed);
    SmallVector<Value> parts;
    SmallVector<Type> wholes;
    for (unsigned index : needed) {
      parts.push_back(gather.getInputs()[index]);
      wholes.push_back(gather.getOutputs()[index].getType());
    }
    auto again = sched::LibraryOp::create(builder, gather.getLoc(), wholes, gather.getKernel(), parts, gather.getAttrs(),
                                          builder.getI64IntegerAttr(++clones), gather.getCollective());
    DenseMap<Value, Value> copies;
    for (auto [index, whole] : llvm::zip(needed, again.getOutputs()))
      copies[gather.getOutputs()[index]] = whole;
    for (const Reader &reader : readers)
      reader.launch->replaceUsesOfWith(reader.value, copyOf(reader.value, copies, builder));
  }

  /// The value of the new gather that stands for one of the first, under the same views.
  static Value copyOf(Value value, DenseMap<Value, Value> &copies, OpBuilder &builder) {
    if (Value known = copies.lookup(value))
      return known;
    auto view = value.getDefiningOp<sched::ViewOp>();
    Value from = copyOf(view.getInput(), copies, builder);
    return copies[value] = sched::ViewOp::create(builder, view.getLoc(), view.getResult().getType(), from);
  }
};
} // namespace
} // namespace kedge::partition
