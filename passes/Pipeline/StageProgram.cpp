#include "passes/Pipeline/StageProgram.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/Kedge/ValueNotes.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/Optimizer/OptimizerOps.h"
#include "kedge/Support/Assert.h"
#include "kedge/abi/LossNames.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace kedge::pipeline {
using train::BindingKind;

namespace {
constexpr int64_t kUpdate = -1; ///< in place of a micro-batch

PlaceAttr optimizerPlace(MLIRContext *context) {
  return PlaceAttr::get(context, TrainingPhase::Update, "", "optimizer");
}

func::FuncOp newStep(func::FuncOp micro) {
  OpBuilder builder(micro);
  auto step = func::FuncOp::create(builder, micro.getLoc(), "step", builder.getFunctionType({}, {}));
  for (NamedAttribute attribute : micro->getDiscardableAttrs())
    step->setDiscardableAttr(attribute.getName(), attribute.getValue());
  builder.setInsertionPointToStart(step.addEntryBlock());
  func::ReturnOp::create(builder, micro.getLoc());
  train::setKind(step, train::FunctionKind::Step);
  return step;
}

Operation *endOf(func::FuncOp function) { return function.getBody().front().getTerminator(); }
} // namespace

StageProgram::StageProgram(func::FuncOp micro, func::FuncOp update, const StageParts &parts, StageOf of)
    : microFunction(micro), updateFunction(update), step(newStep(micro)), parts(parts), of(of),
      builder(endOf(step), optimizerPlace(step.getContext())) {
  for (auto state : step->getParentOfType<ModuleOp>().getOps<train::StateOp>())
    states[state.getSymNameAttr()] = state;
  for (BlockArgument argument : micro.getArguments()) {
    auto input = train::bindingOfArgument(micro, argument.getArgNumber(), BindingKind::Input);
    if (!input)
      continue;
    SmallVector<int64_t> shape(shapeOf(argument));
    rows = rows ? rows : shape.front();
    shape.front() *= of.microBatches;
    argumentOf(input.getName(), BindingKind::Input, RankedTensorType::get(shape, elementOf(argument)));
  }
  inParts = dist::partsOf(micro) > 0;
  rowParts = inParts ? dist::ownPartsOf(micro) : 1;
  token = number(0);
  noteUpdated(micro);
  noteUpdated(update);
  noteReaders(micro);
  noteReaders(update);
  if (Value norm = resultOf(update, "grad_norm"); norm && norm.getDefiningOp())
    for (int64_t stage = 0; stage < of.stages; ++stage)
      noteReader(norm, stage);
}

Value StageProgram::argumentOf(StringRef name, BindingKind kind, Type type) {
  for (BlockArgument argument : step.getArguments())
    if (auto binding = train::bindingOfArgument(step, argument.getArgNumber());
        binding && binding.is(kind, name))
      return argument;
  const unsigned index = step.getNumArguments();
  auto binding = train::BindingAttr::get(step.getContext(), kind, name);
  auto inserted = step.insertArgument(index, type, train::boundTo(binding), step.getLoc());
  KEDGE_ASSERT(succeeded(inserted));
  return step.getArgument(index);
}

/// The place along the axis; -1: each rank computes it for itself.
int64_t StageProgram::stageOf(Operation *op) const {
  const int64_t stage = StageParts::stageOf(op);
  return stage < 0 ? stage : stage % of.stages;
}

train::StateOp StageProgram::stateOf(StringAttr symbol) const { return states.lookup(symbol); }

bool StageProgram::isOwn(StringAttr state) const {
  return stageOfState(state) == of.stage || hasRole(state, train::Role::Scaler);
}

int64_t StageProgram::stageOfState(StringAttr state) const {
  train::StateOp found = stateOf(state);
  return found ? std::max<int64_t>(0, stageOf(found)) : 0;
}

bool StageProgram::hasRole(StringAttr state, train::Role role) const {
  train::StateOp found = stateOf(state);
  return found && found.getRole() == role;
}

void StageProgram::noteUpdated(func::FuncOp function) {
  for (OpOperand &result : endOf(function)->getOpOperands())
    if (auto state = train::stateOfResult(function, result.getOperandNumber()))
      if (result.get().getDefiningOp()) {
        updated.insert(state.getAttr());
        noteReader(result.get(), stageOfState(state.getAttr()));
        if (function == microFunction) {
          newStates[result.get()] = state.getAttr();
          changing.insert(state.getAttr());
        }
      }
}

