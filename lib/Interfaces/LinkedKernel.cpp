#include "kedge/Interfaces/LinkedKernelOpInterface.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <dlfcn.h>

using namespace kedge;

LinkedKernelOpInterface::Concept *kedge::linkedKernelOf(mlir::MLIRContext *context, llvm::StringRef op) {
  return mlir::OperationName(op, context).getInterface<LinkedKernelOpInterface>();
}

std::string kedge::fileBeside(const void *anchor, llvm::StringRef name) {
  Dl_info place;
  llvm::SmallString<256> path(dladdr(anchor, &place) != 0 ? place.dli_fname : "");
  llvm::sys::fs::make_absolute(path);
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, name);
  return path.str().str();
}
