#include "runtime/train/weights/Weights.h"
#include "runtime/comm/Communicator.h"
#include "runtime/format/Convert.h"
#include "runtime/format/GraphHash.h"
#include "runtime/format/NearMisses.h"
#include "runtime/format/TensorFile.h"
#include "runtime/format/WeightHash.h"
#include "runtime/io/Error.h"
#include "runtime/io/NamePattern.h"
#include "runtime/io/Say.h"
#include "runtime/train/weights/Adapters.h"
#include "runtime/train/weights/EncodedWeights.h"
#include "runtime/train/weights/Residuals.h"
#include "runtime/train/weights/StateValues.h"
#include "runtime/train/weights/WeightNames.h"
#include <cstring>
#include <deque>
#include <memory>

namespace kedge::rt {
/// The model file that was compiled and its external data; opened and checked on first use.
class ModelFiles {
public:
  ModelFiles(const Program &program, const std::string &model) : program(program) {
    if (program.files.empty())
      return;
    path = model.empty() ? program.files[0].path : model;
  }

  const FileMap &file(int index) {
    if (index < 0 || static_cast<size_t>(index) >= program.files.size())
      fail("the program is damaged: it names file {} of {}", index, program.files.size());
    if (maps.empty()) {
      maps.resize(program.files.size());
      openChecked(0, path);
      checkHash();
    }
    if (index != 0 && !maps[static_cast<size_t>(index)])
      openChecked(static_cast<size_t>(index), placeOfModelFile(program, path, static_cast<size_t>(index)));
    return *maps[static_cast<size_t>(index)];
  }

private:
  void openChecked(size_t index, const std::string &place) {
    maps[index] = std::make_unique<FileMap>(place, "model file (--model names another place)");
    const uint64_t expected = program.files[index].bytes;
    if (expected != 0 && maps[index]->size() != expected)
      fail("{}: not the file that was compiled: expected {} bytes, found {}; compile this one, or give its "
           "weights by --weights",
           place, expected, maps[index]->size());
  }

  void checkHash() {
    const FileMap &file = *maps[0];
    const std::string found =
        hashGraph(reinterpret_cast<const uint8_t *>(file.data()), file.size(), program.weightPlaces);
    if (!program.graphHash.empty() && found != program.graphHash)
      fail("{}: another model than the one that was compiled: expected the graph hash {}, found {}; compile "
           "this "
           "one, or give its weights by --weights",
           path, program.graphHash, found);
  }

  const Program &program;
  std::string path;
  std::vector<std::unique_ptr<FileMap>> maps;
};

class Loader {
public:
  /// `tells`: what a user should know of the files is said here.
  Loader(Executor &executor, const ProgramImage &image, const WeightSources &sources, bool tells = true)
      : executor(executor), image(image), sources(sources), files(executor.program(), sources.model),
        saidOther(!tells), tells(tells) {
    if (!sources.weights.empty())
      given = std::make_unique<TensorFile>(TensorFile::open(sources.weights));
    if (!sources.adapter.empty())
      adapter = std::make_unique<GivenAdapter>(executor.program(), sources.adapter);
  }

  /// Which tensors of --weights are those of `states`.
  void match(const std::vector<const State *> &states) {
    if (!given)
      return;
    std::vector<const State *> wanted;
    std::deque<State> encoded;
    for (const State *state : states)
      if (isModelTensor(*state) && !specFor(state->onnxName) &&
          (!state->adapter || given->find(state->onnxName)))
        wanted.push_back(state->encoding ? &encoded.emplace_back(wholeOf(*state)) : state);
    matched = matchWeights(sources.weights, *given, wanted, sources.weightsPartial);
    const Communicator *ranks = executor.communicator();
    if (tells && (!ranks || ranks->world().isFirst()))
      for (const std::string &note : matched.notes)
        say(fmt::format("kedge: note: {}: {}", sources.weights, note));
  }

  void load(const State &state) {
    fillState(executor, state, [&](const State &as, char *destination) { loadInto(as, destination); });
  }

  void open(const State &state) {
    if (state.init.kind == StateInit::Kind::File && !matched.tensors.count(state.onnxName) &&
        !specFor(state.onnxName))
      files.file(state.init.file);
  }

