#include "lib/Support/Offload.h"
#include "lib/Support/Error.h"
#include <fmt/ranges.h>

namespace kedge {

Offload Offload::parse(const std::string &text) {
  const size_t end = text.find('=');
  const std::optional<OffloadKind> kind = valueNamed<OffloadKind>(text.substr(0, end));
  if (!kind)
    fail("'{}': expected {}", text.substr(0, end), fmt::join(wordsOf<OffloadKind>(), ", "));
  if (end == std::string::npos)
    return {*kind, ""};
  if (*kind == OffloadKind::Activations)
    fail("'{}': activations in a file are not available yet; expected activations, or a directory for "
         "optimizer, gradients or params",
         text);
  if (end + 1 == text.size())
    fail("'{}': expected a directory, as in {}=DIR", text, wordOf(*kind));
  return {*kind, text.substr(end + 1)};
}

std::string Offload::text() const { return wordOf(kind) + (directory.empty() ? "" : "=" + directory); }

std::string offloadText(const std::vector<Offload> &offloads) {
  std::string text;
  for (const Offload &offload : offloads)
    text += (text.empty() ? "" : ",") + offload.text();
  return text;
}

} // namespace kedge
