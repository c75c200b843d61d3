#include "runtime/train/CheckpointTensors.h"
#include "runtime/format/Convert.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/Weights.h"
#include <set>

namespace kedge::rt {
namespace {

constexpr const char *kRemedy =
    "resume from this program's own checkpoints, or start anew in another --checkpoint-dir";

bool inModelFile(const State &state) { return isModelTensor(state); }

std::string optimizerName(const Program &program, const State &state) {
  const State *owner = state.of.empty() ? nullptr : program.state(state.of);
  const std::string &name = owner && !owner->onnxName.empty() ? owner->onnxName : state.name;
  return fmt::format("{}/{}", roleName(state.role), name);
}

TensorOut outputOf(const Executor &executor, const State &state, const std::string &name) {
  State laidOut = state;
  laidOut.perm = layoutOf(executor.program(), state);
  return {name,
          {state.desc.type, laidOut.fileShape()},
          nullptr,
          state.desc.type,
          inversePerm(laidOut.perm),
          [&executor, &state] {
            state.expectWhole("written");
            return executor.read(state);
          }};
}

std::string describe(const TensorDesc &desc) {
  return fmt::format("{}{}", dtypeName(desc.type), shapeText(desc.shape));
}

using StateTest = bool (*)(const State &);
bool inCheckpointModel(const State &state) { return inModelFile(state) && keptOf(state) == Kept::Values; }
bool inOptimizerFile(const State &state) { return !inModelFile(state) && keptOf(state) == Kept::Values; }

std::vector<const State *> statesThat(const Program &program, StateTest test) {
  std::vector<const State *> states;
  for (const State &state : program.states)
    if (test(state))
      states.push_back(&state);
  return states;
}

/// Sets states from one file and reports what is missing, differs or is left over. `expected`: of `states`.
void loadFile(const Checkpoint &checkpoint, Executor &executor, const char *name,
              const std::vector<const State *> &states, const std::vector<TensorOut> &expected) {
  const std::string path = checkpoint.folder + "/" + name;
  const TensorFile file = TensorFile::openSafetensors(path);
  std::set<std::string> used;
  for (const TensorOut &tensor : expected) {
    const TensorView *view = file.find(tensor.name);
    if (!view)
      fail(
          "{}: a checkpoint of another model or optimizer: it has no '{}', which the program needs as {}; {}",
          path, tensor.name, describe(tensor.desc), kRemedy);
    if (view->desc.shape != tensor.desc.shape || isFloat(view->desc.type) != isFloat(tensor.desc.type))
      fail("{}: a checkpoint of another model: '{}' is {}, the program has {}; {}", path, tensor.name,
           describe(view->desc), describe(tensor.desc), kRemedy);
    used.insert(tensor.name);
  }
  for (const auto &[found, view] : file.tensors())
    if (!used.count(found))
      fail("{}: a checkpoint of another model or optimizer: it holds '{}' ({}), which the program lacks; {}",
           path, found, describe(view.desc), kRemedy);
  for (size_t i = 0; i < expected.size(); ++i) {
    const TensorOut &tensor = expected[i];
    const TensorView *view = file.find(tensor.name);
    const TensorSource source{view->data, view->desc.type, inversePerm(tensor.perm), file.releaser()};
    executor.write(*states[i], [&](char *destination) { fillFromTensor(*states[i], source, destination); });
  }
}

} // namespace

std::vector<int> layoutOf(const Program &program, const State &state) {
  if (!state.perm.empty() || state.of.empty())
    return state.perm;
  const State *owner = program.state(state.of);
  return owner && owner->viewOrWhole().whole == state.viewOrWhole().whole ? owner->perm : state.perm;
}

std::vector<TensorOut> modelTensors(const Executor &executor) {
  std::vector<TensorOut> tensors;
  for (const State *state : statesThat(executor.program(), inModelFile))
    tensors.push_back(outputOf(executor, *state, state->onnxName));
  return tensors;
}

std::vector<TensorOut> checkpointModelTensors(const Executor &executor) {
  std::vector<TensorOut> tensors;
  for (const State *state : statesThat(executor.program(), inCheckpointModel))
    tensors.push_back(outputOf(executor, *state, state->onnxName));
  return tensors;
}

std::vector<TensorOut> optimizerTensors(const Executor &executor) {
  std::vector<TensorOut> tensors;
  for (const State *state : statesThat(executor.program(), inOptimizerFile))
    tensors.push_back(outputOf(executor, *state, optimizerName(executor.program(), *state)));
  return tensors;
}

void loadCheckpoint(const Checkpoint &checkpoint, const std::vector<FrozenTensor> &frozen, Executor &executor) {
  const std::string &expected = executor.program().options.optimizer;
  if (checkpoint.optimizer != expected)
    fail("{}: a checkpoint of the optimizer {}, the program was compiled for {}: compile with --optimizer {}",
         checkpoint.folder, checkpoint.optimizer, expected, checkpoint.optimizer);
  checkFrozen(checkpoint.folder, checkpoint.frozen, frozen);
  const Program &program = executor.program();
  loadFile(checkpoint, executor, kModelFile, statesThat(program, inCheckpointModel),
           checkpointModelTensors(executor));
  loadFile(checkpoint, executor, kOptimizerFile, statesThat(program, inOptimizerFile),
           optimizerTensors(executor));
}

void exportSafetensors(const std::string &path, const Executor &executor) {
  AtomicFile file(path);
  writeSafetensors(file.writer(), modelTensors(executor));
  file.commit();
}

} // namespace kedge::rt
