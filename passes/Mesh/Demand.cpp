#include "passes/Mesh/Demand.h"
#include "mlir/IR/BuiltinTypes.h"
#include <numeric>

using namespace mlir;

namespace kedge::mesh {

void Demand::need(int64_t unit) {
  for (int64_t &own : units)
    own = std::lcm(own, unit);
}

void Demand::needIn(unsigned section, int64_t unit) {
  if (section < units.size())
    units[section] = std::lcm(units[section], unit);
}

void Demand::cutIn(ArrayRef<int64_t> sizes) {
  const int64_t common = units.front();
  sections.assign(sizes.begin(), sizes.end());
  if (units.size() != sizes.size())
    units.assign(sizes.size(), common);
}

ShardBlocks Demand::blocksOf(int64_t size, int64_t ranks) const {
  ShardBlocks blocks{sections, {}};
  for (auto [section, unit] : llvm::zip(sections.empty() ? ArrayRef<int64_t>(size) : sections, units))
    blocks.rooms.push_back(static_cast<int64_t>(llvm::divideCeil(llvm::divideCeil(section, unit), ranks)) *
                           unit);
  simplify(blocks, size, ranks);
  return blocks;
}

int64_t elementsAUnit(Value value, int dim, const ShardingLoop &loop) {
  return loop.sections.empty() ? cast<RankedTensorType>(value.getType()).getDimSize(dim) / loop.units : 1;
}

void passBack(const Demand &behind, int64_t behindAUnit, const ShardingLoop &loop, unsigned number,
              int64_t perUnit, Demand &demand) {
  if (loop.of == ShardingLoop::Sections::OfOperands)
    return demand.needIn(number, behind.units.front());
  const bool isSameSize = behindAUnit == perUnit;
  if (loop.sections.empty() && !behind.sections.empty() && isSameSize) {
    demand.cutIn(behind.sections);
    for (auto [section, unit] : llvm::enumerate(behind.units))
      demand.needIn(section, unit);
    return;
  }
  for (int64_t unit : behind.units)
    demand.need(std::lcm(unit, behindAUnit) / behindAUnit * perUnit);
}

ShardBlocks blocksOf(int64_t size, int64_t ranks) { return Demand().blocksOf(size, ranks); }

std::optional<CutLoop> cutUnder(const ShardingRule &rule, int loop, const Layout &layout, Type type,
                                int64_t ranks) {
  const ShardingLoop &own = rule.loops[loop];
  if (!layout.isPadded())
    return own.isDivisible(ranks) ? std::optional(CutLoop(loop, layout)) : std::nullopt;
  const int64_t perUnit = cast<RankedTensorType>(type).getDimSize(layout.dim) / own.units;
  CutLoop cut(loop, layout);
  for (int64_t &room : cut.rooms) {
    if (!own.takesPadding || room % perUnit != 0)
      return std::nullopt;
    room /= perUnit;
  }
  return cut;
}

CutLoop cutInSections(Operation *op, const ShardingRule &rule, int loop,
                      llvm::function_ref<Layout(Value)> layoutOf, int64_t ranks) {
  const ShardingLoop &own = rule.loops[loop];
  CutLoop cut(loop, {});
  const bool ofOperands = own.of == ShardingLoop::Sections::OfOperands;
  for (auto [i, section] : llvm::enumerate(own.sections)) {
    const Layout known = layoutOf(op->getOperand(ofOperands ? 0 : i));
    const bool isSame = known.isCut() && rule.operands[ofOperands ? 0 : i][known.dim] == loop;
    int64_t room = blocksOf(section, ranks).room(section, ranks);
    if (isSame && ofOperands && known.sections == own.sections && known.isPadded())
      room = known.rooms[i];
    else if (isSame && !ofOperands && known.sections.empty())
      room = known.room(section, ranks);
    cut.rooms.push_back(room);
  }
  ShardBlocks inSections{own.sections, cut.rooms};
  simplify(inSections, llvm::sum_of(own.sections), ranks);
  cut.rooms = inSections.rooms;
  return cut;
}

} // namespace kedge::mesh
