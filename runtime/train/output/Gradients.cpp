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

GradientTools::GradientTools(Executor &executor, const Options &options)
    : executor(executor), options(options) {}

bool GradientTools::needed() const { return !options.dumpGradients.empty() || !options.inject.empty(); }

bool GradientTools::wants(int64_t step) const {
  return (!options.dumpGradients.empty() && step == options.dumpStep) || options.inject.count(step) != 0;
}

void GradientTools::visit(const Function &function, int launch, int64_t step, double items) {
  const auto injected = options.inject.find(step);
  for (size_t i = 0; i < function.gradients.size(); ++i) {
    const GradientPlace &place = function.gradients[i];
    if (place.afterLaunch != launch)
      continue;
    if (!options.dumpGradients.empty() && step == options.dumpStep)
      dump(function, place, items);
    if (i == 0 && injected != options.inject.end())
      executor.write(place.space, place.offset, dtypeSize(place.type),
                     [&](char *element) { storeDouble(place.type, element, 0, injected->second); });
  }
}

void GradientTools::dump(const Function &function, const GradientPlace &place, double items) {
  const State *state = executor.program().state(place.parameter);
  if (!state)
    fail("the program is damaged: a gradient of '{}', which is no state", place.parameter);
  std::vector<char> gathered;
  const char *whole = wholeOf(*state, place, gathered);
  if (!whole)
    return;
  std::vector<float> &values = gradients[state->name];
  const std::vector<int64_t> shape = state->fileShape();
  values.resize(static_cast<size_t>(TensorDesc{DType::F32, shape}.elements()));
  transpose(values.data(), DType::F32, shape, whole, place.type, inversePerm(state->perm));
  const LossScaler scaler(executor);
  double scale = scaler.isActive() ? 1 / scaler.read().scale : 1;
  if (function.gradientsPerItems)
    scale *= items > 0 ? executor.program().options.nominalItems / items : 0;
  for (float &value : values)
    value = static_cast<float>(value * scale);
}

/// The whole gradient; null on ranks that gave their part to rank 0.
const char *GradientTools::wholeOf(const State &state, const GradientPlace &place,
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

void GradientTools::finishStep(int64_t step) {
  if (options.dumpGradients.empty() || step != options.dumpStep)
    return;
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
