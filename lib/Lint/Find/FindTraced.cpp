// Findings about files without a record of parameters: merged and untied parameters, and names that were
// lost.
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/OperatorFacts.h"
#include "lib/Lint/Traced.h"
#include "lib/Support/Error.h"
#include "runtime/io/NamePattern.h"
#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace kedge::lint {
using model::Node;

namespace {
const char *const exportFresh = "export again with torch.onnx.export(..., dynamo=True, optimize=False)";

class TracedFindings {
public:
  explicit TracedFindings(FindingContext &context)
      : context(context), traced(context.graph()), shared(traced.shared()), copies(traced.copies()) {
    for (const Node &node : context.graph().nodes)
      for (size_t operand = 0; operand < node.inputs.size(); ++operand)
        readers[node.inputs[operand]].emplace_back(&node, operand);
  }

  void find() {
    for (const SharedTensor &one : shared)
      if (isScopedName(one.tensor) ? context.trains(one.tensor) : mayTrain(one))
        report(one);
    for (const TableCopy &copy : copies)
      if (context.trains(copy.table) || context.trains(copy.copy))
        report(copy);
    for (const Initializer &initializer : context.initializers)
      if (initializer.verdict == Verdict::Buffer && initializer.reason.starts_with("PyTorch's libraries"))
        noteBuffer(initializer);
    for (const Initializer &initializer : context.initializers)
      if (initializer.verdict == Verdict::Parameter)
        warnOfEqualValues(initializer);
    for (const model::Tensor &tensor : context.graph().initializers) {
      auto former = context.options.former.find(tensor.name);
      note(tensor.name, former == context.options.former.end() ? tensor.name : former->second);
    }
  }

private:
  const Node &nodeAt(const std::vector<TracedUse> &operands) const {
    return context.graph().nodes[operands.front().node];
  }

  void add(Severity severity, const char *code, const Node &node, const std::string &tensor,
           const std::string &module, std::string reason, std::string remedy, bool repairable,
           std::string detail) {
    context.findings.push_back({severity, code, nodeName(node), tensor, module, std::move(reason),
                                std::move(remedy), repairable, std::move(detail)});
  }

  bool isFrozenName(const std::string &name) const {
    auto fits = [&](const std::vector<std::string> &texts) {
      return std::any_of(texts.begin(), texts.end(),
                         [&](const std::string &text) { return rt::NamePattern(text).isIn(name); });
    };
    const LintOptions &options = context.options;
    const bool others = !options.trainOnly.empty() && !fits(options.trainOnly);
    return (others || fits(options.freeze)) && !fits(options.train);
  }

  /// Whether a step would move the tensor, or would move a part of it that another part's role keeps still.
  bool mayTrain(const SharedTensor &one) const {
    if (std::all_of(one.names.begin(), one.names.end(),
                    [&](const NamedOperands &named) { return isFrozenName(named.name); }))
      return false;
    if (context.evidence.reach.reaches(one.tensor))
      return true;
    bool statistic = false, parameter = false;
    for (const NamedOperands &named : one.names)
      for (const TracedUse &use : named.operands) {
        const Node &node = context.graph().nodes[use.node];
        statistic |= isRunningStatistic(node, use.operand);
        parameter |= isWeightOperand(node, use.operand);
      }
    return statistic && parameter;
  }

