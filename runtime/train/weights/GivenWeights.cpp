#include "runtime/train/weights/GivenWeights.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include "runtime/io/Say.h"
#include "runtime/train/weights/EncodedWeights.h"
#include "runtime/train/weights/Weights.h"
#include <deque>

namespace kedge::rt {

GivenWeights::GivenWeights(const Program &program, const std::string &path, bool partial, bool tells,
                           const InitSpecs &init)
    : program(program), path(path), partial(partial), tells(tells), init(init), file(TensorFile::open(path)) {
}

void GivenWeights::match(const std::vector<const State *> &states) {
  std::vector<const State *> wanted;
  std::deque<State> encoded;
  for (const State *state : states)
    if (isModelTensor(*state) && !(state->encoding && state->encoding->isInFile()) &&
        !init.specFor(state->onnxName) && (!state->adapter || file.find(state->onnxName)))
      wanted.push_back(state->encoding ? &encoded.emplace_back(wholeOfEncoded(program, *state)) : state);
  matched = matchWeights(path, file, wanted, partial);
  if (tells)
    for (const std::string &note : matched.notes)
      say(fmt::format("kedge: note: {}: {}", path, note));
}

bool GivenWeights::fill(const State &state, char *destination) {
  const auto found = matched.tensors.find(state.onnxName);
  if (found == matched.tensors.end())
    return false;
  fillFromTensor(state, source(state, *found->second), destination);
  return true;
}

bool GivenWeights::fillCodes(const State &codes, const State &whole, char *destination) {
  if (const auto name = matched.names.find(whole.onnxName); name != matched.names.end())
    if (const auto quantised = QuantisedTensor::find(file, path, name->second)) {
      copyQuantised(codes, *quantised, whole.perm, path, name->second, destination);
      return true;
    }
  return WeightSource::fillCodes(codes, whole, destination);
}

std::optional<TensorSource> GivenWeights::valuesOf(const State &whole) {
  const auto found = matched.tensors.find(whole.onnxName);
  if (found == matched.tensors.end())
    return std::nullopt;
  return source(whole, *found->second);
}

TensorSource GivenWeights::source(const State &state, const TensorView &view) const {
  if (const auto codes = QuantisedTensor::find(file, path, matched.names.at(state.onnxName)))
    fail("{}: '{}' is quantised by bitsandbytes: compile the program with --quantize '^{}$={}'{}, and "
         "freeze it",
         path, state.onnxName, state.onnxName, quantizedName(codes->format),
         codes->doubled ? " --double-quantize" : "");
  const std::vector<int64_t> expected = state.fileShape();
  if (!state.takes(view.desc.shape) || isFloat(view.desc.type) != isFloat(state.desc.type))
    fail("{}: tensor '{}' is {}{}, the program takes {}{}: these are weights of another model; give "
         "this model's, or leave --weights out to start from {}",
         path, state.onnxName, dtypeName(view.desc.type), shapeText(view.desc.shape),
         dtypeName(state.desc.type), shapeText(expected), "the model file's");
  return resizedSource(state, {view.data, view.desc.type, state.perm, file.releaser()}, view.desc.shape);
}

} // namespace kedge::rt
