#include "lib/Dialect/Dist/DistAttrs.h"
#include "lib/Dialect/Exec/ExecOps.h"
#include "lib/Dialect/Sched/SchedOps.h"
#include "lib/Support/Statistics.h"
#include "passes/Partition/Passes.h"

namespace kedge::partition {
#define GEN_PASS_DEF_CHECKCOLLECTIVES
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

/// What all ranks have to issue alike.
struct Collective {
  Operation *op;
  StringRef kernel;
  DictionaryAttr attrs;
  SmallVector<Type> types; ///< operands, then results

  bool agreesWith(const Collective &other) const {
    return kernel == other.kernel && attrs == other.attrs && types == other.types;
  }
};

std::optional<Collective> collectiveOf(Operation &op) {
  if (auto library = dyn_cast<sched::LibraryOp>(op); library && library.getCollective()) {
    Collective found{&op, library.getKernel(), library.getAttrs(), {}};
    llvm::append_range(found.types, op.getOperandTypes());
    llvm::append_range(found.types, op.getResultTypes());
    return found;
  }
  auto launch = dyn_cast<exec::LaunchOp>(op);
  if (!launch || !launch.getCollective())
    return std::nullopt;
  Collective found{&op, launch.getKernel(), launch.getAttrs().value_or(DictionaryAttr()), {}};
  for (ArrayAttr types : {launch.getReadTypes(), launch.getWriteTypes()})
    for (Attribute type : types)
      found.types.push_back(cast<TypeAttr>(type).getValue());
  return found;
}

using Schedules = llvm::MapVector<StringAttr, std::vector<Collective>>; ///< collectives in order, by function

struct CheckCollectives : impl::CheckCollectivesBase<CheckCollectives> {
  void runOnOperation() override {
    SmallVector<ModuleOp> ranks(getOperation().getOps<ModuleOp>());
    if (llvm::none_of(ranks, [](ModuleOp rank) { return rank->hasAttr(dist::meshName); })) {
      if (failed(checkMesh(getOperation(), schedulesOf(getOperation()))))
        signalPassFailure();
      return;
    }
    Schedules first = schedulesOf(ranks.front());
    for (ModuleOp rank : ranks)
      if (Schedules own = schedulesOf(rank);
          failed(checkMesh(rank, own)) || (rank != ranks.front() && failed(compare(first, own, ranks.front(), rank))))
        return signalPassFailure();
  }

  static Schedules schedulesOf(ModuleOp module) {
    Schedules schedules;
    auto add = [&](StringAttr name, Region &body) {
      std::vector<Collective> &list = schedules[name];
      for (Operation &op : body.front())
        if (auto collective = collectiveOf(op))
          list.push_back(std::move(*collective));
    };
    for (auto function : module.getOps<exec::FunctionOp>())
      add(function.getSymNameAttr(), function.getBody());
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        add(function.getSymNameAttr(), function.getBody());
    return schedules;
  }

  /// All ranks of the mesh take part.
  static LogicalResult checkMesh(ModuleOp module, const Schedules &schedules) {
    int64_t ranks = dist::dataRanks(module);
    for (const auto &[name, list] : schedules)
      for (const Collective &collective : list) {
        addStatistic("kedge-check-collectives", "collectives", 1);
        auto own = collective.attrs ? collective.attrs.getAs<IntegerAttr>("ranks") : IntegerAttr();
        if (!own || own.getInt() != ranks)
          return collective.op->emitOpError() << "(" << collective.kernel << ") is over "
                                              << (own ? own.getInt() : 0) << " ranks, the module's mesh has " << ranks;
      }
    return success();
  }

  static LogicalResult compare(const Schedules &first, const Schedules &other, ModuleOp firstRank, ModuleOp rank) {
    for (const auto &[name, list] : first) {
      auto found = other.find(name);
      ArrayRef<Collective> theirs = found == other.end() ? ArrayRef<Collective>() : ArrayRef(found->second);
      for (size_t at = 0; at < std::max(list.size(), theirs.size()); ++at)
        if (at >= theirs.size() || at >= list.size() || !list[at].agreesWith(theirs[at]))
          return differ(name, at, list, theirs, firstRank, rank);
    }
    return success();
  }

  static LogicalResult differ(StringAttr function, size_t at, ArrayRef<Collective> list, ArrayRef<Collective> theirs,
                              ModuleOp firstRank, ModuleOp rank) {
    Operation *here = at < list.size() ? list[at].op : firstRank.getOperation();
    InFlightDiagnostic error = here->emitOpError() << "collective " << at << " of @" << function.getValue() << " on "
                                                   << nameOf(firstRank) << " is " << text(list, at) << ", on "
                                                   << nameOf(rank) << " it is " << text(theirs, at)
                                                   << ": the ranks would wait for each other";
    if (at < theirs.size())
      error.attachNote(theirs[at].op->getLoc()) << "the other one is here";
    return error;
  }

  static std::string nameOf(ModuleOp rank) { return rank.getSymName() ? "@" + rank.getSymName()->str() : "a rank"; }

  static std::string text(ArrayRef<Collective> list, size_t at) {
    if (at >= list.size())
      return "none";
    std::string result = list[at].kernel.str();
    llvm::raw_string_ostream stream(result);
    stream << " " << list[at].attrs << " (";
    llvm::interleaveComma(list[at].types, stream);
    stream << ")";
    return result;
  }
};
} // namespace
} // namespace kedge::partition
