#include "passes/Lower/Gpu/Ptxas.h"
#include "lib/Support/Error.h"
#include "lib/Support/ToolRun.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstdlib>

using namespace mlir;
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

static LogicalResult assembleBy(const std::string &ptxas, GpuCode &code, StringRef arch, int optLevel,
                                std::string *error) {
  const kedge::TemporaryFolder folder("kedge-gpu");
  const std::string source = folder.file("kernels.ptx"), cubin = folder.file("kernels.cubin");
  std::error_code failed;
  if (llvm::raw_fd_ostream os(source, failed); !failed) {
    os << code.ptx;
    os.close();
    failed = os.error();
    os.clear_error();
  }
  if (failed) {
    *error = source + ": cannot be written for ptxas: " + failed.message();
    return failure();
  }
  // The statistics are of the code that runs: no contraction, whatever the assembler may do by default.
  std::string gpuName = "-arch=" + arch.str(), level = "-O" + std::to_string(std::clamp(optLevel, 0, 3));
  const kedge::ToolEnding ending =
      kedge::runTool({ptxas, gpuName, level, "-v", "-fmad=false", source, "-o", cubin}, folder);
  if (ending.code != 0) {
    *error = ptxas + " failed for " + arch.str() + ": " + ending.text;
    return failure();
  }
  const std::string bytes = contentOf(cubin);
  code.cubin.assign(bytes.begin(), bytes.end());
  code.statistics = parsePtxasReport(ending.text);
  return success();
}

LogicalResult kedge::lower::gpu::assemble(GpuCode &code, StringRef arch, int optLevel, std::string *error) {
  std::string ptxas = findPtxas();
  if (ptxas.empty()) {
    code.note = "no machine code for " + arch.str() +
                ": ptxas was not found in CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda; the driver will "
                "translate the program's PTX when it starts";
    return success();
  }
  try {
    return assembleBy(ptxas, code, arch, optLevel, error);
  } catch (const Error &problem) {
    *error = problem.what();
    return failure();
  }
}
