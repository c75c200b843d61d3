#include "passes/Lower/Gpu/Stages.h"
#include "kedge/Support/StorageBytes.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Lower/Gpu/OnlineSums.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

using KernelOperand = KernelLaunch::Operand;

KernelLaunch::Operand Workspace::add(int64_t bytes) {
  KernelOperand place{KernelOperand::Workspace, size};
  size += llvm::alignTo(bytes, 256);
  return place;
}

namespace {

/// A tensor of the sequence: an input of the cluster or a reduction's result.
struct Source {
  Type tensor;
  AffineMap map;
  KernelOperand operand;
};

/// What one stage computes: scalars of the original body, each with the output it goes to.
struct Target {
  Value scalar;
  Source output;
};

sched::ClusterOp createCluster(ModuleOp scratch, Location loc, ArrayRef<int64_t> domain,
                               ArrayRef<int64_t> reduced, ArrayRef<Source> inputs, ArrayRef<Source> outputs) {
  auto b = OpBuilder::atBlockEnd(scratch.getBody());
  SmallVector<Type> inputTypes, outputTypes;
  SmallVector<AffineMap> inputMaps, outputMaps;
  for (const Source &input : inputs)
    inputTypes.push_back(input.tensor), inputMaps.push_back(input.map);
  for (const Source &output : outputs)
    outputTypes.push_back(output.tensor), outputMaps.push_back(output.map);
  auto values = UnrealizedConversionCastOp::create(b, loc, inputTypes, ValueRange());
  auto cluster =
      sched::ClusterOp::create(b, loc, outputTypes, values.getResults(), b.getDenseI64ArrayAttr(domain),
                               b.getDenseI64ArrayAttr(reduced), b.getAffineMapArrayAttr(inputMaps),
                               b.getAffineMapArrayAttr(outputMaps), IntegerAttr(), StringAttr());
  cluster.getBody().emplaceBlock();
  return cluster;
}

/// Cuts stages out of one cluster's body.
class Cutter {
public:
  Cutter(const ClusterNest &nest, ArrayRef<KernelOperand> operands, ModuleOp scratch, Workspace &workspace)
      : op(nest.op), scratch(scratch), workspace(workspace) {
    for (auto [at, argument] : llvm::enumerate(op.getBody().getArguments()))
      sources[argument] = {op.getInputs()[at].getType(),
                           cast<AffineMapAttr>(op.getInputMaps()[at]).getValue(), operands[at]};
  }

  Stage cut(ArrayRef<Target> targets, ArrayRef<int64_t> reduced) {
    needed.clear();
    used.clear();
    for (const Target &target : targets)
      need(target.scalar);
    SmallVector<Source> inputs, outputs;
    for (Value value : used)
      inputs.push_back(sources[value]);
    for (const Target &target : targets)
      outputs.push_back(target.output);
    Stage stage{createCluster(scratch, op.getLoc(), op.getDomain(), reduced, inputs, outputs), {}};
    Block &block = stage.cluster.getBody().front();
    IRMapping mapping;
    for (Value value : used)
      mapping.map(value, block.addArgument(value.getType(), op.getLoc()));
    auto b = OpBuilder::atBlockEnd(&block);
    for (Operation &inner : op.getBody().front().without_terminator())
      if (needed.contains(inner.getResult(0)) && !sources.count(inner.getResult(0)))
        b.clone(inner, mapping);
    SmallVector<Value> results;
    for (const Target &target : targets)
      results.push_back(mapping.lookup(target.scalar));
    sched::YieldOp::create(b, op.getLoc(), results);
    for (ArrayRef<Source> list : {ArrayRef(inputs), ArrayRef(outputs)})
      for (const Source &source : list)
        stage.operands.push_back(source.operand);
    return stage;
  }

  /// The reduction's result as a tensor of the workspace with an element for each point of the parallel dims.
  Target resultOf(sched::ReduceOp reduction) {
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> exprs;
    for (auto [dim, size] : llvm::enumerate(op.getDomain()))
      if (!llvm::is_contained(op.getReduced(), int64_t(dim))) {
        shape.push_back(size);
        exprs.push_back(getAffineDimExpr(dim, op.getContext()));
      }
    auto tensor = RankedTensorType::get(shape, reduction.getType());
    auto map = AffineMap::get(op.getDomain().size(), 0, exprs, op.getContext());
    return {reduction, {tensor, map, workspace.add(kedge::bytesOf(tensor))}};
  }

  void makeSource(const Target &result) { sources[result.scalar] = result.output; }

private:
  void need(Value value) {
    if (sources.count(value)) {
      used.insert(value);
      return;
    }
    if (!needed.insert(value).second)
      return;
    for (Value operand : value.getDefiningOp()->getOperands())
      need(operand);
  }

  sched::ClusterOp op;
  ModuleOp scratch;
  Workspace &workspace;
  llvm::DenseMap<Value, Source> sources;
  llvm::SetVector<Value> used;
  llvm::DenseSet<Value> needed;
};

} // namespace

