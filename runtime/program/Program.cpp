#include "runtime/program/Program.h"

namespace kedge::rt {
namespace {

template <typename List> auto named(const List &list, const std::string &name) -> decltype(&list[0]) {
  for (const auto &entry : list)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

} // namespace

std::vector<int64_t> State::fileShape() const {
  if (perm.empty())
    return desc.shape;
  std::vector<int64_t> shape(perm.size());
  for (size_t k = 0; k < perm.size(); ++k)
    shape[static_cast<size_t>(perm[k])] = desc.shape[k];
  return shape;
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
