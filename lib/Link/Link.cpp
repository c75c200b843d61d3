#include "lib/Link/Link.h"
#include "lib/Link/BuiltInLinker.h"
#include "lib/Link/MacOsLink.h"
#include "lib/Link/OtherMachines.h"
#include "lib/Link/SessionText.h"
#include "lib/Link/StaticLibrary.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "lib/Support/ToolRun.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <tuple>

using namespace kedge;
using namespace kedge::link;
using llvm::ArrayRef;
using llvm::SmallString;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

bool isMusl(const std::string &machine) { return StringRef(machine).ends_with("-musl"); }

/// As zig names a machine that it compiles for.
std::string zigTarget(const std::string &machine) {
  switch (systemOf(machine)) {
  case System::MacOs:
    return machine + ".11.0";
  case System::Ios:
    return machine + ".14.0";
  case System::Android: // objects alone: they have no library in them
    return "aarch64-linux-musl";
  default:
    return machine;
  }
}

/// Of one kind, in the linker's order; the first is the one with main(), or with a library's functions.
std::vector<StringRef> archivesOf(RuntimeKind runtime) {
  if (runtime == RuntimeKind::Cuda)
    return {"libkedge_runtime_main_cuda.a", "libkedge_runtime_cuda.a", "libkedge_runtime.a"};
  if (runtime == RuntimeKind::Library)
    return {"libkedge_runtime_library.a", "libkedge_runtime.a"};
  return {"libkedge_runtime_main.a", "libkedge_runtime.a"};
}

/// The folder of the executable or the shared library that has this code.
SmallString<256> folderOfThisCode() {
  static int anchor;
  Dl_info place;
  SmallString<256> library;
  if (dladdr(&anchor, &place) != 0 && path::filename(place.dli_fname).contains(".so") &&
      !fs::real_path(place.dli_fname, library))
    return SmallString<256>(path::parent_path(library));
  return SmallString<256>(path::parent_path(fs::getMainExecutable(nullptr, &anchor)));
}

/// The folder of the runtime's archives: <build>/runtime or <prefix>/lib/kedge beside bin and lib, and in it
/// one for each other machine.
std::string runtimeFolder(const Runtime &runtime) {
  const std::string wanted = archivesOf(runtime.kind).front().str();
  const SmallString<256> here = folderOfThisCode();
  std::string looked;
  for (StringRef folder : {"../runtime", "../lib/kedge", "../lib"}) {
    SmallString<256> candidate(here), archive;
    path::append(candidate, folder, runtime.machine);
    path::remove_dots(candidate, true);
    archive = candidate;
    path::append(archive, wanted);
    if (fs::exists(archive))
      return candidate.str().str();
    looked += " " + candidate.str().str();
  }
  const OtherMachine *other = otherMachine(runtime.machine);
  if (other && other->driver.empty())
    fail("{} needs {} for {}, which was not found; looked in{}. It is built by the compiler zig: install it "
         "(pip install ziglang), give its path to CMake (-DKEDGE_ZIG=...), and build Kedge again{}",
         runtime.isAndroid         ? "--cpu aarch64-android"
         : isMusl(runtime.machine) ? "--libc musl"
                                   : "--cpu " + runtime.machine,
         wanted, runtime.machine, looked,
         isMacOs(runtime.machine) ? " (target kedge-runtime-" + runtime.machine + ")" : "");
  if (other)
    fail(
        "--cpu {} needs {} for that machine, which was not found; looked in{}. It is built where CMake finds "
        "{}: install Debian's package {}, and build Kedge again",
        runtime.machine, wanted, looked, other->driver.str(), other->package.str());
  if (runtime.kind == RuntimeKind::Cuda)
    fail("--target cuda needs {}, which was not found; looked in{}. It is built where CMake finds the "
         "headers cuda.h, "
         "cublasLt.h and cudnn.h (CUDA_HOME, CUDA_PATH, /usr/local/cuda): install CUDA's toolkit with cuBLAS "
         "and cuDNN, "
         "and build Kedge again. No GPU is needed for that",
         wanted, looked);
  fail("{} was not found; looked in{}. Build the targets kedge_runtime_main and kedge_runtime_library, or "
       "install Kedge again",
       wanted, looked);
}

/// zig brings musl and a C++ library for it, which the runtime for it was built with, and joins objects of
/// Apple's systems.
std::string zigCompiler(const std::string &machine) {
  if (fs::can_execute(KEDGE_ZIG))
    return KEDGE_ZIG;
  if (auto found = llvm::sys::findProgramByName("zig"))
    return *found;
  fail("{} are linked by the compiler zig, which is not on PATH: install it (pip install "
       "ziglang), and put the folder that holds zig on PATH",
       isMusl(machine) ? "programs with musl" : "objects for " + machine);
}

