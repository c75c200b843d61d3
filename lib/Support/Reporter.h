// Where the words of a compilation go: to a terminal, or to the application that the compiler is part of.
#pragma once
#include "lib/Support/Severity.h"
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace kedge {

/// One thing that is said about a compilation. `text` is a sentence, without the tool's name.
struct Message {
  Severity severity = Severity::Note;
  std::string text;
  std::string code; ///< of a finding of lint; else empty
  std::string node; ///< of the ONNX file, as lint names it; empty where none is concerned
};

class Reporter {
public:
  virtual ~Reporter() = default;
  virtual void say(const Message &message) = 0;
  /// `text` is what a terminal shows of `messages`, such as a table.
  virtual void sayTogether(const std::string &text, const std::vector<Message> &messages) = 0;
  /// What the command was asked for; standard output of a tool.
  virtual void answer(const std::string &text) = 0;
  /// `share` is the finished part, from 0 to 1; 1 means that it has ended.
  virtual void progress(const std::string &what, double share) = 0;
  /// Whether the work should end; asked between phases and between a planner's tries.
  virtual bool isCancelled() const { return false; }
};

/// Loses what is said to it. It asks for an end when `asked`, of the thread that it works for, does.
class SilentReporter : public Reporter {
public:
  explicit SilentReporter(const Reporter *asked = nullptr) : asked(asked) {}
  void say(const Message &) override {}
  void sayTogether(const std::string &, const std::vector<Message> &) override {}
  void answer(const std::string &) override {}
  void progress(const std::string &, double) override {}
  bool isCancelled() const override { return asked && asked->isCancelled(); }

private:
  const Reporter *asked;
};

/// The calling thread's: the innermost ReporterScope's. Without one, messages are lost.
Reporter &reporter();

/// While it lives, the calling thread reports to `to`.
class ReporterScope {
public:
  explicit ReporterScope(Reporter &to);
  ~ReporterScope();
  ReporterScope(const ReporterScope &) = delete;
  ReporterScope &operator=(const ReporterScope &) = delete;

private:
  Reporter *before;
};

template <typename... Args> void note(fmt::format_string<Args...> format, Args &&...args) {
  reporter().say({Severity::Note, fmt::format(format, std::forward<Args>(args)...), "", ""});
}

/// Throws kedge::Error when the reporter asks for an end.
void endIfCancelled();

/// Messages as the tool `name` writes them to standard error, answers to standard output; progress on one
/// line of standard error, at most ten times a second, if that is a terminal and `showsProgress`.
class TerminalReporter : public Reporter {
public:
  explicit TerminalReporter(std::string name, bool showsProgress = false);
  void say(const Message &message) override;
  void sayTogether(const std::string &text, const std::vector<Message> &messages) override;
  void answer(const std::string &text) override;
  void progress(const std::string &what, double share) override;

private:
  const std::string name;
  const bool showsProgress;
  double shown = 0; ///< when the line of progress was written, in seconds
};

} // namespace kedge