void StageProgram::noteReaders(func::FuncOp function) {
  for (Operation &op : function.getBody().front().without_terminator())
    for (Value operand : op.getOperands())
      if (const int64_t stage = stageOf(&op); stage >= 0)
        noteReader(operand, stage);
      else if (operand.getDefiningOp()) // what each computes for itself
        for (int64_t each = 0; each < of.stages; ++each)
          noteReader(operand, each);
}

void StageProgram::noteReader(Value value, int64_t stage) {
  if (Operation *producer = value.getDefiningOp()) {
    if (const int64_t own = stageOf(producer); own >= 0 && own != stage)
      readers[value].insert(stage);
    return;
  }
  auto argument = cast<BlockArgument>(value);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto binding = train::bindingOfArgument(function, argument.getArgNumber());
  if (binding && binding.is(BindingKind::Scalar, "item_scale"))
    readers[value].insert(stage);
  if (!binding || !binding.is(BindingKind::State))
    return;
  StringAttr state = binding.getSymbol().getAttr();
  if (stageOfState(state) == stage || hasRole(state, train::Role::Scaler)) // each rank has the loss scale
    return;
  if (isAccumulator(state)) // what has been added up in the step
    readers[value].insert(stage);
  else if (updated.contains(state))
    stateReaders[state].insert(stage);
  else
    holders[state].insert(stage);
}

SmallVector<int64_t> StageProgram::stagesHolding(StringAttr state) const {
  SmallVector<int64_t> stages(holders.lookup(state).getArrayRef());
  stages.push_back(stageOfState(state));
  llvm::sort(stages);
  stages.erase(llvm::unique(stages), stages.end());
  return stages;
}

Value StageProgram::number(int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return onnx::ConstantOp::create(builder, step.getLoc(), DenseElementsAttr::get(type, APInt(64, value)));
}

/// For messages: which micro-batch a rank waits for.
void StageProgram::noteMicro(Operation *op) {
  if (microOfTransfer >= 0)
    op->setAttr("micro", builder.getI64IntegerAttr(microOfTransfer));
}

/// Each micro-batch has the value of the step.
void StageProgram::noteMicroOfValues(Operation *op, int64_t micro) {
  if (micro < 0)
    return;
  SmallVector<DictionaryAttr> notes = valueNotesOf(op);
  for (DictionaryAttr &note : notes)
    if (note)
      note = withEntry(note, "micro", builder.getI64IntegerAttr(micro));
  setValueNotes(op, notes);
}

/// What arrives here, where it does.
Value StageProgram::transfer(Type type, int64_t from, int64_t to, llvm::function_ref<Value()> own) {
  const auto next = static_cast<uint64_t>(transfers++), stages = static_cast<uint64_t>(of.stages);
  if (of.stage == from) {
    token = dist::SendOp::create(builder, step.getLoc(), token.getType(), own(), token,
                                 static_cast<uint64_t>(to), next, stages);
    noteMicro(token.getDefiningOp());
    ++sends;
  }
  if (of.stage != to)
    return {};
  auto receive = dist::ReceiveOp::create(builder, step.getLoc(), type, token.getType(), token,
                                         static_cast<uint64_t>(from), next, stages);
  noteMicro(receive);
  token = receive.getNext();
  ++receives;
  return receive.getValue();
}

void StageProgram::transfer(Key key, int64_t from, int64_t to) {
  microOfTransfer = key.second;
  if (Value arrived = transfer(key.first.getType(), from, to, [&] { return valueOf(key.first, key.second); }))
    values[key] = arrived;
  microOfTransfer = kUpdate;
}

void StageProgram::transferResults(Operation *op, int64_t micro) {
  if (PlaceAttr place = placeOf(op))
    builder.enter(place);
  for (Value result : op->getResults())
    for (int64_t to : readers.lookup(result))
      transfer({result, micro}, stageOf(op), to);
}

void StageProgram::sendStates() {
  for (const auto &entry : stateReaders) {
    StringAttr state = entry.first;
    Type type = stateOf(state).getType();
    builder.enter(PlaceAttr::get(step.getContext(), TrainingPhase::Forward, "", state));
    for (int64_t to : entry.second)
      if (Value arrived = transfer(type, stageOfState(state), to, [&] { return stateValue(state, type); }))
        current[state] = arrived;
  }
}

