#include "passes/Lower/Gpu/GpuPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

namespace {

/// Threads of a block, where nothing speaks for more.
constexpr int64_t kBlockThreads = 256;
/// Elements that a thread keeps in registers between the passes over a row: what a block of that size has
/// room for.
int64_t heldElements(int64_t threads) { return threads <= 256 ? 80 : threads <= 512 ? 64 : 24; }
/// The same with sums (sched.sum) among them: as many as leave room for two blocks of 256 threads on a
/// multiprocessor (128 registers of a thread), so that one computes while the other one waits for memory.
int64_t heldWithSums(int64_t threads) { return threads <= 256 ? 96 : heldElements(threads); }
constexpr int64_t kSharedBytes = 48 * 1024; ///< of a block
constexpr int64_t kLargestTeam = 1024;
/// Threads that keep a large device busy, and blocks.
constexpr int64_t kManyThreads = 1 << 17, kManyBlocks = 264;
/// Blocks where points are made and stored beside the reductions: more work for each, which more of them
/// hide.
constexpr int64_t kStoringBlocks = 4 * kManyBlocks;
/// A reduction this long per thread is worth a second kernel.
constexpr int64_t kLongReduction = 32;
/// Elements of a row that are worth a block, and those of a thread of it.
constexpr int64_t kLongRow = 512, kWalkedSlots = 4;
/// CUDA's limit on blocks of a grid in its second dimension.
constexpr int64_t kMostSecondBlocks = 65535;
/// Across a reduction: threads of a warp beside each other, and of a block above each other at most.
constexpr int64_t kColumns = 32, kMostRows = 64;
/// Neighbours that still fill two sectors of memory with 4 bytes each, and reductions that are short enough
/// for the rows of one block.
constexpr int64_t kFewElements = 16, kShortReduction = 16 * kMostRows;

int64_t bytesOf(const Access &access) {
  return std::max<int64_t>(1, access.element.getIntOrFloatBitWidth() / 8) * access.elements;
}

/// Bytes that accesses move when the dim lies across the threads of a warp: scattered ones move whole
/// sectors.
double trafficOf(const ClusterNest &nest, unsigned dim) {
  double traffic = 0;
  auto count = [&](const Access &access, double scattered) {
    bool isScattered = access.dependsOn(dim) && !(access.linear && access.coefficients[dim] == 1);
    traffic += double(bytesOf(access)) * (isScattered ? scattered : 1);
  };
  for (const Access &input : nest.inputs)
    count(input, 6);
  for (const Access &output : nest.outputs)
    count(output, 8);
  // A short dim does not fill the sectors that a warp touches.
  return traffic * (nest.sizes[dim] < 8 ? 8.0 / std::max<int64_t>(nest.sizes[dim], 1) : 1);
}

unsigned chooseThreadDim(const ClusterNest &nest) {
  unsigned best = nest.rank() - 1;
  for (unsigned d = nest.rank(); d-- > 0;)
    if (nest.sizes[d] > 1 && (nest.sizes[best] <= 1 || trafficOf(nest, d) < trafficOf(nest, best)))
      best = d;
  return best;
}

/// Whether the memory of the tensor has room for whole accesses at the end of each row of the lanes.
bool hasRoom(const GpuPlan &plan, const Access &access, ArrayRef<int64_t> sizes) {
  if (!access.dependsOn(plan.lanesDim))
    return true;
  if (access.constant != 0 || !isVector(plan, access, sizes))
    return false;
  const int64_t row = plan.accessesOf(sizes, plan.lanesDim) * plan.width;
  int64_t lastRow = 0;
  for (auto [dim, coefficient] : llvm::enumerate(access.coefficients)) {
    if (dim == plan.lanesDim || coefficient == 0)
      continue;
    if (coefficient < row)
      return false;
    lastRow += coefficient * (sizes[dim] - 1);
  }
  return lastRow + row <= access.elements;
}

/// Rows of odd length that are reduced alone, or walked, in padded memory.
bool canBeRagged(const ClusterNest &nest, GpuPlan plan, unsigned width) {
  plan.width = width;
  auto fits = [&](const Access &access) { return hasRoom(plan, access, nest.sizes); };
  const bool isRow =
      nest.passes ? nest.reduced[plan.lanesDim] && llvm::count(nest.reduced, true) == 1 : nest.rank() > 1;
  return isRow && nest.summed.empty() && nest.sizes[plan.lanesDim] >= kLongRow &&
         llvm::all_of(nest.inputs, fits) && llvm::all_of(nest.outputs, fits);
}

/// Eight numbers of 16 bits are an access of 16 bytes, and four of 32; wider ones do not come here.
unsigned raggedWidth(const ClusterNest &nest, const GpuPlan &plan) {
  unsigned narrowest = 64, widest = 0;
  for (const auto *list : {&nest.inputs, &nest.outputs})
    for (const Access &access : *list)
      if (access.dependsOn(plan.lanesDim)) {
        narrowest = std::min(narrowest, access.element.getIntOrFloatBitWidth());
        widest = std::max(widest, access.element.getIntOrFloatBitWidth());
      }
  const unsigned width = narrowest == 16 ? 8 : 4;
  return widest <= 32 && narrowest >= 16 && canBeRagged(nest, plan, width) ? width : 1;
}

unsigned chooseWidth(const ClusterNest &nest, GpuPlan plan) {
  int64_t size = nest.sizes[plan.lanesDim];
  auto vectors = [&](unsigned width) {
    SmallVector<const Access *> found;
    plan.width = width;
    for (const auto *list : {&nest.inputs, &nest.outputs})
      for (const Access &access : *list)
        if (isVector(plan, access, nest.sizes))
          found.push_back(&access);
    return found;
  };
  if (size % 4 != 0 || size == 0 || vectors(4).empty())
    return 1;
  // Eight elements of 16 bits are 16 bytes; of wider ones they are two accesses.
  bool isShort = llvm::any_of(vectors(4), [](const Access *access) {
    return isa<FloatType>(access->element) && access->element.getIntOrFloatBitWidth() == 16;
  });
  return isShort && size % 8 == 0 && vectors(8).size() == vectors(4).size() ? 8 : 4;
}

/// Inputs with an element of their own for every unit of a group.
int64_t countRowInputs(const ClusterNest &nest) {
  return llvm::count_if(nest.inputs, [&](const Access &input) { return nest.isPoint(input); });
}

int64_t countSums(const ClusterNest &nest) {
  return llvm::count_if(llvm::seq<unsigned>(nest.outputs.size()),
                        [&](unsigned output) { return nest.sumOf(output); });
}

/// Lanes along a reduction: a few threads, a warp or a block for each row.
void planRows(const ClusterNest &nest, GpuPlan &plan) {
  const int64_t sums = countSums(nest), held = countRowInputs(nest) + sums;
  auto each = [&](int64_t team) { return llvm::divideCeil(plan.units, team); };
  // Half an access at a time may leave fewer threads idle in their last turn: 96 accesses of 16 bytes are two
  // turns of 64 threads, 192 of 8 bytes three.
  auto halved = [&](int64_t team) {
    return sums && plan.width == 8 && llvm::divideCeil(2 * plan.units, team) < 2 * each(team);
  };
  auto elements = [&](int64_t team) {
    return halved(team) ? int64_t(llvm::divideCeil(2 * plan.units, team)) * 4
                        : int64_t(each(team)) * plan.width;
  };
  auto fits = [&](int64_t team) {
    return elements(team) * std::max<int64_t>(1, held) <= (sums ? heldWithSums(team) : heldElements(team));
  };
  plan.team = std::clamp<int64_t>(llvm::PowerOf2Ceil(plan.units), 1, 32);
  while (plan.team < kLargestTeam && !fits(plan.team))
    plan.team *= 2;
  // Few rows: more threads for each, unless many of them would hold nothing.
  auto idle = [&](int64_t team) { return int64_t(each(team)) * team - plan.units; };
  while (plan.team >= 32 && plan.team < kLargestTeam && each(plan.team) * plan.width > 8 &&
         fits(2 * plan.team) && plan.groups * plan.team < kManyThreads &&
         idle(2 * plan.team) <= plan.units / 8)
    plan.team *= 2;
  plan.inRegisters = fits(plan.team);
  if (halved(plan.team)) {
    plan.width = 4;
    plan.units *= 2;
  }
  plan.slots = plan.inRegisters ? int64_t(each(plan.team)) : 8 / plan.width;
  if (!plan.inRegisters)
    plan.team = 512;
  plan.groupsPerBlock = std::max<int64_t>(1, kBlockThreads / plan.team);
  // No more teams than rows, in whole warps.
  while (plan.groupsPerBlock > 1 && plan.groupsPerBlock / 2 >= plan.groups && plan.blockSize() > 32)
    plan.groupsPerBlock /= 2;
}

/// Rows that are added up: blocks of them instead of single ones. Every team has a row in each turn, and a
/// line of sums in shared memory behind the last.
void planSums(const ClusterNest &nest, GpuPlan &plan) {
  for (unsigned d : plan.summed)
    plan.rows *= nest.sizes[d];
  plan.groups /= plan.rows;
  while (plan.groupsPerBlock > 1 &&
         (plan.rows % plan.groupsPerBlock || sharedBytesOfSums(nest, plan) > kSharedBytes * 3 / 4))
    plan.groupsPerBlock /= 2;
}

/// Whether it is worth it to walk rows of single elements or of ragged accesses, and a grid can have as many
/// blocks in its second dimension.
bool canWalkRows(const ClusterNest &nest, const GpuPlan &plan) {
  int64_t row = nest.sizes[plan.lanesDim];
  return (plan.width == 1 || plan.ragged) && nest.rank() > 1 && row >= kLongRow &&
         row <= kMostSecondBlocks * kBlockThreads * kWalkedSlots;
}

/// Long rows without reductions.
void planRowWalk(const ClusterNest &nest, GpuPlan &plan) {
  plan.walksRows = plan.lanesReduced = true;
  plan.units = plan.accessesOf(nest.sizes, plan.lanesDim);
  plan.groups /= plan.units;
  plan.parallel.pop_back();
  plan.reduced = {plan.lanesDim};
  plan.team = kBlockThreads;
  plan.slots = plan.ragged ? 1 : kWalkedSlots;
  plan.chunk = plan.team * plan.slots;
  plan.splits = llvm::divideCeil(plan.units, plan.chunk);
}

/// Lanes across a reduction: threads of a warp hold neighbouring columns, warps share the rows.
void planColumns(const ClusterNest &nest, GpuPlan &plan) {
  plan.groupsPerBlock = std::min<int64_t>(kColumns, llvm::PowerOf2Ceil(plan.groups));
  // Few columns, as where partial sums are joined: narrower blocks, so that more multiprocessors read.
  while (plan.units <= kShortReduction && plan.groupsPerBlock * plan.width > kFewElements &&
         plan.groups < plan.groupsPerBlock * kManyBlocks / 2)
    plan.groupsPerBlock /= 2;
  int64_t most = std::min(kMostRows, kBlockThreads / plan.groupsPerBlock);
  while (plan.team < most && plan.team * 2 <= plan.units && plan.groups * plan.team < kManyThreads)
    plan.team *= 2;
  while (plan.team > 1 && nest.reductionCount() * sharedBytesOfReduction(plan) > kSharedBytes)
    plan.team /= 2;
  if (plan.team == 1)
    plan.groupsPerBlock = 128;
  int64_t each = llvm::divideCeil(plan.units, plan.team);
  plan.inRegisters =
      each * plan.width * std::max<int64_t>(1, countRowInputs(nest)) <= heldElements(plan.team) / 2;
  plan.slots = plan.inRegisters ? each : plan.width == 8 ? 2 : 4;
}

/// Outputs with an element for every unit, stored while the units are reduced.
bool hasPoints(const ClusterNest &nest) {
  return llvm::any_of(nest.outputs, [&](const Access &output) { return nest.isPoint(output); });
}

/// Nothing but one pass of reductions, each result an output that names every parallel dim once, and points
/// that wait for no reduction; partial results of an online sum mean nothing without those of its maximum.
bool isPureReduction(const ClusterNest &nest) {
  int64_t rows = 1;
  for (unsigned d = 0; d < nest.rank(); ++d)
    rows *= nest.reduced[d] ? 1 : nest.sizes[d];
  auto isReduction = [&](Value v) {
    sched::ReduceOp maximum = nest.maximumOf.lookup(v.getDefiningOp());
    return v.getDefiningOp<sched::ReduceOp>() &&
           (!maximum || llvm::is_contained(nest.yield().getOperands(), maximum.getResult()));
  };
  auto isPure = [&](const Access &output, Value value) {
    return nest.isPoint(output) ? nest.phase.lookup(value) == 0
                                : isReduction(value) && output.elements == rows;
  };
  return nest.passes == 1 && llvm::all_of_zip(nest.outputs, nest.yield().getOperands(), isPure);
}

/// One reduction pass alone may be shared by blocks: the splits follow from the shape.
void planSplits(const ClusterNest &nest, GpuPlan &plan) {
  if (!isPureReduction(nest) || plan.inRegisters)
    return;
  int64_t blocks = llvm::divideCeil(plan.groups, plan.groupsPerBlock);
  int64_t step = plan.team * plan.slots, steps = llvm::divideCeil(plan.units, step);
  int64_t worth = llvm::divideCeil(steps * plan.slots, kLongReduction / 2);
  int64_t many = hasPoints(nest) ? kStoringBlocks : kManyBlocks;
  int64_t wanted = std::min(many / std::max<int64_t>(blocks, 1), worth);
  if (wanted < 2)
    return;
  plan.chunk = llvm::divideCeil(steps, wanted) * step;
  plan.splits = llvm::divideCeil(plan.units, plan.chunk);
}

/// A dim to turn tensors around in: only where nothing is reduced, for tensors that do not fit a cache line
/// or two.
std::optional<unsigned> chooseTile(const ClusterNest &nest, unsigned lanesDim) {
  if (nest.passes || nest.sizes[lanesDim] < GpuPlan::kTileRows)
    return std::nullopt;
  for (const auto *accesses : {&nest.inputs, &nest.outputs})
    for (const Access &access : *accesses)
      for (unsigned d = 0; d < nest.rank(); ++d)
        if (d != lanesDim && access.linear && access.coefficients[d] == 1 &&
            access.coefficients[lanesDim] > 1 && nest.sizes[d] >= GpuPlan::kTileRows)
          return d;
  return std::nullopt;
}

/// Whether tiles turn nothing but outputs of bytes around, with accesses of whole patches for everything.
bool canTurnBytes(const ClusterNest &nest, GpuPlan plan) {
  plan.width = GpuPlan::kPatch;
  auto isAligned = [&](const Access &access, unsigned along, int64_t count) {
    if (!access.linear || access.constant % count != 0 || access.coefficients[along] != 1)
      return false;
    for (unsigned d = 0; d < nest.rank(); ++d)
      if (d != along && access.coefficients[d] % count != 0)
        return false;
    return true;
  };
  auto fitsRows = [&](const Access &access) {
    return !plan.isTransposed(access) &&
           (!access.dependsOn(plan.lanesDim) || isAligned(access, plan.lanesDim, GpuPlan::kPatch));
  };
  auto fits = [&](const Access &output) {
    return plan.isTransposed(output) ? output.element.getIntOrFloatBitWidth() == 8 &&
                                           isAligned(output, *plan.tileDim, GpuPlan::kByteRun)
                                     : fitsRows(output);
  };
  return nest.sizes[plan.lanesDim] % GpuPlan::kPatch == 0 &&
         nest.sizes[*plan.tileDim] % GpuPlan::kByteRun == 0 && llvm::all_of(nest.inputs, fitsRows) &&
         llvm::all_of(nest.outputs, fits);
}

/// Shared memory for all tensors that a tile turns around.
bool tilesFit(const ClusterNest &nest, const GpuPlan &plan) {
  int64_t bytes = 0;
  for (const auto *accesses : {&nest.inputs, &nest.outputs})
    for (const Access &access : *accesses)
      if (plan.isTransposed(access))
        bytes +=
            GpuPlan::kTile * (GpuPlan::kTile + 1) * std::max(1u, access.element.getIntOrFloatBitWidth() / 8) +
            16;
  return bytes <= kSharedBytes;
}

/// A tile is a group; blocks of kTile x kTileRows threads, or of one for each patch.
void planTiles(const ClusterNest &nest, GpuPlan &plan) {
  plan.turnsBytes = canTurnBytes(nest, plan);
  plan.width = plan.turnsBytes ? GpuPlan::kPatch : 1;
  plan.groups = plan.tilesOf(nest.sizes[plan.lanesDim]) * plan.tilesOf(nest.sizes[*plan.tileDim]);
  for (unsigned d : plan.parallel)
    if (d != plan.lanesDim && d != plan.tileDim)
      plan.groups *= nest.sizes[d];
  plan.team = plan.block()[0] * plan.block()[1];
}

bool needsWideIndex(const ClusterNest &nest) {
  const int64_t most = int64_t(1) << 31;
  int64_t points = 1;
  for (int64_t size : nest.sizes)
    points *= std::max<int64_t>(size, 1);
  auto isLarge = [&](const Access &access) { return access.elements >= most; };
  // Threads beyond the last group count on, too.
  return points + (1 << 20) >= most || llvm::any_of(nest.inputs, isLarge) ||
         llvm::any_of(nest.outputs, isLarge);
}

} // namespace