/// The command that links for that machine, without its arguments.
std::vector<std::string> compilerDriver(const std::string &machine) {
  const OtherMachine *other = otherMachine(machine);
  if (isMusl(machine))
    return {zigCompiler(machine), "c++", "-s", "-target",
            machine}; // -s: its libraries have 60 MB of debug information
  if (other && other->driver.empty())
    return {zigCompiler(machine), "c++", "-target", zigTarget(machine)};
  if (other) {
    if (auto found = llvm::sys::findProgramByName(other->driver))
      return {*found};
    fail("programs for {} are linked by {}, which is not on PATH: install Debian's package {}", machine,
         other->driver.str(), other->package.str());
  }
  for (StringRef name : {"c++", "g++", "clang++"})
    if (auto found = llvm::sys::findProgramByName(name))
      return {*found};
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

void runDriver(const std::vector<std::string> &words, const TemporaryFolder &folder) {
  const ToolEnding ending = runTool(words, folder);
  if (ending.code != 0)
    fail("linking the program failed ({} ended with {}): {}", words.front(), ending.how(), ending.text);
}

/// What is linked with the objects, in this order.
struct LinkJob {
  OutputForm form;
  std::vector<std::string> archives;
  std::vector<std::string> flags; ///< of the linker itself
  std::string script;             ///< what a library exports, as the linker reads it; empty: all
  std::string machine;            ///< of Runtime
  bool isAndroid = false;         ///< of Runtime
  std::string pieces;             ///< folder of the built-in linker; empty: the system's C++ compiler links
};

/// LLD takes less than half of GNU ld's time; the one of the LLVM that Kedge was built with, else one on
/// PATH.
std::vector<std::string> fasterLinker() {
  if (fs::exists(KEDGE_LLVM_TOOLS "/ld.lld"))
    return {"-fuse-ld=lld", "-B" KEDGE_LLVM_TOOLS};
  if (llvm::sys::findProgramByName("ld.lld"))
    return {"-fuse-ld=lld"};
  return {};
}

/// Whether objects for it are of that form, which the linker of Linux does not read.
bool isMachO(const std::string &machine) { return isMacOs(machine) || systemOf(machine) == System::Ios; }

/// The system's C++ compiler as a linker. `inputs`: files, and the linker's own words "--...". `folder`: for
/// what it writes beside the output.
void linkByDriver(const LinkJob &job, const std::vector<std::string> &inputs, const std::string &output,
                  const TemporaryFolder &folder) {
  const bool isStatic = job.form == OutputForm::StaticProgram;
  std::vector<std::string> command = compilerDriver(job.machine);
  command.insert(command.end(), {"-o", output});
  for (const std::string &input : inputs)
    command.push_back(llvm::StringRef(input).starts_with("--") ? "-Wl," + input : input);
  if (isWindows(job.machine)) {
    const std::vector<std::string> flags = windowsFlags(job.form, job.flags);
    command.insert(command.end(), flags.begin(), flags.end());
    return runDriver(command, folder);
  }
  if (job.form == OutputForm::Object)
    command.insert(command.end(), {"-r", "-nostdlib"});
  else
    command.push_back(job.isAndroid                     ? "-static-pie"
                      : isMusl(job.machine)             ? "-static"
                      : isStatic                        ? "-static-pie"
                      : job.form == OutputForm::Program ? "-pie"
                                                        : "-shared");
  if (job.form != OutputForm::Object)
    command.push_back("-Wl,--gc-sections");
  if (job.machine.empty()) // a cross compiler looks for a linker of its own
    for (const std::string &word : fasterLinker())
      command.push_back(word);
  for (const std::string &flag : job.flags)
    command.push_back("-Wl," + flag);
  llvm::SmallVector<StringRef> words;
  if (isStatic) // -static-libstdc++ would have shared libraries taken from there on
    command.push_back("-lpthread");
  else if (job.form != OutputForm::Object)
    StringRef(job.machine.empty() ? KEDGE_LINK_FLAGS : KEDGE_PLAIN_LINK_FLAGS).split(words, ' ', -1, false);
  command.insert(command.end(), words.begin(), words.end());
  runDriver(command, folder);
}

uint64_t bytesOf(ArrayRef<std::string> files) {
  uint64_t bytes = 0;
  for (const std::string &file : files) {
    uint64_t size = 0;
    if (!fs::file_size(file, size))
      bytes += size;
  }
  return bytes;
}

/// Linkers map the file that they make, and crash where the disk is full. So the most that this one can take
/// is asked for before: what they leave out of the archives is more than what the system's libraries add.
void expectSpace(const std::string &folder, uint64_t bytes, const std::string &output) {
  SmallString<256> file(folder);
  path::append(file, "space");
  int descriptor = -1;
  if (const std::error_code error = fs::openFileForWrite(file, descriptor))
    fail("{}: cannot be written: {}", output, error.message());
  const int full = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
  std::ignore = fs::remove(file);
  if (full == ENOSPC || full == EDQUOT || full == EFBIG)
    fail("{}: cannot be written: {}; while it is linked it takes up to {} bytes: free some space, or name "
         "another "
         "folder",
         output, llvm::sys::StrError(full), bytes);
}

/// One file for all: where many are made and removed, a new one is slow to get.
void writeObjects(const std::string &file, ArrayRef<ObjectFile> objects) {
  std::vector<llvm::NewArchiveMember> members;
  for (const ObjectFile &object : objects)
    members.emplace_back(llvm::MemoryBufferRef(StringRef(object.data(), object.size()), "part.o"));
  writeFile(file, archiveOf(members, llvm::SymtabWritingMode::NoSymtab)->getBuffer());
}

/// Files of them, and the linker's words around these. zig joins objects of Mach-O that are files of their
/// own.
std::vector<std::string> inputsOf(ArrayRef<ObjectFile> objects, const LinkJob &job,
                                  const TemporaryFolder &folder) {
  std::vector<std::string> inputs;
  if (isMachO(job.machine) && job.form == OutputForm::Object) {
    for (const ObjectFile &object : objects) {
      inputs.push_back(folder.file("part" + std::to_string(inputs.size()) + ".o"));
      writeFile(inputs.back(), StringRef(object.data(), object.size()));
    }
    return inputs;
  }
  const std::string own = folder.file("objects.a");
  writeObjects(own, objects);
  if (isMachO(job.machine))
    return {own};
  inputs = {"--whole-archive", own, "--no-whole-archive"};
  inputs.insert(inputs.end(), job.archives.begin(), job.archives.end());
  return inputs;
}

/// Links, and puts what is made at `place`.
void drive(ArrayRef<ObjectFile> objects, LinkJob job, const std::string &place) {
  const std::string output = replaceableFile(place);
  const TemporaryFolder folder("kedge-link");
  const std::vector<std::string> inputs = inputsOf(objects, job, folder);
  if (!job.script.empty()) {
    const std::string script = folder.file(isWindows(job.machine) ? "exports.def" : "exports.map");
    writeFile(script, job.script);
    if (isMacOs(job.machine))
      job.flags.push_back("-exported_symbols_list");
    job.flags.push_back((isMachO(job.machine) || isWindows(job.machine) ? "" : "--version-script=") + script);
  }

  // Next to the output, so that putting it in place is one rename. In a folder, since linkers write a file of
  // another name first, which a signal would leave.
  SmallString<256> linked;
  fs::createUniquePath(output + ".%%%%%%%%", linked, false);
  const std::string made = linked.str().str();
  // Noted before it is made, until it is gone: a signal that comes meanwhile removes it.
  const TemporaryFile noted(made);
  if (const std::error_code error = fs::create_directory(made, /*IgnoreExisting=*/false, fs::owner_all))
    fail("{}: cannot be written: {}", output, error.message());
  const llvm::scope_exit discard([&] { std::ignore = fs::remove_directories(made); });
  expectSpace(made, bytesOf(inputs) + (isMacOs(job.machine) ? bytesOf(job.archives) : 0), output);
  // Signatures of macOS name the file. Drivers for Windows add .exe to a name without.
  path::append(linked, isMacOs(job.machine) ? path::filename(output) : "linked.exe");
  if (isMacOs(job.machine) && job.form != OutputForm::Object)
    runDriver(macOsCommand(job.form, {job.machine, job.pieces, inputs.front(), job.archives, job.flags},
                           linked.str().str()),
              folder);
  else if (job.pieces.empty())
    linkByDriver(job, inputs, linked.str().str(), folder);
  else
    linkBuiltIn(job.form, job.pieces, inputs, job.flags, linked.str().str());
  if (std::error_code error = fs::rename(linked, output))
    fail("{}: cannot be written: {}", output, error.message());
}

std::vector<std::string> archiveFiles(const Runtime &runtime) {
  std::vector<std::string> archives;
  for (StringRef archive : archivesOf(runtime.kind)) {
    SmallString<256> file(runtimeFolder(runtime));
    path::append(file, archive);
    archives.push_back(file.str().str());
  }
  return archives;
}

/// The functions that the session's header declares.
std::vector<std::string> declaredFunctions() {
  std::vector<std::string> names;
  llvm::SmallVector<StringRef> lines;
  StringRef(kSessionHeader).split(lines, '\n', -1, false);
  for (StringRef line : lines)
    if (line.consume_front("int kedge_") || line.consume_front("void kedge_") ||
        line.consume_front("const char *kedge_"))
      names.push_back("kedge_" + line.take_until([](char letter) { return letter == '('; }).str());
  return names;
}

/// All other symbols are hidden: a program may hold another libstdc++, or another model.
std::string exportScript(const std::string &symbol) {
  return fmt::format("{{ global: {}; {}_open; {}_open_on; local: *; }};\n",
                     fmt::join(declaredFunctions(), "; "), symbol, symbol);
}

} // namespace

