#include "passes/Partition/RankSchedules.h"
#include "kedge/Dialect/Dist/CollectiveCall.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "lib/Analysis/RankMesh.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace kedge::partition {
namespace {

ScheduledCollective collectiveOf(Operation *op, StringRef kernel, DictionaryAttr attrs) {
  const dist::CollectiveCall call = dist::collectiveCallOf(attrs);
  return {op, kernel, call.axis, call.ranks, attrs, {}, call.peer};
}

/// The two ends differ in who the other one is, and in their tokens.
ScheduledCollective asTransfer(ScheduledCollective found, unsigned operands) {
  if (!found.peer)
    return found;
  const Type value = found.types[found.kernel == dist::SendOp::getOperationName() ? 0 : operands];
  found.types.assign(1, value);
  NamedAttrList common(found.attrs);
  common.erase("peer");
  found.attrs = common.getDictionary(found.op->getContext());
  return found;
}

std::optional<ScheduledCollective> collectiveOf(Operation &op) {
  if (auto library = dyn_cast<sched::LibraryOp>(op); library && library.getCollective()) {
    ScheduledCollective found = collectiveOf(&op, library.getKernel(), library.getAttrs());
    llvm::append_range(found.types, op.getOperandTypes());
    llvm::append_range(found.types, op.getResultTypes());
    return asTransfer(std::move(found), op.getNumOperands());
  }
  auto launch = dyn_cast<exec::LaunchOp>(op);
  if (!launch || !launch.getCollective())
    return std::nullopt;
  ScheduledCollective found =
      collectiveOf(&op, launch.getKernel(), launch.getAttrs().value_or(DictionaryAttr()));
  for (ArrayAttr types : {launch.getReadTypes(), launch.getWriteTypes()})
    for (Attribute type : types)
      found.types.push_back(cast<TypeAttr>(type).getValue());
  return asTransfer(std::move(found), launch.getReadTypes().size());
}

RankSchedules schedulesOf(ModuleOp module) {
  RankSchedules schedules;
  auto add = [&](StringRef name, Region &body) {
    std::vector<ScheduledCollective> &list = schedules[name];
    for (Operation &op : body.front())
      if (auto collective = collectiveOf(op))
        list.push_back(std::move(*collective));
  };
  for (auto function : module.getOps<exec::FunctionOp>())
    add(function.getSymName(), function.getBody());
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      add(function.getSymName(), function.getBody());
  return schedules;
}

std::string nameOf(ModuleOp module, int64_t rank, const rt::Mesh &mesh) {
  if (module.getSymName() && !module->hasAttr(dist::ranksName))
    return "@" + module.getSymName()->str();
  const std::string place = mesh.placeOf(rank);
  return "rank " + std::to_string(rank) + (place.empty() ? "" : " (" + place + ")");
}

} // namespace

rt::Mesh meshOf(Operation *module) {
  return analysis::rankMesh(module->getAttrOfType<dist::MeshAttr>(dist::meshName));
}

FailureOr<std::vector<RankProgram>> rankPrograms(ModuleOp module) {
  SmallVector<ModuleOp> programs;
  for (auto nested : module.getOps<ModuleOp>())
    if (nested->hasAttr(dist::meshName))
      programs.push_back(nested);
  if (programs.empty())
    return std::vector<RankProgram>{{module.getOperation(), "every rank", schedulesOf(module)}};
  const rt::Mesh mesh = meshOf(programs.front());
  std::vector<RankProgram> ranks(static_cast<size_t>(mesh.size()));
  for (auto [at, program] : llvm::enumerate(programs)) {
    if (program->getAttr(dist::meshName) != programs.front()->getAttr(dist::meshName))
      return program.emitOpError() << "is of the mesh " << program->getAttr(dist::meshName)
                                   << ", the first rank's is " << programs.front()->getAttr(dist::meshName)
                                   << ": expected one mesh";
    auto given = program->getAttrOfType<DenseI64ArrayAttr>(dist::ranksName);
    const int64_t own = static_cast<int64_t>(at);
    for (int64_t rank : given ? given.asArrayRef() : ArrayRef<int64_t>(own)) {
      if (rank < 0 || rank >= mesh.size() || ranks[static_cast<size_t>(rank)].module)
        return program.emitOpError() << "is the program of rank " << rank
                                     << ": expected one that has none, of " << mesh.size() << " ranks";
      ranks[static_cast<size_t>(rank)] = {program.getOperation(), nameOf(program, rank, mesh),
                                          schedulesOf(program)};
    }
  }
  for (auto [rank, found] : llvm::enumerate(ranks))
    if (!found.module)
      return module.emitError() << "rank " << rank << " of " << mesh.size()
                                << " has no program: expected one for each rank of the mesh";
  return ranks;
}

} // namespace kedge::partition
