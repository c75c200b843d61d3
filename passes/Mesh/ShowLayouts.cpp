#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "mlir/IR/AsmState.h"
#include "passes/Mesh/Layout.h"
#include "passes/Mesh/Passes.h"

namespace kedge::mesh {
#define GEN_PASS_DEF_SHOWLAYOUTS
#include "passes/Mesh/Passes.h.inc"

namespace {
using namespace mlir;

/// Whether kedge-localize has given values the types of blocks.
bool isLocalized(ModuleOp module) {
  return llvm::any_of(module.getOps<train::StateOp>(), [](train::StateOp state) {
    return state.getSharding() && !state.getSharding()->getCuts().empty();
  });
}

/// The values of one function: how each is spread over the ranks.
class LayoutText {
public:
  LayoutText(func::FuncOp function, bool isLocal, raw_ostream &out)
      : function(function), isLocal(isLocal), out(out),
        names(function, OpPrintingFlags().elideLargeElementsAttrs().skipRegions()) {}

  void print() {
    out << "// @" << function.getName() << "\n";
    for (BlockArgument argument : function.getArguments())
      printArgument(argument);
    for (Operation &op : function.getBody().front())
      if (!op.hasTrait<OpTrait::IsTerminator>())
        printOp(&op);
  }

  int64_t shown = 0, cut = 0;

private:
  void printArgument(BlockArgument argument) {
    beginLine(argument);
    FlatSymbolRefAttr symbol = train::stateOfArgument(function, argument.getArgNumber());
    auto state = symbol
                     ? SymbolTable::lookupNearestSymbolFrom<train::StateOp>(function->getParentOp(), symbol)
                     : train::StateOp();
    if (auto cutAttr = state ? state->getAttrOfType<dist::CutAttr>(dist::cutName) : dist::CutAttr())
      printCut(cutAttr);
    else if (state && state.getSharding())
      printPart(*state.getSharding());
    else
      out << "whole";
    out << (symbol ? (", state @" + symbol.getValue()).str() : "") << "\n";
  }

  void printOp(Operation *op) {
    const dist::RankGroup group = tensorGroup(function);
    const Layout ofSum = scatterOf(op);
    const ShardingRule rule = op->hasAttr(dist::cutName) ? ruleOf(op, group.ranks) : ShardingRule();
    const CutLoop loop = cutLoopOf(op, rule);
    for (OpResult result : op->getResults()) {
      beginLine(result);
      const Layout layout = layoutOfResult(op, rule, loop, result.getResultNumber(), group.ranks);
      if (layout.isCut()) {
        printCut(attributeOf(layout, group));
      } else if (ofSum.isCut()) {
        printCut(attributeOf(ofSum, group));
        out << ", of a sum over the ranks";
      } else if (isLocal) {
        out << "of each rank";
      } else {
        out << (loop.isCut() && rule.loops[static_cast<size_t>(loop.loop)].reduced
                    ? "whole, a sum over the ranks"
                    : "whole");
      }
      out << "\n";
    }
    op->print(out, names);
    out << "\n";
  }

  void beginLine(Value value) {
    out << "//   ";
    value.printAsOperand(out, names);
    out << "  " << value.getType() << "  ";
    shown += 1;
  }

  void printCut(dist::CutAttr of) {
    cut += 1;
    out << "dim " << of.getDim() << " cut over " << of.getAxis() << " = " << of.getRanks();
    if (!of.getSections().empty())
      llvm::interleave(of.getSections(), out << " in sections of ", [&](int64_t size) { out << size; }, ", ");
  }

  void printPart(dist::ShardingAttr of) {
    out << "a rank's part of ";
    llvm::interleave(of.getShape(), out, [&](int64_t size) { out << size; }, "x");
    for (dist::CutAttr one : of.getCuts()) {
      out << ", ";
      printCut(one);
    }
    cut += of.getCuts().empty();
    if (of.isFlat())
      out << ", flat parts over " << of.getAxis() << " = " << of.getRanks();
  }

  func::FuncOp function;
  bool isLocal; ///< types are those of a rank
  raw_ostream &out;
  AsmState names;
};

struct ShowLayouts : impl::ShowLayoutsBase<ShowLayouts> {
  using Base::Base;

  void run() override {
    int64_t shown = 0, cut = 0;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      LayoutText text(function, isLocalized(getOperation()), llvm::errs());
      text.print();
      shown += text.shown;
      cut += text.cut;
    }
    addStatistic("values shown", shown);
    addStatistic("values cut", cut);
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace kedge::mesh
