// The report as a reader wants it: one block a code, what is common said once, one aligned line a tensor.
#include "lib/Lint/Find/Findings.h"
#include "lib/Model/ShownName.h"
#include "runtime/io/Printable.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::lint {

namespace {
struct Headline {
  const char *one;
  const char *many; // behind the number
  const char *why;  // where findings differ in `detail` only
};

Headline headlineOf(const std::string &code) {
  static const std::map<std::string, Headline> table = {
      {"merged-parameters",
       {"a parameter lost its own tensor", "parameters lost their own tensor",
        "the exporter stored tensors of equal content once; training would move them as one"}},
      {"untied-parameters", {"a tie is lost", "ties are lost", ""}},
      {"buffer-by-name", {"a tensor is taken for a buffer", "tensors are taken for buffers", ""}},
      {"computed-parameter",
       {"a trained tensor was computed from others", "trained tensors were computed from others", ""}},
      {"tied-parameters", {"a parameter is tied", "parameters are tied", ""}},
      {"dropped-bias", {"a bias is gone", "biases are gone", ""}},
      {"folded-parameter", {"a parameter became a constant", "parameters became constants", ""}},
      {"frozen-batchnorm",
       {"a BatchNormalization is not in training mode", "BatchNormalizations are not in training mode", ""}},
      {"fused-batchnorm", {"a norm is gone", "norms are gone", ""}},
      {"dropout-off", {"a Dropout is off", "Dropouts are off", ""}},
      {"label-type", {"the labels have the wrong type", "labels have the wrong type", ""}},
      {"no-gradient", {"an operator has no gradient", "operators have no gradient", ""}},
      {"unsupported-op", {"a node is not supported", "nodes are not supported", ""}},
      {"nothing-trained", {"nothing trains", "", ""}},
      {"activation-before-loss", {"the loss would see probabilities", "losses would see probabilities", ""}},
      {"adapters-and-base", {"adapters do not train alone", "", ""}},
      {"missing-weights", {"a data file is not there", "data files are not there", ""}},
      {"unused-parameter", {"a parameter does not train", "parameters do not train", ""}},
      {"keyed-by-rank",
       {"an operator draws random numbers by rank", "operators draw random numbers by rank", ""}},
      {"random-off",
       {"a random value is switched off outside of training",
        "random values are switched off outside of training",
        "random numbers change them in training alone; evaluation, --predict and exported files have the "
        "value before, as after "
        "model.eval()"}},
      {"random-evaluation",
       {"random numbers are drawn in every mode", "operators draw random numbers in every mode", ""}},
      {"constant-random", {"random numbers became a constant", "random numbers became constants", ""}},
      {"updated-buffer", {"a buffer is updated by forward", "buffers are updated by forward", ""}},
      {"lost-argument", {"an argument of a call is lost", "arguments of calls are lost", ""}},
      {"scatter-order", {"a scatter whose places may repeat", "scatters whose places may repeat", ""}},
      {"lost-update", {"a buffer would keep its first value", "buffers would keep their first values", ""}},
      {"lost-detach", {"a stop of the gradient is gone", "stops of the gradient are gone", ""}},
      {"undecided-verdict",
       {"nothing says whether a tensor trains", "nothing says whether tensors train",
        "neither the file nor the graph says whether they are parameters"}},
      {"frozen-norm", {"a tensor of a frozen norm", "tensors of frozen norms", ""}},
      {"not-finite", {"a parameter is not finite", "parameters are not finite", ""}},
      {"padding-row", {"a row of zeros trains", "rows of zeros train", ""}},
      {"sine-table", {"a table of sines trains", "tables of sines train", ""}},
      {"renamed-parameter",
       {"a parameter is stored under another name", "parameters are stored under another name",
        "they train like all others"}},
  };
  auto found = table.find(code);
  return found == table.end() ? Headline{"a finding", "findings", ""} : found->second;
}

constexpr size_t kExamples = 3;

class Printer {
public:
  Printer(const Report &original, const model::Model &model, const TextOptions &text)
      : report(original), model(model), text(text) {
    for (Finding &finding : report.findings) {
      for (std::string *name : {&finding.node, &finding.tensor, &finding.module})
        *name = model::shownName(*name);
      for (std::string *part : {&finding.node, &finding.tensor, &finding.module, &finding.reason,
                                &finding.detail, &finding.remedy})
        *part = rt::printable(*part); // names are the file's: only our own colours steer the terminal
    }
    for (std::string &change : report.changes)
      change = rt::printable(change);
    std::vector<const Finding *> kinds;
    auto kindOf = [&kinds](const Finding &finding) {
      auto same = [&](const Finding *kind) { return sameBlock(*kind, finding); };
      return std::find_if(kinds.begin(), kinds.end(), same) - kinds.begin();
    };
    for (const Finding &finding : original.findings)
      if (kindOf(finding) == static_cast<std::ptrdiff_t>(kinds.size()))
        kinds.push_back(&finding);
    std::stable_sort(report.findings.begin(), report.findings.end(),
                     [&](const Finding &a, const Finding &b) { return kindOf(a) < kindOf(b); });
  }

