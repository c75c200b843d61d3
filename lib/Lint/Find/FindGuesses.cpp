// Tensors whose verdict rests on a guess: the file does not say what they are, and neither does the operator
// that reads them.
#include "lib/Lint/Find/Findings.h"

namespace kedge::lint {

void findGuesses(FindingContext &context) {
  for (const Initializer &initializer : context.initializers) {
    if (!initializer.guessed)
      continue;
    const bool trains = initializer.verdict == Verdict::Parameter;
    context.findings.push_back(
        {context.options.strict ? Severity::Error : Severity::Note, "guessed-verdict", "", initializer.name,
         parentModule(initializer.original),
         fmt::format("the file does not say what it is: taken for a {} ({}), so it {}",
                     verdictName(initializer.verdict), initializer.reason,
                     trains ? "trains" : "does not train"),
         "none needed where the guess is right; otherwise, and under --strict, --train REGEX or --freeze "
         "REGEX",
         false, fmt::format("taken for a {}: {}", verdictName(initializer.verdict), initializer.reason)});
  }
}

} // namespace kedge::lint
