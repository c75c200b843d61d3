// Tensors of which neither the file nor the graph says what they are, and what names and values say of
// others.
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/Roles/Judgement.h"
#include "lib/Support/Error.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::lint {

namespace {
const char *const settles = "--train REGEX if it is learned, --freeze REGEX if it is not";
const char *const kerasKeepsNorms =
    "export a copy of the model whose norms call tf.compat.v1.nn.fused_batch_norm, which the exporter keeps "
    "(see "
    "docs/guide/lint.md, Norms of Keras); --allow fused-batchnorm trains what the file has";

std::string shapeOf(const model::Tensor &tensor) {
  return fmt::format("{}[{}]", model::dtypeName(tensor.dtype), fmt::join(tensor.dims, " x "));
}

class VerdictFindings {
public:
  explicit VerdictFindings(FindingContext &context) : context(context) {
    for (const model::Tensor &tensor : context.graph().initializers)
      tensors.emplace(tensor.name, &tensor);
  }

  void find() {
    for (const Initializer &initializer : context.initializers) {
      auto found = tensors.find(initializer.name);
      if (found == tensors.end())
        continue;
      if (initializer.undecided || (initializer.guessed && context.options.strict))
        add(Severity::Error, "undecided-verdict", initializer, asked(initializer, *found->second), settles,
            fmt::format("{}: {}", shapeOf(*found->second), initializer.reason));
      if (initializer.reason == fusedNormReason && context.trains(initializer.name))
        add(Severity::Error, "fused-batchnorm", initializer,
            "TensorFlow multiplied a norm into it at export; its scale, shift and statistics are gone",
            kerasKeepsNorms, "");
      if (initializer.reason == frozenNormReason)
        add(Severity::Note, "frozen-norm", initializer,
            "running_mean and running_var are used in arithmetic with it: a frozen norm, of which nothing "
            "trains",
            "none needed if it is one; --train trains it", "");
      if (context.trains(initializer.name))
        checkFinite(initializer, *found->second);
    }
  }

private:
  static std::string asked(const Initializer &initializer, const model::Tensor &tensor) {
    return initializer.undecided ? fmt::format("{}, {}", shapeOf(tensor), initializer.reason)
                                 : fmt::format("{}, taken for a {} by {}", shapeOf(tensor),
                                               verdictName(initializer.verdict), initializer.reason);
  }

  void add(Severity severity, const char *code, const Initializer &initializer, std::string reason,
           std::string remedy, std::string detail) {
    context.findings.push_back({severity, code, "", initializer.name, parentModule(initializer.original),
                                std::move(reason), std::move(remedy), false, std::move(detail)});
  }

  /// External data are read at the start of the program, which looks at them then.
  void checkFinite(const Initializer &initializer, const model::Tensor &tensor) {
    if (tensor.storage == model::Tensor::Storage::External)
      return;
    if (std::optional<double> value = firstNonFinite(tensor))
      add(Severity::Error, "not-finite", initializer,
          fmt::format("it would train, but holds {}: {}", *value, initializer.reason),
          "mend the file; --freeze REGEX where it is a mask", "");
  }

  FindingContext &context;
  std::map<std::string, const model::Tensor *> tensors;
};
} // namespace

void findVerdicts(FindingContext &context) { VerdictFindings(context).find(); }

} // namespace kedge::lint
