#include "lib/Link/MacOsLink.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

namespace kedge::link {
namespace {

/// The first macOS for Apple's own processors; kernels (passes/Lower/Codegen) and the runtime
/// (cmake/KedgeZig.cmake) are compiled for it, too.
constexpr const char *kSystemVersion = "11.0";

} // namespace

std::string machOLinker() {
  const std::string beside = KEDGE_LLVM_TOOLS "/ld64.lld";
  if (llvm::sys::fs::can_execute(beside))
    return beside;
  if (auto found = llvm::sys::findProgramByName("ld64.lld"))
    return *found;
  fail("programs for macOS are linked by ld64.lld, which is not on PATH: install Debian's package lld");
}

std::vector<std::string> macOsCommand(OutputForm form, const MacOsJob &job, const std::string &output) {
  const bool isArm = llvm::StringRef(job.machine).starts_with("aarch64");
  const auto piece = [&](const char *name) { return job.runtimeFolder + "/link/" + name; };
  std::vector<std::string> command = {machOLinker(),
                                      "-arch",
                                      isArm ? "arm64" : "x86_64",
                                      "-platform_version",
                                      "macos",
                                      kSystemVersion,
                                      kSystemVersion,
                                      "-o",
                                      output,
                                      "-adhoc_codesign",
                                      "-dead_strip",
                                      "-S",
                                      "-x"};
  if (form == OutputForm::Library)
    command.push_back("-dylib");
  else
    command.push_back("-no_exported_symbols");
  command.insert(command.end(), job.flags.begin(), job.flags.end());
  command.insert(command.end(), {"-force_load", job.objects});
  command.insert(command.end(), job.archives.begin(), job.archives.end());
  // libSystem before zig's own library of what compilers call: it has most of that.
  for (const char *name : {"libc++.a", "libc++abi.a", "libSystem.tbd", "libcompiler_rt.a"})
    command.push_back(piece(name));
  return command;
}

std::vector<std::string> macOsLibraryFlags(const std::string &file, const std::string &symbol) {
  std::vector<std::string> flags = {"-install_name", "@rpath/" + file, "-u", "_kedge_open"};
  if (symbol != "kedge")
    for (const std::string function : {"open", "open_on"})
      flags.insert(flags.end(), {"-alias", "_kedge_" + function, "_" + symbol + "_" + function});
  return flags;
}

std::string exportedSymbols(llvm::ArrayRef<std::string> functions, const std::string &symbol) {
  std::string text;
  for (const std::string &function : functions)
    text += "_" + function + "\n";
  return text + "_" + symbol + "_open\n_" + symbol + "_open_on\n";
}

} // namespace kedge::link
