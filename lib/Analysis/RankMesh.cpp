#include "lib/Analysis/RankMesh.h"

namespace kedge::analysis {

rt::Mesh rankMesh(dist::MeshAttr mesh) {
  std::vector<rt::MeshAxis> axes;
  if (mesh)
    for (auto [name, size] : llvm::zip_equal(mesh.getAxes(), mesh.getSizes()))
      axes.push_back({name.str(), size});
  return rt::Mesh::of(axes);
}

} // namespace kedge::analysis
