#include "runtime/train/output/OutputReader.h"
#include "runtime/format/Convert.h"
#include <algorithm>

namespace kedge::rt {

const ArenaSlot *outputOf(const Program &program, const char *function, const std::string &name) {
  if (const Function *found = program.function(function))
    for (const ArenaSlot &place : found->outputs)
      if (place.name == name)
        return &place;
  return nullptr;
}

const char *functionWith(const Program &program, const std::string &name) {
  for (const char *function : {"predict", "eval"})
    if (outputOf(program, function, name))
      return function;
  return nullptr;
}

std::vector<std::string> floatOutputs(const Program &program) {
  std::vector<std::string> names;
  for (const char *function : {"predict", "eval"})
    if (const Function *found = program.function(function))
      for (const ArenaSlot &place : found->outputs)
        if (isFloat(place.desc.type) && std::find(names.begin(), names.end(), place.name) == names.end())
          names.push_back(place.name);
  return names;
}

OutputReader::OutputReader(const Executor &executor, const char *function, const std::string &name,
                           DType type)
    : executor(executor), type(type) {
  for (const ArenaSlot &place : executor.program().function(function)->outputs)
    if (place.name == name)
      places.push_back(&place);
  rows.resize(static_cast<size_t>(places.front()->desc.elements()) * dtypeSize(type));
}

bool OutputReader::afterLaunch(const Function &, int launch) {
  const ArenaSlot &part = *find(launch);
  read(part, part.first, part.elements);
  return true;
}

const char *OutputReader::finish() {
  if (places.front()->afterLaunch < 0)
    read(*places.front(), 0, places.front()->desc.elements());
  return rows.data();
}

const ArenaSlot *OutputReader::find(int launch) const {
  for (const ArenaSlot *place : places)
    if (place->afterLaunch >= 0 && place->afterLaunch == launch)
      return place;
  return nullptr;
}

void OutputReader::read(const ArenaSlot &place, int64_t first, int64_t elements) {
  const DType stored = place.desc.type;
  convert(rows.data() + static_cast<size_t>(first) * dtypeSize(type), type, 1,
          executor.read(place.offset, static_cast<uint64_t>(elements) * dtypeSize(stored)), stored, 1,
          elements);
}

} // namespace kedge::rt
