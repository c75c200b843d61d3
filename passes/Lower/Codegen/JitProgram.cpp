#include "passes/Lower/Codegen/JitProgram.h"
#include "lib/Support/Error.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

using namespace kedge;
using namespace kedge::lower;

namespace {
template <typename T> T unwrap(llvm::Expected<T> value) {
  if (!value)
    fail("kernels cannot be loaded: {}", llvm::toString(value.takeError()));
  return std::move(*value);
}
void check(llvm::Error error) {
  if (error)
    fail("kernels cannot be loaded: {}", llvm::toString(std::move(error)));
}
} // namespace

JitProgram::JitProgram(std::unique_ptr<llvm::orc::LLJIT> jit) : jit(std::move(jit)) {}
JitProgram::~JitProgram() = default;

std::unique_ptr<JitProgram> JitProgram::create(llvm::ArrayRef<ObjectFile> objects) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto jit = unwrap(llvm::orc::LLJITBuilder().create());
  // libm, memcpy and the like come from this process.
  jit->getMainJITDylib().addGenerator(unwrap(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix())));
  for (const ObjectFile &object : objects)
    check(jit->addObjectFile(
        llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()))));
  return std::unique_ptr<JitProgram>(new JitProgram(std::move(jit)));
}

KedgeKernel JitProgram::lookup(llvm::StringRef name) {
  return unwrap(jit->lookup(name)).toPtr<KedgeKernel>();
}
