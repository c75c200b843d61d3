#include "kedge/Dialect/Dist/DistDialect.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "passes/Mesh/Layout.h"
#include "passes/Mesh/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace kedge::mesh {
#define GEN_PASS_DEF_SHOWSHARDINGRULES
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;

/// Numbers of ranks that sizes of small examples are multiples of.
constexpr int64_t kRanks[] = {2, 3, 5, 7};

/// The rules on each of these numbers: a dimension has the name of its loop if one of them can cut it.
class RuleText {
public:
  explicit RuleText(Operation *op) : op(op) {
    for (int64_t ranks : kRanks) {
      const ShardingRule own = ruleOf(op, ranks);
      for (auto [i, loop] : llvm::enumerate(own.loops)) {
        loops.resize(std::max<size_t>(loops.size(), i + 1));
        if (loop.isDivisible(ranks) && loop.units > 1) {
          loops[i] = loop;
          isCut[static_cast<int>(i)] = true;
        }
      }
      note(own, ranks);
    }
  }

  void print(raw_ostream &stream) const {
    stream << op->getName() << ':';
    if (isCut.empty()) {
      stream << " whole\n";
      return;
    }
    printTensors(stream, op->getOperands(), operands);
    stream << " ->";
    printTensors(stream, op->getResults(), results);
    printKind(stream, "sums", [](const ShardingLoop &loop) { return loop.reduced; });
    printKind(stream, "sections", [](const ShardingLoop &loop) { return !loop.sections.empty(); });
    stream << '\n';
  }

private:
  Operation *op;
  std::vector<ShardingLoop> loops;
  std::map<int, bool> isCut;
  std::vector<SmallVector<int>> operands, results;

  /// Dimensions along loops that some number of ranks can cut.
  void note(const ShardingRule &own, int64_t ranks) {
    const auto merge = [&](std::vector<SmallVector<int>> &known, ArrayRef<SmallVector<int>> found) {
      known.resize(std::max(known.size(), found.size()));
      for (auto [all, dims] : llvm::zip(known, found)) {
        all.resize(dims.size(), ShardingRule::kWhole);
        for (auto [dim, loop] : llvm::zip(all, dims))
          if (loop != ShardingRule::kWhole && own.loops[loop].isDivisible(ranks) && own.loops[loop].units > 1)
            dim = loop;
      }
    };
    merge(operands, own.operands);
    merge(results, own.results);
  }

  static char nameOf(int loop) { return static_cast<char>('a' + loop % 26); }

  void printTensors(raw_ostream &stream, ValueRange values, ArrayRef<SmallVector<int>> tensors) const {
    for (auto [i, value] : llvm::enumerate(values)) {
      stream << " (";
      const int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
      for (int64_t dim = 0; dim < rank; ++dim) {
        const int loop = i < tensors.size() && dim < static_cast<int64_t>(tensors[i].size())
                             ? tensors[i][dim]
                             : ShardingRule::kWhole;
        stream << (dim ? " " : "");
        if (loop == ShardingRule::kWhole)
          stream << '.';
        else
          stream << nameOf(loop);
      }
      stream << ')';
    }
  }

  void printKind(raw_ostream &stream, StringRef word,
                 llvm::function_ref<bool(const ShardingLoop &)> isOf) const {
    bool any = false;
    for (auto [loop, is] : isCut)
      if (is && isOf(loops[loop])) {
        stream << (any ? " " : ", ") << (any ? "" : word) << (any ? "" : " ") << nameOf(loop);
        any = true;
      }
  }
};

bool hasTensors(Operation &op) {
  return op.getNumOperands() > 0 && op.getNumResults() > 0 &&
         llvm::all_of(op.getOperandTypes(), llvm::IsaPred<RankedTensorType>) &&
         llvm::all_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

struct ShowShardingRules : impl::ShowShardingRulesBase<ShowShardingRules> {
  using Base::Base;

  void run() override {
    int64_t shown = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op : function.getOps())
        if (hasTensors(op)) {
          RuleText(&op).print(llvm::errs());
          ++shown;
        }
    addStatistic("ops shown", shown);
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace kedge::mesh
