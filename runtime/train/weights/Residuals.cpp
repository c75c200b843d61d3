#include "runtime/train/weights/Residuals.h"
#include "runtime/format/SplitMaster.h"
#include "runtime/io/Error.h"
#include <cstring>

namespace kedge::rt {

const State *residualOf(const Program &program, const State &state) {
  if (state.role != StateRole::Parameter || state.desc.type != DType::BF16)
    return nullptr;
  for (const State &other : program.states)
    if (other.role == StateRole::Residual && other.of == state.name)
      return &other;
  return nullptr;
}

State wideState(const Program &program, const State &part) {
  const State *owner = part.role == StateRole::Residual ? program.state(part.of) : &part;
  if (!owner)
    fail("the program is damaged: '{}' is the residual of '{}', which it lacks", part.name, part.of);
  State wide = *owner;
  wide.desc = {DType::F32, part.desc.shape};
  wide.shard = part.shard;
  wide.view = part.view;
  return wide;
}

void takePart(const State &part, const std::vector<float> &values, char *destination) {
  const bool isResidual = part.role == StateRole::Residual;
  for (size_t k = 0; k < values.size(); ++k) {
    const SplitNumber number = splitMaster(values[k]);
    if (isResidual)
      std::memcpy(destination + k, &number.residual, 1);
    else
      std::memcpy(destination + 2 * k, &number.value, 2);
  }
}

void joinParts(const char *value, const char *residual, std::vector<float> &values) {
  for (size_t k = 0; k < values.size(); ++k) {
    uint16_t half = 0;
    int8_t rest = 0;
    std::memcpy(&half, value + 2 * k, 2);
    std::memcpy(&rest, residual + k, 1);
    values[k] = joinedMaster(std::bit_cast<float>(static_cast<uint32_t>(half) << 16), rest);
  }
}

} // namespace kedge::rt
