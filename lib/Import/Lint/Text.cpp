// The report as a reader wants it: one block a code, what is common said once, one aligned line a tensor.
#include "kedge/Import/Lint.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::lint {

namespace {
struct Headline {
  const char *one;
  const char *many;
};

Headline headlineOf(const std::string &code) {
  static const std::map<std::string, Headline> table = {
      {"merged-parameters", {"a parameter shares another one's tensor", "parameters share another one's tensor"}},
      {"dropped-bias", {"a bias is gone", "biases are gone"}},
      {"folded-parameter", {"a parameter became a constant", "parameters became constants"}},
      {"frozen-batchnorm", {"a BatchNormalization is not in training mode", "BatchNormalizations are not in training mode"}},
      {"fused-batchnorm", {"a norm was fused into weights", "norms were fused into weights"}},
      {"dropout-off", {"a Dropout does nothing", "Dropouts do nothing"}},
      {"label-type", {"labels have a type that the loss cannot take", "labels have types that the loss cannot take"}},
      {"no-gradient", {"operator on the way to a parameter has no gradient", "operators on the way to parameters have no gradient"}},
      {"unsupported-op", {"node is not supported", "nodes are not supported"}},
      {"unused-parameter", {"parameter does not train", "parameters do not train"}},
      {"keyed-by-rank", {"operator draws random numbers by rank", "operators draw random numbers by rank"}},
      {"renamed-parameter", {"parameter has another name or layout", "parameters have another name or layout"}},
  };
  auto found = table.find(code);
  return found == table.end() ? Headline{"finding", "findings"} : found->second;
}

class Printer {
public:
  Printer(const Report &report, const model::Model &model, const Options &options, const TextOptions &text)
      : report(report), model(model), options(options), text(text) {}

  std::string print() {
    head();
    for (const std::string &change : report.changes)
      wrapped(paint("32", "mended: ") + change, 8);
    if (!report.changes.empty())
      out += "\n";
    for (size_t at = 0; at < report.findings.size();) {
      size_t end = at;
      while (end < report.findings.size() && sameBlock(report.findings[at], report.findings[end]))
        ++end;
      block(at, end);
      at = end;
    }
    summary();
    return std::move(out);
  }

private:
  static bool sameBlock(const Finding &a, const Finding &b) {
    return a.severity == b.severity && a.code == b.code && a.remedy == b.remedy;
  }
  std::string paint(const char *code, std::string_view what) const {
    return text.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, what) : std::string(what);
  }
  static const char *colourOf(Severity severity) {
    return severity == Severity::Error ? "1;31" : severity == Severity::Warning ? "1;33" : "1;36";
  }

  void head() {
    size_t parameters = 0;
    int64_t elements = 0;
    std::map<std::string, int64_t> sizes;
    for (const model::Tensor &tensor : model.graph.initializers)
      sizes[tensor.name] = tensor.numElements();
    for (const Initializer &initializer : report.initializers)
      if (initializer.verdict == Verdict::Parameter) {
        ++parameters;
        elements += sizes[initializer.name];
      }
    auto opset = model.opsets.find("");
    std::string producer = model.producer.empty() ? "" : fmt::format(", by {} {}", model.producer, model.producerVersion);
    out += fmt::format("{}: opset {}{}; {} nodes, {} trained tensors with {} elements\n\n", paint("1", model.path),
                       opset == model.opsets.end() ? 0 : opset->second, producer, model.graph.nodes.size(), parameters,
                       grouped(elements));
  }

