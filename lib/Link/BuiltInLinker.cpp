#include "lib/Link/BuiltInLinker.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#ifdef KEDGE_HAS_LLD
#include <lld/Common/Driver.h>
LLD_HAS_DRIVER(elf)
#endif

namespace kedge::link {

std::string linkPieces(const std::string &runtimeFolder) {
#ifdef KEDGE_HAS_LLD
  const std::string folder = runtimeFolder + "/link";
  if (llvm::sys::fs::exists(folder + "/crti.o"))
    return folder;
#endif
  return "";
}

#ifdef KEDGE_HAS_LLD
namespace {

const char *const kLoader = "/lib64/ld-linux-x86-64.so.2";

/// Every Linux that runs programs of this libc has them; Debian, Fedora and Arch keep them in one of these
/// folders.
std::string systemLibrary(const std::string &name) {
  std::string looked;
  for (const char *folder : {"/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib", "/lib"}) {
    const std::string file = std::string(folder) + "/" + name;
    if (llvm::sys::fs::exists(file))
      return file;
    looked += std::string(" ") + folder;
  }
  fail("linking the program needs {} of this machine, which was not found; looked in{}", name, looked);
}

/// As gcc orders them: archives may need libstdc++, which needs libgcc, and all of them libc.
std::vector<std::string> commandOf(OutputForm form, const std::string &pieces,
                                   const std::vector<std::string> &inputs,
                                   const std::vector<std::string> &flags, const std::string &output) {
  const auto piece = [&](const char *name) { return pieces + "/" + name; };
  std::vector<std::string> command = {"ld.lld", "-m", "elf_x86_64", "-o", output};
  const auto add = [&](std::initializer_list<std::string> words) { command.insert(command.end(), words); };
  if (form == OutputForm::Object) {
    add({"-r"});
    command.insert(command.end(), inputs.begin(), inputs.end());
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }
  add({"--eh-frame-hdr", "--hash-style=gnu", "--build-id=none", "-z", "relro", "--gc-sections"});
  if (form == OutputForm::StaticProgram)
    add({"-static", "-pie", "--no-dynamic-linker", "-z", "text", piece("rcrt1.o")});
  else if (form == OutputForm::Program)
    add({"-pie", "-dynamic-linker", kLoader, piece("Scrt1.o")});
  else
    add({"-shared"});
  add({piece("crti.o"), piece("crtbeginS.o")});
  command.insert(command.end(), inputs.begin(), inputs.end());
  command.insert(command.end(), flags.begin(), flags.end());
  if (form == OutputForm::StaticProgram) {
    add({piece("libstdc++.a"), piece("libm.a"), piece("libmvec.a"), piece("libgcc.a"), piece("libgcc_eh.a"),
         piece("libc.a"), piece("crtendS.o"), piece("crtn.o")});
    return command;
  }
  add({piece("libstdc++.a"), systemLibrary("libm.so.6"), piece("libgcc.a"), piece("libgcc_eh.a"),
       systemLibrary("libc.so.6"), piece("libc_nonshared.a"), "--as-needed", kLoader, piece("crtendS.o"),
       piece("crtn.o")});
  return command;
}

} // namespace

void linkBuiltIn(OutputForm form, const std::string &pieces, const std::vector<std::string> &inputs,
                 const std::vector<std::string> &flags, const std::string &output) {
  const std::vector<std::string> command = commandOf(form, pieces, inputs, flags, output);
  llvm::SmallVector<const char *> words;
  for (const std::string &word : command)
    words.push_back(word.c_str());
  std::string said;
  llvm::raw_string_ostream stream(said);
  const lld::Result result = lld::lldMain(words, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    fail("linking the program failed (built-in LLD): {}{}", llvm::StringRef(said).trim().str(),
         form == OutputForm::Program ? "; where this machine's glibc is older than 2.35, --libc static makes "
                                       "programs that hold their own"
                                     : "");
}
#else
void linkBuiltIn(OutputForm, const std::string &, const std::vector<std::string> &,
                 const std::vector<std::string> &, const std::string &) {
  fail("this build of Kedge has no linker of its own");
}
#endif

} // namespace kedge::link
