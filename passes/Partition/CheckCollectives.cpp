#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Dist/DistAttrs.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "passes/Partition/Passes.h"
#include "passes/Partition/RankSchedules.h"

namespace kedge::partition {
#define GEN_PASS_DEF_CHECKCOLLECTIVES
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

/// A collective as a rank waits in it.
std::string text(const ScheduledCollective &collective) {
  std::string result = collective.kernel.str();
  llvm::raw_string_ostream stream(result);
  stream << " " << collective.attrs << " (";
  llvm::interleaveComma(collective.types, stream);
  stream << ")";
  return result;
}

std::string textAt(ArrayRef<const ScheduledCollective *> list, size_t at) {
  return at < list.size() ? text(*list[at]) : "none";
}

/// All ranks' collectives in one function.
class Orders {
public:
  Orders(StringRef function, ArrayRef<RankProgram> ranks, const rt::Mesh &mesh)
      : function(function), ranks(ranks), mesh(mesh) {
    for (const RankProgram &rank : ranks) {
      auto found = rank.schedules.find(function);
      lists.push_back(found == rank.schedules.end() ? ArrayRef<ScheduledCollective>()
                                                    : ArrayRef(found->second));
    }
  }

  /// Each group's ranks issue the same collectives in the same order, and no rank waits for one that waits
  /// for it.
  LogicalResult check() {
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      for (const std::vector<int64_t> &members : groupsOf(rank))
        for (int64_t other : members)
          if (static_cast<size_t>(other) > rank && failed(compare(rank, static_cast<size_t>(other), members)))
            return failure();
    return checkEnds();
  }

private:
  /// The groups in which a rank issues collectives.
  std::vector<std::vector<int64_t>> groupsOf(size_t rank) const {
    std::vector<std::vector<int64_t>> groups;
    for (size_t other = 0; other < ranks.size(); ++other) // a group counts for a rank that never joins it
      for (const ScheduledCollective &collective : lists[other])
        if (std::vector<int64_t> members = membersOf(collective, other);
            llvm::is_contained(members, static_cast<int64_t>(rank)) && !llvm::is_contained(groups, members))
          groups.push_back(std::move(members));
    return groups;
  }

  std::vector<int64_t> membersOf(const ScheduledCollective &collective, size_t rank) const {
    const std::vector<int64_t> all = mesh.groupOf(collective.axis.str(), static_cast<int64_t>(rank)).members;
    if (!collective.peer || static_cast<size_t>(*collective.peer) >= all.size())
      return all;
    const int64_t own = static_cast<int64_t>(rank), other = all[static_cast<size_t>(*collective.peer)];
    return {std::min(own, other), std::max(own, other)};
  }

  std::vector<const ScheduledCollective *> within(size_t rank, const std::vector<int64_t> &members) const {
    std::vector<const ScheduledCollective *> list;
    for (const ScheduledCollective &collective : lists[rank])
      if (membersOf(collective, rank) == members)
        list.push_back(&collective);
    return list;
  }

  LogicalResult compare(size_t rank, size_t other, const std::vector<int64_t> &members) const {
    const std::vector<const ScheduledCollective *> own = within(rank, members),
                                                   theirs = within(other, members);
    for (size_t at = 0; at < std::max(own.size(), theirs.size()); ++at)
      if (at >= own.size() || at >= theirs.size() || !own[at]->agreesWith(*theirs[at]))
        return differ(at, own, theirs, rank, other);
    return success();
  }

  LogicalResult differ(size_t at, ArrayRef<const ScheduledCollective *> own,
                       ArrayRef<const ScheduledCollective *> theirs, size_t rank, size_t other) const {
    Operation *here = at < own.size() ? own[at]->op : ranks[rank].module;
    InFlightDiagnostic error =
        here->emitOpError() << "collective " << at << along(at < own.size() ? own[at] : theirs[at]) << " of @"
                            << function << " on " << ranks[rank].name << " is " << textAt(own, at) << ", on "
                            << ranks[other].name << " it is " << textAt(theirs, at) << ": "
                            << (isUnmet(own, theirs, at) ? "a send that nobody receives"
                                                         : "the ranks would wait for each other");
    if (at < theirs.size())
      error.attachNote(theirs[at]->op->getLoc()) << "the other one is here";
    return error;
  }

