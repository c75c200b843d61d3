#include "kedge/Link/Link.h"
#include "kedge/Support/Error.h"
#include "kedge/Support/TemporaryFiles.h"
#include "kedge/Support/TextFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace kedge;
using llvm::SmallString;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

/// Of one kind, in the linker's order; the first is the one with main().
std::vector<StringRef> archivesOf(RuntimeKind runtime) {
  if (runtime == RuntimeKind::Cuda)
    return {"libkedge_runtime_main_cuda.a", "libkedge_runtime_cuda.a", "libkedge_runtime.a"};
  return {"libkedge_runtime_main.a", "libkedge_runtime.a"};
}

/// The folder of the runtime's archives: <build>/runtime or <prefix>/lib beside <...>/bin of this executable.
std::string runtimeFolder(RuntimeKind runtime) {
  const std::string wanted = archivesOf(runtime).front().str();
  static int anchor;
  SmallString<256> bin(path::parent_path(fs::getMainExecutable(nullptr, &anchor)));
  std::string looked;
  for (StringRef folder : {"../runtime", "../lib/kedge", "../lib"}) {
    SmallString<256> candidate(bin), archive;
    path::append(candidate, folder);
    path::remove_dots(candidate, true);
    archive = candidate;
    path::append(archive, wanted);
    if (fs::exists(archive))
      return candidate.str().str();
    looked += " " + candidate.str().str();
  }
  if (runtime == RuntimeKind::Cuda)
    fail("--target cuda needs {}, which was not found; looked in{}. It is built where CMake finds the headers cuda.h, "
         "cublasLt.h and cudnn.h (CUDA_HOME, CUDA_PATH, /usr/local/cuda): install CUDA's toolkit with cuBLAS and cuDNN, "
         "and build Kedge again. No GPU is needed for that",
         wanted, looked);
  fail("{} was not found; looked in{}. Build the target kedge_runtime_main, or install Kedge again", wanted, looked);
}

std::string compilerDriver() {
  for (StringRef name : {"c++", "g++", "clang++"})
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  fail("programs are linked by the system's C++ compiler, and none of c++, g++, clang++ is on PATH");
}

void writeFile(StringRef file, StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream os(file, error);
  if (!error) {
    os << bytes;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    fail("{}: cannot be written: {}", file.str(), error.message());
}

void runDriver(const std::string &driver, const std::vector<std::string> &arguments, StringRef log) {
  llvm::SmallVector<StringRef> command(arguments.begin(), arguments.end());
  std::string message;
  const std::optional<StringRef> redirects[] = {StringRef(""), log, log};
  // A group of its own: with a signal to us the linker behind the driver ends, too.
  const llvm::sys::ProcessInfo child = llvm::sys::ExecuteNoWait(driver, command, std::nullopt, redirects, 0, &message, nullptr,
                                                                nullptr, /*DetachProcess=*/true);
  if (child.Pid == llvm::sys::ProcessInfo::InvalidPid)
    fail("cannot start {}: {}", driver, message);
  endWithProcess(child.Pid);
  const int status = llvm::sys::Wait(child, std::nullopt, &message).ReturnCode;
  endWithProcess(0);
  if (status == 0)
    return;
  if (auto text = llvm::MemoryBuffer::getFile(log))
    message += (*text)->getBuffer().trim().str();
  fail("linking the program failed ({} exited with {}): {}", driver, status, message);
}

/// Runs the driver on the objects and `inputs`, and puts what it makes at `output`. `flags` stand last.
void drive(llvm::ArrayRef<ObjectFile> objects, llvm::ArrayRef<std::string> inputs, StringRef flags,
           const std::string &place) {
  const std::string output = replaceableFile(place), driver = compilerDriver();
  SmallString<128> folder;
  if (std::error_code error = fs::createUniqueDirectory("kedge-link", folder))
    fail("no temporary folder for linking: {}", error.message());
  auto cleanup = llvm::make_scope_exit([&] { fs::remove_directories(folder); });
  std::vector<std::unique_ptr<TemporaryFile>> temporary;
  auto note = [&](StringRef file) { temporary.push_back(std::make_unique<TemporaryFile>(file.str())); };
  note(folder);

  // Beside the output, so that putting it in place is one rename.
  SmallString<256> linked;
  fs::createUniquePath(output + ".%%%%%%%%", linked, false);
  std::vector<std::string> command = {driver, "-o", linked.str().str()};
  for (size_t at = 0; at < objects.size(); ++at) {
    SmallString<128> file(folder);
    path::append(file, "object" + std::to_string(at) + ".o");
    note(file);
    writeFile(file, StringRef(objects[at].data(), objects[at].size()));
    command.push_back(file.str().str());
  }
  command.insert(command.end(), inputs.begin(), inputs.end());
  llvm::SmallVector<StringRef> words;
  flags.split(words, ' ', -1, false);
  command.insert(command.end(), words.begin(), words.end());

  SmallString<128> log(folder);
  path::append(log, "log");
  note(log);
  note(linked);
  auto discard = llvm::make_scope_exit([&] { fs::remove(linked); });
  runDriver(driver, command, log);
  if (std::error_code error = fs::rename(linked, output))
    fail("{}: cannot be written: {}", output, error.message());
  discard.release();
}

} // namespace

void kedge::checkRuntime(RuntimeKind runtime) { runtimeFolder(runtime); }

void kedge::linkProgram(llvm::ArrayRef<ObjectFile> objects, const std::string &output, RuntimeKind runtime) {
  std::vector<std::string> archives;
  for (StringRef archive : archivesOf(runtime)) {
    SmallString<256> file(runtimeFolder(runtime));
    path::append(file, archive);
    archives.push_back(file.str().str());
  }
  drive(objects, archives, KEDGE_PROGRAM_LINK_FLAGS, output);
}

void kedge::linkObjects(llvm::ArrayRef<ObjectFile> objects, const std::string &output) {
  drive(objects, {}, "-r -nostdlib", output);
}