void StageProgram::run(const Slot &slot) {
  if (slot.stage % of.stages != of.stage)
    return;
  if (slot.part == Part::Forward)
    noteOldStates(slot.stage, slot.micro);
  for (Operation *op : parts.opsOf(slot.stage, slot.part))
    write(op, slot.micro);
}

/// All of a micro-batch reads what the one before has left, wherever its own new value is made.
void StageProgram::noteOldStates(int64_t stage, int64_t micro) {
  for (BlockArgument argument : microFunction.getArguments()) {
    auto symbol = train::stateOfArgument(microFunction, argument.getArgNumber());
    if (!symbol || !changing.contains(symbol.getAttr()) || isAccumulator(symbol.getAttr()))
      continue;
    train::StateOp state = stateOf(symbol.getAttr());
    if (state && std::max<int64_t>(0, StageParts::stageOf(state)) == stage)
      values[{argument, micro}] = stateValue(symbol.getAttr(), argument.getType());
  }
}

void StageProgram::share(llvm::DenseSet<Value> alike) {
  shared = std::move(alike);
  noteOldStates(0, 0);
}

void StageProgram::join(train::SumMicrosOp sum) {
  if (PlaceAttr place = placeOf(sum))
    builder.enter(place);
  values[{sum.getSum(), 0}] = sumOfMicros(sum.getX());
}

void StageProgram::sendMade(const Slot &slot) {
  for (Operation *op : parts.opsOf(slot.stage, slot.part))
    transferResults(op, slot.micro);
}

void StageProgram::write(Operation *op, int64_t micro) {
  if (PlaceAttr place = placeOf(op))
    builder.enter(place);
  if (writeAccumulation(op, micro))
    return;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, valueOf(operand, micro));
  Operation *copy = builder.clone(*op, mapping);
  copy->removeAttr(dist::pipelineStageName);
  noteMicroOfValues(copy, micro);
  for (auto [result, copied] : llvm::zip(op->getResults(), copy->getResults()))
    values[{result, micro}] = copied;
  noteNewStates(op, micro);
}

/// The first micro-batch's gradient is what others are added to: there is no accumulator before the step.
bool StageProgram::writeAccumulation(Operation *op, int64_t micro) {
  auto sum = dyn_cast<train::AccumulateOp>(op);
  if (!sum || !newStates.contains(sum.getResult()))
    return false;
  StringAttr state = newStates.lookup(sum.getResult());
  Value gradient = valueOf(sum.getGradient(), micro), &total = current[state];
  if (micro % roundsOfPart() != 0)
    total = train::AccumulateOp::create(builder, op->getLoc(), total, gradient, number(micro)).getResult();
  else if (gradient.getType() == sum.getType())
    total = gradient;
  else
    total = onnx::CastOp::create(builder, op->getLoc(), gradient, TypeAttr::get(elementOf(sum.getResult())));
  if ((micro + 1) % roundsOfPart() == 0)
    joinParts(state, micro / roundsOfPart(), op->getLoc());
  return true;
}

/// A sum waits for that of as many parts after it: the second half of a run of 2, 4, 8... parts ends at parts
/// whose number ends with as many ones.
void StageProgram::joinParts(StringAttr state, int64_t part, Location loc) {
  Value &total = current[state];
  SmallVector<Value> &waiting = halves[state];
  for (int64_t rest = part; rest & 1; rest >>= 1)
    total = onnx::AddOp::create(builder, loc, waiting.pop_back_val(), total);
  waiting.push_back(total);
}

/// The rows of a round of all parts follow each other.
int64_t StageProgram::firstRowOf(int64_t micro, int64_t ranks) const {
  return (micro % roundsOfPart() * rowParts * ranks + micro / roundsOfPart()) * rows;
}

void StageProgram::noteNewStates(Operation *op, int64_t micro) {
  if (micro == kUpdate)
    return;
  for (Value result : op->getResults())
    if (auto state = newStates.find(result);
        state != newStates.end() && stageOfState(state->second) == of.stage)
      current[state->second] = values[{result, micro}];
}

