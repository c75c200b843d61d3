// From a lowered compilation to a program: an executable, a library, an object file.
#pragma once
#include "driver/Compilation.h"
#include "driver/program/LinkedKernels.h"
#include "driver/program/SharedKernels.h"
#include "lib/Export/C/ProgramText.h"
#include "lib/Export/Program/ProgramJson.h"
#include "lib/Link/Link.h"
#include "lib/Support/FileCache.h"
#include <map>
#include <set>

namespace kedge::driver {

/// A program in parts, before it is one object.
struct ProgramParts {
  ObjectFiles kernels;
  std::vector<std::string> names; ///< of kernels, as the objects have them
  LinkedKernels linked;
  std::set<std::string> registrations; ///< of library kernels that launches call (kedge/abi.h)
  std::string json;
  std::vector<uint8_t> data;
  std::map<std::string, std::string>
      shared; ///< kernels that another program of the file has, and their names there
};
/// What such a program is linked with.
link::Runtime runtimeFor(const CompileOptions &options);
void linkParts(const ProgramParts &parts, const CompileOptions &options, const std::string &output);

class ProgramBuilder {
public:
  /// `compilation` has been lowered. `cache`: of compiled kernels; may be null.
  ProgramBuilder(Compilation &compilation, const CompileOptions &options, FileCache *cache,
                 AmongPrograms among = {})
      : compilation(compilation), options(options), cache(cache), among(std::move(among)),
        module(compilation.module()) {}

  /// Object code, launch table, executable at `output`.
  void link(const std::string &output);
  /// The same as a library: `output` is DIR/NAME of DIR/libNAME.so and its headers.
  void linkLibrary(const std::string &output);
  /// The program's kernels and data as one object file, to be linked with the runtime.
  void emitObject(const std::string &output);
  /// The program in C; `name` is a word that all its names begin with.
  exporter::CFiles inC(const std::string &name);
  /// Files by name for browsers and node; `name` is such a word, too.
  std::map<std::string, std::string> forWeb(const std::string &name);
  /// What link() makes an executable of.
  ProgramParts parts();
  /// Kernels as PTX with what ptxas says of them, for --emit ptx.
  std::string ptx();

private:
  exporter::CFiles inC(const rt::ProgramImage &program, const std::string &name, exporter::Weights weights);
  std::vector<std::string> launchedKernels();
  std::set<std::string> registrations();
  exporter::ProgramImageParts image();
  exporter::ProgramFacts facts(std::vector<uint8_t> &data);
  void compileKernels(ProgramParts &made);
  /// Generates the GPU's code, appends it to the program's data and tells where it is.
  nlohmann::json gpuTarget(std::vector<uint8_t> &data);

  Compilation &compilation;
  const CompileOptions &options;
  FileCache *cache;
  AmongPrograms among;
  mlir::ModuleOp module;
};

} // namespace kedge::driver
