// Tables that are looked up, whose values tell what no export does: rows of zeros (padding_idx), and sines
// (requires_grad=False).
#include "lib/Lint/Find/Findings.h"
#include "lib/Lint/Find/SineTable.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <fmt/format.h>

namespace kedge::lint {
using model::Node;
using model::Tensor;

namespace {
/// Rows of a table in which everything is zero; none where all rows are (an untrained table).
std::vector<int64_t> zeroRows(const Tensor &table) {
  std::vector<int64_t> rows;
  try {
    const model::Bytes bytes = table.bytes();
    const size_t row = bytes.size / table.dims[0];
    for (int64_t r = 0; r < table.dims[0]; ++r)
      if (std::all_of(bytes.data + r * row, bytes.data + (r + 1) * row,
                      [](uint8_t byte) { return byte == 0; }))
        rows.push_back(r);
  } catch (const Error &) {
    return {}; // external data that is not there
  }
  return static_cast<int64_t>(rows.size()) == table.dims[0] ? std::vector<int64_t>() : rows;
}

bool looksUp(const Node &node) { return node.is("Gather") && node.attrInt("axis", 0) == 0; }

/// Names in the text of an expression are literal.
std::string asExpression(const std::string &name) {
  std::string text;
  for (char c : name)
    text +=
        std::string(c == '.' || c == '[' || c == ']' || c == '(' || c == ')' || c == '+' || c == '*' ? "\\"
                                                                                                     : "") +
        c;
  return text;
}

void checkPadding(FindingContext &context, const Tensor &table, const std::vector<const Node *> &readers) {
  const auto told = [](const Node *node) { return paddingIndex(*node).has_value(); };
  if (table.dims.size() != 2 || table.dims[0] < 2 || table.dims[1] == 0 ||
      std::all_of(readers.begin(), readers.end(), told))
    return;
  const std::vector<int64_t> rows = zeroRows(table);
  if (rows.size() != 1)
    return;
  context.findings.push_back(
      {Severity::Warning, "padding-row", nodeName(*readers.front()), table.name, parentModule(table.name),
       fmt::format(
           "row {} of this table is all zeros, as Embedding(padding_idx={}) leaves it, and the file does "
           "not say whether it is: it trains",
           rows[0], rows[0]),
       fmt::format("--padding-row '{}={}' where the model has padding_idx", asExpression(table.name),
                   rows[0]),
       false, ""});
}

void checkSines(FindingContext &context, const Initializer &initializer, const Tensor &tensor) {
  const std::optional<std::string> formula = sineFormula(tensor);
  if (!formula || requiresGrad(tensor, context.graph()))
    return;
  context.findings.push_back(
      {Severity::Warning, "sine-table", "", tensor.name, parentModule(initializer.original),
       fmt::format("it equals a table of positions made by formula ({}), which the libraries keep with "
                   "requires_grad=False; no export says so: it trains",
                   *formula),
       fmt::format("--freeze '{}' where the model does not train it", asExpression(initializer.original)),
       false, ""});
}
} // namespace

void findTables(FindingContext &context) {
  std::map<std::string, std::vector<const Node *>> lookUps;
  for (const Node &node : context.graph().nodes)
    if (looksUp(node))
      lookUps[node.input(0)].push_back(&node);
  const bool recorded = context.evidence.signature.present() || !context.evidence.model.trainingInfo.empty();
  for (const Initializer &initializer : context.initializers) {
    const Tensor *tensor = context.graph().findInitializer(initializer.name);
    if (!tensor || initializer.verdict != Verdict::Parameter)
      continue;
    checkSines(context, initializer, *tensor);
    if (auto found = lookUps.find(initializer.name); found != lookUps.end() && !recorded)
      checkPadding(context, *tensor, found->second);
  }
}

void setPaddingRows(model::Model &model, const LintOptions &options) {
  for (const auto &[text, row] : options.paddingRows) {
    const auto matches = patternsOf({text}, "--padding-row").front();
    bool any = false;
    std::vector<std::string> tables;
    model::forEachNode(model.graph, [&](Node &node) {
      const Tensor *table = looksUp(node) ? model.graph.findInitializer(node.input(0)) : nullptr;
      if (!table || !model::isFloat(table->dtype) || table->dims.empty())
        return;
      tables.push_back(table->name);
      if (!matches(table->name))
        return;
      if (row >= table->dims[0])
        fail("{}: --padding-row {}={}: '{}' has {} rows", model.path, text, row, table->name, table->dims[0]);
      node.metadata[key::paddingRow] = std::to_string(row);
      any = true;
    });
    if (!any)
      fail("{}: --padding-row '{}' matches no table that is looked up{}", model.path, text,
           similarNames(text, tables));
  }
}

} // namespace kedge::lint
