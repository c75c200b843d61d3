// What a session says of its model, and its states as the caller sees them: by ONNX name, in the file's
// layout.
#include "runtime/format/Convert.h"
#include "runtime/library/LearningSession.h"
#include "runtime/train/BeginRun.h"
#include "runtime/train/checkpoint/CheckpointTensors.h"
#include "runtime/train/checkpoint/WholeStates.h"
#include "runtime/train/output/OutputReader.h"
#include "runtime/train/weights/Averages.h"
#include "runtime/train/weights/Residuals.h"
#include "runtime/train/weights/StateValues.h"
#include "runtime/train/weights/Weights.h"
#include <algorithm>

namespace kedge::rt {
namespace {

/// The type in which the caller has it: narrow floats are widened.
DType callersType(DType type) { return type == DType::F16 || type == DType::BF16 ? DType::F32 : type; }

kedge_type typeOf(DType type) {
  switch (type) {
  case DType::F32:
    return KEDGE_FLOAT32;
  case DType::F64:
    return KEDGE_FLOAT64;
  case DType::F16:
    return KEDGE_FLOAT16;
  case DType::BF16:
    return KEDGE_BFLOAT16;
  case DType::I8:
    return KEDGE_INT8;
  case DType::I16:
    return KEDGE_INT16;
  case DType::I32:
    return KEDGE_INT32;
  case DType::I64:
    return KEDGE_INT64;
  case DType::U8:
    return KEDGE_UINT8;
  case DType::U16:
    return KEDGE_UINT16;
  case DType::U32:
    return KEDGE_UINT32;
  case DType::U64:
    return KEDGE_UINT64;
  case DType::Bool:
    return KEDGE_BOOL;
  case DType::F8E4M3:
  case DType::F8E5M2:
    break; // no state is of them
  }
  return KEDGE_FLOAT32;
}

/// Weights in few bits have no values that could be copied.
bool isShown(const State &state) { return isModelTensor(state) && !state.encoding; }

/// Of 8-bit optimizers the codes mean nothing without their scales.
bool isMoment(const State &state) {
  const bool isOne = state.role == StateRole::Moment1 || state.role == StateRole::Moment2 ||
                     state.role == StateRole::Momentum;
  return isOne && isFloat(state.desc.type);
}

template <typename List> kedge_tensor tensorAt(const List &list, size_t index, const char *what) {
  if (index >= list.size())
    throw WrongCall(fmt::format("{} number {} was asked for, and there are {}", what, index, list.size()));
  const auto &tensor = list[index];
  return {tensor.name.c_str(), tensor.type, tensor.shape.size(), tensor.shape.data()};
}

} // namespace

void LearningSession::describe() {
  for (const InputSpec &input : program.inputs)
    describedInputs.push_back({input.name, typeOf(input.desc.type), input.desc.shape});
  for (const std::string &name : floatOutputs(program))
    if (const ArenaSlot *place = outputOf(program, functionWith(program, name), name))
      describedOutputs.push_back({name, typeOf(callersType(place->desc.type)), place->desc.shape});
  for (const State &state : program.states)
    if (isShown(state))
      describeState({&state, state.onnxName});
  for (const Described &state : describedStates)
    if (state.state->role == StateRole::Parameter)
      describedParameters.push_back({state.name, KEDGE_FLOAT32, state.shape, state.state});
  for (const Described &parameter : describedParameters)
    gradients.add(*parameter.state, parameter.shape);
  for (const NamedState &entry : optimizerStates(program))
    if (isMoment(*entry.state))
      describeState(entry);
}

void LearningSession::describeState(const NamedState &entry) {
  const TensorDesc desc = wholeTensor(program, entry, {}).desc;
  describedStates.push_back({entry.name, typeOf(callersType(desc.type)), desc.shape, entry.state});
}

kedge_tensor LearningSession::inputAt(size_t index) const {
  return tensorAt(describedInputs, index, "input");
}
kedge_tensor LearningSession::outputAt(size_t index) const {
  return tensorAt(describedOutputs, index, "output");
}
kedge_tensor LearningSession::stateAt(size_t index) const {
  return tensorAt(describedStates, index, "state");
}

kedge_tensor LearningSession::parameterAt(size_t index) const {
  return tensorAt(describedParameters, index, "parameter");
}

const State &LearningSession::stateNamed(const std::string &name, size_t bytes) const {
  const auto found = std::find_if(describedStates.begin(), describedStates.end(),
                                  [&](const Described &described) { return described.name == name; });
  if (found == describedStates.end())
    throw WrongCall(fmt::format("the model has no state '{}'; kedge_state_at lists them", name));
  const TensorDesc desc{callersType(found->state->desc.type), found->shape};
  if (desc.bytes() != bytes)
    throw WrongCall(fmt::format("'{}' takes {} bytes ({}{}), and was given {}", name, desc.bytes(),
                                dtypeName(desc.type), shapeText(desc.shape), bytes));
  return *found->state;
}

void LearningSession::getState(const std::string &name, void *values, size_t bytes) const {
  requireWhole();
  const State &state = stateNamed(name, values ? bytes : 0);
  copyState(state, callersType(state.desc.type), values);
}

/// Of a parameter what evaluations and exports have: the average, where the optimizer trains at another
/// point.
void LearningSession::copyState(const State &state, DType type, void *values) const {
  WholeStates states(*executor);
  if (const auto average = evaluatedAverage(*executor, scalars, state)) {
    transpose(values, type, wholeTensor(program, {&state, state.onnxName}, {}).desc.shape,
              average->bytes.data(), average->state->desc.type, inversePerm(layoutOf(program, state)));
    return;
  }
  transpose(values, type, wholeTensor(program, {&state, state.onnxName}, {}).desc.shape, states.fetch(state),
            states.descOf(state).type, inversePerm(layoutOf(program, state)));
}

void LearningSession::setState(const std::string &name, const void *values, size_t bytes) {
  requireWhole();
  const State &state = stateNamed(name, values ? bytes : 0);
  replaceState(state, callersType(state.desc.type), values);
  knowsFrozen = knowsFrozen && state.role != StateRole::Frozen;
  statesChanged();
}

void LearningSession::replaceState(const State &state, DType type, const void *values) {
  const TensorSource source{static_cast<const char *>(values), type, layoutOf(program, state)};
  const auto fill = [&](const State &as, char *destination) { fillFromTensor(as, source, destination); };
  fillState(*executor, state, fill);
  if (const State *residual = residualOf(program, state))
    fillState(*executor, *residual, fill);
  if (const State *average = ownAverage(program, state)) // it begins anew from these
    fillState(*executor, *average, fill);
}

void LearningSession::statesChanged() {
  restoreDerived(*executor, scalars, progress, World());
  savedStep = -1;
}

void LearningSession::setStepsDone(int64_t steps) {
  requireWhole();
  if (steps < 0)
    throw WrongCall(fmt::format("{} steps done: expected a number from 0", steps));
  progress = {};
  progress.step = progress.optimizerSteps = steps;
  progress.samples = steps * program.options.batch * program.options.accumulate;
  if (scaler->isActive()) {
    LossScale scale = scaler->read();
    scale.optimizerSteps = steps;
    scaler->write(scale);
  }
  savedStep = -1;
}

void LearningSession::getParameters(float *values, size_t bytes) const {
  requireWhole();
  gradients.checkPlace(values, bytes);
  for (const Described &parameter : describedParameters)
    copyState(*parameter.state, DType::F32, values + gradients.placeOf(*parameter.state).first);
}

void LearningSession::setParameters(const float *values, size_t bytes) {
  requireWhole();
  gradients.checkPlace(values, bytes);
  for (const Described &parameter : describedParameters)
    replaceState(*parameter.state, DType::F32, values + gradients.placeOf(*parameter.state).first);
  statesChanged();
}

void LearningSession::getGradient(const std::string &name, float *values, size_t bytes) const {
  const auto found = std::find_if(describedParameters.begin(), describedParameters.end(),
                                  [&](const Described &described) { return described.name == name; });
  if (found == describedParameters.end())
    throw WrongCall(
        fmt::format("the model has no parameter '{}' that trains; kedge_parameter_at lists them", name));
  gradients.copy(gradients.placeOf(*found->state), name, values, bytes);
}

void LearningSession::getGradients(float *values, size_t bytes) const {
  gradients.checkPlace(values, bytes);
  gradients.copy(gradients.whole(), "", values, bytes);
}

} // namespace kedge::rt
