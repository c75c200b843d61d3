// kedge tokens --tokenizer tokenizer.json|bytes FILE... -o train.bin: text becomes a token file.
#include "driver/tokens/Tokens.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "tools/flags/Flags.h"
#include "tools/kedge/Commands.h"
#include <cstdio>

namespace kedge::tool {
namespace {

int runTokens(const driver::TokensRequest &request) {
  const driver::TokensWritten written = driver::writeTokens(request);
  reporter().answer(
      fmt::format("{}: {} tokens ({}) of {} document{}; the largest is {}, the vocabulary has {}\n",
                  request.output, written.tokens, written.form, written.documents,
                  written.documents == 1 ? "" : "s", written.largest, written.vocabulary));
  if (!request.documents.empty())
    reporter().answer(fmt::format("{}: where each begins{}\n", request.documents,
                                  written.hasPrompts ? ", and its answer" : ""));
  else if (written.hasPrompts)
    note("prompts count as answers do unless --documents FILE.npy keeps where these begin");
  return 0;
}

} // namespace

void addTokensCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("tokens", "text files as a token file for --tokens of a program");
  auto request = std::make_shared<driver::TokensRequest>();
  Flags flags(*command, "Options");
  command
      ->add_option("FILE", request->files,
                   "text, or lines of JSON (.jsonl) with 'text', 'messages', or 'prompt' and 'completion'")
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
  flags.add("--chat-template", request->chats,
            "lines of JSON are conversations ('messages'), written by the tokenizer's chat template");
  flags.number("--threads", request->threads, {1, 512}, "threads (default: physical cores)");
  command->callback([=, &exitCode] { exitCode = runTokens(*request); });
}

} // namespace kedge::tool
