#include "passes/Mesh/Layout.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Train/Loss/LossScaleOps.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Mesh/ClusterRule.h"
#include <numeric>

using namespace mlir;

namespace kedge::mesh {

/// Of so many elements.
static ShardBlocks blocksOf(dist::CutAttr cut, ArrayRef<int64_t> sections, int64_t size) {
  ShardBlocks blocks{SmallVector<int64_t>(sections), {}};
  for (int64_t section : sections.empty() ? ArrayRef<int64_t>(size) : sections)
    blocks.rooms.push_back(
        dist::CutAttr::get(cut.getContext(), 0, cut.getAxis(), cut.getRanks(), {}, cut.getUnit())
            .room(section));
  simplify(blocks, size, cut.getRanks());
  return blocks;
}

/// Of the groups of elements that blocks end between; 0: no number of elements makes such blocks.
static int64_t unitOf(const ShardBlocks &blocks, ArrayRef<int64_t> sections, int64_t ranks) {
  int64_t unit = 0;
  for (int64_t room : blocks.rooms)
    unit = std::gcd(unit, room);
  for (auto [section, room] : llvm::zip(sections, blocks.rooms))
    if (dist::shardElements(dist::shardElements(section, unit), ranks) * unit != room)
      return 0;
  return std::max<int64_t>(unit, 1);
}

bool canBeSaid(const CutLoop &cut, const ShardingRule &rule, int64_t ranks) {
  const ArrayRef<int64_t> own = rule.loops[cut.loop].sections;
  return unitOf(cut, own.empty() ? ArrayRef<int64_t>(cut.sections) : own, ranks) > 0;
}

bool readsWhole(Operation *op) {
  return isa<dist::LocalShardOp>(op) && dist::partsOf(op) > 0 &&
         llvm::any_of(op->getUsers(), [](Operation *user) {
           return !isa<dist::DistDialect>(user->getDialect()) &&
                  !isa<train::FinalGradientOp, train::NotFiniteOp>(user);
         });
}

ShardingRule ruleOf(Operation *op, int64_t ranks) {
  if (auto sharded = dyn_cast<ShardingOpInterface>(op))
    return sharded.shardingRule(ranks);
  return clusterRule(op, ranks);
}

Layout layoutOf(dist::CutAttr cut, Type type) {
  if (!cut)
    return {};
  const int dim = static_cast<int>(cut.getDim());
  return {dim, blocksOf(cut, cut.getSections(), cast<RankedTensorType>(type).getDimSize(dim))};
}

dist::CutAttr attributeOf(const Layout &layout, dist::RankGroup group) {
  return dist::CutAttr::get(group.axis.getContext(), layout.dim, group.axis, group.ranks, layout.sections,
                            unitOf(layout, layout.sections, group.ranks));
}

CutLoop cutLoopOf(Operation *op, const ShardingRule &rule) {
  auto cut = op->getAttrOfType<dist::CutAttr>(dist::cutName);
  if (!cut)
    return {};
  const ShardingLoop &loop = rule.loops[cut.getDim()];
  CutLoop found(static_cast<int>(cut.getDim()),
                blocksOf(cut, loop.sections.empty() ? cut.getSections() : ArrayRef<int64_t>(loop.sections),
                         loop.units));
  if (!loop.sections.empty())
    found.sections.clear();
  return found;
}

Layout scatterOf(Operation *op) {
  return layoutOf(op->getAttrOfType<dist::CutAttr>(dist::scatterName), op->getResult(0).getType());
}

dist::CutAttr attributeOf(const CutLoop &cut, const ShardingRule &rule, dist::RankGroup group) {
  const ArrayRef<int64_t> own = rule.loops[cut.loop].sections;
  return dist::CutAttr::get(group.axis.getContext(), cut.loop, group.axis, group.ranks, cut.sections,
                            unitOf(cut, own.empty() ? ArrayRef<int64_t>(cut.sections) : own, group.ranks));
}

dist::RankGroup tensorGroup(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::meshName);
  const int64_t ranks = mesh ? mesh.sizeOf(dist::tensorAxis) : 0;
  return {StringAttr::get(op->getContext(), dist::tensorAxis), ranks == 0 ? 1 : ranks};
}

} // namespace kedge::mesh
