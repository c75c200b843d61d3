#include "passes/Pipeline/ForwardProgram.h"
#include "kedge/Dialect/Dist/CollectiveOps.h"
#include "kedge/Dialect/ONNX/CoreOps.h"
#include "kedge/Dialect/ONNX/Math/MathOps.h"
#include "kedge/Dialect/ONNX/Movement/MovementOps.h"
#include "kedge/Dialect/ONNX/ShapeUtils.h"
#include "kedge/Dialect/Train/FunctionKind.h"
#include "kedge/Dialect/Train/StateOps.h"
#include "kedge/Support/Assert.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace kedge::pipeline {
using train::BindingKind;

namespace {
constexpr int64_t kOfOutputs = 0; ///< the place whose ranks have them

Operation *terminatorOf(func::FuncOp function) { return function.getBody().front().getTerminator(); }

func::FuncOp newFunction(func::FuncOp source) {
  OpBuilder builder(source);
  auto made =
      func::FuncOp::create(builder, source.getLoc(), source.getSymName(), builder.getFunctionType({}, {}));
  for (NamedAttribute attribute : source->getDiscardableAttrs())
    made->setDiscardableAttr(attribute.getName(), attribute.getValue());
  builder.setInsertionPointToStart(made.addEntryBlock());
  func::ReturnOp::create(builder, source.getLoc());
  return made;
}

RankedTensorType ofAllRows(Type type, int64_t microBatches) {
  auto ranked = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(ranked.getShape());
  if (!shape.empty())
    shape.front() *= microBatches;
  return ranked.clone(shape);
}
} // namespace

ForwardProgram::ForwardProgram(func::FuncOp function, StageProgram &training, StageOf of)
    : source(function), made(newFunction(function)), training(training), of(of),
      builder(terminatorOf(made),
              PlaceAttr::get(function.getContext(), TrainingPhase::Forward, "", function.getSymName())) {
  for (Operation &op : function.getBody().front())
    if (auto stage = op.getAttrOfType<IntegerAttr>(dist::pipelineStageName))
      stages = std::max(stages, stage.getInt() + 1);
  for (BlockArgument argument : function.getArguments())
    if (auto input = train::bindingOfArgument(function, argument.getArgNumber(), BindingKind::Input)) {
      rows = rows ? rows : shapeOf(argument).front();
      argumentOf(input, ofAllRows(argument.getType(), of.microBatches));
    }
  noteReaders();
}

/// Along the axis; -1: each rank computes it for itself.
int64_t ForwardProgram::placeOfOp(Operation *op) const {
  auto stage = op->getAttrOfType<IntegerAttr>(dist::pipelineStageName);
  return stage ? stage.getInt() % of.stages : -1;
}

int64_t ForwardProgram::placeOfState(StringAttr state) const {
  auto found = source->getParentOfType<ModuleOp>().lookupSymbol<train::StateOp>(state);
  return found ? std::max<int64_t>(0, placeOfOp(found)) : 0;
}

void ForwardProgram::noteReaders() {
  for (Operation &op : source.getBody().front().without_terminator())
    if (const int64_t place = placeOfOp(&op); place >= 0)
      for (Value operand : op.getOperands())
        noteReader(operand, place);
  for (OpOperand &result : terminatorOf(source)->getOpOperands())
    if (train::bindingOfResult(source, result.getOperandNumber(), BindingKind::Output))
      noteReader(result.get(), kOfOutputs);
}

void ForwardProgram::noteReader(Value value, int64_t place) {
  if (Operation *producer = value.getDefiningOp()) {
    if (const int64_t own = placeOfOp(producer); own >= 0 && own != place)
      readers[value].insert(place);
    return;
  }
  auto argument = cast<BlockArgument>(value);
  auto state = train::stateOfArgument(source, argument.getArgNumber());
  if (!state || placeOfState(state.getAttr()) == place)
    return;
  if (training.isUpdated(state.getAttr()))
    statesRead[state.getAttr()].insert(place);
  else
    training.addHolder(state.getAttr(), place);
}

Value ForwardProgram::argumentOf(train::BindingAttr binding, Type type) {
  for (BlockArgument argument : made.getArguments())
    if (train::bindingOfArgument(made, argument.getArgNumber()) == binding)
      return argument;
  const unsigned index = made.getNumArguments();
  auto inserted = made.insertArgument(index, type, train::boundTo(binding), made.getLoc());
  KEDGE_ASSERT(succeeded(inserted));
  return made.getArgument(index);
}