  std::string print() {
    head();
    if (!text.all)
      for (std::string &change : report.changes)
        change = shortened(change);
    for (const std::string &change : report.changes)
      wrapped(paint("32", "mended: ") + change, 8);
    for (const std::string &remark : report.remarks)
      wrapped(remark, 2);
    if (!report.changes.empty() || !report.remarks.empty())
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
    std::map<std::string, int64_t> sizes;
    for (const model::Tensor &tensor : model.graph.initializers)
      sizes[tensor.name] = tensor.numElements();
    for (const Initializer &initializer : report.initializers)
      if (initializer.verdict == Verdict::Parameter) {
        ++trainedTensors;
        trainedElements += sizes[initializer.name];
      }
    auto opset = model.opsets.find("");
    std::string producer = model.producer.empty() ? ""
                                                  : fmt::format(", by {} {}", rt::printable(model.producer),
                                                                rt::printable(model.producerVersion));
    out += fmt::format("{}: opset {}{}; {} nodes, {} trained tensors with {} elements\n\n",
                       paint("1", rt::printable(model.path)), opset == model.opsets.end() ? 0 : opset->second,
                       producer, model.graph.nodes.size(), trainedTensors, grouped(trainedElements));
  }

  static std::string grouped(int64_t n) {
    std::string digits = std::to_string(n);
    for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3)
      digits.insert(at, ",");
    return digits;
  }

  /// "mended 7 names: a, b, c, d, e": three of them are enough.
  static std::string shortened(const std::string &change) {
    size_t colon = change.find(": "), at = colon;
    for (size_t shown = 0; at != std::string::npos && shown < kExamples; ++shown)
      at = change.find(", ", at + 2);
    if (colon == std::string::npos || at == std::string::npos)
      return change;
    size_t more = 1;
    for (size_t next = change.find(", ", at + 2); next != std::string::npos;
         next = change.find(", ", next + 2))
      ++more;
    return fmt::format("{} and {} more", change.substr(0, at), more);
  }

  void block(size_t from, size_t to) {
    const Finding &first = report.findings[from];
    Headline headline = headlineOf(first.code);
    std::string count = to - from == 1 ? headline.one : fmt::format("{} {}", to - from, headline.many);
    const auto begin = report.findings.begin() + static_cast<std::ptrdiff_t>(from);
    const size_t mended = std::count_if(begin, begin + static_cast<std::ptrdiff_t>(to - from),
                                        [](const Finding &finding) { return finding.mended; });
    if (mended != 0)
      count += mended == to - from
                   ? to - from == 1 ? std::string("; compile mends it") : "; compile mends these"
                   : fmt::format("; compile mends {} of these", mended);
    const size_t shown = text.all ? to : std::min(to, from + kExamples);
    out += fmt::format(
        "{} {}\n",
        paint(colourOf(first.severity), fmt::format("{}[{}]", severityName(first.severity), first.code)),
        paint("1", count));
    std::vector<std::pair<std::string, std::vector<const Finding *>>> reasons;
    for (size_t at = from; at < shown; ++at) {
      const Finding &finding = report.findings[at];
      const bool speaksForAll = !finding.detail.empty() && *headline.why;
      std::string reason = speaksForAll ? headline.why : finding.reason;
      auto found =
          std::find_if(reasons.begin(), reasons.end(), [&](const auto &r) { return r.first == reason; });
      if (found == reasons.end())
        found = reasons.insert(reasons.end(), {reason, {}});
      found->second.push_back(&finding);
    }
    for (const auto &[reason, findings] : reasons) {
      wrapped("  " + reason, 2);
      rows(findings);
    }
    if (shown < to)
      out += fmt::format("    and {} more; -v shows all\n", to - shown);
    wrapped("  " + paint("32", "fix: ") + first.remedy, 7);
    out += "\n";
  }

  static std::string subjectOf(const Finding &finding) {
    return finding.tensor.empty() ? finding.node : finding.tensor;
  }

