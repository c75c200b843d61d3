#include "runtime/train/weights/Weights.h"
#include "runtime/comm/Communicator.h"
#include "runtime/io/Interruption.h"
#include "runtime/train/weights/Adapters.h"
#include "runtime/train/weights/EncodedWeights.h"
#include "runtime/train/weights/FirstAdapters.h"
#include "runtime/train/weights/GivenWeights.h"
#include "runtime/train/weights/ProgramValues.h"
#include "runtime/train/weights/Residuals.h"
#include <algorithm>

namespace kedge::rt {

/// The sources of a run, in the order that they are asked.
class Loader {
public:
  /// `tells`: what a user should know of the files is said here.
  Loader(Executor &executor, const ProgramImage &image, const WeightSources &sources, bool tells = true)
      : executor(executor), init(sources.init, sources.seed, executor.threads()),
        values(executor, image, sources.model, sources.seed, tells),
        firstAdapters(executor, [this](const State &base) { return wholeWeight(base); }) {
    const Program &program = executor.program();
    const Communicator *ranks = executor.communicator();
    if (!sources.weights.empty())
      given = std::make_unique<GivenWeights>(program, sources.weights, sources.weightsPartial,
                                             tells && (!ranks || ranks->world().isFirst()), init);
    if (!sources.adapter.empty())
      adapter = std::make_unique<GivenAdapter>(program, sources.adapter);
    for (WeightSource *source : std::initializer_list<WeightSource *>{&init, adapter.get(), given.get()})
      if (source)
        chosen.push_back(source);
  }

  /// Which tensors of the given files are those of `states`.
  void match(const std::vector<const State *> &states) {
    for (WeightSource *source : chosen)
      source->match(states);
  }

  void load(const State &state, const SeenValues &seen) {
    fillState(executor, state, [&](const State &as, char *destination) {
      loadInto(as, destination);
      if (seen)
        seen(state, as, destination);
    });
  }

  void open(const State &state) {
    if (!(given && given->has(state)) && !init.specFor(state.onnxName))
      values.open(state);
  }

  void loadInto(const State &state, char *destination) {
    if (state.encoding && state.encoding->isInFile())
      return values.fill(state, destination), void();
    if (state.encoding)
      return loadEncoded(state, destination);
    if (firstAdapters.isRest(state))
      return firstAdapters.fillRest(state, destination);
    if (!isInFiles(state, destination) && !beginsByWeight(state, destination))
      values.fill(state, destination);
  }

private:
  /// Fills it if a file that the user chose has it.
  bool isInFiles(const State &state, char *destination) {
    return isModelTensor(state) && std::any_of(chosen.begin(), chosen.end(), [&](WeightSource *source) {
             return source->fill(state, destination);
           });
  }

  /// Fills what follows from the weight of an adapter; a folder at compile time gave it else.
  bool beginsByWeight(const State &state, char *destination) {
    return state.init.kind == StateInit::Kind::Zeros && firstAdapters.fill(state, destination);
  }

  /// In f32, also of one in few bits.
  std::vector<float> wholeWeight(const State &base) {
    if (base.encoding) {
      std::vector<char> bytes;
      return decodedWeight(executor.program(), base, [&](const State &part) {
        bytes.resize(wholeOf(part).desc.bytes());
        loadInto(wholeOf(part), bytes.data());
        return static_cast<const char *>(bytes.data());
      });
    }
    State whole = wholeOf(base);
    whole.desc.type = DType::F32;
    std::vector<float> found(static_cast<size_t>(whole.desc.elements()));
    char *destination = reinterpret_cast<char *>(found.data());
    if (!isInFiles(whole, destination))
      values.fill(whole, destination);
    return found;
  }

  static State wholeOf(const State &state) {
    State whole = state;
    whole.desc.shape = state.viewOrWhole().whole;
    whole.view.reset(), whole.shard.reset();
    return whole;
  }

  void loadEncoded(const State &state, char *destination) {
    if (state.view)
      return loadEncodedPart(state, destination);
    const State whole = wholeOfEncoded(executor.program(), state);
    for (WeightSource *source : chosen)
      if (source->fillCodes(state, whole, destination))
        return;
    values.fillCodes(state, whole, destination);
  }

  /// Codes of the whole weight are made, and these kept of them.
  void loadEncodedPart(const State &state, char *destination) {
    State whole = state;
    whole.desc.shape = state.view->whole;
    whole.view.reset(), whole.shard.reset();
    std::vector<char> codes(whole.desc.bytes());
    loadEncoded(whole, codes.data());
    fillFromTensor(state, {codes.data(), state.desc.type, {}}, destination);
  }

  Executor &executor;
  InitSpecs init;
  std::unique_ptr<GivenAdapter> adapter;
  std::unique_ptr<GivenWeights> given;
  ProgramValues values; ///< asked last: it has all
  FirstAdapters firstAdapters;
  std::vector<WeightSource *> chosen; ///< by the user, of the above
};

bool isModelTensor(const State &state) {
  return !state.onnxName.empty() && (state.role == StateRole::Parameter || state.role == StateRole::Frozen ||
                                     state.role == StateRole::Buffer || state.role == StateRole::State);
}

void loadInitialValues(Executor &executor, const ProgramImage &image, const WeightSources &sources,
                       bool onlyUnsaved, const SeenValues &seen) {
  if (!onlyUnsaved)
    checkSpecsMatch(executor.program(), sources.init);
  Loader loader(executor, image, sources);
  std::vector<const State *> states;
  for (const State &state : executor.program().states)
    if (!onlyUnsaved || keptOf(state) != Kept::Values)
      states.push_back(&state);
  loader.match(states);
  for (const State *state : states) {
    askToGoOn();
    if (!state->shard || state->desc.elements() > 0) // else another stage holds it
      loader.load(*state, seen);
  }
}

Originals::Originals(Executor &executor, const ProgramImage &image, const WeightSources &given)
    : sources(given) {
  std::vector<const State *> states;
  for (const State &state : executor.program().states)
    if (has(state))
      states.push_back(&state);
  if (states.empty())
    return;
  loader = std::make_unique<Loader>(executor, image, sources, /*tells=*/false);
  loader->match(states);
  for (const State *state : states)
    loader->open(*state);
}

Originals::~Originals() = default;

bool Originals::has(const State &state) const {
  const bool isHalf = state.desc.type == DType::F16 || state.desc.type == DType::BF16;
  return state.role == StateRole::Frozen && isHalf && !state.encoding && state.init.type == DType::F32 &&
         isModelTensor(state);
}

const char *Originals::fetch(const State &state) {
  State whole = state;
  whole.desc = {DType::F32, state.viewOrWhole().whole};
  whole.view.reset();
  values.resize(whole.desc.bytes());
  loader->loadInto(whole, values.data());
  return values.data();
}

} // namespace kedge::rt
