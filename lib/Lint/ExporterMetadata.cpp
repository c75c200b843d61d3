#include "lib/Lint/ExporterMetadata.h"
#include "lib/Lint/Lint.h"
#include <charconv>

namespace kedge::lint {

std::vector<std::string> parseStringList(const std::string &text) {
  std::vector<std::string> items;
  for (size_t at = 0; at < text.size(); ++at) {
    char quote = text[at];
    if (quote != '\'' && quote != '"')
      continue;
    std::string item;
    for (++at; at < text.size() && text[at] != quote; ++at) {
      if (text[at] == '\\' && at + 1 < text.size())
        ++at;
      item += text[at];
    }
    items.push_back(std::move(item));
  }
  return items;
}

std::string FxArgument::value() const {
  return refs.size() == 1 && text == "%" + refs[0] ? refs[0] : std::string();
}

namespace {
bool isNameChar(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

FxArgument parseArgument(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  FxArgument argument{std::string(text), {}};
  for (size_t at = 0; at < text.size(); ++at)
    if (text[at] == '%') {
      size_t end = at + 1;
      while (end < text.size() && isNameChar(text[end]))
        ++end;
      argument.refs.emplace_back(text.substr(at + 1, end - at - 1));
      at = end - 1;
    }
  return argument;
}

/// Splits at commas outside of brackets and quotes.
std::vector<std::string_view> splitTopLevel(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  size_t from = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(text.substr(from, at - from));
      from = at + 1;
    }
  }
  if (text.find_first_not_of(' ', from) != std::string_view::npos)
    parts.push_back(text.substr(from));
  return parts;
}

/// The text between the bracket at `open` and its partner; empty when there is none.
std::string_view bracketed(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(' || text[at] == '[' || text[at] == '{')
      ++depth;
    else if (text[at] == ')' || text[at] == ']' || text[at] == '}')
      if (--depth == 0)
        return text.substr(open + 1, at - open - 1);
  }
  return {};
}

/// "torch.ops.aten.linear.default" -> "linear"; "operator.getitem" -> "getitem".
std::string shortTarget(std::string_view full) {
  constexpr std::string_view ops = "torch.ops.";
  if (full.starts_with(ops)) {
    full.remove_prefix(ops.size());
    if (size_t dot = full.find('.'); dot != std::string_view::npos)
      full.remove_prefix(dot + 1);
    return std::string(full.substr(0, full.find('.')));
  }
  size_t dot = full.rfind('.');
  return std::string(dot == std::string_view::npos ? full : full.substr(dot + 1));
}
} // namespace

std::optional<FxCall> FxCall::parse(const std::string &text) {
  std::string_view all(text);
  size_t target = all.find("call_function[target=");
  size_t args = all.find("](args = (");
  if (all.empty() || all[0] != '%' || target == std::string_view::npos || args == std::string_view::npos ||
      args < target)
    return std::nullopt;
  FxCall call;
  size_t end = 1;
  while (end < all.size() && isNameChar(all[end]))
    ++end;
  call.name = all.substr(1, end - 1);
  target += std::string_view("call_function[target=").size();
  const std::string_view full = all.substr(target, args - target);
  call.target = shortTarget(full);
  if (full.starts_with("torch.ops."))
    call.overload = full.substr(full.rfind('.') + 1);
  for (std::string_view part : splitTopLevel(bracketed(all, all.find('(', args + 3))))
    call.arguments.push_back(parseArgument(part));
  if (size_t kwargs = all.find("kwargs = {", args); kwargs != std::string_view::npos)
    for (std::string_view part : splitTopLevel(bracketed(all, all.find('{', kwargs))))
      if (size_t colon = part.find(':'); colon != std::string_view::npos) {
        std::string_view keyword = part.substr(0, colon);
        keyword.remove_prefix(std::min(keyword.find_first_not_of(' '), keyword.size()));
        call.keywords[std::string(keyword)] = parseArgument(part.substr(colon + 1));
      }
  return call;
}

std::optional<FxCall> FxCall::of(const model::Node &node) {
  const std::string &text = node.meta(key::fxNode);
  return text.empty() ? std::nullopt : parse(text);
}

std::string FxCall::value(size_t place, const std::string &keyword) const {
  if (place < arguments.size())
    return arguments[place].value();
  auto found = keyword.empty() ? keywords.end() : keywords.find(keyword);
  return found == keywords.end() ? std::string() : found->second.value();
}

std::vector<std::string> FxCall::refs() const {
  std::vector<std::string> all;
  for (const FxArgument &argument : arguments)
    all.insert(all.end(), argument.refs.begin(), argument.refs.end());
  for (const auto &[keyword, argument] : keywords)
    all.insert(all.end(), argument.refs.begin(), argument.refs.end());
  return all;
}

std::string moduleOf(const model::Node &node) {
  // The list ends with the call itself: ['', 'model', 'model.h.0', 'linear_3'].
  std::vector<std::string> scopes = parseStringList(node.meta(key::nameScopes));
  return scopes.size() < 2 ? std::string() : scopes[scopes.size() - 2];
}

std::optional<int64_t> paddingIndex(const model::Node &node) {
  if (!node.is("Gather"))
    return std::nullopt;
  if (const std::string &given = node.meta(key::paddingRow); !given.empty())
    return std::stoll(given);
  std::optional<FxCall> call = FxCall::of(node);
  if (!call || call->target != "embedding")
    return std::nullopt;
  std::string text;
  if (call->arguments.size() > 2)
    text = call->arguments[2].text;
  else if (auto found = call->keywords.find("padding_idx"); found != call->keywords.end())
    text = found->second.text;
  int64_t row = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), row);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || row < 0)
    return std::nullopt;
  return row;
}

} // namespace kedge::lint
