#include "passes/Lower/Codegen/CodegenInternal.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace kedge;
using namespace kedge::lower;

namespace {

class ImageBuilder {
public:
  ImageBuilder(llvm::Module &module) : module(module), context(module.getContext()) {}

  llvm::GlobalVariable *constant(llvm::StringRef name, llvm::Constant *value, unsigned align) {
    auto *global = new llvm::GlobalVariable(module, value->getType(), true,
                                            llvm::GlobalValue::ExternalLinkage, value, name);
    global->setAlignment(llvm::Align(align));
    return global;
  }
  void bytes(llvm::StringRef name, llvm::StringRef text, unsigned align) {
    constant(name, llvm::ConstantDataArray::getString(context, text, false), align);
    count((name + "_size").str(), text.size());
  }
  void count(llvm::StringRef name, uint64_t value) {
    constant(name, llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value), 8);
  }
  void kernels(llvm::ArrayRef<KernelEntry> list) {
    auto *pointer = llvm::PointerType::get(context, 0);
    auto *i64 = llvm::Type::getInt64Ty(context);
    auto *kernel = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i64, i64}, false);
    auto *entry = llvm::StructType::get(context, {pointer, pointer});
    llvm::SmallVector<llvm::Constant *> entries;
    for (const auto &[name, function] : list) {
      auto *text = new llvm::GlobalVariable(
          module, llvm::ArrayType::get(llvm::Type::getInt8Ty(context), name.size() + 1), true,
          llvm::GlobalValue::PrivateLinkage, llvm::ConstantDataArray::getString(context, name), "name");
      entries.push_back(llvm::ConstantStruct::get(
          entry,
          {text, llvm::cast<llvm::Constant>(module.getOrInsertFunction(function, kernel).getCallee())}));
    }
    constant("kedge_kernels", llvm::ConstantArray::get(llvm::ArrayType::get(entry, entries.size()), entries),
             8);
    count("kedge_kernel_count", list.size());
  }
  void registrations(llvm::ArrayRef<std::string> functions) {
    auto *pointer = llvm::PointerType::get(context, 0);
    auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
    llvm::SmallVector<llvm::Constant *> entries;
    for (const std::string &function : functions)
      entries.push_back(llvm::cast<llvm::Constant>(module.getOrInsertFunction(function, type).getCallee()));
    entries.push_back(llvm::ConstantPointerNull::get(pointer));
    constant("kedge_library_kernels",
             llvm::ConstantArray::get(llvm::ArrayType::get(pointer, entries.size()), entries), 8);
  }

private:
  llvm::Module &module;
  llvm::LLVMContext &context;
};

} // namespace

ObjectFile kedge::lower::emitProgramImage(llvm::StringRef json, llvm::ArrayRef<char> data,
                                          const ProgramTables &tables, const KernelTarget &target) {
  llvm::LLVMContext context;
  llvm::Module module("program", context);
  auto machine = codegen::createTargetMachine(target, 0);
  codegen::prepareModule(module, *machine);
  module.setPICLevel(llvm::PICLevel::BigPIC);
  ImageBuilder image(module);
  image.bytes("kedge_program_json", json, 8);
  image.bytes("kedge_program_data", llvm::StringRef(data.data(), data.size()), 64);
  std::vector<KernelEntry> entries;
  for (const std::string &name : tables.kernels)
    entries.push_back({name, name});
  llvm::append_range(entries, tables.linked);
  image.kernels(entries);
  image.registrations(tables.registrations);
  return codegen::emitObject(module, *machine);
}
