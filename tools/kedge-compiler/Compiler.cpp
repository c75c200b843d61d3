// The functions of kedge/compiler.h: each is a command of kedge, whose words go to the caller.
#include "kedge/compiler.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "lib/Support/TemporaryFolder.h"
#include "lib/Support/TerminalText.h"
#include "runtime/program/Version.h"
#include "tools/kedge/Commands.h"
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>

using namespace kedge;

static_assert(KEDGE_ERROR == static_cast<int>(Severity::Error) &&
              KEDGE_WARNING == static_cast<int>(Severity::Warning) &&
              KEDGE_NOTE == static_cast<int>(Severity::Note));

struct kedge_compiler : Reporter {
  void say(const Message &message) override {
    shown += terminalText("kedge", message);
    tell(message);
  }
  void sayTogether(const std::string &text, const std::vector<Message> &messages) override {
    shown += text;
    if (messages.empty())
      tell({Severity::Note, text, "", ""});
    for (const Message &message : messages)
      tell(message);
  }
  void tell(const Message &message) {
    if (message.severity == Severity::Error)
      error += (error.empty() ? "" : "\n") + message.text;
    if (!onMessage)
      return;
    const kedge_message said{static_cast<kedge_severity>(message.severity), message.text.c_str(),
                             message.code.c_str(), message.node.c_str()};
    onMessage(sayTo, &said);
  }
  void answer(const std::string &text) override { answered += text; }
  void progress(const std::string &what, double share) override {
    if (onProgress)
      onProgress(tellTo, what.c_str(), share);
  }
  bool isCancelled() const override { return cancelled.load(); }

  void (*onMessage)(void *, const kedge_message *) = nullptr;
  void (*onProgress)(void *, const char *, double) = nullptr;
  void *sayTo = nullptr, *tellTo = nullptr;
  std::atomic<bool> cancelled{false};
  std::string error;    ///< of the last call
  std::string answered; ///< by the last call: a text, or the bytes of a file
  std::string shown;    ///< what a terminal would show of its messages
};

namespace {

int fails(kedge_compiler &compiler, int code, const std::string &text) {
  compiler.say({Severity::Error, text, "", ""});
  return code;
}

/// "--name=value" of each; throws for what is no flag.
void addFlags(const kedge_option *flags, std::vector<std::string> &words) {
  for (; flags && flags->name; ++flags) {
    const std::string name = flags->name;
    if (!name.starts_with("-"))
      fail("'{}' is no flag: expected the name as kedge takes it, such as --precision", name);
    if (name.starts_with("--"))
      words.push_back(flags->value ? name + "=" + flags->value : name);
    else if (words.push_back(name); flags->value)
      words.push_back(flags->value);
  }
}

/// The command whose words `makeWords` returns, or throws for.
template <typename MakeWords> int run(kedge_compiler *compiler, const MakeWords &makeWords) {
  if (!compiler)
    return KEDGE_WRONG_CALL;
  const ReporterScope scope(*compiler);
  compiler->error.clear();
  compiler->answered.clear();
  compiler->shown.clear();
  compiler->cancelled = false;
  try {
    std::vector<std::string> words = makeWords();
    std::vector<char *> pointers;
    for (std::string &word : words)
      pointers.push_back(word.data());
    const int code = tool::runCommand(static_cast<int>(pointers.size()), pointers.data());
    if (compiler->cancelled && code != 0)
      return KEDGE_CANCELLED;
    if (code == 2)
      return KEDGE_REFUSED;
    return code == 0 ? KEDGE_OK : KEDGE_FAILED;
  } catch (const std::bad_alloc &) {
    return KEDGE_NO_MEMORY;
  } catch (const std::exception &error) {
    return fails(*compiler, KEDGE_WRONG_CALL, error.what());
  }
}

/// kedge COMMAND MODEL with the flags, and `more`.
int run(kedge_compiler *compiler, const char *command, const char *model, const kedge_option *flags,
        const std::vector<std::string> &more) {
  return run(compiler, [&] {
    if (!model)
      fail("the model is NULL: expected the path of an ONNX file");
    std::vector<std::string> words{"kedge", command, model};
    addFlags(flags, words);
    words.insert(words.end(), more.begin(), more.end());
    return words;
  });
}

/// Of a command that answers with JSON.
int ask(kedge_compiler *compiler, const char *command, const char *model, const kedge_option *flags,
        const char **json) {
  if (!json)
    return KEDGE_WRONG_CALL;
  *json = nullptr;
  const int code = run(compiler, command, model, flags, {"--json"});
  if ((code == KEDGE_OK || code == KEDGE_REFUSED) && !compiler->answered.empty())
    *json = compiler->answered.c_str();
  return code;
}

} // namespace

