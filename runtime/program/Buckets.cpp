#include "runtime/program/Buckets.h"
#include <algorithm>

namespace kedge::rt {
namespace {

int64_t elementsOfInputs(const Function &function) {
  int64_t elements = 0;
  for (const ArenaSlot &slot : function.inputs)
    elements += slot.desc.elements();
  return elements;
}

} // namespace

std::vector<const Function *> bucketsOf(const Program &program, const std::string &function) {
  std::vector<const Function *> all;
  for (const auto &[name, found] : program.functions)
    if (name != function && withoutLength(name) == function)
      all.push_back(&found);
  std::sort(all.begin(), all.end(),
            [](const Function *a, const Function *b) { return elementsOfInputs(*a) < elementsOfInputs(*b); });
  if (const Function *longest = program.function(function))
    all.push_back(longest);
  return all;
}

std::string_view withoutLength(std::string_view function) { return function.substr(0, function.find('.')); }

bool hasBuckets(const Program &program) {
  return std::any_of(program.functions.begin(), program.functions.end(),
                     [](const auto &entry) { return withoutLength(entry.first) != entry.first; });
}

const TensorDesc *inputOf(const Function &function, const InputSpec &input) {
  for (const ArenaSlot &slot : function.inputs)
    if (slot.name == input.name)
      return slot.desc.shape.empty() ? &input.desc : &slot.desc;
  return nullptr;
}

} // namespace kedge::rt
