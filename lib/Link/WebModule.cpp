#include "lib/Link/WebModule.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "lib/Support/ToolRun.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

namespace kedge::link {
namespace {

/// Debian's place, or in the folder of an SDK.
std::string wasiLibrary() {
  const char *sysroot = std::getenv("WASI_SYSROOT");
  return (sysroot ? sysroot + std::string("/lib/wasm32-wasi") : "/usr/lib/wasm32-wasi") + "/libc.a";
}

std::string toolNamed(const char *name, const char *package) {
  if (auto found = llvm::sys::findProgramByName(name))
    return *found;
  fail("--emit web needs {}, which is not on PATH: install Debian's package {}", name, package);
}

void run(const std::vector<std::string> &words, const TemporaryFolder &folder) {
  const ToolEnding ending = runTool(words, folder);
  if (ending.code != 0)
    fail("--emit web: {} ended with {}: {}", words.front(), ending.how(), ending.text);
}

std::string bytesOf(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    fail("{}: cannot be read: {}", file, buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

} // namespace

void checkWebTools() {
  toolNamed("clang", "clang");
  toolNamed("wasm-ld", "lld");
  if (!llvm::sys::fs::exists(wasiLibrary()))
    fail("--emit web needs wasi-libc, and {} is not there: install Debian's package wasi-libc, or name an "
         "SDK's folder in WASI_SYSROOT",
         wasiLibrary());
}

std::string compileForWeb(const std::string &source, const std::string &header, const std::string &name,
                          const std::vector<std::string> &exports) {
  const TemporaryFolder folder("kedge-web");
  const std::string file = folder.file(name + ".c"), object = folder.file("part.o"),
                    module = folder.file("module.wasm");
  writeText(folder.file(name + ".h"), header);
  writeText(file, source);
  // There is no fused multiply-add; in software it would take most of a step.
  run({toolNamed("clang", "clang"), "--target=wasm32-wasi", "-std=c11", "-O3", "-msimd128", "-fno-math-errno",
       "-ffp-contract=off", "-DKEDGE_FMA(a,b,c)=((a)*(b)+(c))", "-DKEDGE_LANES=4", "-c", file, "-o", object},
      folder);
  std::vector<std::string> command = {
      toolNamed("wasm-ld", "lld"), "--no-entry", "--strip-debug", "--stack-first", "-z", "stack-size=262144"};
  for (const std::string &word : exports)
    command.push_back("--export-if-defined=" + word);
  command.insert(command.end(), {object, wasiLibrary(), "-o", module});
  run(command, folder);
  return bytesOf(module);
}

} // namespace kedge::link
