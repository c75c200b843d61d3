#include "runtime/train/checkpoint/CheckpointTensors.h"
#include "runtime/format/Convert.h"
#include "runtime/format/SplitMaster.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/checkpoint/WholeStates.h"
#include "runtime/train/weights/Adapters.h"
#include "runtime/train/weights/Residuals.h"
#include "runtime/train/weights/Weights.h"
#include <cstring>
#include <set>

namespace kedge::rt {
namespace {

constexpr const char *kRemedy =
    "resume from this program's own checkpoints, or start anew in another --checkpoint-dir";

bool inModelFile(const State &state) { return isModelTensor(state); }

std::string optimizerName(const Program &program, const State &state) {
  // A parameter may have several.
  if (state.role == StateRole::State)
    return fmt::format("{}/{}", roleName(state.role), state.name);
  const State *owner = state.of.empty() ? nullptr : program.state(state.of);
  const std::string &name = owner && !owner->onnxName.empty() ? owner->onnxName : state.name;
  return fmt::format("{}/{}", roleName(state.role), name);
}

std::string describe(const TensorDesc &desc) {
  return fmt::format("{}{}", dtypeName(desc.type), shapeText(desc.shape));
}

using StateTest = bool (*)(const State &);
bool inCheckpointModel(const State &state) { return inModelFile(state) && keptOf(state) == Kept::Values; }
bool inOptimizerFile(const State &state) { return !inModelFile(state) && keptOf(state) == Kept::Values; }

template <typename NameOf>
std::vector<NamedState> statesThat(const Program &program, StateTest test, NameOf &&nameOf) {
  std::vector<NamedState> states;
  for (const State &state : program.states)
    if (test(state))
      states.push_back({&state, nameOf(state)});
  return states;
}

/// One of the two files of a checkpoint, with the parts of it that ranks wrote.
class SavedFile {
public:
  SavedFile(const Checkpoint &checkpoint, const char *name)
      : path(checkpoint.folder + "/" + name), mesh(checkpoint.parts.mesh),
        whole(TensorFile::openSafetensors(path)) {
    const auto found = checkpoint.parts.tensors.find(name);
    if (found == checkpoint.parts.tensors.end() || found->second.empty())
      return;
    layouts = found->second;
    for (int64_t rank = 0; rank < mesh.size(); ++rank)
      parts.push_back(TensorFile::openSafetensors(checkpoint.folder + "/" + partFile(name, rank)));
  }

  /// Type and shape, the latter as in the exported file; nothing without the tensor.
  std::optional<TensorDesc> find(const std::string &name) const {
    if (const TensorView *view = whole.find(name))
      return view->desc;
    const auto layout = layouts.find(name);
    if (layout == layouts.end())
      return std::nullopt;
    State saved;
    saved.desc = {partOf(name, 0).desc.type, layout->second.shard.shape};
    saved.perm = layout->second.perm;
    return TensorDesc{saved.desc.type, saved.fileShape()};
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto &[name, view] : whole.tensors())
      all.push_back(name);
    for (const auto &[name, layout] : layouts)
      all.push_back(safetensorsName(name));
    return all;
  }

  void fill(const NamedState &entry, const std::vector<int> &layout, char *destination) const {
    if (const TensorView *view = whole.find(entry.name)) {
      const TensorSource source{view->data, view->desc.type, layout, whole.releaser()};
      return fillFromTensor(*entry.state, source, destination);
    }
    const PartLayout &saved = layouts.at(entry.name);
    PartedSource source{partOf(entry.name, 0).desc.type, saved.shard.shape, saved.perm, {}};
    for (const int64_t rank : mesh.groupOf(saved.shard.axes(), 0).members) {
      const TensorView &part = partOf(entry.name, rank);
      const StateView view = saved.shard.viewOf(mesh, rank);
      if (part.desc.elements() != view.count() || part.desc.type != source.type)
        fail("{}: rank {}'s part of '{}' is {}, expected {} elements of {}", path, rank, entry.name,
             describe(part.desc), view.count(), dtypeName(source.type));
      source.parts.push_back({part.data, view});
    }
    fillFromParts(*entry.state, layout, source, destination);
  }

  const std::string path;

private:
  const TensorView &partOf(const std::string &name, int64_t rank) const {
    const TensorView *view = parts[static_cast<size_t>(rank)].find(name);
    if (!view)
      fail("{}: rank {}'s part of '{}' is missing", path, rank, name);
    return *view;
  }

  const Mesh mesh; ///< of the ranks that wrote
  TensorFile whole;
  std::map<std::string, PartLayout> layouts;
  std::vector<TensorFile> parts;
};

/// Whether a program without residuals, or with them, takes what this file lacks or has too much: a
/// checkpoint of masters in one part, or in two.
bool isResidualName(const std::string &name) {
  return name.rfind(fmt::format("{}/", roleName(StateRole::Residual)), 0) == 0;
}

/// Reports what is missing, differs or is left over.
void checkFile(const SavedFile &file, const Program &program, const std::vector<NamedState> &states) {
  std::set<std::string> used;
  for (const NamedState &entry : states) {
    const TensorDesc expected = wholeTensor(program, entry, {}).desc;
    const std::optional<TensorDesc> found = file.find(entry.name);
    if (!found && entry.state->role == StateRole::Residual)
      continue;
    if (!found)
      fail(
          "{}: a checkpoint of another model or optimizer: it has no '{}', which the program needs as {}; {}",
          file.path, entry.name, describe(expected), kRemedy);
    if (found->shape != expected.shape || isFloat(found->type) != isFloat(expected.type))
      fail("{}: a checkpoint of another model: '{}' is {}, the program has {}; {}", file.path, entry.name,
           describe(*found), describe(expected), kRemedy);
    used.insert(safetensorsName(entry.name));
  }
  for (const std::string &found : file.names())
    if (!used.count(found) && !isResidualName(found))
      fail("{}: a checkpoint of another model or optimizer: it holds '{}' ({}), which the program lacks; {}",
           file.path, found, describe(*file.find(found)), kRemedy);
}

/// Sets states from the two files of a checkpoint.
class Restoring {
public:
  Restoring(const Checkpoint &checkpoint, Executor &executor)
      : executor(executor), program(executor.program()), model(checkpoint, kModelFile),
        optimizer(checkpoint, kOptimizerFile) {}

