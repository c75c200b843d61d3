#include "runtime/text/TokenTemplate.h"

namespace kedge::rt {
namespace {

/// `["[CLS]", 101]`.
uint32_t numberedToken(const TokenizerPart &part, const char *key) {
  const nlohmann::json &pair = part.list(key);
  if (pair.size() != 2 || !pair[1].is_number_unsigned())
    fail("{}: expected a token and its number as '{}'", part.where(), key);
  return pair[1].get<uint32_t>();
}

} // namespace

void TokenTemplate::read(const TokenizerPart &part) {
  eachStep(part, "processors", [&](const TokenizerPart &one) {
    const std::string type = one.type();
    if (type == "TemplateProcessing") {
      readTemplate(one);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      front.insert(front.begin(), numberedToken(one, "cls"));
      back.push_back(numberedToken(one, "sep"));
    } else if (type != "ByteLevel") { // that one moves places in the text alone
      one.notAvailable("a post-processor of type '" + type + "'");
    }
  });
}

void TokenTemplate::readTemplate(const TokenizerPart &part) {
  std::vector<uint32_t> before, after;
  bool behindText = false;
  for (const nlohmann::json &one : part.list("single")) {
    if (one.contains("Sequence")) {
      if (behindText)
        part.notAvailable("a template that has the text twice");
      behindText = true;
      continue;
    }
    const TokenizerPart special = TokenizerPart(one, part.where() + ".single").part("SpecialToken");
    const TokenizerPart numbers = part.part("special_tokens").part(special.text("id").c_str());
    for (const nlohmann::json &number : numbers.list("ids"))
      (behindText ? after : before).push_back(number.get<uint32_t>());
  }
  front.insert(front.begin(), before.begin(), before.end());
  back.insert(back.end(), after.begin(), after.end());
}

} // namespace kedge::rt
