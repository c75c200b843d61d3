#include "passes/Mesh/WideRegion.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Matmuls.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/NeuralNetwork/NeuralNetworkOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Interfaces/ShardingOpInterface.h"
#include "kedge/Support/StorageBytes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Mesh/Layout.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

using namespace mlir;
using namespace kedge::onnx;

namespace kedge::mesh {
namespace {

/// Of rows in any number of dims with one matrix.
bool isRowwise(Operation *op) {
  if (auto matmul = dyn_cast<MatMulOp>(op))
    return !matmul.getTransA() && rankOf(matmul.getB()) == 2 && rankOf(matmul.getA()) >= 2;
  auto gemm = dyn_cast<GemmOp>(op);
  return gemm && !gemm.getTransA() && rankOf(gemm.getB()) == 2 && rankOf(gemm.getA()) >= 2;
}

/// A^T B of two matrices, without a summand: the sum so far can be one.
bool isPlainSum(Operation *op) {
  if (rankOf(op->getOperand(0)) != 2 || rankOf(op->getOperand(1)) != 2)
    return false;
  if (auto matmul = dyn_cast<MatMulOp>(op))
    return matmul.getTransA() && !matmul.getTransB();
  auto gemm = cast<GemmOp>(op);
  return gemm.getTransA() && !gemm.getTransB() && !gemm.getC();
}

/// Whether the op's own rule says all that a chunk needs: what it builds on ranks is the same op on blocks.
bool isKnown(Operation *op) {
  return isMatmul(op) || isa<ReshapeOp, TransposeOp>(op) || !isa<ShardingOpInterface>(op);
}
} // namespace

bool WideRegion::mayStart(Operation *op, int64_t bytes) {
  return isRowwise(op) && bytesOf(op->getResult(0).getType()) > bytes &&
         shapeOf(op->getResult(0)).back() > shapeOf(op->getOperand(0)).back();
}

std::optional<WideRegion> WideRegion::from(Operation *product, int64_t chunks) {
  WideRegion region;
  Value seed = product->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(seed);
  const auto *outermost = llvm::find_if(shape.drop_back(), [](int64_t size) { return size > 1; });
  if (outermost == shape.drop_back().end())
    return std::nullopt;
  region.rows = *outermost;
  region.chunks = std::min(chunks, region.rows);
  region.narrow = shapeOf(product->getOperand(0)).back();
  region.allRows = cast<RankedTensorType>(seed.getType()).getNumElements() / shape.back();
  if (!region.reach(seed, static_cast<int>(outermost - shape.begin())) || !region.grow() || !region.finish())
    return std::nullopt;
  return region;
}

bool WideRegion::isWide(Value value) const {
  return cast<RankedTensorType>(value.getType()).getNumElements() > allRows * narrow;
}

/// A wide value, whose rows run along `dim`.
bool WideRegion::reach(Value value, int dim) {
  auto [at, isNew] = dims.try_emplace(value, dim);
  if (isNew)
    work.push_back(value);
  return at->second == dim;
}

/// From every wide value to its producer and its readers.
bool WideRegion::grow() {
  while (!work.empty()) {
    Value value = work.pop_back_val();
    auto made = dyn_cast<OpResult>(value);
    if (!made || !addUse(made.getOwner(), made.getResultNumber(), true, dims[value]))
      return false;
    for (OpOperand &use : value.getUses())
      if (!addUse(use.getOwner(), use.getOperandNumber(), false, dims[value]))
        return false;
  }
  return true;
}

bool WideRegion::addUse(Operation *op, unsigned number, bool isResult, int dim) {
  const auto loopOf = [&](const ShardingRule &rule) {
    return (isResult ? rule.results : rule.operands)[number][dim];
  };
  if (const Member *known = memberOf(op))
    return known->loop == loopOf(known->rule);
  if (op->hasTrait<OpTrait::IsTerminator>() || op->getNumRegions() > 0 || !isKnown(op))
    return false;
  Member member{op, ruleOf(op, chunks)};
  if (member.rule.loops.empty())
    return false;
  member.loop = loopOf(member.rule);
  if (!join(member))
    return false;
  places[op] = members.size();
  members.push_back(std::move(member));
  return true;
}

/// Whether the op may run for a few rows; what else of it is wide belongs to the region.
bool WideRegion::join(const Member &member) {
  if (member.loop == ShardingRule::kWhole)
    return false;
  const ShardingLoop &loop = member.rule.loops[member.loop];
  if (loop.units % rows != 0 || !loop.sections.empty())
    return false;
  if (loop.reduced && isMatmul(member.op) && !isPlainSum(member.op))
    return false;
  for (auto [i, operand] : llvm::enumerate(member.op->getOperands()))
    if (int dim = member.dimOfOperand(i);
        dim != ShardingRule::kWhole && isWide(operand) && !reach(operand, dim))
      return false;
  for (auto [i, result] : llvm::enumerate(member.op->getResults())) {
    const int dim = member.dimOfResult(i);
    if (dim == ShardingRule::kWhole ? !member.isSum() : isWide(result) && !reach(result, dim))
      return false;
  }
  return true;
}

bool WideRegion::finish() {
  Block *block = members.front().op->getBlock();
  const bool computes = llvm::any_of(members, [&](const Member &member) {
    return !isMatmul(member.op) && !isa<ReshapeOp, TransposeOp>(member.op) && isWide(member.op->getResult(0));
  });
  if (!computes ||
      llvm::any_of(members, [&](const Member &member) { return member.op->getBlock() != block; }))
    return false;
  llvm::sort(members, [](const Member &a, const Member &b) { return a.op->isBeforeInBlock(b.op); });
  for (auto [i, member] : llvm::enumerate(members))
    places[member.op] = i;
  setPhases();
  return true;
}

/// A member that depends on another through an op that is none, or on a sum, runs in a later phase.
void WideRegion::setPhases() {
  DenseMap<Operation *, int> outside;
  for (Operation *op = members.front().op; op; op = op->getNextNode()) {
    const auto place = places.find(op);
    int phase = -1;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer)
        continue;
      if (const Member *before = memberOf(producer))
        phase = std::max(
            phase, before->phase + (place != places.end() && dimOf(operand) != ShardingRule::kWhole ? 0 : 1));
      else if (auto known = outside.find(producer); known != outside.end())
        phase = std::max(phase, known->second);
    }
    if (place != places.end())
      phases = std::max(phases, (members[place->second].phase = std::max(0, phase)) + 1);
    else if (phase >= 0)
      outside[op] = phase;
  }
}

