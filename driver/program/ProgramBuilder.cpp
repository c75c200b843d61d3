#include "driver/program/ProgramBuilder.h"
#include "driver/options/ProgramOptions.h"
#include "driver/program/Algorithms.h"
#include "driver/program/GpuTarget.h"
#include "driver/program/KernelLevels.h"
#include "driver/program/SharedKernels.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/abi/ProgramKeys.h"
#include "lib/Export/C/KernelText.h"
#include "lib/Export/Template/ExportTemplate.h"
#include "lib/Export/Web/WebFiles.h"
#include "lib/Link/OtherMachines.h"
#include "lib/Link/WebModule.h"
#include "lib/Support/Reporter.h"
#include "passes/Lower/Cluster/MathLowering.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "runtime/calls/KernelFiles.h"
#include "runtime/io/Printable.h"
#include "runtime/io/SameFile.h"
#include "llvm/ADT/SetVector.h"
#include <filesystem>

using namespace mlir;

namespace kedge::driver {
namespace key = abi::key;
namespace {

ObjectFiles objectsOf(const ProgramParts &parts, const CompileOptions &options) {
  ObjectFiles objects = parts.kernels;
  for (const std::string &file : parts.linked.files)
    llvm::append_range(objects, objectsIn(file));
  llvm::ArrayRef<char> bytes(reinterpret_cast<const char *>(parts.data.data()), parts.data.size());
  objects.push_back(lower::emitProgramImage(
      parts.json, bytes,
      {parts.names, parts.linked.entries, {parts.registrations.begin(), parts.registrations.end()}},
      KernelLevels(options.machine.cpus).lowest()));
  return objects;
}

/// The absolute path, alike however it was typed.
std::string filePlaceOf(const std::string &path) {
  const std::filesystem::path place = std::filesystem::absolute(path), normal = place.lexically_normal();
  return rt::isSameFile(normal.string(), place.string()) ? normal.string()
                                                         : place.string(); // links may make ".." another
}

} // namespace

link::Runtime runtimeFor(const CompileOptions &options) {
  const KernelLevels levels(options.machine.cpus);
  const bool isAndroid = link::systemOf(levels.otherMachine()) == link::System::Android;
  const CLibrary libc = isAndroid ? CLibrary::Musl : options.machine.libc;
  link::Runtime runtime{options.onGpu() ? link::RuntimeKind::Cuda : link::RuntimeKind::Cpu,
                        isAndroid ? "aarch64-linux-musl" : levels.linkedMachine(libc),
                        libc != CLibrary::Shared};
  runtime.isAndroid = isAndroid;
  return runtime;
}

void linkParts(const ProgramParts &parts, const CompileOptions &options, const std::string &output) {
  link::linkProgram(objectsOf(parts, options), output, runtimeFor(options));
}

/// In the order of their first launch.
std::vector<std::string> ProgramBuilder::launchedKernels() {
  llvm::SetVector<llvm::StringRef> names;
  for (auto function : module.getOps<exec::FunctionOp>())
    for (auto launch : function.getBody().getOps<exec::LaunchOp>())
      if (!launch.getLibrary())
        names.insert(launch.getKernel());
  return {names.begin(), names.end()};
}

std::set<std::string> ProgramBuilder::registrations() {
  std::set<std::string> functions;
  module.walk([&](exec::LaunchInterface launch) {
    functions.insert(rt::calls::registrationOf(std::string_view(launch.getKernel())));
  });
  functions.erase("");
  return functions;
}

exporter::ProgramFacts ProgramBuilder::facts(std::vector<uint8_t> &data) {
  const nlohmann::json &loss = compilation.factsOfLoss();
  const lint::Report &findings = compilation.lintReport();
  exporter::ProgramFacts program;
  program.name = rt::printable(std::filesystem::path(options.output.path).filename().string());
  program.modelPath = filePlaceOf(options.model.model);
  const bool embeds = options.output.embedWeights || isInC(options.output.emit);
  program.embedWeights = embeds;
  program.options = programOptions(options, loss, module);
  if (!findings.drawsInEvaluation.empty())
    program.options["draws_in_evaluation"] = findings.drawsInEvaluation;
  program.options[abi::key::fileInputs] = compilation.fileInputs();
  program.plan = compilation.report();
  program.labels = loss.value("labels", "");
  program.skeleton = compilation.isEdited() ? nlohmann::json::object({{"refused", options.resumedFrom}})
                                            : exportTemplates(module, findings, embeds,
                                                              options.model.adapters.integerForm, data);
  program.target = options.onGpu() ? gpuTarget(data) : KernelLevels(options.machine.cpus).target();
  return program;
}

/// Among several plans each has a prefix to its kernels' names.
void ProgramBuilder::compileKernels(ProgramParts &made) {
  made.names = launchedKernels();
  made.linked = linkedKernels(module, among.prefix, KernelLevels(options.machine.cpus).otherMachine());
  const KernelLevels levels(options.machine.cpus);
  if (among.known)
    made.shared = shareKernels(compilation.kernels(), made.names, among, levels);
  if (!among.prefix.empty()) {
    lower::renameKernels(compilation.kernels(), among.prefix, "");
    for (std::string &name : made.names)
      name = among.prefix + name;
  }
  auto kernels = levels.compile(compilation.kernels(), made.names, cache);
  if (failed(kernels))
    compilation.raise(options.model.model + ": not compiled: no machine code could be generated");
  made.kernels = std::move(*kernels);
}

exporter::ProgramImageParts ProgramBuilder::image() {
  std::vector<uint8_t> data;
  const exporter::ProgramFacts program = facts(data);
  return exporter::programJson(module, program, std::move(data));
}

static rt::ProgramImage readable(const exporter::ProgramImageParts &made, const std::string &json) {
  return {json, made.data.data(), made.data.size(), nullptr, nullptr};
}

exporter::CFiles ProgramBuilder::inC(const rt::ProgramImage &program, const std::string &name,
                                     exporter::Weights weights) {
  const OwningOpRef<ModuleOp> kernels = compilation.kernels().clone();
  if (failed(lower::lowerMath(*kernels)))
    compilation.raise(options.model.model +
                      ": not compiled: a mathematical function could not be taken apart");
  return exporter::programInC(program, exporter::kernelsInC(*kernels), name, weights);
}

exporter::CFiles ProgramBuilder::inC(const std::string &name) {
  const exporter::ProgramImageParts made = image();
  const std::string json = made.json.dump();
  return inC(readable(made, json), name, exporter::Weights::InFile);
}

std::map<std::string, std::string> ProgramBuilder::forWeb(const std::string &name) {
  const exporter::ProgramImageParts made = image();
  const std::string json = made.json.dump();
  const rt::ProgramImage program = readable(made, json);
  const exporter::CFiles files = inC(program, name, exporter::Weights::InArena);
  const std::string module =
      link::compileForWeb(files.source, files.header, name, exporter::webExports(name));
  return exporter::webFiles(exporter::webDescription(program, name),
                            exporter::withStates(module, exporter::initialStates(program)));
}

ProgramParts ProgramBuilder::parts() {
  exporter::ProgramImageParts image = this->image();
  if (!options.output.algorithms.empty())
    embedAlgorithms(options.output.algorithms, image.json);
  ProgramParts made;
  made.json = image.json.dump();
  made.data.assign(image.data.begin(), image.data.end());
  if (!options.onGpu()) {
    compileKernels(made);
    made.registrations = registrations();
  }
  return made;
}

std::string ProgramBuilder::ptx() {
  const std::string arch = architectureOf(options.machine.target);
  return ptxText(compileForGpu(compilation.kernels(), arch, cache), arch);
}

nlohmann::json ProgramBuilder::gpuTarget(std::vector<uint8_t> &data) {
  const std::string arch = architectureOf(options.machine.target);
  lower::gpu::GpuCode code = compileForGpu(compilation.kernels(), arch, cache);
  if (!code.note.empty() && !options.isTrial())
    note("{}", code.note);
  nlohmann::json target = {{key::kind, "cuda"}, {key::arch, arch}};
  if (hasDependentLaunches(options.machine))
    target[key::dependentLaunches] = true;
  const auto add = [&](const char *key, llvm::StringRef bytes) {
    if (bytes.empty())
      return;
    data.resize((data.size() + 63) / 64 * 64);
    target[key] = {{key::offset, data.size()}, {key::length, bytes.size()}};
    data.insert(data.end(), bytes.begin(), bytes.end());
  };
  add(key::ptx, code.ptx);
  add(key::cubin, llvm::StringRef(code.cubin.data(), code.cubin.size()));
  return target;
}

void ProgramBuilder::link(const std::string &output) { linkParts(parts(), options, output); }

void ProgramBuilder::linkLibrary(const std::string &output) {
  const link::LibraryPaths paths = link::libraryPaths(output);
  const ProgramParts made = parts();
  const std::string machine = KernelLevels(options.machine.cpus).otherMachine();
  const bool isArchive = options.output.emit == Emit::Archive;
  (isArchive ? kedge::link::linkArchive : kedge::link::linkLibrary)(objectsOf(made, options), paths, machine);
  std::set<std::string> types;
  const nlohmann::json program = nlohmann::json::parse(made.json);
  for (const nlohmann::json &input : program.at(key::inputs))
    types.insert(input.at(key::dtype).get<std::string>());
  link::writeLibraryFiles(paths, types, machine, isArchive);
}

void ProgramBuilder::emitObject(const std::string &output) {
  link::linkObjects(objectsOf(parts(), options), output, KernelLevels(options.machine.cpus).otherMachine());
}

} // namespace kedge::driver
