#include "runtime/train/weights/InitSpecs.h"
#include "runtime/format/NearMisses.h"
#include "runtime/io/Error.h"
#include "runtime/io/NamePattern.h"
#include "runtime/train/weights/Weights.h"

namespace kedge::rt {

const InitSpec *InitSpecs::specFor(const std::string &name) const {
  const InitSpec *last = nullptr;
  for (const InitSpec &spec : specs)
    if (NamePattern(spec.pattern).isIn(name))
      last = &spec;
  return last;
}

bool InitSpecs::fill(const State &state, char *destination) {
  const InitSpec *spec = specFor(state.onnxName);
  if (spec)
    fillFrom(*spec, state, seed, threads, destination);
  return spec;
}

std::optional<TensorSource> InitSpecs::valuesOf(const State &whole) {
  const InitSpec *spec = specFor(whole.onnxName);
  if (!spec)
    return std::nullopt;
  made.resize(whole.desc.bytes());
  fillFrom(*spec, whole, seed, threads, made.data());
  return TensorSource{made.data(), DType::F32, {}};
}

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

} // namespace kedge::rt