Value ForwardProgram::number(int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return onnx::ConstantOp::create(builder, made.getLoc(), DenseElementsAttr::get(type, APInt(64, value)));
}

/// For messages: which micro-batch a rank waits for.
void ForwardProgram::noteMicro(Operation *op) {
  if (microOfTransfer >= 0)
    op->setAttr("micro", builder.getI64IntegerAttr(microOfTransfer));
}

/// What arrives here, where it does.
Value ForwardProgram::transfer(Type type, int64_t from, int64_t to, llvm::function_ref<Value()> own) {
  const auto next = static_cast<uint64_t>(transfers++), ranks = static_cast<uint64_t>(of.stages);
  if (!token)
    token = number(0);
  if (of.stage == from) {
    token = dist::SendOp::create(builder, made.getLoc(), token.getType(), own(), token,
                                 static_cast<uint64_t>(to), next, ranks);
    noteMicro(token.getDefiningOp());
  }
  if (of.stage != to)
    return {};
  auto receive = dist::ReceiveOp::create(builder, made.getLoc(), type, token.getType(), token,
                                         static_cast<uint64_t>(from), next, ranks);
  noteMicro(receive);
  token = receive.getNext();
  return receive.getValue();
}

/// Those that several stages read, and one updates: their new values are there alone.
void ForwardProgram::sendStates() {
  for (const auto &[state, places] : statesRead) {
    auto found = source->getParentOfType<ModuleOp>().lookupSymbol<train::StateOp>(state);
    auto binding = train::BindingAttr::get(made.getContext(), BindingKind::State, state);
    builder.enter(PlaceAttr::get(made.getContext(), TrainingPhase::Forward, "", state));
    for (int64_t to : places)
      if (Value arrived = transfer(found.getType(), placeOfState(state), to,
                                   [&] { return argumentOf(binding, found.getType()); }))
        received[state] = arrived;
  }
}

void ForwardProgram::write(bool lossIsMean) {
  sendStates();
  // The last stage takes the first micro-batch when all before it have one.
  for (int64_t time = 0; time < stages + of.microBatches - 1; ++time)
    for (int64_t stage = 0; stage < stages; ++stage)
      if (const int64_t micro = time - stage; micro >= 0 && micro < of.microBatches)
        runSlot(stage, micro);
  returnResults(lossIsMean);
  source.erase();
}

void ForwardProgram::runSlot(int64_t stage, int64_t micro) {
  for (Operation &op : source.getBody().front().without_terminator()) {
    auto own = op.getAttrOfType<IntegerAttr>(dist::pipelineStageName);
    if (!own || own.getInt() != stage)
      continue;
    microOfTransfer = micro;
    if (placeOfOp(&op) == of.stage)
      copy(&op, micro);
    if (PlaceAttr place = placeOf(&op))
      builder.enter(place);
    for (Value result : op.getResults())
      for (int64_t to : readers.lookup(result))
        if (Value arrived =
                transfer(result.getType(), placeOfOp(&op), to, [&] { return valueOf(result, micro); }))
          values[{result, micro}] = arrived;
  }
}

void ForwardProgram::copy(Operation *op, int64_t micro) {
  if (PlaceAttr place = placeOf(op))
    builder.enter(place);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, valueOf(operand, micro));
  Operation *copied = builder.clone(*op, mapping);
  copied->removeAttr(dist::pipelineStageName);
  for (auto [result, value] : llvm::zip(op->getResults(), copied->getResults()))
    values[{result, micro}] = value;
}

Value ForwardProgram::valueOf(Value value, int64_t micro) {
  if (auto found = values.find({value, micro}); found != values.end())
    return found->second;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return values[{value, micro}] = argumentValue(argument, micro);
  KEDGE_ASSERT(placeOfOp(value.getDefiningOp()) < 0);
  copy(value.getDefiningOp(), micro);
  return values.lookup({value, micro});
}

Value ForwardProgram::argumentValue(BlockArgument argument, int64_t micro) {
  auto binding = train::bindingOfArgument(source, argument.getArgNumber());
  if (binding.is(BindingKind::State))
    if (auto found = received.find(binding.getSymbol().getAttr()); found != received.end())
      return found->second;
  if (binding.is(BindingKind::Input))
    return rowsOf(argument, micro);
  Value whole = argumentOf(binding, argument.getType());
  if (!binding.is(BindingKind::Scalar, "row_base") || micro == 0)
    return whole;
  const int64_t rowsOfAll = rows * dist::rowGroup(made).ranks;
  return onnx::AddOp::create(builder, argument.getLoc(), whole, number(micro * rowsOfAll));
}

