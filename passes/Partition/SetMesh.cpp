#include "lib/Dialect/Dist/DistAttrs.h"
#include "passes/Partition/Passes.h"
#include "runtime/io/Error.h"
#include "runtime/program/Mesh.h"

namespace kedge::partition {
#define GEN_PASS_DEF_SETMESH
#include "passes/Partition/Passes.h.inc"

namespace {
using namespace mlir;

struct SetMesh : impl::SetMeshBase<SetMesh> {
  using Base::Base;

  void run() override {
    const auto report = [&](const char *text) {
      getOperation().emitError() << "mesh " << mesh.getValue() << ": " << text;
    };
    if (failed(reportingFailures([&] { set(rt::Mesh::parse(mesh)); }, report)))
      signalPassFailure();
  }

  void setParts(int64_t ranks) {
    if (parts < 0 || !llvm::isPowerOf2_64(static_cast<uint64_t>(parts)) || parts % ranks != 0)
      throw rt::RuntimeError("sums over " + std::to_string(parts) + " parts: expected a power of two that " +
                             std::to_string(ranks) + " ranks with rows of their own divide");
    getOperation()->setAttr(dist::partsName, Builder(&getContext()).getI64IntegerAttr(parts));
  }

  void set(const rt::Mesh &ranks) {
    if (parts != 0)
      setParts(ranks.sizeOf("replica,data"));
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