Value StageProgram::valueOf(Value value, int64_t micro) {
  if (shared.contains(value))
    micro = 0;
  if (auto found = values.find({value, micro}); found != values.end())
    return found->second;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argumentValue(argument, micro);
  KEDGE_ASSERT(stageOf(value.getDefiningOp()) < 0);
  write(value.getDefiningOp(), micro);
  return values.lookup({value, micro});
}

Value StageProgram::argumentValue(BlockArgument argument, int64_t micro) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto binding = train::bindingOfArgument(function, argument.getArgNumber());
  if (binding.is(BindingKind::State))
    return stateValue(binding.getSymbol().getAttr(), argument.getType());
  if (binding.is(BindingKind::Input))
    return values[{argument, micro}] = rowsOf(argument, micro);
  if (binding.is(BindingKind::Scalar, "micro"))
    return values[{argument, micro}] = number(micro);
  Value scalar = argumentOf(binding.getName(), binding.getKind(), argument.getType());
  if (!binding.is(BindingKind::Scalar, "row_base") || micro <= 0)
    return scalar;
  Value first = onnx::AddOp::create(builder, argument.getLoc(), scalar,
                                    number(firstRowOf(micro, dist::rowGroup(step).ranks)));
  return values[{argument, micro}] = first;
}

Value StageProgram::stateValue(StringAttr state, Type type) {
  Value &value = current[state];
  if (!value)
    value = argumentOf(state, BindingKind::State, type);
  return value;
}

/// The micro-batch's rows of an input, which holds those of all.
Value StageProgram::rowsOf(Value input, int64_t micro) {
  auto argument = cast<BlockArgument>(input);
  auto binding = train::bindingOfArgument(microFunction, argument.getArgNumber());
  SmallVector<int64_t> starts(rankOf(input), 0), ends(shapeOf(input)), steps(rankOf(input), 1);
  SmallVector<int64_t> whole(shapeOf(input));
  whole.front() *= of.microBatches;
  Value all =
      argumentOf(binding.getName(), BindingKind::Input, RankedTensorType::get(whole, elementOf(input)));
  if (of.microBatches == 1)
    return all;
  starts.front() = firstRowOf(micro, 1);
  ends.front() = starts.front() + rows;
  return onnx::SliceOp::create(builder, input.getLoc(), all, builder.getDenseI64ArrayAttr(starts),
                               builder.getDenseI64ArrayAttr(ends), builder.getDenseI64ArrayAttr(steps));
}

void StageProgram::update() {
  makeItemScale();
  for (BlockArgument argument : updateFunction.getArguments())
    if (auto state = train::stateOfArgument(updateFunction, argument.getArgNumber());
        state && isAccumulator(state.getAttr()))
      for (int64_t to : readers.lookup(argument))
        transfer({argument, kUpdate}, stageOfState(state.getAttr()), to);
  for (Operation &op : updateFunction.getBody().front().without_terminator()) {
    if (stageOf(&op) < 0)
      continue;
    if (stageOf(&op) == of.stage)
      write(&op, kUpdate);
    transferResults(&op, kUpdate);
  }
}

/// What the host computes between @micro and @update.
void StageProgram::makeItemScale() {
  Value items = resultOf(microFunction, "items");
  for (BlockArgument argument : updateFunction.getArguments()) {
    auto binding = train::bindingOfArgument(updateFunction, argument.getArgNumber(), BindingKind::Scalar);
    if (!binding || binding.getName() != "item_scale")
      continue;
    const int64_t from = items.getDefiningOp() ? std::max<int64_t>(0, stageOf(items.getDefiningOp())) : 0;
    builder.enter(optimizerPlace(step.getContext()));
    if (of.stage == from) {
      auto nominal = train::NominalItemsNote(microFunction->getContext()).getAttr(microFunction);
      Value counted = sumOfMicros(items);
      if (counted.getType() != items.getType())
        counted = onnx::CastOp::create(builder, step.getLoc(), counted, TypeAttr::get(elementOf(items)));
      if (const dist::RankGroup rows = dist::rowGroup(step); !rows.isAlone())
        counted = dist::AllReduceOp::create(builder, step.getLoc(), counted, rows, dist::ReduceKind::Sum)
                      .getResult(0);
      values[{argument, kUpdate}] =
          train::ItemScaleOp::create(builder, step.getLoc(), counted, APFloat(nominal.getValueAsDouble()));
    }
    for (int64_t to : readers.lookup(argument))
      if (to != from)
        transfer({argument, kUpdate}, from, to);
  }
}

