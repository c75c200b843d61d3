#include "lib/Support/TemporaryFolder.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <tuple>

namespace fs = llvm::sys::fs;

namespace kedge {

static std::string unusedName(const std::string &prefix) {
  llvm::SmallString<128> name;
  fs::createUniquePath(prefix + "-%%%%%%%%%%%%", name, /*MakeAbsolute=*/true);
  return name.str().str();
}

// Noted before it is made: a signal that comes between removes it.
TemporaryFolder::TemporaryFolder(const std::string &prefix)
    : place(unusedName(prefix)), noted(place.string()) {
  if (const std::error_code error =
          fs::create_directory(place.string(), /*IgnoreExisting=*/false, fs::owner_all))
    fail("{}: no temporary folder can be made: {}; TMPDIR names a folder for it", place.string(),
         error.message());
}

TemporaryFolder::~TemporaryFolder() { std::ignore = fs::remove_directories(place.string()); }

} // namespace kedge