  /// Three columns: the tensor, what it is or in which module, the node. One tensor's lines stand together,
  /// and a name above is not repeated.
  void rows(std::vector<const Finding *> findings) {
    std::map<std::string, size_t> order;
    for (const Finding *finding : findings)
      order.emplace(subjectOf(*finding), order.size());
    std::stable_sort(findings.begin(), findings.end(), [&](const Finding *a, const Finding *b) {
      return order[subjectOf(*a)] < order[subjectOf(*b)];
    });
    std::vector<std::array<std::string, 3>> table;
    for (const Finding *finding : findings) {
      std::string subject = subjectOf(*finding);
      bool named = finding->module.empty() || subject.starts_with(finding->module + ".");
      std::string middle = !finding->detail.empty() ? finding->detail : named ? "" : "in " + finding->module;
      std::string node = finding->node.empty() || finding->node == subject ? "" : "at " + finding->node;
      table.push_back({std::move(subject), std::move(middle), std::move(node)});
    }
    size_t widths[2] = {0, 0};
    for (const auto &row : table)
      for (size_t c = 0; c < 2; ++c)
        widths[c] = std::max(widths[c], row[c].size());
    std::string above;
    for (const auto &row : table) {
      std::string line = "    " + paint("36", row[0] == above ? std::string() : row[0]);
      line += std::string(widths[0] - (row[0] == above ? 0 : row[0].size()), ' ');
      if (widths[1])
        line += "  " + row[1] + std::string(widths[1] - row[1].size(), ' ');
      if (!row[2].empty())
        line += "  " + paint("2", row[2]);
      above = row[0];
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }

  /// Breaks at blanks; the lines after the first are indented. Colours count nothing.
  void wrapped(const std::string &line, size_t indent) {
    size_t column = 0;
    std::string word;
    bool lineHasWord = false, escape = false;
    size_t wordWidth = 0, leading = std::min(line.find_first_not_of(' '), line.size());
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
    size_t errors = 0, warnings = 0, notes = 0, mended = 0, repaired = 0, mode = 0;
    const Finding *left = nullptr;
    for (const Finding &finding : report.findings) {
      errors += finding.severity == Severity::Error;
      warnings += finding.severity == Severity::Warning;
      notes += finding.severity == Severity::Note;
      if (finding.severity != Severity::Error)
        continue;
      mended += finding.mended;
      if (!finding.mended && finding.repairable)
        ++(isOfMode(finding) ? mode : repaired);
      else if (!finding.mended && !left)
        left = &finding;
    }
    auto plural = [](size_t n, const char *what) {
      return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    std::string counts = fmt::format("{}, {}, {}", plural(errors, "error"), plural(warnings, "warning"),
                                     plural(notes, "note"));
    if (!errors) {
      out += fmt::format("{}: no damage found in {} with {} {} ({})\n", paint("1;32", "clean"),
                         plural(trainedTensors, "tensor"), grouped(trainedElements),
                         trainedElements == 1 ? "element" : "elements", counts);
      wrapped(report.showsFrozen ? "  the file cannot show a custom backward"
                                 : "  the file cannot show frozen parameters or a custom backward",
              2);
      for (const std::string &unknown : report.unknown)
        wrapped("not known: " + unknown, 2);
      return next("");
    }
    std::vector<std::string> flags;
    if (repaired)
      flags.push_back("--repair");
    if (mode)
      flags.push_back("--train-mode");
    std::string hope;
    if (mended)
      hope = mended == errors ? std::string("; compile mends all errors")
                              : fmt::format("; compile mends {} of the errors", mended);
    if (!flags.empty())
      hope += repaired + mode + mended == errors && !mended
                  ? fmt::format("; {} mends all errors", fmt::join(flags, " with "))
                  : fmt::format("; {} mends {} of the errors", fmt::join(flags, " with "), repaired + mode);
    out += paint("1;31", counts) + hope + "\n";
    if (left)
      wrapped("next: " + left->remedy, 2);
    else
      next(flags.empty() ? std::string() : fmt::format(" {}", fmt::join(flags, " ")));
  }

  /// What to type next: the last line.
  void next(const std::string &flags) {
    if (!text.command.empty())
      out += fmt::format("next: {}{}\n", rt::printable(text.command), flags);
  }

  Report report;
  const model::Model &model;
  const TextOptions &text;
  size_t trainedTensors = 0;
  int64_t trainedElements = 0;
  std::string out;
};
} // namespace

std::string toText(const Report &report, const model::Model &model, const TextOptions &text) {
  return Printer(report, model, text).print();
}

std::string headlineOf(const std::string &code, size_t n) {
  const Headline headline = headlineOf(code);
  return n == 1 ? headline.one : fmt::format("{} {}", n, headline.many);
}

} // namespace kedge::lint