const WideRegion::Member *WideRegion::memberOf(Operation *op) const {
  auto at = places.find(op);
  return at == places.end() ? nullptr : &members[at->second];
}

int WideRegion::dimOf(Value value) const {
  auto made = dyn_cast<OpResult>(value);
  const Member *member = made ? memberOf(made.getOwner()) : nullptr;
  return member ? member->dimOfResult(made.getResultNumber()) : ShardingRule::kWhole;
}

bool WideRegion::leaves(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) { return !memberOf(user); });
}

Operation *WideRegion::firstOf(int phase) const {
  return llvm::find_if(members, [&](const Member &member) { return member.phase == phase; })->op;
}

bool WideRegion::gatherOperands() const {
  SmallVector<llvm::SetVector<Operation *>> moved(phases);
  const std::function<bool(Value, int)> gather = [&](Value value, int phase) {
    Operation *op = value.getDefiningOp();
    if (!op || op->isBeforeInBlock(firstOf(phase)) || moved[phase].contains(op))
      return true;
    if (const Member *producer = memberOf(op)) // its chunks are built in front of this phase
      return producer->phase < phase;
    if (!isMemoryEffectFree(op) || op->getNumRegions() > 0 ||
        !llvm::all_of(op->getOperands(), [&](Value operand) { return gather(operand, phase); }))
      return false;
    moved[phase].insert(op); // behind what it reads
    return true;
  };
  for (const Member &member : members)
    for (Value operand : member.op->getOperands()) {
      const Member *producer = operand.getDefiningOp() ? memberOf(operand.getDefiningOp()) : nullptr;
      if (!(producer && producer->phase == member.phase) && !gather(operand, member.phase))
        return false;
    }
  for (int phase = 0; phase < phases; ++phase)
    for (Operation *op : moved[phase])
      op->moveBefore(firstOf(phase));
  return true;
}

bool hasWideFeedForward(ModuleOp module, int64_t bytes) {
  return module
      .walk([&](Operation *op) {
        const bool found = WideRegion::mayStart(op, bytes) && WideRegion::from(op, 2);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace kedge::mesh