  void run() {
    const std::vector<NamedState> weights = checkpointModelStates(program), rest = optimizerStates(program);
    checkFile(model, program, weights);
    checkFile(optimizer, program, rest);
    for (const NamedState &entry : weights)
      fillState(executor, *entry.state, [&](const State &as, char *to) { fillWeight(as, entry.name, to); });
    for (const NamedState &entry : rest)
      setRest(entry);
  }

private:
  void fill(const SavedFile &file, const State &as, const std::string &name, char *to) {
    file.fill({&as, name}, layoutOf(program, as), to);
  }

  /// An f32 weight of a checkpoint that has it in two parts is both together.
  void fillWeight(const State &as, const std::string &name, char *to) {
    fill(model, as, name, to);
    const std::string rest = fmt::format("{}/{}", roleName(StateRole::Residual), name);
    if (as.desc.type != DType::F32 || !optimizer.find(rest) || model.find(name)->type != DType::BF16)
      return;
    std::vector<float> residual(static_cast<size_t>(as.desc.elements()));
    fill(optimizer, as, rest, reinterpret_cast<char *>(residual.data()));
    for (size_t k = 0; k < residual.size(); ++k) {
      float value = 0;
      std::memcpy(&value, to + k * sizeof(value), sizeof(value));
      value = joinedMaster(value, residual[k]);
      std::memcpy(to + k * sizeof(value), &value, sizeof(value));
    }
  }

  void setRest(const NamedState &entry) {
    if (entry.state->role != StateRole::Residual)
      return executor.write(*entry.state, [&](char *to) { fill(optimizer, *entry.state, entry.name, to); });
    const State &owner = *program.state(entry.state->of);
    fillState(executor, *entry.state, [&](const State &as, char *to) { fillWeight(as, owner.onnxName, to); });
  }

  Executor &executor;
  const Program &program;
  const SavedFile model, optimizer;
};

} // namespace

std::string partFile(const std::string &file, int64_t rank) {
  const size_t dot = file.rfind('.');
  return fmt::format("{}.rank-{}{}", file.substr(0, dot), rank, file.substr(dot));
}

TensorOut wholeTensor(const Program &program, const NamedState &entry, std::function<const void *()> fetch) {
  State laidOut = *entry.state;
  laidOut.perm = layoutOf(program, laidOut);
  return {entry.name,
          {laidOut.desc.type, laidOut.fileShape()},
          nullptr,
          laidOut.desc.type,
          inversePerm(laidOut.perm),
          std::move(fetch)};
}

std::vector<int> layoutOf(const Program &program, const State &state) {
  if (!state.perm.empty() || state.of.empty())
    return state.perm;
  const State *owner = program.state(state.of);
  return owner && owner->viewOrWhole().whole == state.viewOrWhole().whole ? owner->perm : state.perm;
}

std::vector<NamedState> checkpointModelStates(const Program &program) {
  return statesThat(program, inCheckpointModel, [](const State &state) { return state.onnxName; });
}

std::vector<NamedState> optimizerStates(const Program &program) {
  return statesThat(program, inOptimizerFile,
                    [&](const State &state) { return optimizerName(program, state); });
}

void loadCheckpoint(const Checkpoint &checkpoint, const std::vector<FrozenTensor> &frozen,
                    Executor &executor) {
  const std::string &expected = executor.program().options.optimizer;
  if (checkpoint.optimizer != expected)
    fail("{}: a checkpoint of the optimizer {}, the program was compiled for {}: compile with --optimizer {}",
         checkpoint.folder, checkpoint.optimizer, expected, checkpoint.optimizer);
  if (const Communicator *ranks = executor.communicator(); !ranks || ranks->world().isFirst())
    checkFrozen(checkpoint.folder, checkpoint.frozen, frozen); // the others do not know the whole tensors
  Restoring(checkpoint, executor).run();
}

void exportSafetensors(const std::string &path, const Executor &executor, std::optional<DType> type) {
  onFirstRank(executor, [&](WholeStates &states) {
    std::vector<TensorOut> tensors;
    MergedWeights merged(executor, states);
    for (const NamedState &entry :
         statesThat(executor.program(), inModelFile, [](const State &state) { return state.onnxName; })) {
      const bool isPart = entry.state->encoding && entry.state->encoding->part != EncodedPart::Codes;
      if (entry.state->adapter || isPart)
        continue;
      const bool merges = merged.has(*entry.state);
      tensors.push_back(
          wholeTensor(executor.program(), entry, [&states, &merged, merges, entry]() -> const void * {
            return merges ? merged.fetch(*entry.state) : states.fetch(*entry.state);
          }));
      tensors.back().desc.type = tensors.back().dataType = states.descOf(*entry.state).type;
      if (merges)
        tensors.back().desc = {tensors.back().dataType = DType::F32, merged.shapeOf(*entry.state)};
      if (type && isFloat(tensors.back().desc.type))
        tensors.back().desc.type = *type;
    }
    AtomicFile file(path);
    writeSafetensors(file.writer(), tensors);
    file.commit();
  });
}

} // namespace kedge::rt
