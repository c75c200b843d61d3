#include "runtime/program/Program.h"
#include "runtime/io/Error.h"

namespace kedge::rt {
namespace {

template <typename List> auto named(const List &list, const std::string &name) -> decltype(&list[0]) {
  for (const auto &entry : list)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

} // namespace

StateView State::viewOrWhole() const { return view ? *view : StateView{desc.shape, 0, 0, desc.elements()}; }

std::vector<int64_t> State::fileShape() const {
  const std::vector<int64_t> &whole = view ? view->whole : desc.shape;
  if (perm.empty())
    return whole;
  std::vector<int64_t> shape(perm.size());
  for (size_t k = 0; k < perm.size(); ++k)
    shape[static_cast<size_t>(perm[k])] = whole[k];
  return shape;
}

void State::expectWhole(const char *done) const {
  if (view)
    fail("'{}' cannot be {}: this process holds {} of its {} elements", name, done, view->count,
         TensorDesc{desc.type, view->whole}.elements());
}

void placeShards(Program &program, const World &world) {
  program.mesh = program.options.mesh.empty() ? Mesh::ofData(world.size) : Mesh::parse(program.options.mesh);
  if (program.mesh.size() != world.size)
    fail("the program is damaged: its mesh {} has {} ranks in a job of {}", program.options.mesh,
         program.mesh.size(), world.size);
  const World own = program.mesh.groupOf(Mesh::kData, world.rank).own;
  for (State &state : program.states) {
    if (!state.shard)
      continue;
    const int64_t elements = TensorDesc{state.desc.type, *state.shard}.elements(),
                  room = shardSize(elements, own.size);
    if (state.desc.elements() != room)
      fail("the program is damaged: state '{}' has room for {} elements, expected {}: a part of {} on {} "
           "ranks",
           state.name, state.desc.elements(), room, elements, own.size);
    const ElementRange part = localShardOf(elements, own.rank, own.size);
    state.view = StateView{*state.shard, part.first, 0, part.count};
  }
}

World worldOfRows(const Program &program, const World &world) {
  return program.mesh.sizeOf("pipeline") == 1 ? world : program.mesh.groupOf("replica,data", world.rank).own;
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