/// Those that are wanted, as targets.
static SmallVector<Target> outputsOf(const ClusterNest &nest, ArrayRef<KernelOperand> operands,
                                     llvm::function_ref<bool(const Access &, Value)> isWanted) {
  sched::ClusterOp op = nest.op;
  SmallVector<Target> targets;
  for (auto [at, access] : llvm::enumerate(nest.outputs)) {
    Value value = nest.yield().getOperand(at);
    Source output{op.getOutputs()[at].getType(), cast<AffineMapAttr>(op.getOutputMaps()[at]).getValue(),
                  operands[op.getInputs().size() + at]};
    if (isWanted(access, value))
      targets.push_back({value, output});
  }
  return targets;
}

StageBuilder::StageBuilder(MLIRContext *context, Workspace &workspace)
    : scratch(ModuleOp::create(UnknownLoc::get(context))), workspace(workspace) {}

SmallVector<Stage> StageBuilder::split(const ClusterNest &nest, ArrayRef<KernelOperand> operands) {
  sched::ClusterOp op = nest.op;
  Cutter cutter(nest, operands, *scratch, workspace);
  SmallVector<Stage> stages;
  for (unsigned pass = 0; pass < nest.passes; ++pass) {
    SmallVector<Target> targets;
    for (auto reduction : nest.body().getOps<sched::ReduceOp>())
      if (nest.passOf(reduction) == pass)
        targets.push_back(cutter.resultOf(reduction));
    const size_t reductions = targets.size();
    for (const Target &point : outputsOf(nest, operands, [&](const Access &access, Value value) {
           return nest.isPoint(access) && nest.phase.lookup(value) == pass;
         }))
      targets.push_back(point);
    stages.push_back(cutter.cut(targets, op.getReduced()));
    for (const Target &target : ArrayRef(targets).take_front(reductions))
      cutter.makeSource(target);
  }
  SmallVector<Target> points = outputsOf(nest, operands, [&](const Access &access, Value value) {
    return nest.isPoint(access) && nest.phase.lookup(value) >= nest.passes;
  });
  SmallVector<Target> rows =
      outputsOf(nest, operands, [&](const Access &access, Value) { return !nest.isPoint(access); });
  for (ArrayRef<Target> targets : {ArrayRef(points), ArrayRef(rows)})
    if (!targets.empty())
      stages.push_back(cutter.cut(targets, {}));
  return stages;
}

/// Reductions of partial results, in the body of a joining cluster. `parts` are those of the outputs.
static SmallVector<Value> joinParts(OpBuilder &b, Location loc, const ClusterNest &nest,
                                    ArrayRef<Value> reductions, ArrayRef<Value> parts) {
  llvm::DenseMap<Value, Value> partOf, joined;
  for (auto [reduction, part] : llvm::zip(reductions, parts)) {
    partOf[reduction] = part;
    auto reduce = reduction.getDefiningOp<sched::ReduceOp>();
    if (!nest.maximumOf.contains(reduce))
      joined[reduction] = sched::ReduceOp::create(b, loc, reduce.getType(), reduce.getKind(), part);
  }
  SmallVector<Value> results;
  ScalarOps scalars(b, loc);
  for (Value reduction : reductions) {
    sched::ReduceOp maximum = nest.maximumOf.lookup(reduction.getDefiningOp());
    if (!maximum) {
      results.push_back(joined.lookup(reduction));
      continue;
    }
    OnlineSum online(scalars, reduction.getDefiningOp<sched::ReduceOp>());
    Value top = joined.lookup(maximum.getResult());
    Value part =
        online.rescaled(partOf.lookup(reduction), partOf.lookup(maximum.getResult()), online.reference(top));
    Value sum = sched::ReduceOp::create(b, loc, part.getType(), sched::ReductionKind::Add, part);
    results.push_back(online.finished(sum, top));
  }
  return results;
}

Stage StageBuilder::join(const ClusterNest &nest, int64_t splits, ArrayRef<KernelOperand> partials,
                         ArrayRef<KernelOperand> outputs) {
  sched::ClusterOp reduction = nest.op;
  MLIRContext *context = reduction.getContext();
  AffineExpr element = getAffineDimExpr(0, context), split = getAffineDimExpr(1, context);
  SmallVector<Source> sources, targets;
  SmallVector<Value> reductions;
  int64_t elements = 0;
  for (auto [at, output] : llvm::enumerate(reduction.getOutputs())) {
    if (nest.isPoint(nest.outputs[at]))
      continue;
    reductions.push_back(nest.yield().getOperand(at));
    auto tensor = cast<RankedTensorType>(output.getType());
    elements = tensor.getNumElements();
    sources.push_back({RankedTensorType::get({splits, elements}, tensor.getElementType()),
                       AffineMap::get(2, 0, {split, element}, context), partials[at]});
    targets.push_back({RankedTensorType::get({elements}, tensor.getElementType()),
                       AffineMap::get(2, 0, {element}, context), outputs[at]});
  }
  Stage stage{createCluster(*scratch, reduction.getLoc(), {elements, splits}, {1}, sources, targets), {}};
  Block &block = stage.cluster.getBody().front();
  auto b = OpBuilder::atBlockEnd(&block);
  SmallVector<Value> parts;
  for (Value yielded : reductions)
    parts.push_back(block.addArgument(yielded.getType(), reduction.getLoc()));
  sched::YieldOp::create(b, reduction.getLoc(), joinParts(b, reduction.getLoc(), nest, reductions, parts));
  for (ArrayRef<Source> list : {ArrayRef(sources), ArrayRef(targets)})
    for (const Source &source : list)
      stage.operands.push_back(source.operand);
  return stage;
}
