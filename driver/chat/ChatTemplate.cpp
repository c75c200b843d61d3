#include "driver/chat/ChatTemplate.h"
#include "driver/chat/TemplateParser.h"
#include "driver/chat/TemplateRun.h"
#include "lib/Support/Error.h"
#include "runtime/io/FileMap.h"
#include <algorithm>
#include <filesystem>

namespace kedge::driver {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kDefault = "default", *kWithTools = "tool_use";

std::string contentOf(const std::string &path) {
  const rt::FileMap file(path, "file");
  return {file.data(), file.size()};
}

Json objectOf(const std::string &path) {
  const Json found = Json::parse(contentOf(path), nullptr, false);
  if (!found.is_object())
    fail("{}: expected an object of JSON", path);
  return found;
}

Json member(const Json &object, const char *key) { return object.contains(key) ? object[key] : Json(); }

} // namespace

ChatTemplate::ChatTemplate(const std::string &tokenizer,
                           const std::function<bool(const std::string &)> &isToken) {
  if (tokenizer == "bytes")
    fail("--chat-template: bytes have no template; give the tokenizer.json of a model's folder");
  const std::filesystem::path folder = std::filesystem::path(tokenizer).parent_path();
  const std::string own = (folder / "chat_template.jinja").string();
  configuration = (folder / "tokenizer_config.json").string();
  if (std::filesystem::exists(own))
    add(kDefault, own, contentOf(own));
  if (std::filesystem::exists(configuration))
    readConfiguration(configuration);
  if (templates.empty())
    fail("--chat-template: expected {} or 'chat_template' in {}, next to the tokenizer: a model's folder at "
         "Hugging "
         "Face has them; where it has neither, its tokenizer has no template",
         own, configuration);
  for (const auto &[name, token] : specials)
    if (!isToken(token.text()))
      missing.push_back(token.text());
}

void ChatTemplate::add(const std::string &name, const std::string &place, const std::string &source) {
  const bool known =
      std::any_of(templates.begin(), templates.end(), [&](const Named &one) { return one.name == name; });
  if (known) // the file of its own counts
    return;
  try {
    templates.push_back({name, place, parseTemplate(source)});
  } catch (const Error &error) {
    fail("{}: {}", place, error.what());
  }
}

void ChatTemplate::readConfiguration(const std::string &path) {
  const Json file = objectOf(path);
  readSpecialTokens(file);
  const std::string place = path + ": chat_template";
  const Json found = member(file, "chat_template");
  if (found.is_string())
    return add(kDefault, place, found.get<std::string>());
  for (const Json &one : found.is_array() ? found : Json::array()) {
    if (!member(one, "name").is_string() || !member(one, "template").is_string())
      fail("{}: expected a text, or a list of objects with 'name' and 'template'", place);
    add(one["name"], fmt::format("{} '{}'", place, one["name"].get<std::string>()), one["template"]);
  }
}

/// Those that are set: templates write `bos_token`.
void ChatTemplate::readSpecialTokens(const Json &file) {
  const auto take = [&](const std::string &name, const Json &token) {
    if (token.is_string())
      specials.emplace_back(name, TemplateValue(token.get<std::string>()));
    else if (token.is_object() && member(token, "content").is_string())
      specials.emplace_back(name, TemplateValue(token["content"].get<std::string>()));
  };
  for (const char *name :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    take(name, member(file, name));
  for (const char *more : {"extra_special_tokens", "model_specific_special_tokens"})
    if (const Json found = member(file, more); found.is_object())
      for (const auto &[name, token] : found.items())
        take(name, token);
}

std::string ChatTemplate::text(const Json &messages, const Json &line, bool asks) const {
  const auto named = [&](const char *name) {
    return std::find_if(templates.begin(), templates.end(),
                        [&](const Named &one) { return one.name == name; });
  };
  const Json tools = member(line, "tools");
  auto chosen = tools.is_null() ? templates.end() : named(kWithTools);
  chosen = chosen == templates.end() ? named(kDefault) : chosen;
  if (chosen == templates.end())
    fail("the tokenizer has several templates, and none is called 'default'");
  TemplateValue::Map variables = specials;
  const Json more = member(line, "chat_template_kwargs");
  if (more.is_object())
    for (const auto &[name, value] : more.items())
      variables.emplace_back(name, TemplateValue::of(value));
  variables.emplace_back("messages", TemplateValue::of(messages));
  variables.emplace_back("tools", TemplateValue::of(tools));
  variables.emplace_back("documents", TemplateValue::of(member(line, "documents")));
  variables.emplace_back("add_generation_prompt", TemplateValue(asks));
  std::string text;
  try {
    text = TemplateRun(std::move(variables)).run(chosen->body);
  } catch (const Error &error) {
    fail("{}: {}", chosen->place, error.what());
  }
  for (const std::string &token : missing)
    if (!token.empty() && text.find(token) != std::string::npos)
      fail("the text has '{}', a special token of {}, which the tokenizer has no number for", token,
           configuration);
  return text;
}

} // namespace kedge::driver