/// With parts in fp64, in which a host adds losses up.
Value StageProgram::sumOfMicros(Value value) {
  const auto ofMicro = [&](int64_t micro) -> Value {
    Value own = valueOf(value, micro);
    return inParts ? onnx::CastOp::create(builder, step.getLoc(), own, TypeAttr::get(builder.getF64Type()))
                         .getResult()
                   : own;
  };
  Value sum = ofMicro(0);
  for (int64_t micro = 1; micro < of.microBatches; ++micro)
    sum = onnx::AddOp::create(builder, step.getLoc(), sum, ofMicro(micro));
  return sum;
}

Value StageProgram::resultOf(func::FuncOp function, StringRef name) const {
  for (OpOperand &result : endOf(function)->getOpOperands())
    if (auto binding = train::bindingOfResult(function, result.getOperandNumber());
        binding && binding.is(BindingKind::Result, name))
      return result.get();
  return {};
}

void StageProgram::addResult(Value value, train::BindingAttr binding) {
  const unsigned index = step.getNumResults();
  auto inserted = step.insertResult(index, value.getType(), train::boundTo(binding));
  KEDGE_ASSERT(succeeded(inserted));
  endOf(step)->insertOperands(index, value);
}

/// The stage that has it counts it, for all ranks are added up.
void StageProgram::returnSum(StringRef name, bool isMean) {
  Value value = resultOf(microFunction, name);
  if (!value)
    return;
  auto type = cast<RankedTensorType>(value.getType());
  if (inParts)
    type = type.clone(builder.getF64Type());
  const auto splat = [&](double number) -> Value {
    auto attribute = DenseElementsAttr::get(type, FloatAttr::get(type.getElementType(), number).getValue());
    return onnx::ConstantOp::create(builder, step.getLoc(), attribute);
  };
  Value sum;
  const int64_t producer = value.getDefiningOp() ? std::max<int64_t>(0, stageOf(value.getDefiningOp())) : 0;
  if (producer != of.stage)
    sum = splat(0);
  else if (sum = sumOfMicros(value); isMean && of.microBatches > 1)
    sum = onnx::DivOp::create(builder, step.getLoc(), sum, splat(static_cast<double>(of.microBatches)));
  addResult(sum, train::BindingAttr::get(step.getContext(), BindingKind::Result, name));
}

void StageProgram::returnStates(func::FuncOp function, int64_t micro) {
  for (OpOperand &result : endOf(function)->getOpOperands()) {
    auto state = train::stateOfResult(function, result.getOperandNumber());
    if (!state || isAccumulator(state.getAttr()) || !isOwn(state.getAttr()) || !result.get().getDefiningOp())
      continue;
    argumentOf(state.getValue(), BindingKind::State, result.get().getType());
    addResult(micro == kUpdate ? valueOf(result.get(), micro) : current[state.getAttr()],
              train::bindingOfResult(function, result.getOperandNumber()));
  }
}

func::FuncOp StageProgram::finish() {
  builder.enter(optimizerPlace(step.getContext()));
  const bool isMean = !train::NominalItemsNote(microFunction->getContext())
                           .isAttrPresent(microFunction); // a loss of the graph
  returnSum("loss_sum", isMean);
  returnSum("items", false);
  for (const std::string_view metric : abi::kStepMetrics)
    returnSum((Twine(StringRef(abi::kMetricPrefix)) + StringRef(metric)).str(), false);
  for (OpOperand &result : endOf(microFunction)->getOpOperands())
    if (auto term = train::bindingOfResult(microFunction, result.getOperandNumber(), BindingKind::Result);
        term && term.getName().starts_with(abi::kLossPrefix))
      returnSum(term.getName(), isMean);
  if (Value norm = resultOf(updateFunction, "grad_norm"))
    addResult(valueOf(norm, kUpdate),
              train::BindingAttr::get(step.getContext(), BindingKind::Result, "grad_norm"));
  if (of.stages > 1)
    addResult(token, train::BindingAttr::get(step.getContext(), BindingKind::Result, "transfers"));
  else if (isOpTriviallyDead(token.getDefiningOp()))
    token.getDefiningOp()->erase();
  returnStates(microFunction, 0);
  returnStates(updateFunction, kUpdate);
  return step;
}

} // namespace kedge::pipeline