Value ForwardProgram::rowsOf(BlockArgument input, int64_t micro) {
  auto binding = train::bindingOfArgument(source, input.getArgNumber());
  Value all = argumentOf(binding, ofAllRows(input.getType(), of.microBatches));
  if (of.microBatches == 1)
    return all;
  SmallVector<int64_t> starts(rankOf(input), 0), ends(shapeOf(input)), steps(rankOf(input), 1);
  starts.front() = micro * rows;
  ends.front() = (micro + 1) * rows;
  return onnx::SliceOp::create(builder, input.getLoc(), all, builder.getDenseI64ArrayAttr(starts),
                               builder.getDenseI64ArrayAttr(ends), builder.getDenseI64ArrayAttr(steps));
}

void ForwardProgram::returnResults(bool lossIsMean) {
  builder.enter(PlaceAttr::get(made.getContext(), TrainingPhase::Forward, "", source.getSymName()));
  for (OpOperand &result : terminatorOf(source)->getOpOperands()) {
    auto binding = train::bindingOfResult(source, result.getOperandNumber());
    if (binding.is(BindingKind::Output))
      returnOutput(result, binding);
    else
      returnRows(result, binding, lossIsMean && binding.is(BindingKind::Result, "loss_sum"));
  }
  if (token)
    addResult(token, train::BindingAttr::get(made.getContext(), BindingKind::Result, "transfers"));
}

/// Each micro-batch's rows are a part of the output.
void ForwardProgram::returnOutput(OpOperand &output, train::BindingAttr binding) {
  if (of.stage != kOfOutputs)
    return;
  const auto ofMicro =
      cast<RankedTensorType>(binding.getPart() ? binding.getWhole() : output.get().getType());
  if (of.microBatches == 1)
    return addResult(valueOf(output.get(), 0), binding);
  const int64_t first = binding.getPart().value_or(0), elements = ofMicro.getNumElements();
  for (int64_t micro = 0; micro < (ofMicro.getRank() == 0 ? 1 : of.microBatches); ++micro)
    addResult(valueOf(output.get(), micro),
              train::BindingAttr::get(made.getContext(), binding.getKind(), binding.getTarget(),
                                      micro * elements + first, ofAllRows(ofMicro, of.microBatches)));
}

/// On the stage that makes it; what all can make is of the last.
void ForwardProgram::returnRows(OpOperand &result, train::BindingAttr binding, bool isMean) {
  Operation *producer = result.get().getDefiningOp();
  const int64_t place = producer ? placeOfOp(producer) : -1;
  if ((place < 0 ? of.stages - 1 : place) == of.stage)
    addResult(ofAllMicros(result.get(), isMean), binding);
}

/// Rows follow each other; numbers of a micro-batch are added up.
Value ForwardProgram::ofAllMicros(Value value, bool isMean) {
  SmallVector<Value> each;
  for (int64_t micro = 0; micro < of.microBatches; ++micro)
    each.push_back(valueOf(value, micro));
  if (each.size() == 1)
    return each.front();
  if (rankOf(value) > 0)
    return onnx::ConcatOp::create(builder, made.getLoc(), ofAllRows(value.getType(), of.microBatches), each,
                                  0);
  Value sum = each.front();
  for (Value next : ArrayRef<Value>(each).drop_front())
    sum = onnx::AddOp::create(builder, made.getLoc(), sum, next);
  if (!isMean)
    return sum;
  auto type = cast<RankedTensorType>(value.getType());
  const double share = 1.0 / static_cast<double>(of.microBatches);
  auto shareOfOne = DenseElementsAttr::get(type, FloatAttr::get(type.getElementType(), share).getValue());
  return onnx::MulOp::create(builder, made.getLoc(), sum,
                             onnx::ConstantOp::create(builder, made.getLoc(), shareOfOne));
}

void ForwardProgram::addResult(Value value, train::BindingAttr binding) {
  const unsigned index = made.getNumResults();
  auto inserted = made.insertResult(index, value.getType(), train::boundTo(binding));
  KEDGE_ASSERT(succeeded(inserted));
  terminatorOf(made)->insertOperands(index, value);
}

} // namespace kedge::pipeline
