#include "passes/Lower/Gpu/Ptxas.h"
#include "lib/Support/Error.h"
#include "lib/Support/ToolRun.h"
#include "passes/Base/KedgePass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstdlib>

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace {

std::string contentOf(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// The number before `unit` in a line like "Used 16 registers, 512 bytes smem"; 0 when it is not there.
int64_t numberBefore(StringRef line, StringRef unit) {
  size_t end = line.find(unit);
  if (end == StringRef::npos)
    return 0;
  StringRef before = line.take_front(end).rtrim();
  size_t start = before.find_last_not_of("0123456789");
  int64_t value = 0;
  before.substr(start == StringRef::npos ? 0 : start + 1).getAsInteger(10, value);
  return value;
}

StringRef quoted(StringRef line) { return line.split('\'').second.split('\'').first; }

} // namespace

std::string kedge::lower::gpu::findPtxas() {
  auto inFolder = [](StringRef folder) -> std::string {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "bin", "ptxas");
    return llvm::sys::fs::can_execute(path) ? path.str().str() : "";
  };
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = std::getenv(name))
      if (std::string found = inFolder(folder); !found.empty())
        return found;
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  return inFolder("/usr/local/cuda");
}

std::vector<KernelStatistics> kedge::lower::gpu::parsePtxasReport(StringRef report) {
  std::vector<KernelStatistics> kernels;
  SmallVector<StringRef> lines;
  report.split(lines, '\n');
  for (StringRef line : lines) {
    if (line.contains("Compiling entry function")) {
      kernels.push_back({});
      kernels.back().name = quoted(line).str();
    } else if (kernels.empty()) {
      continue;
    } else if (line.contains("bytes stack frame")) {
      kernels.back().stackBytes = numberBefore(line, " bytes stack frame");
      kernels.back().spillStores = numberBefore(line, " bytes spill stores");
      kernels.back().spillLoads = numberBefore(line, " bytes spill loads");
    } else if (line.contains("registers")) {
      kernels.back().registers = numberBefore(line, " registers");
      kernels.back().sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  std::sort(kernels.begin(), kernels.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  return kernels;
}

namespace {

/// What ptxas gives.
struct Assembled {
  std::string report, cubin;

  /// As an entry of the cache: the report's size, the report, the cubin.
  std::string text() const { return std::to_string(report.size()) + "\n" + report + cubin; }
  static Assembled of(StringRef text) {
    size_t size = 0;
    auto [number, rest] = text.split('\n');
    number.getAsInteger(10, size);
    return {rest.take_front(size).str(), rest.drop_front(std::min(size, rest.size())).str()};
  }
};

/// ptxas with its options, but for names of files. The statistics are of the code that runs: no contraction,
/// whatever the assembler may do by default.
std::vector<std::string> commandOf(const std::string &ptxas, StringRef arch, int optLevel) {
  return {ptxas, "-arch=" + arch.str(), "-O" + std::to_string(std::clamp(optLevel, 0, 3)), "-v",
          "-fmad=false"};
}

/// By all that its output depends on, the assembler's own bytes among it; none where these cannot be read.
std::optional<CacheKey> keyOf(const std::vector<std::string> &command, StringRef ptx) {
  auto assembler = llvm::MemoryBuffer::getFile(command.front());
  if (!assembler)
    return std::nullopt;
  CacheKey key;
  key.add("cubin").add((*assembler)->getBuffer()).add(ptx);
  for (const std::string &option : ArrayRef(command).drop_front())
    key.add(option);
  return key;
}

Assembled assembleBy(std::vector<std::string> command, StringRef ptx, StringRef arch) {
  const TemporaryFolder folder("kedge-gpu");
  const std::string source = folder.file("kernels.ptx"), cubin = folder.file("kernels.cubin");
  std::error_code failed;
  if (llvm::raw_fd_ostream os(source, failed); !failed) {
    os << ptx;
    os.close();
    failed = os.error();
    os.clear_error();
  }
  if (failed)
    fail("{}: cannot be written for ptxas: {}", source, failed.message());
  command.insert(command.end(), {source, "-o", cubin});
  const ToolEnding ending = runTool(command, folder);
  if (ending.code != 0)
    fail("{} failed for {}: {}", command.front(), arch.str(), ending.text);
  return {ending.text, contentOf(cubin)};
}

Assembled assembled(const std::vector<std::string> &command, StringRef ptx, StringRef arch,
                    FileCache *cache) {
  const auto key = cache ? keyOf(command, ptx) : std::nullopt;
  if (const auto found = key ? cache->find(*key) : std::nullopt)
    return Assembled::of({found->data(), found->size()});
  Assembled made = assembleBy(command, ptx, arch);
  if (key)
    cache->store(*key, made.text());
  return made;
}

} // namespace

LogicalResult kedge::lower::gpu::assemble(GpuCode &code, StringRef arch, int optLevel, std::string *error,
                                          FileCache *cache) {
  std::string ptxas = findPtxas();
  if (ptxas.empty()) {
    code.note = "no machine code for " + arch.str() +
                ": ptxas was not found in CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda; the driver will "
                "translate the program's PTX when it starts";
    return success();
  }
  const auto run = [&] {
    const Assembled made = assembled(commandOf(ptxas, arch, optLevel), code.ptx, arch, cache);
    code.cubin.assign(made.cubin.begin(), made.cubin.end());
    code.statistics = parsePtxasReport(made.report);
  };
  return reportingFailures(run, [&](const char *text) { *error = text; });
}