  static std::string grouped(int64_t n) {
    std::string digits = std::to_string(n);
    for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3)
      digits.insert(at, ",");
    return digits;
  }

  void block(size_t from, size_t to) {
    const Finding &first = report.findings[from];
    size_t n = to - from;
    Headline headline = headlineOf(first.code);
    out += fmt::format("{}  {} {}\n", paint(colourOf(first.severity), fmt::format("{} [{}]", severityName(first.severity), first.code)),
                       n, n == 1 ? headline.one : headline.many);
    std::string previous;
    for (size_t at = from; at < to;) {
      size_t end = at;
      while (end < to && report.findings[end].reason == report.findings[at].reason &&
             report.findings[end].module == report.findings[at].module)
        ++end;
      entry(at, end);
      at = end;
    }
    wrapped("  " + paint("32", "fix: ") + first.remedy, 7);
    out += "\n";
  }

  /// Findings of one module that have one reason.
  void entry(size_t from, size_t to) {
    const Finding &first = report.findings[from];
    std::string place = first.module.empty() ? "" : "in " + first.module;
    for (size_t at = from; at < to; ++at) {
      const Finding &finding = report.findings[at];
      std::string subject = finding.tensor.empty() ? finding.node : finding.tensor;
      std::string where = at == from ? place : "";
      if (!finding.node.empty() && finding.node != subject)
        where += fmt::format("{}at node {}", where.empty() ? "" : ", ", finding.node);
      out += where.empty() ? fmt::format("  {}\n", paint("1", subject)) : fmt::format("  {}  {}\n", paint("1", subject), paint("2", where));
    }
    wrapped("      " + first.reason, 6);
  }

  /// Breaks at blanks; the lines after the first are indented. Colours count nothing.
  void wrapped(const std::string &line, size_t indent) {
    size_t column = 0;
    std::string word;
    bool lineHasWord = false, escape = false;
    size_t wordWidth = 0, leading = line.find_first_not_of(' ');
    out.append(leading, ' ');
    column = leading;
    auto flush = [&] {
      if (word.empty())
        return;
      if (lineHasWord && column + 1 + wordWidth > text.width) {
        out += "\n" + std::string(indent, ' ');
        column = indent;
      } else if (lineHasWord) {
        out += ' ';
        ++column;
      }
      out += word;
      column += wordWidth;
      lineHasWord = true;
      word.clear();
      wordWidth = 0;
    };
    for (char c : line.substr(leading)) {
      escape |= c == '\x1b';
      if (c == ' ' && !escape) {
        flush();
        continue;
      }
      word += c;
      wordWidth += !escape;
      if (escape && c == 'm')
        escape = false;
    }
    flush();
    out += "\n";
  }

  void summary() {
    size_t errors = 0, warnings = 0, notes = 0, repaired = 0, mode = 0;
    for (const Finding &finding : report.findings) {
      errors += finding.severity == Severity::Error;
      warnings += finding.severity == Severity::Warning;
      notes += finding.severity == Severity::Note;
      if (finding.severity == Severity::Error && finding.repairable)
        ++(finding.code == "frozen-batchnorm" || finding.code == "dropout-off" ? mode : repaired);
    }
    auto plural = [](size_t n, const char *what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
    std::string counts = fmt::format("{}, {}, {}", plural(errors, "error"), plural(warnings, "warning"), plural(notes, "note"));
    if (!errors) {
      out += paint("1;32", "clean") + ": it trains as it was written (" + counts + ")\n";
      return;
    }
    std::vector<std::string> flags;
    if (repaired)
      flags.push_back("--repair");
    if (mode)
      flags.push_back("--train-mode");
    std::string hope;
    if (!flags.empty())
      hope = repaired + mode == errors ? fmt::format("; {} mends all errors", fmt::join(flags, " with "))
                                       : fmt::format("; {} mends {} of the errors", fmt::join(flags, " with "), repaired + mode);
    out += paint("1;31", counts) + hope + "\n";
  }

  const Report &report;
  const model::Model &model;
  const Options &options;
  const TextOptions &text;
  std::string out;
};
} // namespace

std::string toText(const Report &report, const model::Model &model, const Options &options, const TextOptions &text) {
  return Printer(report, model, options, text).print();
}

} // namespace kedge::lint
