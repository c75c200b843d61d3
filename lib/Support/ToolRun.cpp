#include "lib/Support/ToolRun.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using llvm::StringRef;

namespace kedge {
namespace {

using Words = llvm::SmallVector<StringRef>;

/// This process's own, but for the folder of temporary files.
std::vector<std::string> environmentWith(const std::string &temporaryFolder) {
  std::vector<std::string> variables{"TMPDIR=" + temporaryFolder};
  for (char **variable = environ; *variable; ++variable)
    if (!StringRef(*variable).starts_with("TMPDIR="))
      variables.push_back(*variable);
  return variables;
}

} // namespace

ToolEnding runTool(const std::vector<std::string> &words, const TemporaryFolder &folder) {
  const std::string log = folder.file("log");
  const std::vector<std::string> variables = environmentWith(folder.path().string());
  const Words command(words.begin(), words.end()), environment(variables.begin(), variables.end());
  const std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
  llvm::sys::ProcessInfo child;
  ToolEnding ending;
  // A group of its own: with a signal to us, what the tool has started ends, too.
  startWithProcess([&] {
    child = llvm::sys::ExecuteNoWait(words.front(), command, llvm::ArrayRef<StringRef>(environment),
                                     redirects, 0, &ending.text, nullptr, nullptr, /*DetachProcess=*/true);
    return child.Pid == llvm::sys::ProcessInfo::InvalidPid ? 0 : child.Pid;
  });
  if (child.Pid == llvm::sys::ProcessInfo::InvalidPid)
    fail("cannot start {}: {}", words.front(), ending.text);
  ending.status = llvm::sys::Wait(child, std::nullopt, &ending.text).ReturnCode;
  endWithProcess(0);
  if (auto text = llvm::MemoryBuffer::getFile(log))
    ending.text += (*text)->getBuffer().trim().str();
  return ending;
}

} // namespace kedge