int kedge_compiler_create(int api, kedge_compiler **compiler) {
  if (!compiler)
    return KEDGE_WRONG_CALL;
  *compiler = nullptr;
  if (api / 100 != KEDGE_COMPILER_API / 100 || api > KEDGE_COMPILER_API)
    return KEDGE_WRONG_CALL;
  *compiler = new (std::nothrow) kedge_compiler;
  return *compiler ? KEDGE_OK : KEDGE_NO_MEMORY;
}

void kedge_compiler_destroy(kedge_compiler *compiler) { delete compiler; }

const char *kedge_compiler_version(void) {
  static const std::string text = rt::version();
  return text.c_str();
}

void kedge_compiler_on_message(kedge_compiler *compiler, void (*say)(void *, const kedge_message *),
                               void *self) {
  compiler->onMessage = say;
  compiler->sayTo = self;
}

void kedge_compiler_on_progress(kedge_compiler *compiler, void (*tell)(void *, const char *, double),
                                void *self) {
  compiler->onProgress = tell;
  compiler->tellTo = self;
}

void kedge_compiler_cancel(kedge_compiler *compiler) { compiler->cancelled = true; }

const char *kedge_compiler_error(const kedge_compiler *compiler) { return compiler->error.c_str(); }

int kedge_compiler_lint(kedge_compiler *compiler, const char *model, const kedge_option *flags,
                        const char **json) {
  return ask(compiler, "lint", model, flags, json);
}

int kedge_compiler_plan(kedge_compiler *compiler, const char *model, const kedge_option *flags,
                        const char **json) {
  return ask(compiler, "plan", model, flags, json);
}

int kedge_compiler_compile(kedge_compiler *compiler, const char *model, const kedge_option *flags,
                           const char *path) {
  if (!path)
    return KEDGE_WRONG_CALL;
  return run(compiler, "compile", model, flags, {"-o", path});
}

int kedge_compiler_compile_to_memory(kedge_compiler *compiler, const char *model, const kedge_option *flags,
                                     const void **bytes, size_t *size) {
  if (!compiler || !bytes || !size)
    return KEDGE_WRONG_CALL;
  *bytes = nullptr;
  *size = 0;
  try {
    const TemporaryFolder folder("kedge-compiler");
    const std::string path = folder.file("program");
    const int code = kedge_compiler_compile(compiler, model, flags, path.c_str());
    if (code != KEDGE_OK)
      return code;
    if (!std::filesystem::exists(path))
      return fails(*compiler, KEDGE_WRONG_CALL,
                   "--emit lib makes several files: give kedge_compiler_compile a path");
    std::ifstream file(path, std::ios::binary);
    compiler->answered.assign(std::istreambuf_iterator<char>(file), {});
    *bytes = compiler->answered.data();
    *size = compiler->answered.size();
    return KEDGE_OK;
  } catch (const std::bad_alloc &) {
    return KEDGE_NO_MEMORY;
  } catch (const std::exception &error) {
    return fails(*compiler, KEDGE_FAILED, error.what());
  }
}

int kedge_compiler_command(kedge_compiler *compiler, const char *const *words, const char **answer,
                           const char **said) {
  if (!compiler || !words || !answer || !said)
    return KEDGE_WRONG_CALL;
  const int code = run(compiler, [&] {
    std::vector<std::string> all{"kedge"};
    for (const char *const *word = words; *word; ++word)
      all.push_back(*word);
    return all;
  });
  *answer = compiler->answered.c_str();
  *said = compiler->shown.c_str();
  return code;
}
