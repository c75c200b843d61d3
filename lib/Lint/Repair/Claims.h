// What the file says twice of one parameter has to agree: repairs follow the record, and a record that
// contradicts the file is no ground for one.
#pragma once
#include "lib/Lint/Damage.h"

namespace kedge::lint {

/// Tensors and nodes whose record does not fit, each with the sentence that says why.
std::vector<Contradiction> findContradictions(const model::Graph &, const Signature &, const Uses &,
                                              const Damage &);

} // namespace kedge::lint
