// The graph signature in the forms that torch's exporters wrote it.
#include "lib/Lint/ExporterMetadata.h"
#include <nlohmann/json.hpp>

namespace kedge::lint {

namespace {
SignatureKind kindOf(std::string_view kind) {
  if (kind.find("PARAMETER") != std::string_view::npos)
    return SignatureKind::Parameter;
  return kind.find("BUFFER") != std::string_view::npos ? SignatureKind::Buffer : SignatureKind::Other;
}

/// What stands between `before` and the next of `ends`, from `at` on; moves `at` behind it.
std::optional<std::string> take(const std::string &text, size_t &at, std::string_view before,
                                std::string_view ends) {
  size_t from = text.find(before, at);
  if (from == std::string::npos)
    return std::nullopt;
  from += before.size();
  size_t to = text.find_first_of(ends, from);
  if (to == std::string::npos)
    to = text.size();
  at = to;
  return text.substr(from, to - from);
}

/// Lines "p_x: PARAMETER target='x'" below "# inputs".
std::vector<SignatureEntry> fromText(const std::string &text) {
  std::vector<SignatureEntry> entries;
  size_t end = text.find("# outputs");
  for (size_t at = 0; at < std::min(end, text.size());) {
    size_t line = std::min(text.find('\n', at), text.size());
    std::string one = text.substr(at, line - at);
    at = line + 1;
    size_t colon = one.find(": "), cursor = 0;
    if (colon == std::string::npos || one[0] == '#')
      continue;
    std::optional<std::string> target = take(one, cursor, "target='", "'");
    entries.push_back({one.substr(0, colon), target.value_or(""),
                       kindOf(one.substr(colon + 2, one.find(' ', colon + 2) - colon - 2))});
  }
  return entries;
}

/// "InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_x'), target='x', persistent=None)".
std::vector<SignatureEntry> fromRepr(const std::string &text) {
  std::vector<SignatureEntry> entries;
  for (size_t at = text.find("InputSpec("); at != std::string::npos; at = text.find("InputSpec(", at)) {
    size_t next = std::min(text.find("InputSpec(", at + 1), text.size());
    std::string one = text.substr(at, next - at);
    size_t cursor = 0;
    std::optional<std::string> kind = take(one, cursor, "kind=", ",");
    std::optional<std::string> name = take(one, cursor, "name='", "'");
    std::optional<std::string> target = take(one, cursor, "target='", "'");
    if (kind && name)
      entries.push_back({*name, target.value_or(""), kindOf(*kind)});
    at = next;
  }
  return entries;
}

/// "add: BUFFER_MUTATION target='x'" below "# outputs", or
/// "OutputSpec(kind=<OutputKind.BUFFER_MUTATION: 3>, arg=TensorArgument(name='add'), target='x')".
std::vector<SignatureEntry> mutationsOf(const std::string &text) {
  std::vector<SignatureEntry> mutations;
  const std::string kind = "BUFFER_MUTATION";
  const bool isRepr =
      text.find("OutputSpec(") != std::string::npos; // a search back from each line would be long
  for (size_t at = text.find(kind); at != std::string::npos; at = text.find(kind, at + kind.size())) {
    const size_t line = text.rfind('\n', at) + 1, colon = text.find(": ", line),
                 spec = isRepr ? text.rfind("OutputSpec(", at) : std::string::npos;
    size_t cursor = at;
    std::string value;
    if (spec != std::string::npos)
      value = take(text, cursor, "name='", "'").value_or("");
    else if (colon < at)
      value = text.substr(line, colon - line);
    if (std::optional<std::string> target = take(text, cursor, "target='", "'"))
      mutations.push_back({value, *target, SignatureKind::Buffer});
  }
  return mutations;
}

std::string stringOr(const nlohmann::json &object, const char *name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// {"input_specs": [{"kind": "PARAMETER", "arg": {"name": "p_x"}, "target": "x"}]}, also with the kind as the
/// key:
/// {"parameter": {"arg": {"name": "p_x"}, "parameter_name": "x"}}.
std::vector<SignatureEntry> fromJson(const nlohmann::json &json) {
  std::vector<SignatureEntry> entries;
  auto specs = json.find("input_specs");
  if (specs == json.end() || !specs->is_array())
    return entries;
  for (const nlohmann::json &spec : *specs) {
    if (!spec.is_object())
      continue;
    SignatureEntry entry;
    const nlohmann::json *body = &spec;
    entry.kind = kindOf(stringOr(spec, "kind"));
    for (auto [kind, name] : {std::pair("parameter", "parameter_name"), {"buffer", "buffer_name"}})
      if (spec.contains(kind) && spec[kind].is_object()) {
        body = &spec[kind];
        entry.kind = std::string_view(kind) == "parameter" ? SignatureKind::Parameter : SignatureKind::Buffer;
        entry.target = stringOr(*body, name);
      }
    if (entry.target.empty())
      entry.target = stringOr(*body, "target");
    if (auto arg = body->find("arg"); arg != body->end())
      entry.placeholder = arg->is_object()   ? stringOr(*arg, "name")
                          : arg->is_string() ? arg->get<std::string>()
                                             : "";
    if (!entry.placeholder.empty())
      entries.push_back(std::move(entry));
  }
  return entries;
}
} // namespace

/// {"output_specs": [{"kind": "BUFFER_MUTATION", "arg": {"name": "add"}, "target": "x"}]}, also with the kind
/// as the key:
/// {"buffer_mutation": {"arg": {"name": "add"}, "buffer_name": "x"}}.
static std::vector<SignatureEntry> mutationsOf(const nlohmann::json &json) {
  std::vector<SignatureEntry> mutations;
  auto specs = json.find("output_specs");
  if (specs == json.end() || !specs->is_array())
    return mutations;
  for (const nlohmann::json &spec : *specs) {
    if (!spec.is_object())
      continue;
    auto named = spec.find("buffer_mutation");
    const nlohmann::json &body = named != spec.end() && named->is_object() ? *named : spec;
    if (&body == &spec && stringOr(spec, "kind").find("BUFFER_MUTATION") == std::string::npos)
      continue;
    SignatureEntry entry{"", stringOr(body, &body == &spec ? "target" : "buffer_name"),
                         SignatureKind::Buffer};
    if (auto arg = body.find("arg"); arg != body.end())
      entry.placeholder = arg->is_object()   ? stringOr(*arg, "name")
                          : arg->is_string() ? arg->get<std::string>()
                                             : "";
    if (!entry.target.empty())
      mutations.push_back(std::move(entry));
  }
  return mutations;
}

Signature Signature::of(const model::Graph &graph) {
  Signature signature;
  auto found = graph.metadata.find(key::signature);
  if (found == graph.metadata.end())
    return signature;
  const std::string &text = found->second;
  size_t first = text.find_first_not_of(" \n\t");
  std::vector<SignatureEntry> entries;
  if (first != std::string::npos && text[first] == '{') {
    nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_object()) {
      entries = fromJson(json);
      signature.mutated = mutationsOf(json);
    }
  } else if (text.find("InputSpec(") != std::string::npos) {
    entries = fromRepr(text);
    signature.mutated = mutationsOf(text);
  } else {
    entries = fromText(text);
    signature.mutated = mutationsOf(text);
  }
  for (SignatureEntry &entry : entries)
    signature.add(std::move(entry));
  return signature;
}

void Signature::add(SignatureEntry entry) {
  placeholders.emplace(entry.placeholder, entries.size());
  if (!entry.target.empty())
    targets.emplace(entry.target, entries.size());
  entries.push_back(std::move(entry));
}

const SignatureEntry *Signature::byPlaceholder(const std::string &placeholder) const {
  auto found = placeholders.find(placeholder);
  return found == placeholders.end() ? nullptr : &entries[found->second];
}

const SignatureEntry *Signature::byTarget(const std::string &target) const {
  auto found = targets.find(target);
  return found == targets.end() ? nullptr : &entries[found->second];
}

std::string Signature::nameOf(const std::string &placeholder) const {
  if (const SignatureEntry *entry = byPlaceholder(placeholder); entry && !entry->target.empty())
    return entry->target;
  return isParameter(placeholder) || isBuffer(placeholder) ? placeholder.substr(2) : placeholder;
}

} // namespace kedge::lint
