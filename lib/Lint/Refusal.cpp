// Why compile stops, and what it mended by itself: a few lines, where kedge lint has a page.
#include "lib/Lint/Find/Findings.h"
#include "lib/Model/ShownName.h"
#include "runtime/io/Printable.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kedge::lint {

namespace {
constexpr size_t kNamed = 3;

std::string nameFor(const Finding &finding) {
  const bool ofNode = finding.code == "unsupported-op" || finding.code == "no-gradient";
  const std::string &name =
      !finding.tensor.empty() && !(ofNode && !finding.node.empty()) ? finding.tensor : finding.node;
  return rt::printable(
      model::shownName(!finding.module.empty() && finding.tensor.empty() ? finding.module : name));
}

/// "a, b, c and 4 more", each once.
std::string examplesOf(const std::vector<const Finding *> &findings,
                       const std::function<std::string(const Finding &)> &nameOf) {
  std::vector<std::string> names;
  for (const Finding *finding : findings)
    if (std::string name = nameOf(*finding);
        !name.empty() && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(std::move(name));
  const size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
  names.resize(std::min(names.size(), kNamed));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  return more ? fmt::format("{} and {} more", text, more) : text;
}

std::string modulePart(const Finding &finding) {
  return rt::printable(model::shownName(finding.module.empty() ? finding.node : finding.module));
}

/// Both ways out of a module that was exported in evaluation mode.
std::string modeText(const std::vector<const Finding *> &findings) {
  std::set<std::string> codes;
  for (const Finding *finding : findings)
    codes.insert(finding->code);
  return fmt::format(
      "error[{}] {} {} in evaluation mode: {}\n"
      "  compile with --train-mode to train them in training mode (statistics of the batch, dropout)\n"
      "  or with --train-mode=off to train the file as it is (frozen statistics, no dropout)",
      fmt::join(codes, ", "), findings.size(), findings.size() == 1 ? "module is" : "modules are",
      examplesOf(findings, modulePart));
}

/// What --allow would train, of the codes that it can accept.
std::string acceptedText(const Finding &finding) {
  static const std::map<std::string, const char *> table = {
      {"merged-parameters", "trains them as one tensor"},
      {"untied-parameters", "trains them apart"},
      {"dropped-bias", "trains without them"},
      {"folded-parameter", "trains all else, and keeps what they became as it is"},
      {"computed-parameter", "trains what was computed from them"},
      {"fused-batchnorm", "trains the weights that hold their effect, without the norms"},
      {"lost-detach", "lets the gradient pass there"},
      {"lost-update", "keeps their first values"},
      {"frozen-batchnorm", "trains with the statistics as they are"},
      {"dropout-off", "trains without dropout"},
  };
  auto found = table.find(finding.code);
  return found == table.end() ? std::string() : fmt::format("\n  --allow {} {}", finding.code, found->second);
}

/// In how many modules, where that is not the number of findings.
std::string placesOf(const std::vector<const Finding *> &findings) {
  std::set<std::string> modules;
  for (const Finding *finding : findings)
    modules.insert(finding->module);
  return modules.size() > 1 && modules.size() < findings.size() ? fmt::format(" in {} layers", modules.size())
                                                                : std::string();
}

/// The argument that keeps what the exporter's optimizer takes out.
bool isKeptByExport(const Finding &finding) {
  return finding.remedy.find("optimize=False") != std::string::npos;
}

/// Whether one way out is that of both.
bool haveOneRemedy(const Finding &a, const Finding &b) {
  return a.code == b.code && (a.remedy == b.remedy || (isKeptByExport(a) && isKeptByExport(b)));
}

std::string remedyOf(const std::vector<const Finding *> &findings) {
  const std::string &first = findings.front()->remedy;
  const bool isSame = std::all_of(findings.begin(), findings.end(),
                                  [&](const Finding *finding) { return finding->remedy == first; });
  return isSame ? rt::printable(first) : "export again with torch.onnx.export(..., optimize=False)";
}

std::string groupText(const std::vector<const Finding *> &findings) {
  const Finding &first = *findings.front();
  return fmt::format("error[{}] {}{}: {}\n  {}\n  {}{}", first.code, headlineOf(first.code, findings.size()),
                     placesOf(findings), examplesOf(findings, nameFor), rt::printable(first.reason),
                     remedyOf(findings), acceptedText(first));
}
} // namespace

std::string refusal(const Report &report) {
  std::vector<std::vector<const Finding *>> groups;
  std::vector<const Finding *> modes;
  for (const Finding &finding : report.findings) {
    if (finding.severity != Severity::Error)
      continue;
    if (isOfMode(finding)) {
      modes.push_back(&finding);
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto &group) { return haveOneRemedy(*group.front(), finding); });
    if (group == groups.end())
      group = groups.insert(groups.end(), std::vector<const Finding *>());
    group->push_back(&finding);
  }
  std::vector<std::string> texts;
  for (const std::vector<const Finding *> &group : groups)
    texts.push_back(groupText(group));
  if (!modes.empty())
    texts.push_back(modeText(modes));
  return fmt::format("{}", fmt::join(texts, "\n"));
}

std::string mendedText(const Report &report) {
  std::vector<std::string> kinds;
  for (const std::string &change : report.changes)
    kinds.push_back(change.substr(0, change.find(": ")));
  return kinds.empty() ? std::string() : fmt::format("{} (kedge lint shows each)", fmt::join(kinds, "; "));
}

} // namespace kedge::lint