  void report(const SharedTensor &one) {
    std::vector<std::string> group;
    for (const NamedOperands &named : one.names)
      group.push_back(named.name);
    const std::set<std::string> tied = tiedNames(group, context.options.tie);
    std::string leader = tied.count(group[0]) ? group[0] : std::string();
    for (size_t k = 1; k < group.size(); ++k) {
      const NamedOperands &named = one.names[k];
      if (named.operands.empty())
        continue;
      const bool follows = tied.count(named.name) && !leader.empty();
      if (tied.count(named.name) && leader.empty())
        leader = named.name;
      const std::string &other = follows ? leader : one.tensor;
      const bool merged = !isTie(one, context.options);
      if (follows || one.isTable || !merged)
        add(Severity::Note, "tied-parameters", nodeAt(named.operands), one.tensor, parentModule(named.name),
            fmt::format(
                "'{}' and '{}' train as one tensor: {}", other, named.name,
                follows ? "--tie says so"
                : !merged
                    ? "in training mode the exporter stores no others once"
                    : "a table that is looked up and multiplied is taken for an embedding and its head"),
            follows ? "none needed"
                    : "none needed if the model ties them; otherwise " + std::string(exportFresh),
            false, fmt::format("is {}, too", named.name));
      else
        add(Severity::Error, "merged-parameters", nodeAt(named.operands), one.tensor,
            parentModule(named.name),
            fmt::format("'{}' was merged with '{}' of equal content; one tensor would train for both",
                        named.name, one.tensor),
            isScopedName(one.tensor)
                ? std::string("compile with --repair; --tie REGEX keeps those together that the model ties")
                : fmt::format(
                      "compile with --repair, or {}; --tie REGEX keeps those together that the model ties",
                      exportFresh),
            true, "stands for " + named.name);
    }
  }

  void report(const TableCopy &copy) {
    const bool tied = !tiedNames({copy.table, copy.copy}, context.options.tie).empty();
    const char *how = copy.transposed ? "transposed" : "in its own layout";
    add(tied ? Severity::Note : Severity::Error, tied ? "tied-parameters" : "untied-parameters",
        nodeAt(copy.operands), copy.copy, parentModule(copy.copy),
        fmt::format("it holds the values of the table '{}', {}: the model ties the two, and {}", copy.table,
                    how, tied ? "--tie makes them one" : "they would train apart"),
        tied ? "none needed"
             : fmt::format("compile with --repair, which ties them; --allow untied-parameters trains them "
                           "apart; or {}",
                           exportFresh),
        !tied, "");
  }

  /// Fresh norms and zero biases that an optimizer of graphs merged, in a file that has lost the paths of its
  /// nodes as well.
  void warnOfEqualValues(const Initializer &parameter) {
    std::vector<const Node *> weighted;
    for (const auto &[node, operand] : readersOf(parameter.name))
      if (operand > 0 && isWeightOperand(*node, operand))
        weighted.push_back(node);
    if (weighted.size() < 2)
      return;
    const model::Tensor *tensor = context.graph().findInitializer(parameter.name);
    const auto hasPath = [](const Node *node) {
      return tracedModule(*node) || !node->meta("namespace").empty();
    };
    if (!tensor || std::any_of(weighted.begin(), weighted.end(), hasPath) || !isUniform(*tensor))
      return;
    add(Severity::Warning, "merged-parameters", *weighted[1], parameter.name, parentModule(parameter.name),
        fmt::format("{} operators read it, all its values are equal, and the file has no paths of modules: "
                    "optimizers of graphs merge "
                    "fresh norms and zero biases so; what they merged trains as one",
                    weighted.size()),
        fmt::format("none needed if the model shares it; otherwise train the file that the optimizer was "
                    "given, or {}",
                    exportFresh),
        false, "");
  }

  void noteBuffer(const Initializer &buffer) {
    context.findings.push_back(
        {Severity::Note, "buffer-by-name", "", buffer.name, parentModule(buffer.name),
         "a gradient reaches it, but PyTorch's libraries call a buffer so: it does not train",
         "none needed if it is one; --train trains it", false, ""});
  }

  /// Names that mean arithmetic at export; products, and recurrent layers, whose weights are only moved, have
  /// others.
  static bool isComputed(const std::string &former) {
    if (!isNameless(former))
      return false;
    const std::string op = former.substr(6, former.rfind('_') - 6);
    return op != "MatMul" && op != "Gemm" && op != "LSTM" && op != "GRU" && op != "RNN";
  }

