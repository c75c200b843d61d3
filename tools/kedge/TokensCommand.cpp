// kedge tokens --tokenizer tokenizer.json|bytes FILE... -o train.bin: text becomes a token file.
#include "driver/tokens/Tokens.h"
#include "lib/Support/Error.h"
#include "tools/flags/Flags.h"
#include "tools/kedge/Commands.h"
#include <cstdio>

namespace kedge::tool {
namespace {

int runTokens(const driver::TokensRequest &request) {
  const driver::TokensWritten written = driver::writeTokens(request);
  printf("%s: %llu tokens (%s) of %llu document%s; the largest is %u, the vocabulary has %u\n",
         request.output.c_str(), static_cast<unsigned long long>(written.tokens), written.form.c_str(),
         static_cast<unsigned long long>(written.documents), written.documents == 1 ? "" : "s",
         written.largest, written.vocabulary);
  if (!request.documents.empty())
    printf("%s: where each begins%s\n", request.documents.c_str(),
           written.hasPrompts ? ", and its answer" : "");
  else if (written.hasPrompts)
    fprintf(stderr,
            "kedge: note: prompts count as answers do unless --documents FILE.npy keeps where these begin\n");
  return 0;
}

} // namespace

void addTokensCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("tokens", "text files as a token file for --tokens of a program");
  auto request = std::make_shared<driver::TokensRequest>();
  auto chats = std::make_shared<bool>(false);
  Flags flags(*command, "Options");
  command
      ->add_option("FILE", request->files,
                   "text, or lines of JSON (.jsonl) with 'text', or 'prompt' and 'completion'")
      ->required();
  flags.add("--tokenizer", request->tokenizer, "a tokenizer.json of Hugging Face, or the word bytes")
      ->required();
  flags.add("-o", request->output, "the token file; FILE.npy: with NumPy's header")->required();
  flags.add("--documents", request->documents, "FILE.npy: where each document begins, and its answer");
  flags.add("--field", request->field, "the text's name in a line of JSON");
  flags.add("--lines", request->lines, "each line of a text file is a document; else the file is one");
  flags.add("--end", request->end, "a token behind each document, such as '<|endoftext|>'");
  flags.add("--no-special-tokens", request->plain,
            "without the tokens that the tokenizer puts around a text");
  flags.add("--chat-template", *chats, "not available yet: write conversations as text");
  flags.number("--threads", request->threads, {1, 512}, "threads (default: physical cores)");
  command->callback([=, &exitCode] {
    if (*chats)
      fail("--chat-template: chat templates are not available yet; write the conversations' text to the "
           "file, as "
           "tokenizer.apply_chat_template(messages, tokenize=False) makes it, and give --no-special-tokens");
    exitCode = runTokens(*request);
  });
}

} // namespace kedge::tool
