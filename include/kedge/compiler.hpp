// compiler.h for C++17: compilers are destroyed by themselves, and errors are exceptions.
#ifndef KEDGE_COMPILER_HPP
#define KEDGE_COMPILER_HPP

#include "kedge/compiler.h"
#include "kedge/session.hpp"
#include <functional>

namespace kedge {

/// A compiler. Errors: each function throws kedge::Error with the code of its C function. Threads: one at a time,
/// cancel() excepted; several compilers may work at the same time. Callbacks come on the thread of the call, and throw
/// nothing.
class Compiler {
public:
  using Flags = std::vector<std::pair<std::string, std::string>>; ///< {"--precision", "bf16"}; "" is no value

  /// As kedge_compiler_create, with the version of this header.
  Compiler() {
    if (const int code = kedge_compiler_create(KEDGE_COMPILER_API, &handle); code != KEDGE_OK)
      throw Error(code, "kedge: no compiler of this version could be made");
  }
  /// As kedge_compiler_destroy.
  ~Compiler() { kedge_compiler_destroy(handle); }
  Compiler(const Compiler &) = delete;
  Compiler &operator=(const Compiler &) = delete;

  /// As kedge_compiler_on_message and kedge_compiler_on_progress: from the next call on, one function each.
  void onMessage(std::function<void(const kedge_message &)> say) {
    onSay = std::move(say);
    kedge_compiler_on_message(
        handle, [](void *self, const kedge_message *message) { static_cast<Compiler *>(self)->onSay(*message); },
        this);
  }
  void onProgress(std::function<void(const char *what, double share)> tell) {
    onTell = std::move(tell);
    kedge_compiler_on_progress(
        handle, [](void *self, const char *what, double share) { static_cast<Compiler *>(self)->onTell(what, share); },
        this);
  }
  /// As kedge_compiler_cancel: from any thread.
  void cancel() { kedge_compiler_cancel(handle); }

  /// As kedge_compiler_lint: findings and verdicts as JSON; errors among them are no exception.
  std::string lint(const std::string &model, const Flags &flags = {}) {
    return json(kedge_compiler_lint, model, flags);
  }
  /// As kedge_compiler_plan: the memory report as JSON, sizes in bytes; one that is not within the budget is no exception, and says "fits": false.
  std::string plan(const std::string &model, const Flags &flags) {
    return json(kedge_compiler_plan, model, flags);
  }
  /// As kedge_compiler_compile and kedge_compiler_compile_to_memory.
  void compile(const std::string &model, const Flags &flags, const std::string &path) {
    check(kedge_compiler_compile(handle, model.c_str(), listOf(flags).data(), path.c_str()));
  }
  std::vector<char> compileToMemory(const std::string &model, const Flags &flags) {
    const void *bytes = nullptr;
    size_t size = 0;
    check(kedge_compiler_compile_to_memory(handle, model.c_str(), listOf(flags).data(), &bytes, &size));
    const char *first = static_cast<const char *>(bytes);
    return {first, first + size};
  }
  /// As kedge_compiler_command: any command of kedge, such as {"why", "model.onnx"}: what it writes to standard output.
  std::string command(const std::vector<std::string> &words) {
    std::vector<const char *> list;
    for (const std::string &word : words)
      list.push_back(word.c_str());
    list.push_back(nullptr);
    const char *answer = nullptr, *said = nullptr;
    check(kedge_compiler_command(handle, list.data(), &answer, &said));
    return answer;
  }

private:
  using Question = int (*)(kedge_compiler *, const char *, const kedge_option *, const char **);

  static std::vector<kedge_option> listOf(const Flags &flags) {
    std::vector<kedge_option> list;
    for (const auto &[name, value] : flags)
      list.push_back({name.c_str(), value.empty() ? nullptr : value.c_str()});
    list.push_back({nullptr, nullptr});
    return list;
  }
  std::string json(Question question, const std::string &model, const Flags &flags) {
    const char *text = nullptr;
    const int code = question(handle, model.c_str(), listOf(flags).data(), &text);
    if (code != KEDGE_REFUSED || !text)
      check(code);
    return text;
  }
  void check(int code) const {
    if (code != KEDGE_OK)
      throw Error(code, kedge_compiler_error(handle));
  }

  kedge_compiler *handle = nullptr;
  std::function<void(const kedge_message &)> onSay;
  std::function<void(const char *, double)> onTell;
};

} // namespace kedge
#endif
