#include "kedge/Dialect/Dist/CollectiveCall.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/ContextAxis.h"
#include "kedge/Dialect/Dist/Cut.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/InPlace.h"
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

  void run() override {
    if (getOperation().isExternal())
      return;
    position.clear();
    Block &block = getOperation().getBody().front();
    SmallVector<sched::LibraryOp> gathers;
    for (Operation &op : block) {
      position[&op] = static_cast<int64_t>(position.size());
      auto library = dyn_cast<sched::LibraryOp>(op);
      if (library && library.calls<dist::AllGatherOp>() &&
          (isOfActivations(library) ||
           llvm::all_of(library.getInputs(), [](Value part) { return isa<BlockArgument>(part); })))
        gathers.push_back(library);
    }
    for (sched::LibraryOp gather : gathers)
      divide(gather);
    addStatistic("gathers", clones);
  }

  /// Blocks of activations: they are a fraction of the whole, and may wait for the backward part in its
  /// place.
  static bool isOfActivations(sched::LibraryOp gather) {
    const StringRef axis = dist::collectiveCallOf(gather.getAttrs()).axis;
    return axis == dist::tensorAxis || axis == dist::contextAxis;
  }

  static void readersOf(Value value, SmallVectorImpl<Reader> &readers) {
    for (Operation *user : value.getUsers()) {
      if (auto view = dyn_cast<sched::ViewOp>(user))
        readersOf(view.getResult(), readers);
      else if (sched::isLaunch(*user))
        readers.push_back({user, value});
    }
  }

  /// The readers of a gathered tensor after the widest gap between its readers. The tensor is gathered again
  /// for them, so that a step gathers nothing more than twice.
  SmallVector<Reader> lateReaders(Value whole) {
    SmallVector<Reader> readers;
    readersOf(whole, readers);
    llvm::stable_sort(readers,
                      [&](const Reader &a, const Reader &b) { return placeOfReader(a) < placeOfReader(b); });
    size_t split = 0;
    int64_t widest = reach;
    for (size_t at = 1; at < readers.size(); ++at)
      if (int64_t gap = placeOfReader(readers[at]) - placeOfReader(readers[at - 1]); gap > widest) {
        widest = gap;
        split = at;
      }
    return split == 0 ? SmallVector<Reader>() : SmallVector<Reader>(llvm::drop_begin(readers, split));
  }

  int64_t placeOfReader(const Reader &reader) const { return position.lookup(reader.launch); }

  /// Tensors whose late readers are near each other are gathered again in one collective.
  void divide(sched::LibraryOp gather) {
    SmallVector<SmallVector<Reader>> late;
    for (Value whole : gather.getOutputs())
      if (SmallVector<Reader> readers = lateReaders(whole); !readers.empty())
        late.push_back(std::move(readers));
    llvm::stable_sort(late, [&](const auto &a, const auto &b) {
      return placeOfReader(a.front()) < placeOfReader(b.front());
    });
    SmallVector<Reader> together;
    int64_t last = 0;
    for (const SmallVector<Reader> &readers : late) {
      if (!together.empty() && placeOfReader(readers.front()) - last > reach) {
        gatherFor(gather, together);
        together.clear();
      }
      last = together.empty() ? placeOfReader(readers.back()) : std::max(last, placeOfReader(readers.back()));
      together.append(readers);
    }
    if (!together.empty())
      gatherFor(gather, together);
  }

  void gatherFor(sched::LibraryOp gather, ArrayRef<Reader> readers) {
    PlacedBuilder builder(readers.front().launch, placeOf(gather));
    SmallVector<unsigned> needed;
    for (const Reader &reader : readers)
      if (unsigned index = cast<OpResult>(sched::rootOf(reader.value)).getResultNumber();
          !llvm::is_contained(needed, index))
        needed.push_back(index);
    llvm::sort(needed);
    SmallVector<Value> parts;
    SmallVector<Type> wholes;
    for (unsigned index : needed) {
      parts.push_back(gather.getInputs()[index]);
      wholes.push_back(gather.getOutputs()[index].getType());
    }
    auto again = sched::LibraryOp::create(builder, gather.getLoc(), wholes, gather.getKernel(), parts,
                                          gather.getAttrs(), builder.getI64IntegerAttr(++clones),
                                          gather.getCollective(), StringAttr());
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
