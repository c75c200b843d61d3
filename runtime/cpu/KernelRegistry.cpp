#include "runtime/calls/LibraryKernel.h"
#include "runtime/cpu/Kernels.h"
#include "runtime/io/Error.h"
#include <map>
#include <mutex>

namespace kedge::rt {
using namespace calls;

namespace {

using Registry = std::map<std::string, KernelFactory, std::less<>>;

Registry &registry() {
  static Registry kernels;
  return kernels;
}

const Registry &filledRegistry() {
  static std::once_flag once;
  std::call_once(once, registerCpuKernels);
  return registry();
}

} // namespace

void calls::registerKernel(const std::string &name, KernelFactory factory) {
  registry()[name] = std::move(factory);
}

bool calls::hasKernel(const std::string &name) { return filledRegistry().contains(name); }

std::unique_ptr<LibraryKernel> calls::makeKernel(const LibraryCall &call, int threads) {
  const Registry &kernels = filledRegistry();
  auto found = kernels.find(call.name);
  if (found == kernels.end())
    fail("no library kernel '{}' in this runtime: docs/library-kernels.md lists the ones there are",
         call.name);
  if (threads < 1)
    fail("{}: made for {} threads, expected at least 1", call.name, threads);
  return found->second(call, threads);
}

} // namespace kedge::rt
