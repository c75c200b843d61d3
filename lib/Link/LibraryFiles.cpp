// libNAME.so with what a program needs to use it: NAME.h, NAME.hpp, NAME.pc.
#include "lib/Link/Link.h"
#include "lib/Link/OtherMachines.h"
#include "lib/Link/SessionText.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace kedge;
using namespace kedge::link;
using llvm::SmallString;
using llvm::StringRef;
namespace path = llvm::sys::path;

namespace {

/// `name` as the beginning of C identifiers.
std::string identifierOf(StringRef name) {
  std::string identifier = name.str();
  for (char &letter : identifier)
    letter = letter == '-' ? '_' : letter;
  return identifier;
}

std::string headerText(const std::string &name, const std::string &symbol, const std::string &machine) {
  const std::string file = isWindows(machine) ? fmt::format("{0}.dll: link with {0}.lib", name)
                                              : fmt::format("lib{0}.{1}: link with -l{0}", name,
                                                            isMacOs(machine) ? "dylib" : "so");
  return fmt::format(
      "/* {3}, or as pkg-config says of {0}.pc. */\n{2}\n"
      "#ifndef KEDGE_MODEL_{1}_H\n#define KEDGE_MODEL_{1}_H\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
      "/* kedge_open and kedge_open_on of this very model, for programs that link the libraries of several. "
      "*/\n"
      "int {1}_open(const kedge_option *options, kedge_session **session);\n"
      "int {1}_open_on(const kedge_option *options, kedge_run_tasks run, void *self, kedge_session "
      "**session);\n\n"
      "#ifdef __cplusplus\n}}\n#endif\n#endif\n",
      name, symbol, kSessionHeader, file);
}

/// The C++ types of elements; 16-bit floats are their bits.
std::string elementTypes(const std::set<std::string> &types) {
  static const std::map<std::string, std::string> kNames = {
      {"f32", "float"},         {"f64", "double"},   {"f16", "uint16_t"}, {"bf16", "uint16_t"},
      {"i8", "int8_t"},         {"u8", "uint8_t"},   {"i16", "int16_t"},  {"u16", "uint16_t"},
      {"i32", "int32_t"},       {"u32", "uint32_t"}, {"i64", "int64_t"},  {"u64", "uint64_t"},
      {"bool", "bool, uint8_t"}};
  std::string text;
  for (const std::string &type : types)
    text += (text.empty() ? "" : ", ") + kNames.at(type);
  return text;
}

std::string wrapperText(const std::string &name, const std::string &symbol, const std::string &types) {
  return fmt::format(
      "#include \"{0}.h\"\n\n{2}\n"
      "#ifndef KEDGE_MODEL_{1}_HPP\n#define KEDGE_MODEL_{1}_HPP\n\n"
      "/// Sessions of this very model, for programs that link the libraries of several.\n"
      "namespace {1} {{\n"
      "/// Takes rows in the types of the model's inputs alone.\n"
      "class Session : public kedge::Session {{\n"
      "public:\n"
      "  explicit Session(Options options = {{}}) : kedge::Session(options, {1}_open) {{}}\n"
      "  template <typename T> void setInput(const char *name, const T *data, int64_t rows) {{\n"
      "    static_assert(kedge::isOneOf<T, {3}>, \"the inputs of {0} have the types {3}\");\n"
      "    kedge::Session::setInput(name, data, rows);\n"
      "  }}\n"
      "  template <typename T> void keepInput(const char *name, const T *data, int64_t rows) {{\n"
      "    static_assert(kedge::isOneOf<T, {3}>, \"the inputs of {0} have the types {3}\");\n"
      "    kedge::Session::keepInput(name, data, rows);\n"
      "  }}\n"
      "}};\n"
      "inline Session open(kedge::Session::Options options = {{}}) {{ return Session(options); }}\n"
      "}} // namespace {1}\n\n#endif\n",
      name, symbol, kSessionWrapper, types);
}

std::string packageText(const std::string &name, bool isArchive) {
  return fmt::format("prefix=${{pcfiledir}}\n\nName: {0}\nDescription: a model that learns, compiled by "
                     "kedge\nVersion: {1}\n"
                     "Cflags: -I${{prefix}}\nLibs: -L${{prefix}} -l{0}{2}\n",
                     name, KEDGE_VERSION, isArchive ? " -lstdc++ -lm -lpthread" : "");
}

} // namespace

LibraryPaths kedge::link::libraryPaths(const std::string &output) {
  LibraryPaths paths;
  paths.folder = path::parent_path(output).str();
  paths.name = path::filename(output).str();
  paths.symbol = identifierOf(paths.name);
  const bool fits =
      !paths.name.empty() && llvm::isAlpha(paths.name[0]) && llvm::all_of(paths.name, [](char letter) {
        return llvm::isAlnum(letter) || letter == '_' || letter == '-';
      });
  if (!fits)
    fail("-o {}: '{}' is no name of a library: expected letters, digits, '_' and '-', a letter first, as in "
         "-o DIR/model for "
         "DIR/libmodel.so, DIR/model.h, DIR/model.hpp and DIR/model.pc",
         output, paths.name);
  return paths;
}

std::string kedge::link::libraryFile(const LibraryPaths &paths, const std::string &machine) {
  return isWindows(machine) ? paths.name + ".dll"
                            : "lib" + paths.name + (isMacOs(machine) ? ".dylib" : ".so");
}

std::string kedge::link::archiveFile(const LibraryPaths &paths) { return "lib" + paths.name + ".a"; }

std::string LibraryPaths::file(const std::string &name) const {
  SmallString<256> whole(folder);
  path::append(whole, name);
  return whole.str().str();
}

void kedge::link::writeLibraryFiles(const LibraryPaths &paths, const std::set<std::string> &inputTypes,
                                    const std::string &machine, bool isArchive) {
  writeText(paths.file(paths.name + ".h"), headerText(paths.name, paths.symbol, machine));
  writeText(paths.file(paths.name + ".hpp"), wrapperText(paths.name, paths.symbol, elementTypes(inputTypes)));
  writeText(paths.file(paths.name + ".pc"), packageText(paths.name, isArchive));
}