  static bool isUnmet(ArrayRef<const ScheduledCollective *> own, ArrayRef<const ScheduledCollective *> theirs,
                      size_t at) {
    constexpr StringLiteral transfer = dist::SendRecvOp::getOperationName();
    return at < own.size() && at < theirs.size() && own[at]->kernel == transfer &&
           theirs[at]->kernel == transfer && own[at]->types == theirs[at]->types;
  }

  std::string along(const ScheduledCollective *collective) const {
    return mesh.axes().size() < 2 ? "" : " along " + collective->axis.str();
  }

  /// Runs all ranks: a collective ends when all of its group are in it. What is left when none can go on is a
  /// circle.
  LogicalResult checkEnds() {
    next.assign(ranks.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < ranks.size(); ++rank)
        while (!isDone(rank) && !blockerOf(rank)) {
          for (int64_t member : membersOf(current(rank), rank))
            ++next[static_cast<size_t>(member)];
          moved = true;
        }
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (!isDone(rank))
        return reportCircle(rank);
    return success();
  }

  bool isDone(size_t rank) const { return next[rank] == lists[rank].size(); }
  const ScheduledCollective &current(size_t rank) const { return lists[rank][next[rank]]; }

  /// The first rank of its group that is elsewhere.
  std::optional<size_t> blockerOf(size_t rank) const {
    const std::vector<int64_t> members = membersOf(current(rank), rank);
    for (int64_t member : members)
      if (const auto other = static_cast<size_t>(member);
          isDone(other) || membersOf(current(other), other) != members)
        return other;
    return std::nullopt;
  }

  /// Who waits for whom, from `rank` on, until a rank comes again.
  LogicalResult reportCircle(size_t rank) const {
    std::vector<size_t> path;
    for (; !llvm::is_contained(path, rank); rank = *blockerOf(rank))
      path.push_back(rank);
    path.erase(path.begin(), llvm::find(path, rank));
    InFlightDiagnostic error = current(path.front()).op->emitOpError()
                               << "in @" << function << " the ranks wait for each other for ever: ";
    for (auto [at, waits] : llvm::enumerate(path))
      error << (at == 0 ? "" : ", ") << ranks[waits].name << " in " << current(waits).kernel
            << along(&current(waits)) << " for " << ranks[path[(at + 1) % path.size()]].name;
    for (size_t waits : llvm::drop_begin(path))
      error.attachNote(current(waits).op->getLoc()) << ranks[waits].name << " waits here";
    return error;
  }

  StringRef function;
  ArrayRef<RankProgram> ranks;
  const rt::Mesh &mesh;
  std::vector<ArrayRef<ScheduledCollective>> lists; ///< by rank
  std::vector<size_t> next;                         ///< by rank: the collective that it is in
};

struct CheckCollectives : impl::CheckCollectivesBase<CheckCollectives> {
  void run() override {
    FailureOr<std::vector<RankProgram>> ranks = rankPrograms(getOperation());
    if (failed(ranks) || failed(checkGroups(*ranks)) || failed(checkOrders(*ranks)))
      signalPassFailure();
  }

  /// As many ranks along the axes as the mesh has.
  LogicalResult checkGroups(ArrayRef<RankProgram> ranks) {
    const Operation *last = nullptr;
    for (const RankProgram &rank : ranks) {
      if (rank.module == last)
        continue;
      last = rank.module;
      auto mesh = rank.module->getAttrOfType<dist::MeshAttr>(dist::meshName);
      for (const auto &[name, list] : rank.schedules)
        for (const ScheduledCollective &collective : list) {
          addStatistic("collectives", 1);
          const int64_t has = mesh ? mesh.sizeOf(collective.axis) : 1;
          if (collective.ranks != has)
            return collective.op->emitOpError()
                   << "(" << collective.kernel << ") is over " << collective.ranks << " ranks along '"
                   << collective.axis << "', the module's mesh has " << has;
        }
    }
    return success();
  }

  /// Ranks that all run one program issue the same in every group, at the same place of their lists: none
  /// waits for another.
  static LogicalResult checkOrders(ArrayRef<RankProgram> ranks) {
    if (llvm::all_equal(llvm::map_range(ranks, [](const RankProgram &rank) { return rank.module; })))
      return success();
    const rt::Mesh mesh = meshOf(ranks.front().module);
    SetVector<StringRef> functions;
    for (const RankProgram &rank : ranks)
      for (const auto &[name, list] : rank.schedules)
        functions.insert(name);
    for (StringRef function : functions)
      if (failed(Orders(function, ranks, mesh).check()))
        return failure();
    return success();
  }
};
} // namespace
} // namespace kedge::partition
