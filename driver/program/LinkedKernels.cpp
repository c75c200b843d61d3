#include "driver/program/LinkedKernels.h"
#include "driver/Plugins.h"
#include "kedge/Dialect/Exec/ExecOps.h"
#include "kedge/Interfaces/LinkedKernelOpInterface.h"
#include "kedge/abi/LinkedKernels.h"
#include "lib/Support/Error.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"

using namespace mlir;

namespace kedge::driver {
namespace {

ObjectFile bytesOf(llvm::StringRef bytes) { return ObjectFile(bytes.begin(), bytes.end()); }

[[noreturn]] void failToRead(const std::string &file, llvm::Error error) {
  fail("{}: the kernels of a plugin cannot be read: {}", file, llvm::toString(std::move(error)));
}

ObjectFiles membersOf(const std::string &file, llvm::MemoryBufferRef buffer) {
  auto archive = llvm::object::Archive::create(buffer);
  if (!archive)
    failToRead(file, archive.takeError());
  ObjectFiles objects;
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child &child : (*archive)->children(error)) {
    auto bytes = child.getBuffer();
    if (!bytes)
      failToRead(file, bytes.takeError());
    objects.push_back(bytesOf(*bytes));
  }
  if (error)
    failToRead(file, std::move(error));
  return objects;
}

} // namespace

void LinkedKernels::add(LinkedKernels other) {
  entries.insert(entries.end(), other.entries.begin(), other.entries.end());
  files.merge(other.files);
}

LinkedKernels linkedKernels(ModuleOp module, const std::string &prefix, const std::string &machine) {
  llvm::SetVector<llvm::StringRef> called;
  for (auto function : module.getOps<exec::FunctionOp>())
    for (auto launch : function.getBody().getOps<exec::LaunchOp>())
      if (launch.getLibrary())
        called.insert(launch.getKernel());
  LinkedKernels made;
  for (llvm::StringRef op : called) {
    auto *kernel = linkedKernelOf(module.getContext(), op);
    if (!kernel)
      continue;
    const std::string file = kernel->kernelFile(machine);
    if (file.empty())
      fail("{}: its plugin has no kernel for {}: it is not available there yet", op.str(),
           machine.empty() ? "this machine" : machine);
    made.entries.push_back({prefix + abi::linkedKernelName(op.str()), kernel->kernelFunction()});
    made.files.insert(file);
  }
  return made;
}

ObjectFiles objectsIn(const std::string &file) {
  auto read = llvm::MemoryBuffer::getFile(file);
  if (!read)
    fail("{}: the kernels of a plugin cannot be read: {}", file, read.getError().message());
  switch (llvm::identify_magic((*read)->getBuffer())) {
  case llvm::file_magic::archive:
    return membersOf(file, **read);
  case llvm::file_magic::elf_relocatable:
  case llvm::file_magic::coff_object:
  case llvm::file_magic::macho_object:
    return {bytesOf((*read)->getBuffer())};
  default:
    fail("{}: kernels of a plugin: expected an object file or an archive", file);
  }
}

std::set<std::string> kernelFilesOf(const std::vector<std::string> &plugins, const std::string &machine) {
  std::set<std::string> files;
  if (plugins.empty())
    return files;
  MLIRContext context(dialectsWith(plugins), MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (auto *kernel = linkedKernelOf(&context, op.getStringRef()))
      files.insert(kernel->kernelFile(machine));
  files.erase("");
  return files;
}

} // namespace kedge::driver