bool kedge::lower::gpu::isVector(const GpuPlan &plan, const Access &access, ArrayRef<int64_t> sizes) {
  if (plan.width == 1 || !access.linear || access.coefficients[plan.lanesDim] != 1 ||
      access.constant % plan.width != 0)
    return false;
  for (unsigned d = 0; d < sizes.size(); ++d)
    if (d != plan.lanesDim && access.coefficients[d] % plan.width != 0)
      return false;
  return true;
}

int64_t kedge::lower::gpu::sharedBytesOfSums(const ClusterNest &nest, const GpuPlan &plan) {
  int64_t widest = 0;
  for (unsigned output = 0; output < nest.outputs.size(); ++output)
    if (sched::SumOp sum = nest.sumOf(output))
      widest = std::max<int64_t>(widest, sum.getType().getIntOrFloatBitWidth() / 8);
  return plan.groupsPerBlock > 1 ? plan.groupsPerBlock * plan.units * plan.width * widest : 0;
}

int64_t kedge::lower::gpu::sharedBytesOfReduction(const GpuPlan &plan) {
  if (plan.lanesReduced)
    return plan.team > 32 ? plan.blockSize() / 32 * 8 : 0;
  return plan.team > 1 ? plan.blockSize() * plan.width * 8 : 0;
}

