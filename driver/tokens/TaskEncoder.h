// Encodes tasks: documents of text, of lines, and of lines of JSON.
#pragma once
#include "driver/chat/ChatTemplate.h"
#include "driver/tokens/TextTasks.h"
#include "driver/tokens/Tokens.h"
#include "runtime/text/Tokenizer.h"

namespace kedge::driver {

/// The tokens of a task; documents by their place among these.
struct EncodedText {
  struct Document {
    uint64_t begin, answer;
  };
  std::vector<uint32_t> tokens;
  std::vector<Document> documents;
  bool hasPrompts = false;

  void clear();
};

/// What one thread encodes with.
class TaskEncoder {
public:
  /// `chats`: null unless lines are conversations.
  TaskEncoder(const rt::Tokenizer &tokenizer, const TokensRequest &request,
              const std::vector<uint32_t> &behind, const ChatTemplate *chats)
      : encoder(tokenizer), tokenizer(tokenizer), request(request), behind(behind), chats(chats) {}

  void encode(const TextTask &task, EncodedText &result);

private:
  void encodeWhole(const TextTask &task, EncodedText &result);
  void encodeLine(const TextTask &task, std::string_view line, size_t number, EncodedText &result);
  void encodeObject(const nlohmann::json &object, const std::string &place, EncodedText &result);
  void encodeChat(const nlohmann::ordered_json &line, const std::string &place, EncodedText &result);
  void begin(EncodedText &result) const;
  void addBehind(EncodedText &result) const;
  void finish(EncodedText &result) const;

  rt::TokenEncoder encoder;
  const rt::Tokenizer &tokenizer;
  const TokensRequest &request;
  const std::vector<uint32_t> &behind; ///< each document
  const ChatTemplate *chats;
};

} // namespace kedge::driver
