#include "driver/tokens/Tokens.h"
#include "driver/tokens/TaskEncoder.h"
#include "driver/tokens/TokenOutput.h"
#include "lib/Support/Error.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/ThreadPool.h"
#include "runtime/format/Npy.h"
#include "runtime/io/SameFile.h"

namespace kedge::driver {
namespace {

constexpr size_t kTasksPerThread = 4; // that are read before their tokens are written

/// The file of --documents.
void writeDocuments(const std::string &path, const std::vector<EncodedText::Document> &documents,
                    bool prompts) {
  rt::AtomicFile file(path);
  std::vector<int64_t> shape{static_cast<int64_t>(documents.size())};
  if (prompts)
    shape.push_back(2);
  file.write(rt::npyHeader(rt::DType::I64, shape));
  for (const EncodedText::Document &document : documents) {
    const int64_t numbers[] = {static_cast<int64_t>(document.begin), static_cast<int64_t>(document.answer)};
    file.write(numbers, prompts ? sizeof(numbers) : sizeof(numbers[0]));
  }
  file.commit();
}

void checkOutputs(const TokensRequest &request) {
  for (const std::string &output : {request.output, request.documents})
    for (const std::string &file : request.files)
      if (!output.empty() && rt::isSameFile(output, file))
        fail("{}: would be overwritten, and this command reads it; name another output", file);
  if (!request.documents.empty() && !request.documents.ends_with(".npy"))
    fail("--documents {}: expected a name that ends with .npy", request.documents);
}

std::vector<uint32_t> endToken(const rt::Tokenizer &tokenizer, const TokensRequest &request) {
  if (request.end.empty())
    return {};
  const std::optional<uint32_t> token = tokenizer.numberOf(request.end);
  if (!token)
    fail("--end {}: {} has no such token", request.end, request.tokenizer);
  return {*token};
}

/// All tasks, some at a time, in order.
class TokenRun {
public:
  TokenRun(const TokensRequest &request)
      : request(request), tokenizer(request.tokenizer), behind(endToken(tokenizer, request)),
        chats(request.chats ? std::make_unique<ChatTemplate>(request.tokenizer,
                                                             [this](const std::string &text) {
                                                               return tokenizer.numberOf(text).has_value();
                                                             })
                            : nullptr),
        threads(request.threads > 0 ? request.threads : rt::physicalCores()),
        encoders(static_cast<size_t>(threads), TaskEncoder(tokenizer, request, behind, chats.get())) {}

  TokensWritten run() {
    TextTasks tasks(request.files, request.lines, tokenizer.cutsAtLines());
    TokenOutput output(request.output, tokenizer.vocabularySize());
    while (readBatch(tasks)) {
      rt::parallelParts(threads, static_cast<int64_t>(batch.size()), [&](int64_t part) {
        const auto at = static_cast<size_t>(part);
        encoders[static_cast<size_t>(rt::threadSlot())].encode(batch[at], encoded[at]);
      });
      for (size_t at = 0; at < batch.size(); ++at)
        take(encoded[at], output);
    }
    if (!request.documents.empty() && output.tokens() > 0)
      writeDocuments(request.documents, documents, hasPrompts);
    output.commit();
    return {output.tokens(), count, tokenizer.vocabularySize(), output.largest(), output.form(), hasPrompts};
  }

private:
  bool readBatch(TextTasks &tasks) {
    batch.clear();
    TextTask task;
    while (batch.size() < kTasksPerThread * static_cast<size_t>(threads) && tasks.next(task))
      batch.push_back(task);
    encoded.resize(std::max(encoded.size(), batch.size()));
    return !batch.empty();
  }

  void take(const EncodedText &text, TokenOutput &output) {
    count += text.documents.size();
    hasPrompts |= text.hasPrompts;
    if (!request.documents.empty())
      for (const EncodedText::Document &document : text.documents)
        documents.push_back({document.begin + output.tokens(), document.answer + output.tokens()});
    output.write(text.tokens);
  }

  const TokensRequest &request;
  rt::Tokenizer tokenizer;
  std::vector<uint32_t> behind;
  std::unique_ptr<const ChatTemplate> chats;
  int threads;
  std::vector<TaskEncoder> encoders;
  std::vector<TextTask> batch;
  std::vector<EncodedText> encoded;
  std::vector<EncodedText::Document> documents;
  uint64_t count = 0;
  bool hasPrompts = false;
};

} // namespace

TokensWritten writeTokens(const TokensRequest &request) {
  checkOutputs(request);
  return TokenRun(request).run();
}

} // namespace kedge::driver