  void loadInto(const State &state, char *destination) {
    if (state.encoding)
      return loadEncoded(state, destination);
    if (isModelTensor(state)) {
      if (const InitSpec *spec = specFor(state.onnxName)) {
        fillFrom(*spec, state, sources.seed, executor.threads(), destination);
        return;
      }
      if (adapter && adapter->fill(state, destination))
        return;
      if (const auto found = matched.tensors.find(state.onnxName); found != matched.tensors.end()) {
        loadGiven(state, *found->second, destination);
        return;
      }
    }
    loadInit(state, destination);
  }

private:
  const InitSpec *specFor(const std::string &name) const {
    const InitSpec *last = nullptr;
    for (const InitSpec &spec : sources.init)
      if (NamePattern(spec.pattern).isIn(name))
        last = &spec;
    return last;
  }

  void loadEncoded(const State &state, char *destination) {
    if (state.view)
      return loadEncodedPart(state, destination);
    const State whole = wholeOf(state);
    if (const auto name = matched.names.find(whole.onnxName); name != matched.names.end())
      if (const auto codes = QuantisedTensor::find(*given, sources.weights, name->second))
        return copyQuantised(state, *codes, whole.perm, sources.weights, name->second, destination);
    encodeWeight(state, sourceOfEncoded(whole), destination);
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

  void loadGiven(const State &state, const TensorView &view, char *destination) {
    fillFromTensor(state, givenSource(state, view), destination);
  }

  /// The weight that a state holds a part of in few bits, as if it held all of it in f32.
  State wholeOf(const State &state) const {
    State whole = state;
    whole.desc = {DType::F32, state.encoding->whole};
    const State *codes = state.of.empty() ? &state : executor.program().state(state.of);
    whole.onnxName = codes->onnxName;
    return whole;
  }

  /// The values of the weight that a state holds a part of in few bits. Its codes have its name, the rest
  /// adds to it.
  TensorSource sourceOfEncoded(const State &whole) {
    if (specFor(whole.onnxName)) {
      made.resize(whole.desc.bytes());
      fillFrom(*specFor(whole.onnxName), whole, sources.seed, executor.threads(), made.data());
      return {made.data(), DType::F32, {}};
    }
    if (const auto found = matched.tensors.find(whole.onnxName); found != matched.tensors.end())
      return givenSource(whole, *found->second);
    return initSource(whole);
  }

  TensorSource givenSource(const State &state, const TensorView &view) {
    if (const auto codes = QuantisedTensor::find(*given, sources.weights, matched.names.at(state.onnxName)))
      fail("{}: '{}' is quantised by bitsandbytes: compile the program with --quantize '^{}$={}'{}, and "
           "freeze it",
           sources.weights, state.onnxName, state.onnxName, quantizedName(codes->format),
           codes->doubled ? " --double-quantize" : "");
    const std::vector<int64_t> expected = state.fileShape();
    if (view.desc.shape != expected || isFloat(view.desc.type) != isFloat(state.desc.type))
      fail("{}: tensor '{}' is {}{}, the program takes {}{}: these are weights of another model; give "
           "this model's, or leave --weights out to start from {}",
           sources.weights, state.onnxName, dtypeName(view.desc.type), shapeText(view.desc.shape),
           dtypeName(state.desc.type), shapeText(expected), "the model file's");
    return {view.data, view.desc.type, state.perm, given->releaser()};
  }

  void loadInit(const State &state, char *destination) {
    const StateInit &init = state.init;
    if (init.kind == StateInit::Kind::Zeros) {
      std::memset(destination, 0, state.desc.bytes());
      return;
    }
    if (init.kind == StateInit::Kind::Fill) {
      for (int64_t i = 0; i < state.desc.elements(); ++i)
        storeDouble(state.desc.type, destination, i, init.value);
      return;
    }
    if (init.kind == StateInit::Kind::Uniform || init.kind == StateInit::Kind::Normal) {
      const bool normal = init.kind == StateInit::Kind::Normal;
      const InitSpec spec{"", normal ? InitSpec::Kind::Normal : InitSpec::Kind::Uniform, init.value};
      return fillFrom(spec, state, sources.seed, executor.threads(), destination);
    }
    fillFromTensor(state, initSource(state), destination);
  }

  TensorSource initSource(const State &state) {
    const StateInit &init = state.init;
    const bool data = init.kind == StateInit::Kind::Data;
    const char *bytes = data ? reinterpret_cast<const char *>(image.data) : files.file(init.file).data();
    const uint64_t size = data ? image.dataSize : files.file(init.file).size();
    const TensorDesc whole{init.type, state.viewOrWhole().whole};
    const uint64_t need = whole.bytes();
    if (init.length != need || init.offset > size || need > size - init.offset)
      fail("'{}': its initial value at {}+{} does not fit: {} bytes are needed, its file has {}", state.name,
           init.offset, init.length, need, size);
    TensorSource source{bytes + init.offset, init.type, init.perm};
    if (!data)
      checkBytes(state, bytes + init.offset);
    if (!data) // a model's weights are not resident twice
      source.letGo = [&file = files.file(init.file)](const char *begin, size_t count) {
        file.letGo(static_cast<size_t>(begin - file.data()), count);
      };
    return source;
  }

  /// Every tensor is looked at by one rank. Other weights in the same graph may be meant, when --model names
  /// them.
  void checkBytes(const State &state, const char *bytes) {
    const StateInit &init = state.init;
    const World world = executor.communicator() ? executor.communicator()->world() : World();
    const int64_t index = executor.program().state(state.name) - executor.program().states.data();
    if (init.hash.empty() || saidOther || index % world.size != world.rank ||
        hashWeights(bytes, init.length) == init.hash)
      return;
    const std::string what =
        fmt::format("{}: '{}' has other values than when the program was compiled",
                    files.file(init.file).path(), state.onnxName.empty() ? state.name : state.onnxName);
    if (init.file != 0 && sources.model.empty())
      fail("{}: its bytes at {}+{} have changed; compile again, or give --model to start from this file as "
           "it is",
           what, init.offset, init.length);
    say(fmt::format("kedge: note: {}; the run starts from these", what));
    saidOther = true;
  }

  Executor &executor;
  const ProgramImage &image;
  const WeightSources &sources;
  ModelFiles files;
  bool saidOther;
  const bool tells;
  std::unique_ptr<TensorFile> given;
  MatchedWeights matched;
  std::unique_ptr<GivenAdapter> adapter;
  std::vector<char> made; ///< of --init, for a weight in few bits
};

namespace {

void checkSpecsMatch(const Program &program, const std::vector<InitSpec> &specs) {
  for (const InitSpec &spec : specs) {
    bool used = false;
    std::vector<std::string> names;
    for (const State &state : program.states)
      if (isModelTensor(state)) {
        names.push_back(state.onnxName);
        used |= NamePattern(spec.pattern).isIn(state.onnxName);
      }
    if (!used)
      fail("--init '{}': no parameter or buffer has such a name{}", spec.pattern,
           nearMisses(spec.pattern, names));
  }
}

} // namespace

void checkModelFile(const Program &program, const std::string &model) { ModelFiles(program, model).file(0); }

std::string placeOfModelFile(const Program &program, const std::string &model, size_t index) {
  const std::string &stored = program.files[index].path, folder = folderOf(program.files[0].path) + "/";
  if (stored.rfind(folder, 0) == 0)
    return besideFile(model, stored.substr(folder.size()));
  return stored[0] == '/' ? stored : besideFile(model, stored);
}

bool isModelTensor(const State &state) {
  return !state.onnxName.empty() && (state.role == StateRole::Parameter || state.role == StateRole::Frozen ||
                                     state.role == StateRole::Buffer || state.role == StateRole::State);
}

void loadInitialValues(Executor &executor, const ProgramImage &image, const WeightSources &sources,
                       bool onlyUnsaved) {
  if (!onlyUnsaved)
    checkSpecsMatch(executor.program(), sources.init);
  Loader loader(executor, image, sources);
  std::vector<const State *> states;
  for (const State &state : executor.program().states)
    if (!onlyUnsaved || keptOf(state) != Kept::Values)
      states.push_back(&state);
  loader.match(states);
  for (const State *state : states)
    if (!state->shard || state->desc.elements() > 0) // else another stage holds it
      loader.load(*state);
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
