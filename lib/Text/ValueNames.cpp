#include "lib/Text/ValueNames.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/Dialect/Sched/SchedOps.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <fmt/format.h>

using namespace mlir;

namespace kedge::text {
namespace {

/// As an identifier; empty when nothing of it is left.
std::string identifier(StringRef name) {
  std::string result;
  for (char c : name.ltrim("/_."))
    result += llvm::isAlnum(c) || c == '.' ? c : '_';
  return !result.empty() && llvm::isDigit(result.front()) ? "_" + result : result;
}

std::string nameOfPlace(PlaceAttr place) {
  const std::string node = identifier(place.getNode().empty() ? place.getModule() : place.getNode());
  if (node.empty())
    return node;
  switch (place.getPhase()) {
  case TrainingPhase::Forward:
    return node;
  case TrainingPhase::Backward:
    return "grad." + node;
  case TrainingPhase::Update:
    return "update." + node;
  case TrainingPhase::Transfer:
    return "copy." + node;
  }
  return node;
}

std::string nameOfResult(Operation *op) {
  if (auto buffer = dyn_cast<exec::BufferOp>(op))
    return identifier(buffer.getName());
  auto call = dyn_cast<sched::LibraryOp>(op);
  StringRef kernel = call ? call.getKernel() : op->getName().getStringRef();
  if (kernel.consume_front("dist.")) // of many values, and its place is that of one
    return identifier(kernel);
  if (PlaceAttr place = placeOf(op))
    return nameOfPlace(place);
  return "";
}

std::string nameOfArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  const unsigned index = argument.getArgNumber();
  if (auto function = dyn_cast<FunctionOpInterface>(parent)) {
    const bool isEntry = argument.getOwner()->isEntryBlock();
    train::BindingAttr binding = isEntry ? train::bindingOfArgument(function, index) : train::BindingAttr();
    return binding ? identifier(binding.getName()) : "p" + std::to_string(index);
  }
  // Each depth has its letter: what is inside of a body may name what is around it.
  constexpr StringLiteral values = "xyzwvutsrq", indices = "ijklmnabcd";
  size_t depth = 0;
  for (Operation *op = parent->getParentOp(); op && !isa<FunctionOpInterface>(op); op = op->getParentOp())
    ++depth;
  const char letter = (argument.getType().isIndex() ? indices : values)[depth % values.size()];
  return std::string(1, letter) + std::to_string(index);
}

/// Names of one function, each given once. MLIR tells equal ones apart by _0, _1: by a number over all of
/// them, so that what is read and printed again would have others.
class Unique {
public:
  std::string name(const std::string &wanted) {
    for (unsigned &number = numbers[wanted];;)
      if (std::string name = number++ == 0 ? wanted : fmt::format("{}.{}", wanted, number);
          taken.insert(name).second)
        return name;
  }

private:
  llvm::StringMap<unsigned> numbers;
  llvm::StringSet<> taken;
};

void nameValues(Operation *function, ValueNames &names, const ValueNames &given) {
  Unique unique;
  auto addArguments = [&](Region &region, bool isBody) {
    for (BlockArgument argument : region.getArguments())
      names[argument] = isBody ? nameOfArgument(argument) : unique.name(nameOfArgument(argument));
  };
  for (Region &region : function->getRegions())
    addArguments(region, false);
  function->walk([&](Operation *op) {
    if (op == function)
      return;
    for (Region &region : op->getRegions())
      addArguments(region, true);
    if (op->getNumResults() == 0)
      return;
    const Value first = op->getResult(0);
    const auto known = given.find(first);
    if (std::string wanted = known != given.end() ? known->second : nameOfResult(op); !wanted.empty())
      names[first] = unique.name(wanted);
  });
}

} // namespace

ValueNames namesOf(ModuleOp module, const ValueNames &given) {
  ValueNames names;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<FunctionOpInterface, exec::FunctionOp>(op))
      return WalkResult::advance();
    nameValues(op, names, given);
    return WalkResult::skip();
  });
  return names;
}

} // namespace kedge::text
