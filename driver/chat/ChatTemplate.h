// Conversations as text, as a tokenizer's chat template writes them: equal to transformers'
// apply_chat_template.
#pragma once
#include "driver/chat/TemplateNodes.h"
#include <functional>

namespace kedge::driver {

class ChatTemplate {
public:
  /// Of the folder of a tokenizer.json: chat_template.jinja, or `chat_template` of tokenizer_config.json,
  /// which has the special tokens, too. Throws an error that names the file, and the line of what is not
  /// available.
  /// `isToken`: whether the tokenizer has a token of this text. transformers adds special tokens that it
  /// lacks.
  ChatTemplate(const std::string &tokenizer, const std::function<bool(const std::string &)> &isToken);

  /// `line` may have `tools`, `documents` and `chat_template_kwargs`. `asks`: with what begins an answer.
  std::string text(const nlohmann::ordered_json &messages, const nlohmann::ordered_json &line,
                   bool asks) const;

private:
  void readConfiguration(const std::string &path);
  void readSpecialTokens(const nlohmann::ordered_json &file);
  void add(const std::string &name, const std::string &place, const std::string &source);

  struct Named {
    std::string name, place;
    TemplateBody body;
  };
  std::vector<Named> templates; ///< "default", and others
  TemplateValue::Map specials;
  std::string configuration;        ///< its path
  std::vector<std::string> missing; ///< special tokens that the tokenizer lacks
};

} // namespace kedge::driver
