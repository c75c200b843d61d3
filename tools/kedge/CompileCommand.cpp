// kedge compile MODEL -o PROGRAM, and what lies between.
#include "driver/BudgetCheck.h"
#include "driver/OutputFiles.h"
#include "driver/Remedies.h"
#include "driver/SavedIr.h"
#include "driver/joint/Joint.h"
#include "driver/options/ProgramOptions.h"
#include "driver/plan/Report.h"
#include "driver/program/Buckets.h"
#include "driver/program/KernelLevels.h"
#include "driver/program/PlansByWorld.h"
#include "driver/program/ProgramBuilder.h"
#include "driver/program/StageTexts.h"
#include "lib/Link/Link.h"
#include "lib/Link/OtherMachines.h"
#include "lib/Link/WebModule.h"
#include "lib/Support/Error.h"
#include "lib/Support/Reporter.h"
#include "passes/Lower/Codegen/KernelCache.h"
#include "tools/flags/Flags.h"
#include "tools/kedge/Commands.h"
#include "tools/kedge/DeepSpeedFlags.h"
#include "tools/kedge/SavedCommand.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/ranges.h>

namespace kedge::tool {

using namespace driver;

namespace {

void output(const CompileOptions &options, const std::string &text) {
  if (options.output.path.empty())
    reporter().answer(text);
  else
    writeText(options.output.path, text);
}

/// Of programs for a system: which libraries they need.
const char *ownLibraries(link::System system) {
  switch (system) {
  case link::System::Windows:
    return "programs for Windows need no library beyond Windows' own";
  case link::System::MacOs:
    return "programs for macOS need no library beyond macOS' own";
  case link::System::Ios:
    return "an object file has none";
  case link::System::Android:
  case link::System::Linux:
    return "they hold musl";
  }
  return "";
}

/// Which forms of a program there are for a system; texts are there for all.
void checkForm(const CompileOptions &options, const std::string &machine, link::System system) {
  const Emit emit = options.output.emit;
  if ((system == link::System::Windows || system == link::System::MacOs) && emit == Emit::Archive)
    fail("--emit archive for {}: not available yet; --emit lib makes a {}", machine,
         system == link::System::Windows ? "DLL and what linkers take for it" : "library of macOS (.dylib)");
  if (system == link::System::Android && isLibrary(emit))
    fail("--emit {} for {}: not available: a library of an app needs Android's C library and its NDK. --emit "
         "c "
         "writes a file in C that the NDK compiles; a program (--emit exe) holds its own C library, and runs "
         "as a process of its own",
         wordOf(emit), machine);
  if (system == link::System::Ios && isProgram(emit) && emit != Emit::Obj)
    fail("--emit {} for {}: not available: what runs there is linked by Xcode, with Apple's own SDK. --emit "
         "obj "
         "writes the model's kernels and data for it, and --emit c a file in C that Xcode compiles",
         wordOf(emit), machine);
}

void checkProcessors(const CompileOptions &options) {
  const KernelLevels processors(options.machine.cpus); // throws for names of none
  if (options.onGpu() && !options.machine.cpus.empty() && processors.otherMachine().empty())
    fail("--cpu would have no effect: --target {} has no kernels for the processor", options.machine.target);
  const std::string machine = processors.otherMachine();
  const link::System system = link::systemOf(machine);
  if (system == link::System::Linux)
    return;
  if (options.onGpu())
    fail("--target {} for {}: not available yet; leave out --cpu for a program for Linux",
         options.machine.target, machine);
  if (options.model.ranks != std::vector<int64_t>{1})
    fail("--ranks {} for {}: not available yet; leave it out", fmt::join(options.model.ranks, ","), machine);
  checkForm(options, machine, system);
  if (options.machine.libc != CLibrary::Shared)
    fail("--libc {} is for Linux, found --cpu {}: leave it out; {}", wordOf(options.machine.libc),
         fmt::join(options.machine.cpus, ","), ownLibraries(system));
}

void checkLibc(const CompileOptions &options) {
  if (options.machine.libc == CLibrary::Shared)
    return;
  const std::string given = std::string("--libc ") + wordOf(options.machine.libc);
  if (options.output.emit != Emit::Exe)
    fail("{} is for programs, found --emit {}: leave it out", given, wordOf(options.output.emit));
  if (options.onGpu())
    fail("{}: a program of --target {} opens NVIDIA's libraries, which need the machine's libc; leave it out",
         given, options.machine.target);
  if (options.model.ranks != std::vector<int64_t>{1})
    fail("{}: ranks open MPI's library, which needs the machine's libc; leave it out, or --ranks {}", given,
         fmt::join(options.model.ranks, ","));
}

void checkLibrary(const CompileOptions &options) {
  if (options.onGpu())
    fail("--emit {} is for --target cpu so far, found --target {}", wordOf(options.output.emit),
         options.machine.target);
  if (options.model.ranks != std::vector<int64_t>{1})
    fail("--emit {}: a library learns in one process, found --ranks {}; leave it out",
         wordOf(options.output.emit), fmt::join(options.model.ranks, ","));
  link::libraryPaths(options.output.path);
  link::checkRuntime({link::RuntimeKind::Library, KernelLevels(options.machine.cpus).otherMachine()});
}

/// --with-places and --only are of texts of the levels.
void checkText(const CompileOptions &options) {
  const char *given = options.output.withPlaces ? "--with-places" : "--only";
  if (!options.output.withPlaces && options.output.only.empty())
    return;
  if (options.output.withPlaces && !options.output.only.empty())
    fail("--only: a part of a module is for reading, and is not compiled again; leave --with-places out");
  if (!isLevel(options.output.emit))
    fail(
        "{} would have no effect: --emit {} has no IR of ours; expected --emit onnx, train, schedule or exec",
        given, wordOf(options.output.emit));
}

/// The word that names in the file begin with.
std::string checkC(const CompileOptions &options) {
  const char *emit = wordOf(options.output.emit);
  const bool isWeb = options.output.emit == Emit::Web;
  if (options.onGpu())
    fail("--emit {} is for processors, found --target {}; leave it out", emit, options.machine.target);
  if (options.model.ranks != std::vector<int64_t>{1})
    fail("--emit {}: it learns in one process, found --ranks {}; leave it out", emit,
         fmt::join(options.model.ranks, ","));
  if (!options.machine.cpus.empty())
    fail("--emit {} is for {}, found --cpu {}; leave it out", emit,
         isWeb ? "WebAssembly with vectors of 128 bits" : "all processors",
         fmt::join(options.machine.cpus, ","));
  const std::filesystem::path path = options.output.path;
  const std::string name = path.stem().string();
  const bool isWord =
      !name.empty() && !isdigit(static_cast<unsigned char>(name[0])) &&
      std::all_of(name.begin(), name.end(), [](unsigned char c) { return isalnum(c) || c == '_'; });
  if (path.extension() != (isWeb ? "" : ".c") || !isWord)
    fail("-o {}: expected {}, where NAME is a word in C: names in the file begin with it",
         options.output.path, isWeb ? "DIR/NAME" : "NAME.c");
  if (isWeb)
    link::checkWebTools();
  return name;
}

void writeC(Compilation &compilation, const CompileOptions &options, const std::string &name) {
  ProgramBuilder program(compilation, options, nullptr);
  const std::filesystem::path path = options.output.path;
  if (options.output.emit == Emit::Web) {
    for (const auto &[file, text] : program.forWeb(name))
      writeText((path.parent_path() / file).string(), text);
    return;
  }
  const exporter::CFiles files = program.inC(name);
  writeText(std::filesystem::path(path).replace_extension(".h").string(), files.header);
  writeText(options.output.path, files.source);
}

int runCompile(const CompileOptions &options, lower::KernelCache &cache) {
  checkText(options);
  if (!options.model.buckets.empty())
    bucketsOf(options); // refuses what they cannot be yet
  const bool isC = isInC(options.output.emit);
  if (options.joint.on) {
    const JointAnswer answer = planJointly(options);
    reporter().sayTogether(jointText(answer.report, options.joint.explains), {});
    const int code = runCompile(answer.options, cache);
    addToReport(answer.options, "auto", answer.report);
    return code;
  }
  if (options.precisions.size() > 1)
    fail("--precision {}: expected one precision, found {}; kedge plan --compare plans several side by side",
         fmt::join(wordsOf(options.precisions), ","), options.precisions.size());
  const bool object = options.output.emit == Emit::Obj, library = isLibrary(options.output.emit);
  if ((options.output.emit == Emit::Exe || isC || object || library) && options.output.path.empty() &&
      !options.output.printPipeline)
    fail("compile needs -o {}", object                                        ? "FILE.o"
                                : library || options.output.emit == Emit::Web ? "DIR/NAME"
                                : isC                                         ? "NAME.c"
                                                                              : "PROGRAM");
  checkProcessors(options);
  checkLibc(options);
  const std::string word = isC && !options.output.printPipeline ? checkC(options) : "";
  if (options.output.emit == Emit::Ptx && !options.onGpu())
    fail("--emit ptx needs --target cuda");
  if (!options.output.algorithms.empty() && !options.onGpu())
    fail("--algorithms needs --target cuda");
  if (options.output.emit == Emit::Exe)
    link::checkRuntime(runtimeFor(options));
  if (library)
    checkLibrary(options);
  checkFolder("-o", options.output.path);
  checkReportFile(options.output.report);
  checkFolder("--depfile", options.output.depfile);
  if (!options.output.depfile.empty() && options.output.path.empty())
    fail("--depfile is of the file that -o names: give -o");
  if (!options.model.buckets.empty())
    return compileBuckets(options, cache);
  if (options.isPipelined() && !options.output.printPipeline && options.resumedFrom.empty() &&
      !isProgram(options.output.emit))
    return output(options, textsOfStages(options, cache.files())), 0;
  if ((options.model.ranks.size() > 1 || options.replicas ||
       (options.isPipelined() && isProgram(options.output.emit))) &&
      !options.output.printPipeline)
    return compilePlansByWorld(options, cache);
  Compilation compilation(options);
  if (options.output.printPipeline)
    return output(options, compilation.pipelineText()), 0;
  compilation.import();
  if (options.output.emit == Emit::Onnx)
    return output(options, compilation.text()), 0;
  compilation.step();
  if (options.output.emit == Emit::Train)
    return output(options, compilation.text()), 0;
  compilation.schedule(pricedForPage(options));
  if (options.output.emit == Emit::Schedule)
    return output(options, compilation.text()), 0;
  compilation.lower();
  if (options.output.emit == Emit::Llvm)
    return output(options, kernelText(compilation.kernels())), 0;
  if (options.output.emit == Emit::Ptx)
    return output(options, ProgramBuilder(compilation, options, cache.files()).ptx()), 0;
  writeReport(compilation, options);
  if (options.output.emit == Emit::Exec)
    return output(options, compilation.text()), 0;
  const BudgetCheck budget(compilation.module(), options);
  if (!budget.fits())
    return budget.sayWhyNothingFits(remediesText(options)), 2;
  if (isC)
    return writeC(compilation, options, word), 0;
  ProgramBuilder program(compilation, options, cache.files());
  if (object)
    program.emitObject(options.output.path);
  else if (library)
    program.linkLibrary(options.output.path);
  else
    program.link(options.output.path);
  addToReport(compilation, options, cache.facts());
  return 0;
}
} // namespace

void addCompileCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand("compile", "make the training program");
  auto options = std::make_shared<CompileOptions>();
  auto kept = std::make_shared<std::string>();
  addCompileOptions(*command, *options);
  addProgramOptions(*command, *options);
  Flags(*command, "Output")
      .add("--kernel-cache", *kept,
           "DIR: where compiled kernels are kept, so that the next compilation need not make them again; or "
           "off "
           "(default: the user's cache folder)")
      ->check([](const std::string &folder) { return folder.empty() ? "expected DIR or off" : ""; });
  command->callback([=, &exitCode] {
    if (isSavedIr(options->model.model))
      *options = resumedOptions(*command, *options);
    else {
      options->arguments = argumentsOf(*command);
      *options = withDeepSpeedConfig(*command, *options);
    }
    lower::KernelCache cache(*kept);
    exitCode = runCompile(*options, cache);
    if (exitCode == 0 && !options->output.depfile.empty())
      writeDepfile(*options);
  });
}

void compileSavedIr(const std::string &ir, const std::string &program) {
  CLI::App command;
  CompileOptions options;
  addCompileOptions(command, options);
  addProgramOptions(command, options);
  command.parse(
      std::vector<std::string>{program, "-o", ir}); // the last word is the first, as CLI11 takes them
  lower::KernelCache cache("");
  if (runCompile(resumedOptions(command, options), cache) != 0)
    fail("{}: no program could be made of it (above)", ir);
}

} // namespace kedge::tool
