#include "lib/Support/BuildIdentity.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <elf.h>
#include <link.h>

namespace kedge {
namespace {

/// The build-id among the notes of a loaded file; empty: it has none.
llvm::StringRef buildIdOf(const dl_phdr_info &loaded) {
  for (int at = 0; at < loaded.dlpi_phnum; ++at) {
    const ElfW(Phdr) &part = loaded.dlpi_phdr[at];
    if (part.p_type != PT_NOTE)
      continue;
    llvm::StringRef notes(reinterpret_cast<const char *>(loaded.dlpi_addr + part.p_vaddr), part.p_memsz);
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
      const auto &note = *reinterpret_cast<const ElfW(Nhdr) *>(notes.data());
      const size_t name = sizeof(ElfW(Nhdr)), text = name + llvm::alignTo(note.n_namesz, 4);
      if (note.n_type == NT_GNU_BUILD_ID && notes.substr(name, note.n_namesz) == llvm::StringRef("GNU\0", 4))
        return notes.substr(text, note.n_descsz);
      notes = notes.drop_front(std::min(notes.size(), text + llvm::alignTo(note.n_descsz, 4)));
    }
  }
  return "";
}

struct Identity {
  llvm::BLAKE3 hash;
  bool isWhole = true;
};

/// The kernel's own page has no file, and makes no code.
bool isOfKernel(llvm::StringRef file) {
  return file.starts_with("linux-vdso") || file.starts_with("linux-gate");
}

int addLoaded(dl_phdr_info *loaded, size_t, void *to) {
  Identity &identity = *static_cast<Identity *>(to);
  const llvm::StringRef file = loaded->dlpi_name;
  if (isOfKernel(file))
    return 0;
  if (const llvm::StringRef id = buildIdOf(*loaded); !id.empty()) {
    identity.hash.update(id);
    return 0;
  }
  if (auto bytes = llvm::MemoryBuffer::getFile(file.empty() ? "/proc/self/exe" : file))
    identity.hash.update((*bytes)->getBuffer());
  else
    identity.isWhole = false;
  return 0;
}

} // namespace

const std::string &buildIdentity() {
  static const std::string text = [] {
    Identity identity;
    dl_iterate_phdr(addLoaded, &identity);
    return identity.isWhole ? llvm::toHex(identity.hash.final(), /*LowerCase=*/true) : "";
  }();
  return text;
}

} // namespace kedge
