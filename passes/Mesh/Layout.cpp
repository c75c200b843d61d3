#include "passes/Mesh/Layout.h"
#include "lib/Interfaces/ShardingOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Mesh/ClusterRule.h"

using namespace mlir;

namespace kedge::mesh {

static Layout layoutOfTensor(const ShardingRule &rule, const CutLoop &cut, ArrayRef<int> dims,
                             ShardingLoop::Sections of) {
  Layout layout;
  if (!cut.isCut())
    return layout;
  layout.dim = ShardingRule::dimOf(dims, cut.loop);
  const ShardingLoop &loop = rule.loops[cut.loop];
  if (layout.isCut() && (loop.sections.empty() || loop.of == of))
    layout.sections = loop.sections.empty() ? cut.sections : loop.sections;
  return layout;
}

Layout layoutOfOperand(const ShardingRule &rule, const CutLoop &cut, unsigned operand) {
  return layoutOfTensor(rule, cut, rule.operands[operand], ShardingLoop::Sections::OfOperands);
}

Layout layoutOfResult(const ShardingRule &rule, const CutLoop &cut, unsigned result) {
  return layoutOfTensor(rule, cut, rule.results[result], ShardingLoop::Sections::OfResults);
}

ShardingRule ruleOf(Operation *op, int64_t ranks) {
  if (auto sharded = dyn_cast<ShardingOpInterface>(op))
    return sharded.shardingRule(ranks);
  return clusterRule(op, ranks);
}

Layout layoutOf(dist::CutAttr cut) {
  if (!cut)
    return {};
  return {static_cast<int>(cut.getDim()), SmallVector<int64_t>(cut.getSections())};
}

dist::CutAttr attributeOf(const Layout &layout, dist::RankGroup group) {
  return dist::CutAttr::get(group.axis.getContext(), layout.dim, group.axis, group.ranks, layout.sections, 1);
}

CutLoop cutLoopOf(Operation *op) {
  auto cut = op->getAttrOfType<dist::CutAttr>(dist::cutName);
  if (!cut)
    return {};
  return {static_cast<int>(cut.getDim()), SmallVector<int64_t>(cut.getSections())};
}

Layout scatterOf(Operation *op) { return layoutOf(op->getAttrOfType<dist::CutAttr>(dist::scatterName)); }

dist::CutAttr attributeOf(const CutLoop &cut, dist::RankGroup group) {
  return dist::CutAttr::get(group.axis.getContext(), cut.loop, group.axis, group.ranks, cut.sections, 1);
}

dist::RankGroup tensorGroup(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::meshName);
  const int64_t ranks = mesh ? mesh.sizeOf(dist::tensorAxis) : 0;
  return {StringAttr::get(op->getContext(), dist::tensorAxis), ranks == 0 ? 1 : ranks};
}

} // namespace kedge::mesh