bool kedge::lower::gpu::wantsStages(const ClusterNest &nest, const GpuPlan &plan) {
  if (nest.passes == 0 || plan.inRegisters || isPureReduction(nest))
    return false;
  int64_t blocks = llvm::divideCeil(plan.groups, plan.groupsPerBlock);
  return blocks < kManyBlocks / 2 && plan.units / plan.team >= kLongReduction;
}

bool GpuPlan::isTransposed(const Access &access) const {
  return tileDim && access.linear && access.coefficients[*tileDim] == 1 && access.coefficients[lanesDim] > 1;
}

std::array<int64_t, 3> GpuPlan::block() const {
  if (turnsBytes)
    return {kByteTile / kPatch, kByteTile / kPatch, 1};
  if (tileDim)
    return {kTile, kTileRows, 1};
  if (lanesReduced)
    return {blockSize(), 1, 1};
  return {groupsPerBlock, team, 1};
}

std::array<int64_t, 3> GpuPlan::grid() const {
  if (!summed.empty())
    return {groups, 1, 1};
  return {std::max<int64_t>(1, llvm::divideCeil(groups, groupsPerBlock)), splits, 1};
}

GpuPlan GpuPlan::of(const ClusterNest &nest) {
  GpuPlan plan;
  plan.lanesDim = chooseThreadDim(nest);
  plan.lanesReduced = nest.reduced[plan.lanesDim];
  plan.tileDim = chooseTile(nest, plan.lanesDim);
  if (!tilesFit(nest, plan))
    plan.tileDim.reset();
  plan.width = plan.tileDim ? 1 : chooseWidth(nest, plan);
  if (plan.width == 1 && !plan.tileDim && nest.sizes[plan.lanesDim] % 4 != 0) {
    plan.width = raggedWidth(nest, plan);
    plan.ragged = plan.width > 1;
  }
  for (unsigned d = 0; d < nest.rank(); ++d) {
    (nest.reduced[d] ? plan.units : plan.groups) *= plan.accessesOf(nest.sizes, d);
    if (d != plan.lanesDim)
      (nest.reduced[d]                          ? plan.reduced
       : !nest.summed.empty() && nest.summed[d] ? plan.summed
                                                : plan.parallel)
          .push_back(d);
  }
  (plan.lanesReduced ? plan.reduced : plan.parallel).push_back(plan.lanesDim);
  plan.wideIndex = needsWideIndex(nest);
  if (plan.lanesReduced)
    planRows(nest, plan);
  else if (nest.passes)
    planColumns(nest, plan);
  else if (plan.tileDim)
    planTiles(nest, plan);
  else if (canWalkRows(nest, plan))
    planRowWalk(nest, plan);
  else
    plan.groupsPerBlock = kBlockThreads;
  if (!plan.summed.empty())
    planSums(nest, plan);
  if (plan.walksRows)
    return plan;
  plan.chunk = plan.units;
  planSplits(nest, plan);
  return plan;
}
