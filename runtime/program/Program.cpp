#include "runtime/program/Program.h"
#include "runtime/io/Error.h"
#include <algorithm>

namespace kedge::rt {
namespace {

template <typename List> auto named(const List &list, const std::string &name) -> decltype(&list[0]) {
  for (const auto &entry : list)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

} // namespace

StateView State::viewOrWhole() const {
  return view ? *view : StateView::range(desc.shape, 0, 0, desc.elements());
}

std::vector<int64_t> State::fileShape() const {
  const std::vector<int64_t> &whole = view ? view->whole : desc.shape;
  if (perm.empty())
    return whole;
  std::vector<int64_t> shape(perm.size());
  for (size_t k = 0; k < perm.size(); ++k)
    shape[static_cast<size_t>(perm[k])] = whole[k];
  return shape;
}

std::vector<int64_t> State::firstShape() const {
  return init.resized ? init.resized->inFile(fileShape()) : fileShape();
}

bool State::takes(const std::vector<int64_t> &shape) const {
  return shape == fileShape() || shape == firstShape();
}

void State::expectWhole(const char *done) const {
  if (view)
    fail("'{}' cannot be {}: this process holds {} of its {} elements", name, done, view->count(),
         TensorDesc{desc.type, view->whole}.elements());
}

void placeShards(Program &program, const World &world) {
  program.mesh = program.options.mesh.empty() ? Mesh::ofData(world.size) : Mesh::parse(program.options.mesh);
  if (program.mesh.size() != world.size)
    fail("the program is damaged: its mesh {} has {} ranks in a job of {}", program.options.mesh,
         program.mesh.size(), world.size);
  program.tensorPlace = program.mesh.groupOf(Mesh::kTensor, world.rank).own.rank;
  program.pipelinePlace = program.mesh.groupOf(Mesh::kPipeline, world.rank).own.rank;
  for (State &state : program.states) {
    if (!state.shard)
      continue;
    TensorDesc part{state.desc.type, state.shard->localShape(program.mesh)};
    if (!state.shard->isHeldBy(program.mesh, world.rank))
      part.shape = {0};
    if (state.desc.elements() != part.elements() || (!state.shard->flat && state.desc.shape != part.shape))
      fail("the program is damaged: state '{}' is {}, expected {}: a part of {} on {} ranks", state.name,
           shapeText(state.desc.shape), shapeText(part.shape), shapeText(state.shard->shape),
           program.mesh.sizeOf(state.shard->axes()));
    state.view = state.shard->viewOf(program.mesh, world.rank);
  }
}

bool Program::isPipelined() const {
  return std::any_of(mesh.axes().begin(), mesh.axes().end(),
                     [](const MeshAxis &axis) { return axis.name == Mesh::kPipeline; });
}

const Function *Program::function(const std::string &wanted) const {
  auto found = functions.find(wanted);
  return found == functions.end() ? nullptr : &found->second;
}

const State *Program::state(const std::string &wanted) const { return named(states, wanted); }

const InputSpec *Program::input(const std::string &wanted) const { return named(inputs, wanted); }

const ResultSlot *Program::result(const std::string &function, const std::string &wanted) const {
  for (const ResultSlot &slot : results)
    if (slot.function == function && slot.name == wanted)
      return &slot;
  return nullptr;
}

} // namespace kedge::rt
