#include "driver/tokens/TaskEncoder.h"
#include "lib/Support/Error.h"
#include "runtime/io/Printable.h"

namespace kedge::driver {
namespace {

void checkUtf8(std::string_view text, const TextTask &task, size_t begin) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = rt::utf8Length(text.substr(at));
    if (length == 0)
      fail("{}: byte {} (0x{:02x}) is not UTF-8; convert the file, as by iconv -f LATIN1 -t UTF-8",
           task.file->map.path(), begin + at, static_cast<unsigned char>(text[at]));
    at += length;
  }
}

template <typename Json> std::string keysOf(const Json &object) {
  std::string keys;
  for (const auto &[key, value] : object.items())
    keys += (keys.empty() ? "'" : ", '") + key + "'";
  return keys.empty() ? "none" : keys;
}

std::string textOf(const nlohmann::json &object, const std::string &key, const std::string &place) {
  if (!object[key].is_string())
    fail("{}: expected text as '{}'", place, key);
  return object[key].get<std::string>();
}

/// Messages, and those before an answer.
struct Conversation {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array(), prompt = nlohmann::ordered_json::array();
};

Conversation conversationOf(const nlohmann::ordered_json &line, const std::string &field,
                            const std::string &place) {
  const auto listAt = [&](const std::string &key) { return line.contains(key) && line[key].is_array(); };
  const std::string key = field == TokensRequest().field ? "messages" : field;
  Conversation found;
  if (listAt(key)) {
    found.messages = line[key];
    if (found.messages.size() > 1 && found.messages.back().is_object() &&
        found.messages.back().value("role", "") == "assistant")
      found.prompt.insert(found.prompt.end(), found.messages.begin(), found.messages.end() - 1);
  } else if (listAt("prompt") && listAt("completion")) {
    found.messages = found.prompt = line["prompt"];
    found.messages.insert(found.messages.end(), line["completion"].begin(), line["completion"].end());
  } else {
    fail("{}: expected a list of messages as '{}' (--field), or as 'prompt' and 'completion'; found {}",
         place, key, keysOf(line));
  }
  for (const nlohmann::ordered_json &message : found.messages)
    if (!message.is_object())
      fail("{}: expected objects with 'role' and 'content' as messages", place);
  return found;
}

} // namespace

void EncodedText::clear() {
  tokens.clear();
  documents.clear();
  hasPrompts = false;
}

void TaskEncoder::begin(EncodedText &result) const {
  result.documents.push_back({result.tokens.size(), result.tokens.size()});
  if (!request.plain)
    result.tokens.insert(result.tokens.end(), tokenizer.around().before().begin(),
                         tokenizer.around().before().end());
}

void TaskEncoder::addBehind(EncodedText &result) const {
  if (!request.plain)
    result.tokens.insert(result.tokens.end(), tokenizer.around().behind().begin(),
                         tokenizer.around().behind().end());
  result.tokens.insert(result.tokens.end(), behind.begin(), behind.end());
}

/// A document of no token is none.
void TaskEncoder::finish(EncodedText &result) const {
  addBehind(result);
  if (result.documents.back().begin == result.tokens.size())
    result.documents.pop_back();
}

void TaskEncoder::encode(const TextTask &task, EncodedText &result) {
  result.clear();
  if (chats && task.file->kind != TextKind::JsonLines)
    fail("{}: is text, and --chat-template takes lines of JSON (.jsonl) with 'messages'",
         task.file->map.path());
  if (task.file->kind == TextKind::Whole)
    return encodeWhole(task, result);
  std::string_view text(task.file->map.data() + task.begin, task.end - task.begin);
  for (size_t number = task.line; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    encodeLine(task, line, number, result);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

void TaskEncoder::encodeWhole(const TextTask &task, EncodedText &result) {
  const std::string_view text(task.file->map.data() + task.begin, task.end - task.begin);
  checkUtf8(text, task, task.begin);
  if (task.first)
    begin(result);
  encoder.encode(text, result.tokens, task.first);
  if (task.last)
    addBehind(result);
}

void TaskEncoder::encodeLine(const TextTask &task, std::string_view line, size_t number,
                             EncodedText &result) {
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  const std::string place = fmt::format("{}:{}", task.file->map.path(), number);
  if (task.file->kind == TextKind::Lines) {
    checkUtf8(line, task, static_cast<size_t>(line.data() - task.file->map.data()));
    if (line.empty())
      return;
    begin(result);
    encoder.encode(line, result.tokens);
    return finish(result);
  }
  if (line.find_first_not_of(" \t") == std::string_view::npos)
    return;
  if (chats) {
    const auto chat = nlohmann::ordered_json::parse(line, nullptr, false); // templates print members in order
    if (!chat.is_object())
      fail("{}: is not an object of JSON, expected {{\"messages\": [...]}} on each line", place);
    return encodeChat(chat, place, result);
  }
  const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object())
    fail("{}: is not an object of JSON, expected {{\"{}\": \"...\"}} on each line", place, request.field);
  encodeObject(object, place, result);
}

/// The answer is the last message, if it is the assistant's, or `completion`.
void TaskEncoder::encodeChat(const nlohmann::ordered_json &line, const std::string &place,
                             EncodedText &result) {
  const Conversation chat = conversationOf(line, request.field, place);
  const auto write = [&](const nlohmann::ordered_json &messages, bool asks) {
    try {
      return chats->text(messages, line, asks);
    } catch (const Error &error) {
      fail("{}: {}", place, error.what());
    }
  };
  const size_t first = result.tokens.size();
  result.documents.push_back({first, first});
  encoder.encode(write(chat.messages, false), result.tokens);
  if (!chat.prompt.empty()) {
    std::vector<uint32_t> asked;
    encoder.encode(write(chat.prompt, true), asked);
    const size_t most = std::min(asked.size(), result.tokens.size() - first);
    size_t same = 0;
    while (same < most && asked[same] == result.tokens[first + same])
      ++same;
    result.documents.back().answer = first + same;
    result.hasPrompts = true;
  }
  result.tokens.insert(result.tokens.end(), behind.begin(), behind.end());
  if (result.tokens.size() == first)
    result.documents.pop_back();
}

void TaskEncoder::encodeObject(const nlohmann::json &object, const std::string &place, EncodedText &result) {
  if (object.contains(request.field)) {
    begin(result);
    encoder.encode(textOf(object, request.field, place), result.tokens);
    return finish(result);
  }
  const char *const answer = object.contains("completion") ? "completion" : "answer";
  if (object.contains("prompt") && object.contains(answer)) {
    begin(result);
    encoder.encode(textOf(object, "prompt", place), result.tokens);
    result.documents.back().answer = result.tokens.size();
    result.hasPrompts = true;
    encoder.encode(textOf(object, answer, place), result.tokens, false);
    return finish(result);
  }
  if (object.contains("messages"))
    fail("{}: has 'messages', expected text: give --chat-template, which writes conversations as the "
         "tokenizer's template has them",
         place);
  fail("{}: expected text as '{}' (--field), or as 'prompt' and 'completion'; found {}", place, request.field,
       keysOf(object));
}

} // namespace kedge::driver