/// Empty for another machine, which the pieces are not of; for macOS where the runtime is.
static std::string piecesFor(const Runtime &runtime) {
  if (isMacOs(runtime.machine))
    return runtimeFolder(runtime);
  return runtime.machine.empty() ? linkPieces(runtimeFolder(runtime)) : "";
}

void kedge::link::checkRuntime(const Runtime &runtime) {
  runtimeFolder(runtime);
  if (isMacOs(runtime.machine))
    machOLinker();
  else if (!runtime.machine.empty())
    compilerDriver(runtime.machine);
}

void kedge::link::linkProgram(ArrayRef<ObjectFile> objects, const std::string &output,
                              const Runtime &runtime) {
  drive(objects,
        {runtime.isStatic ? OutputForm::StaticProgram : OutputForm::Program,
         archiveFiles(runtime),
         {},
         "",
         runtime.machine,
         runtime.isAndroid,
         piecesFor(runtime)},
        output);
}

/// NAME.dll and, for linkers, NAME.lib.
static void linkWindowsLibrary(ArrayRef<ObjectFile> objects, const LibraryPaths &paths,
                               const std::string &machine) {
  std::vector<std::string> functions = declaredFunctions();
  const std::string file = libraryFile(paths, machine);
  drive(objects,
        {OutputForm::Library,
         archiveFiles({RuntimeKind::Library, machine}),
         {"-ukedge_open"},
         moduleDefinition(file, functions, paths.symbol),
         machine,
         false,
         ""},
        paths.file(file));
  for (const char *function : {"open", "open_on"})
    if (paths.symbol != "kedge")
      functions.push_back(paths.symbol + "_" + function);
  writeImportLibrary(paths.file(paths.name + ".lib"), file, functions);
}

