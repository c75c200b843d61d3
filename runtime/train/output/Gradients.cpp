#include "runtime/train/output/Gradients.h"
#include "runtime/comm/Communicator.h"
#include "runtime/format/Convert.h"
#include "runtime/format/TensorFile.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/io/Say.h"
#include "runtime/train/LossScaler.h"
#include "runtime/train/checkpoint/WholeStates.h"

namespace kedge::rt {
namespace {

const State &stateOf(const Program &program, const GradientSlot &place) {
  const State *state = program.state(place.parameter);
  if (!state)
    fail("the program is damaged: a gradient of '{}', which is no state", place.parameter);
  return *state;
}

} // namespace

void copyGradient(Executor &executor, const Function &function, const GradientSlot &place, const char *whole,
                  double items, float *to) {
  const State &state = stateOf(executor.program(), place);
  const std::vector<int64_t> shape = state.fileShape();
  transpose(to, DType::F32, shape, whole, place.type, inversePerm(state.perm));
  const LossScaler scaler(executor);
  double scale = scaler.isActive() ? 1 / scaler.read().scale : 1;
  if (function.gradientsPerItems)
    scale *= items > 0 ? executor.program().options.nominalItems / items : 0;
  for (int64_t i = 0, count = TensorDesc{DType::F32, shape}.elements(); i < count; ++i)
    to[i] = static_cast<float>(to[i] * scale);
}

void placeGradient(Executor &executor, const Function &function, const GradientSlot &place,
                   const float *values, double items) {
  const State &state = stateOf(executor.program(), place);
  const std::vector<int64_t> shape = state.viewOrWhole().whole;
  const LossScaler scaler(executor);
  double scale = scaler.isActive() ? scaler.read().scale : 1;
  if (function.gradientsPerItems)
    scale *= items / executor.program().options.nominalItems;
  const TensorDesc desc{place.type, shape};
  std::vector<float> scaled(values, values + desc.elements()); // before it is rounded to narrow floats
  for (float &value : scaled)
    value = static_cast<float>(value * scale);
  executor.write(place.space, place.offset, desc.bytes(),
                 [&](char *to) { transpose(to, place.type, shape, scaled.data(), DType::F32, state.perm); });
}

GradientTools::GradientTools(Executor &executor, const Options &options)
    : executor(executor), options(options) {}

bool GradientTools::needed() const { return !options.dumpGradients.empty() || !options.inject.empty(); }

bool GradientTools::wants(int64_t step) const {
  return (!options.dumpGradients.empty() && step == options.dumpStep) || options.inject.count(step) != 0;
}

void GradientTools::visit(const Function &function, int launch, int64_t step, double items) {
  const auto injected = options.inject.find(step);
  for (size_t i = 0; i < function.gradients.size(); ++i) {
    const GradientSlot &place = function.gradients[i];
    if (place.afterLaunch != launch)
      continue;
    if (!options.dumpGradients.empty() && step == options.dumpStep)
      dump(function, place, items);
    if (injected != options.inject.end() && isInjectedInto(function, i))
      executor.write(place.space, place.offset, dtypeSize(place.type),
                     [&](char *element) { storeDouble(place.type, element, 0, injected->second); });
  }
}

/// The first of the program: of the stages of a pipeline one has it.
bool GradientTools::isInjectedInto(const Function &function, size_t gradient) const {
  if (!executor.program().isPipelined())
    return gradient == 0;
  for (const State &state : executor.program().states)
    if (state.role == StateRole::Parameter)
      return function.gradients[gradient].parameter == state.name;
  return false;
}

void GradientTools::dump(const Function &function, const GradientSlot &place, double items) {
  const State &state = stateOf(executor.program(), place);
  perItems = function.gradientsPerItems;
  if (executor.program().isPipelined())
    return keepPart(state, place);
  std::vector<char> gathered;
  const char *whole = wholeOf(state, place, gathered);
  if (!whole)
    return;
  std::vector<float> &values = gradients[state.name];
  values.resize(static_cast<size_t>(TensorDesc{DType::F32, state.fileShape()}.elements()));
  copyGradient(executor, function, place, whole, items, values.data());
}

/// The whole gradient; null on ranks that gave their part to rank 0.
const char *GradientTools::wholeOf(const State &state, const GradientSlot &place,
                                   std::vector<char> &gathered) const {
  if (!place.shard)
    return executor.read(place.space, place.offset,
                         TensorDesc{place.type, state.viewOrWhole().whole}.bytes());
  Communicator &ranks = *executor.communicator();
  const TensorDesc part{place.type, place.shard->localShape(ranks.mesh())};
  gatherOnFirst(ranks, *place.shard, place.type, executor.read(place.space, place.offset, part.bytes()),
                gathered);
  return ranks.world().isFirst() ? gathered.data() : nullptr;
}

void GradientTools::keepPart(const State &state, const GradientSlot &place) {
  const std::vector<int64_t> shape =
      place.shard ? place.shard->localShape(executor.communicator()->mesh()) : state.viewOrWhole().whole;
  const TensorDesc desc{place.type, shape};
  const char *bytes = executor.read(place.space, place.offset, desc.bytes());
  Part &part = parts[state.name];
  part.isFlat = place.shard && place.shard->flat;
  part.values.resize(static_cast<size_t>(desc.elements()));
  const LossScaler scaler(executor);
  const double scale = scaler.isActive() ? 1 / scaler.read().scale : 1;
  for (size_t i = 0; i < part.values.size(); ++i)
    part.values[i] = static_cast<float>(loadAsDouble(place.type, bytes, static_cast<int64_t>(i)) * scale);
}

/// In rank 0's order of parameters: stages have their states in orders of their own.
void GradientTools::gatherParts(double items) {
  Communicator &ranks = *executor.communicator();
  const CompiledOptions &compiled = executor.program().options;
  const bool scales = maxOverRanks(&ranks, perItems) > 0;
  const double scale = !scales ? 1 : items > 0 ? compiled.nominalItems / items : 0;
  std::vector<std::string> names;
  for (const State &state : executor.program().states)
    if (state.role == StateRole::Parameter)
      names.push_back(state.name);
  auto count = static_cast<int64_t>(names.size());
  ranks.broadcast(&count, sizeof(count));
  names.resize(static_cast<size_t>(count));
  for (std::string &name : names) {
    auto length = static_cast<int64_t>(name.size());
    ranks.broadcast(&length, sizeof(length));
    name.resize(static_cast<size_t>(length));
    ranks.broadcast(name.data(), name.size());
    const State *state = executor.program().state(name);
    if (!state || !state->shard)
      fail("the program is damaged: its ranks have other states than rank 0: '{}' is missing", name);
    gatherPart(*state, scale);
  }
  parts.clear();
}

void GradientTools::gatherPart(const State &state, double scale) {
  enum : int64_t { None, Whole, Flat };
  Communicator &ranks = *executor.communicator();
  const auto own = parts.find(state.name);
  const int64_t found = maxOverRanks(&ranks, own == parts.end() ? None : own->second.isFlat ? Flat : Whole);
  if (found == None)
    return;
  Shard shard = *state.shard;
  shard.flat = found == Flat;
  std::vector<char> whole;
  gatherOnFirst(ranks, shard, DType::F32,
                own == parts.end() ? nullptr : reinterpret_cast<const char *>(own->second.values.data()),
                whole);
  if (!ranks.world().isFirst())
    return;
  std::vector<float> &values = gradients[state.name];
  const std::vector<int64_t> shape = state.fileShape();
  values.resize(static_cast<size_t>(TensorDesc{DType::F32, shape}.elements()));
  transpose(values.data(), DType::F32, shape, whole.data(), DType::F32, inversePerm(state.perm));
  for (float &value : values)
    value = static_cast<float>(value * scale);
}

void GradientTools::finishStep(int64_t step, double items) {
  if (options.dumpGradients.empty() || step != options.dumpStep)
    return;
  if (executor.program().isPipelined())
    gatherParts(items);
  if (const Communicator *ranks = executor.communicator(); ranks && !ranks->world().isFirst())
    return gradients.clear();
  std::vector<TensorOut> tensors;
  for (const State &state : executor.program().states) {
    const auto found = gradients.find(state.name);
    if (found != gradients.end())
      tensors.push_back({state.onnxName.empty() ? state.name : state.onnxName,
                         {DType::F32, state.fileShape()},
                         found->second.data(),
                         DType::F32,
                         {}});
    else if (state.role == StateRole::Parameter)
      say(fmt::format("kedge: warning: --dump-gradients: '{}' has no gradient in this program",
                      state.onnxName));
  }
  AtomicFile file(options.dumpGradients);
  writeSafetensors(file.writer(), tensors);
  file.commit();
  gradients.clear();
}

} // namespace kedge::rt
