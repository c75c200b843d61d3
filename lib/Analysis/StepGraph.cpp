#include "lib/Analysis/StepGraph.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "lib/Analysis/LaunchCost.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace kedge::analysis {

std::vector<solver::StepTask> tasksOf(func::FuncOp function, const DeviceModel &device) {
  std::vector<solver::StepTask> tasks;
  DenseMap<Operation *, int> numbers;
  for (Operation &op : function.getBody().front()) {
    const LaunchCost cost = costOf(&op);
    solver::StepTask &task = tasks.emplace_back();
    task.seconds = secondsOf(cost, device);
    task.sends = cost.kind == WorkKind::Collective;
    for (Value operand : op.getOperands())
      if (auto producer = numbers.find(operand.getDefiningOp()); producer != numbers.end())
        task.after.push_back(producer->second);
    numbers[&op] = static_cast<int>(tasks.size()) - 1;
  }
  return tasks;
}

namespace {

constexpr double kFusesAlike = 0.95;

double commonSecondsOf(func::FuncOp function, const DeviceModel &device) {
  double seconds = 0;
  llvm::DenseSet<Operation *> needed; // by a product
  for (Operation &op : llvm::reverse(function.getBody().front())) {
    const LaunchCost cost = costOf(&op);
    const bool isMatmul = cost.product();
    if (!isMatmul && !needed.contains(&op))
      continue;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        needed.insert(producer);
    if (cost.kind != WorkKind::Collective && cost.kind != WorkKind::Transfer)
      seconds += (isMatmul ? 1 : kFusesAlike) * secondsOf(cost, device);
  }
  return seconds;
}

double productSecondsOf(func::FuncOp function, const DeviceModel &device) {
  double seconds = 0;
  for (Operation &op : function.getBody().front())
    if (const LaunchCost cost = costOf(&op); cost.product())
      seconds += kFusesAlike * secondsOf(cost, device);
  return seconds;
}

/// Of the functions of a step, as often as they run.
double sumOver(ModuleOp module, int64_t accumulate, llvm::function_ref<double(func::FuncOp)> secondsOf) {
  double seconds = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || function.isPrivate())
      continue;
    const auto kind = train::kindOf(function);
    if (const int64_t runs = kind ? train::runsInStep(*kind, accumulate) : 0)
      seconds += static_cast<double>(runs) * secondsOf(function);
  }
  return seconds;
}

} // namespace

double commonSeconds(ModuleOp module, const DeviceModel &device, int64_t accumulate) {
  return sumOver(module, accumulate,
                 [&](func::FuncOp function) { return commonSecondsOf(function, device); });
}

double productSeconds(ModuleOp module, const DeviceModel &device, int64_t accumulate) {
  return sumOver(module, accumulate,
                 [&](func::FuncOp function) { return productSecondsOf(function, device); });
}

double leastForwardShare(ModuleOp module, const DeviceModel &device) {
  func::FuncOp function = train::functionOf(module, train::FunctionKind::Micro);
  if (!function)
    function = train::functionOf(module, train::FunctionKind::Step);
  struct Node {
    double forward = 0, all = 0;
  };
  llvm::MapVector<PlaceAttr, Node> nodes;
  for (Operation &op : function.getBody().front()) {
    const PlaceAttr place = placeOf(&op);
    const LaunchCost cost = costOf(&op);
    if (!place || !cost.product() || place.getPhase() == TrainingPhase::Update)
      continue;
    Node &node = nodes[place.in(TrainingPhase::Forward)];
    const double seconds = secondsOf(cost, device);
    node.all += seconds;
    node.forward += place.getPhase() == TrainingPhase::Forward ? seconds : 0;
  }
  double least = nodes.empty() ? 0 : 1;
  for (const auto &[place, node] : nodes)
    least = std::min(least, node.forward / node.all);
  return least;
}

solver::StepChain longestChain(ModuleOp module, const DeviceModel &device) {
  func::FuncOp micro = train::functionOf(module, train::FunctionKind::Micro);
  return micro ? solver::longestChain(tasksOf(micro, device)) : solver::StepChain();
}

double stepLowerBound(ModuleOp module, const DeviceModel &device, int64_t accumulate) {
  return sumOver(module, accumulate,
                 [&](func::FuncOp function) { return solver::stepLowerBound(tasksOf(function, device)); });
}

} // namespace kedge::analysis