/// The model's own names of what opens a session.
static void nameOpening(LinkJob &job, const LibraryPaths &paths) {
  if (paths.symbol != "kedge")
    for (const char *function : {"open", "open_on"})
      job.flags.push_back(fmt::format("--defsym={}_{}=kedge_{}", paths.symbol, function, function));
}

void kedge::link::linkLibrary(ArrayRef<ObjectFile> objects, const LibraryPaths &paths,
                              const std::string &machine) {
  if (isWindows(machine))
    return linkWindowsLibrary(objects, paths, machine);
  const std::string file = libraryFile(paths, machine);
  const Runtime runtime{RuntimeKind::Library, machine};
  if (isMacOs(machine))
    return drive(objects,
                 {OutputForm::Library, archiveFiles(runtime), macOsLibraryFlags(file, paths.symbol),
                  exportedSymbols(declaredFunctions(), paths.symbol), machine, false, piecesFor(runtime)},
                 paths.file(file));
  // The library is never unloaded, since its threads run as long as the process.
  LinkJob job{OutputForm::Library,
              archiveFiles(runtime),
              {"-soname=" + file, "-znodelete", "-ukedge_open"},
              exportScript(paths.symbol),
              machine,
              false,
              piecesFor(runtime)};
  nameOpening(job, paths);
  drive(objects, job, paths.file(file));
}

void kedge::link::linkArchive(ArrayRef<ObjectFile> objects, const LibraryPaths &paths,
                              const std::string &machine) {
  const Runtime runtime{RuntimeKind::Library, machine};
  // Groups of sections are found again by their names, also in another model's archive, where they have other
  // symbols.
  LinkJob job{OutputForm::Object,
              archiveFiles(runtime),
              {"-ukedge_open", "--force-group-allocation"},
              "",
              machine,
              false,
              piecesFor(runtime)};
  nameOpening(job, paths);
  const TemporaryFolder folder("kedge-archive");
  const std::string whole = folder.file("model.o");
  drive(objects, job, whole);
  writeStaticLibrary(whole, replaceableFile(paths.file(archiveFile(paths))),
                     {paths.symbol + "_open", paths.symbol + "_open_on"}, declaredFunctions());
}

void kedge::link::linkObjects(ArrayRef<ObjectFile> objects, const std::string &output,
                              const std::string &machine) {
  drive(
      objects,
      {OutputForm::Object, {}, {}, "", machine, false, machine.empty() ? linkPieces(runtimeFolder({})) : ""},
      output);
}
