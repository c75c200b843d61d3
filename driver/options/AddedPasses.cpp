#include "driver/options/AddedPasses.h"
#include "lib/Support/Error.h"
#include <fmt/ranges.h>

namespace kedge::driver {

AddedPasses AddedPasses::parse(const std::string &text) {
  // As the pipelines of kedge-opt are called.
  static const std::vector<std::pair<std::string, Phase>> phases = {{"raise", Phase::Model},
                                                                    {"step", Phase::Step},
                                                                    {"schedule", Phase::Schedule},
                                                                    {"rematerialize", Phase::Rematerialize},
                                                                    {"lower", Phase::Exec}};
  const size_t equals = text.find('=');
  std::vector<std::string> names;
  for (const auto &[name, phase] : phases) {
    names.push_back(name);
    if (equals != std::string::npos && equals + 1 < text.size() && text.substr(0, equals) == name)
      return {phase, text.substr(equals + 1)};
  }
  fail("'{}': expected PHASE=PIPELINE, as step=my-pass; the phases are {}", text, fmt::join(names, ", "));
}

} // namespace kedge::driver
