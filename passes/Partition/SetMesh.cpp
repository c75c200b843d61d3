#include "kedge/Dialect/Dist/DistAttrs.h"
#include "passes/Partition/Passes.h"

namespace kedge::partition {
#define GEN_PASS_DEF_SETMESH
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

struct SetMesh : impl::SetMeshBase<SetMesh> {
  using Base::Base;

  void run() override {
    if (parts != 0 && failed(setParts(mesh.sizeOf(rt::Mesh::kRows))))
      return signalPassFailure();
    set(mesh);
  }

  LogicalResult setParts(int64_t ranks) {
    if (parts < 0 || !llvm::isPowerOf2_64(static_cast<uint64_t>(parts)) || parts % ranks != 0)
      return getOperation().emitError()
             << "mesh " << mesh.text() << ": sums over " << parts.getValue()
             << " parts: expected a power of two that " << ranks << " ranks with rows of their own divide";
    getOperation()->setAttr(dist::partsName, Builder(&getContext()).getI64IntegerAttr(parts));
    return success();
  }

  void set(const rt::Mesh &ranks) {
    addStatistic("ranks", ranks.size());
    if (ranks.size() == 1)
      return;
    SmallVector<StringAttr> names;
    SmallVector<int64_t> sizes;
    for (const rt::MeshAxis &axis : ranks.axes()) {
      names.push_back(StringAttr::get(&getContext(), axis.name));
      sizes.push_back(axis.size);
    }
    getOperation()->setAttr(dist::meshName, dist::MeshAttr::get(&getContext(), names, sizes));
  }
};
} // namespace
} // namespace kedge::partition
