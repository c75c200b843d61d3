#include "runtime/train/weights/Averages.h"
#include "runtime/comm/Communicator.h"
#include "runtime/io/Error.h"
#include "runtime/train/checkpoint/WholeStates.h"
#include "runtime/train/weights/Residuals.h"
#include <cstring>

namespace kedge::rt {
namespace {

/// Whether this rank holds a part of the average, and more of the parameter.
bool isSmaller(const State &parameter, const State &average) {
  return average.shard && parameter.desc.elements() > average.desc.elements() &&
         parameter.viewOrWhole().whole == average.viewOrWhole().whole;
}

/// `body(parameter, average)` for each pair.
template <typename Body> void forEachAverage(const Program &program, Body &&body) {
  for (const State &state : program.states) {
    if (state.role != StateRole::Average)
      continue;
    const State *parameter = program.state(state.of);
    if (!parameter || (parameter->desc.type != state.desc.type && parameter->desc.type != DType::BF16) ||
        (parameter->desc.elements() != state.desc.elements() && !isSmaller(*parameter, state)))
      fail("the program is damaged: '{}' is not the average of '{}'", state.name, state.of);
    body(*parameter, state);
  }
}

void copyBytes(Executor &executor, const State &state, const char *from) {
  executor.write(state, [&](char *to) { std::memcpy(to, from, state.desc.bytes()); });
}

/// What a device shows is valid until the next call.
std::string bytesOf(const Executor &executor, const State &state) {
  return {executor.read(state), state.desc.bytes()};
}

bool areAlike(const State &parameter, const State &average) {
  return parameter.desc.type == average.desc.type && !isSmaller(parameter, average);
}

int64_t wholeElements(const StateView &view) { return TensorDesc{DType::F32, view.whole}.elements(); }

/// Of bytes that `from` describes, those of `part`; `size`: bytes of an element.
std::string cut(const StateView &from, const std::string &bytes, const State &part, size_t size) {
  std::string whole(static_cast<size_t>(wholeElements(from)) * size, 0),
      found(static_cast<size_t>(part.desc.elements()) * size, 0);
  scatter(from, bytes.data(), whole.data(), size);
  part.viewOrWhole().forEachRun([&](const ElementRun &run) {
    std::memcpy(found.data() + static_cast<size_t>(run.here) * size,
                whole.data() + static_cast<size_t>(run.whole) * size, static_cast<size_t>(run.count) * size);
  });
  return found;
}

/// What a parameter is worth where its average is, with its residual where it has one.
std::string valuesOf(const Executor &executor, const State &parameter, const State &average) {
  std::string value = bytesOf(executor, parameter);
  if (isSmaller(parameter, average))
    value = cut(parameter.viewOrWhole(), value, average, dtypeSize(parameter.desc.type));
  if (parameter.desc.type == average.desc.type)
    return value;
  const State *residual = residualOf(executor.program(), parameter);
  const size_t count = static_cast<size_t>(average.desc.elements());
  const std::string rest = residual ? bytesOf(executor, *residual) : std::string(count, 0);
  std::vector<float> values(count);
  joinParts(value.data(), rest.data(), values);
  return {reinterpret_cast<const char *>(values.data()), count * sizeof(float)};
}

/// x of y and z, both of which have this type.
template <typename T> std::string backFrom(const std::string &y, const std::string &z, double beta1) {
  std::string x(y.size(), 0);
  for (size_t at = 0; at < y.size(); at += sizeof(T)) {
    T train, lead;
    std::memcpy(&train, y.data() + at, sizeof(T));
    std::memcpy(&lead, z.data() + at, sizeof(T));
    const T average = train + static_cast<T>(1 - 1 / beta1) * (lead - train);
    std::memcpy(x.data() + at, &average, sizeof(T));
  }
  return x;
}

/// An average, of which this rank has `own`, where a state is, whichever ranks hold it. All ranks call it.
std::vector<float> valuesAt(const Executor &executor, const State &average, const std::string &own,
                            const State &where) {
  std::vector<float> values(static_cast<size_t>(where.desc.elements()));
  if (!isSmaller(where, average)) {
    std::memcpy(values.data(), own.data(), own.size());
    return values;
  }
  std::vector<char> whole;
  gatherOnFirst(*executor.communicator(), *average.shard, average.desc.type, own.data(), whole);
  whole.resize(static_cast<size_t>(wholeElements(average.viewOrWhole())) * sizeof(float));
  executor.communicator()->broadcast(whole.data(), whole.size());
  const StateView all = StateView::range(average.viewOrWhole().whole, 0, 0, wholeElements(*average.view));
  const std::string found = cut(all, {whole.data(), whole.size()}, where, sizeof(float));
  std::memcpy(values.data(), found.data(), found.size());
  return values;
}

void setValues(Executor &executor, const State &state, const std::vector<float> &values) {
  executor.write(state, [&](char *to) {
    if (state.desc.type == DType::F32)
      std::memcpy(to, values.data(), values.size() * sizeof(float));
    else
      takePart(state, values, to);
  });
}

/// As bytes of the average's type, where it is.
std::string averageOf(const Executor &executor, const RunScalars &scalars, const State &parameter,
                      const State &average) {
  std::string held = bytesOf(executor, average);
  if (!hasOwnAverages(executor.program()))
    return held;
  const std::string trained = valuesOf(executor, parameter, average);
  return average.desc.type == DType::F64 ? backFrom<double>(trained, held, scalars.beta1)
                                         : backFrom<float>(trained, held, scalars.beta1);
}

} // namespace

void checkAverages(const Program &program, const char *flag) {
  for (const State &state : program.states)
    if (state.role == StateRole::Average)
      return;
  fail("{}: the program keeps no averages of its weights; compile it with --ema 0.999", flag);
}

bool hasOwnAverages(const Program &program) { return program.options.optimizer.starts_with("schedule-free"); }

void startAverages(Executor &executor) {
  forEachAverage(executor.program(), [&](const State &parameter, const State &average) {
    copyBytes(executor, average, valuesOf(executor, parameter, average).data());
  });
}

const State *ownAverage(const Program &program, const State &parameter) {
  if (hasOwnAverages(program))
    for (const State &state : program.states)
      if (state.role == StateRole::Average && state.of == parameter.name)
        return &state;
  return nullptr;
}

std::optional<EvaluatedAverage> evaluatedAverage(const Executor &executor, const RunScalars &scalars,
                                                 const State &parameter) {
  const State *average = ownAverage(executor.program(), parameter);
  if (!average)
    return std::nullopt;
  return EvaluatedAverage{average, averageOf(executor, scalars, parameter, *average)};
}

bool AveragesAsWeights::changePlaces(const State &parameter, const State &average) const {
  return areAlike(parameter, average) && !hasOwnAverages(executor.program());
}

void AveragesAsWeights::put() {
  forEachAverage(executor.program(), [&](const State &parameter, const State &average) {
    const std::string weights = bytesOf(executor, parameter),
                      averaged = averageOf(executor, scalars, parameter, average);
    if (changePlaces(parameter, average)) {
      copyBytes(executor, parameter, averaged.data());
      copyBytes(executor, average, weights.data());
      return;
    }
    aside.emplace_back(&parameter, weights);
    if (areAlike(parameter, average))
      return copyBytes(executor, parameter, averaged.data());
    setValues(executor, parameter, valuesAt(executor, average, averaged, parameter));
    if (const State *residual = residualOf(executor.program(), parameter)) {
      aside.emplace_back(residual, bytesOf(executor, *residual));
      setValues(executor, *residual, valuesAt(executor, average, averaged, *residual));
    }
  });
  restore();
}

void AveragesAsWeights::takeBack() {
  forEachAverage(executor.program(), [&](const State &parameter, const State &average) {
    if (!changePlaces(parameter, average))
      return;
    const std::string averaged = bytesOf(executor, parameter);
    copyBytes(executor, parameter, bytesOf(executor, average).data());
    copyBytes(executor, average, averaged.data());
  });
  for (const auto &[state, weights] : aside)
    copyBytes(executor, *state, weights.data());
  aside.clear();
  restore();
}

void AveragesAsWeights::restore() {
  if (executor.program().function("restore"))
    executor.run("restore");
}

} // namespace kedge::rt
