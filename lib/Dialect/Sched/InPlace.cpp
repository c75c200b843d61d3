#include "kedge/Dialect/Sched/InPlace.h"
#include "kedge/Dialect/Kedge/Target.h"
#include "kedge/Dialect/Sched/SinglePass.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace kedge::sched {

Value rootOf(Value v) {
  while (auto view = v.getDefiningOp<sched::ViewOp>())
    v = view.getInput();
  return v;
}

bool isLaunch(Operation &op) { return isa<ClusterOp, LibraryOp, OffloadOp, FetchOp>(op); }

static bool isForCuda(Operation *op) { return targetOf(op->getParentOfType<ModuleOp>()) == TargetKind::Cuda; }

/// Whether the call adds its result onto `root`, which it reads nowhere else.
static bool addsInPlace(LibraryOp call, Value root) {
  auto *facts = call.callFacts();
  const int addend =
      facts ? facts->addendInPlace(call.getAttrs(), call.getInputs().getTypes(), isForCuda(call)) : -1;
  if (addend < 0 || call.getInputs()[addend].getType() != call.getResult(0).getType())
    return false;
  for (auto [number, input] : llvm::enumerate(call.getInputs()))
    if ((rootOf(input) == root) != (static_cast<int>(number) == addend))
      return false;
  return true;
}

/// Whether a kernel that reduces has read all of a point's elements when it stores the point, and no other
/// row reads them. CPUs reduce a row before they store its points. GPUs store a point in the first walk that
/// can compute it.
static bool reducesBeforeItStores(ClusterOp cluster, OpResult result, Value root, AffineMap written) {
  return written.isPermutation() && (!isForCuda(cluster) || storesAfterAllReads(cluster, result, root));
}

/// Whether each input that is `root` has the element type and the map of the result.
static bool readsWhereItWrites(ClusterOp cluster, OpResult result, Value root, AffineMapAttr written) {
  auto type = cast<RankedTensorType>(result.getType());
  for (auto [input, map] : llvm::zip(cluster.getInputs(), cluster.getInputMaps())) {
    if (rootOf(input) != root)
      continue;
    auto inputType = cast<RankedTensorType>(input.getType());
    if (map != written || inputType.getShape() != type.getShape() ||
        inputType.getElementTypeBitWidth() != type.getElementTypeBitWidth())
      return false;
  }
  return true;
}

bool mayOverwriteRows(OpResult result, Value root) {
  auto cluster = dyn_cast<ClusterOp>(result.getOwner());
  if (!cluster || bytesOf(result.getType()) != bytesOf(root.getType()))
    return false;
  auto written = cast<AffineMapAttr>(cluster.getOutputMaps()[result.getResultNumber()]);
  const AffineMap map = written.getValue();
  return map.isProjectedPermutation() && !isAlongReductions(cluster, map) &&
         map.getNumResults() + cluster.getReduced().size() == cluster.getDomain().size() &&
         readsWhereItWrites(cluster, result, root, written);
}

bool mayOverwrite(OpResult result, Value root) {
  Operation *op = result.getOwner();
  bool reads = llvm::any_of(op->getOperands(), [&](Value v) { return rootOf(v) == root; });
  if (!reads)
    return true;
  if (auto library = dyn_cast<LibraryOp>(op))
    return addsInPlace(library, root);
  auto cluster = dyn_cast<ClusterOp>(op);
  if (!cluster || bytesOf(result.getType()) != bytesOf(root.getType()))
    return false;
  auto written = cast<AffineMapAttr>(cluster.getOutputMaps()[result.getResultNumber()]);
  if (!cluster.getReduced().empty() && !reducesBeforeItStores(cluster, result, root, written.getValue()))
    return false;
  return readsWhereItWrites(cluster, result, root, written);
}

} // namespace kedge::sched
