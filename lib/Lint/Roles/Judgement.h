// The verdict on a tensor of a file without a record, from its name and its roles.
#pragma once
#include "lib/Lint/Lint.h"
#include "lib/Lint/Roles/Names.h"
#include "lib/Lint/Roles/Roles.h"

namespace kedge::lint {

struct Judgement {
  Verdict verdict = Verdict::Constant;
  std::string reason;
  bool guessed = false;   // a name alone says it
  bool undecided = false; // evidence disagrees, or there is none
};

/// `says`: no buffer. `roles`: those through which a gradient comes.
Judgement judgeByRole(const model::Tensor &, NameSays says, const std::vector<GraphRole> &roles);

inline const std::string fusedNormReason = "what a folded normalization left",
                         bufferNameReason = "PyTorch's libraries call a buffer so",
                         frozenNormReason = "a frozen norm's: running_mean and running_var are with it";

} // namespace kedge::lint