  /// A weight in PyTorch's own layout has PyTorch's name, unless arithmetic made it.
  static bool isInOwnLayout(const Node &node, size_t operand) {
    return operand == 1 && (node.is("Conv") || node.is("ConvTranspose") ||
                            (node.is("Gemm") && node.attrBool("transB", false)));
  }

  static bool isLeafOfNorm(const std::string &name) {
    return name.ends_with(".weight") || name.ends_with(".bias");
  }

  void note(const std::string &name, const std::string &former) {
    if (!isNameless(former))
      return;
    const Node *reader = nullptr;
    bool isWeight = false;
    for (const auto &[node, operand] : readersOf(name))
      if (!node->is("Identity")) {
        reader = reader ? reader : node;
        isWeight = isWeight || isInOwnLayout(*node, operand);
      }
    if (!reader || isFoldedNorm(*reader))
      return;
    if (name != former && name.ends_with(transposedSuffix))
      add(Severity::Note, "renamed-parameter", *reader, former, parentModule(name),
          fmt::format("the file lost its name: it is called '{}' here, after the path of its node; it trains",
                      name),
          "none needed; --repair gives it PyTorch's layout and with it the name that PyTorch has", true,
          "is " + name);
    else if (isWeight && context.trains(name))
      add(Severity::Error, "computed-parameter", *reader, name, parentModule(name),
          "computed at export from parameters that the file does not have (weight norm, spectral norm, "
          "LoRA): "
          "it would train in their stead",
          exportFresh, false, "");
    else if (isComputed(former) && isLeafOfNorm(name) && context.trains(name))
      add(Severity::Note, "renamed-parameter", *reader, former, parentModule(name),
          fmt::format(
              "the file lost its name: it is called '{}' here, after the module of its group norm; it trains",
              name),
          "none needed", false, "is " + name);
    else if (isComputed(former) && context.trains(name))
      add(Severity::Warning, "computed-parameter", *reader, name, parentModule(name),
          "computed at export from parameters or buffers (1 + weight, a look-up of positions, a norm folded "
          "into a Conv): it trains in "
          "their stead",
          fmt::format("{}; or keep it as it is by --freeze, where buffers went into it", exportFresh), false,
          "");
  }

  using Readers = std::vector<std::pair<const Node *, size_t>>; ///< with the operand
  const Readers &readersOf(const std::string &name) const {
    static const Readers none;
    const auto found = readers.find(name);
    return found == readers.end() ? none : found->second;
  }

  FindingContext &context;
  TracedGraph traced;
  std::unordered_map<std::string_view, Readers> readers; ///< in the order of nodes
  std::vector<SharedTensor> shared;
  std::vector<TableCopy> copies;
};
} // namespace

void checkTie(const model::Model &model, const std::vector<std::string> &tie) {
  if (tie.empty())
    return;
  const TracedGraph traced(model.graph);
  std::vector<std::vector<std::string>> groups;
  for (const SharedTensor &one : traced.shared()) {
    groups.emplace_back();
    for (const NamedOperands &named : one.names)
      groups.back().push_back(named.name);
  }
  for (const TableCopy &copy : traced.copies())
    groups.push_back({copy.table, copy.copy});
  for (const std::string &text : tie)
    try {
      const rt::NamePattern pattern(text);
      std::string found;
      bool ties = false;
      for (const std::vector<std::string> &group : groups)
        for (const std::string &name : group)
          if (pattern.isIn(name)) {
            found = found.empty() ? name : found;
            ties |= tiedNames(group, tie).count(name) != 0;
          }
      if (found.empty())
        fail("{}: --tie '{}' matches no parameter that shares its tensor or holds a table's values",
             model.path, text);
      if (!ties)
        fail("{}: --tie '{}' matches '{}' alone: name what it is tied to as well, as in --tie 'a|b'",
             model.path, text, found);
    } catch (const rt::PatternError &error) {
      fail("--tie '{}' is no ECMAScript expression: {}", text, error.what());
    }
}

void findTraced(FindingContext &context) { TracedFindings(context).find(); }

} // namespace kedge::lint
