#include "lib/Link/OtherMachines.h"
#include "lib/Support/Error.h"
#include "llvm/BinaryFormat/COFF.h"
#include "llvm/Object/COFFImportFile.h"

using namespace kedge;
using namespace kedge::link;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

constexpr OtherMachine kMachines[] = {
    {"aarch64-android", System::Android},
    {"aarch64-ios", System::Ios},
    {"aarch64-linux", System::Linux, "aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"},
    {"aarch64-linux-musl", System::Linux},
    {"aarch64-macos", System::MacOs},
    {"x86_64-linux-musl", System::Linux},
    {"x86_64-macos", System::MacOs},
    {"x86_64-windows", System::Windows, "x86_64-w64-mingw32-g++-posix", "g++-mingw-w64-x86-64"}};

} // namespace

const OtherMachine *kedge::link::otherMachine(StringRef name) {
  for (const OtherMachine &machine : kMachines)
    if (machine.name == name)
      return &machine;
  return nullptr;
}

System kedge::link::systemOf(StringRef machine) {
  const OtherMachine *known = otherMachine(machine);
  return known ? known->system : System::Linux;
}

std::vector<std::string> kedge::link::windowsFlags(OutputForm form, ArrayRef<std::string> flags) {
  std::vector<std::string> words;
  if (form == OutputForm::Object)
    words = {"-r", "-nostdlib"};
  else if (form == OutputForm::Library)
    words = {"-shared", "-static"};
  else // threads get as much stack as Linux gives them
    words = {"-static", "-Wl,--stack,8388608"};
  // Equal objects give equal bytes.
  words.push_back("-Wl,--no-insert-timestamp");
  if (form != OutputForm::Object)
    words.insert(words.end(), {"-s", "-Wl,--gc-sections", "-lsynchronization"});
  for (const std::string &flag : flags)
    words.push_back("-Wl," + flag);
  return words;
}

std::string kedge::link::moduleDefinition(const std::string &dll, ArrayRef<std::string> functions,
                                          const std::string &symbol) {
  std::string text = "LIBRARY \"" + dll + "\"\nEXPORTS\n";
  for (const std::string &function : functions)
    text += "  " + function + "\n";
  if (symbol != "kedge")
    for (const char *function : {"open", "open_on"})
      text += fmt::format("  {}_{}=kedge_{}\n", symbol, function, function);
  return text;
}

void kedge::link::writeImportLibrary(const std::string &file, const std::string &dll,
                                     ArrayRef<std::string> functions) {
  std::vector<llvm::object::COFFShortExport> exports;
  for (const std::string &function : functions) {
    exports.emplace_back();
    exports.back().Name = function;
  }
  if (llvm::Error error = llvm::object::writeImportLibrary(
          dll, file, exports, llvm::COFF::IMAGE_FILE_MACHINE_AMD64, /*MinGW=*/true))
    fail("{}: cannot be written: {}", file, llvm::toString(std::move(error)));
}
