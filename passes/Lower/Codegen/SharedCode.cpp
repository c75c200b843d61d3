#include "passes/Lower/Codegen/SharedCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Lower/Codegen/KernelUnits.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace kedge::lower {
namespace {
using namespace mlir;

using Numbers = SmallVector<int64_t>;

/// A kernel, and the constants in it that another of the same shape may have otherwise.
struct Kernel {
  LLVM::LLVMFuncOp function;
  SmallVector<arith::ConstantOp> constants;

  Numbers numbers() const {
    return llvm::map_to_vector(constants, [](arith::ConstantOp constant) {
      return cast<IntegerAttr>(constant.getValue()).getInt();
    });
  }
};

using Kernels = SmallVector<Kernel>;

/// Whether the code uses no symbol: what it calls or reads would have to be compared, too.
bool standsAlone(LLVM::LLVMFuncOp kernel) {
  return !kernel.isExternal() && !kernel
                                      .walk([&](Operation *op) {
                                        return op != kernel && isa<SymbolUserOpInterface, CallOpInterface>(op)
                                                   ? WalkResult::interrupt()
                                                   : WalkResult::advance();
                                      })
                                      .wasInterrupted();
}

/// Where the kernels' numbers differ: a column for each constant, the same for constants that are the same
/// number in every kernel.
class Columns {
public:
  explicit Columns(ArrayRef<Kernel> kernels) {
    const auto rows = llvm::map_to_vector(kernels, [](const Kernel &kernel) { return kernel.numbers(); });
    for (size_t at = 0; at < rows.front().size(); ++at) {
      const Numbers column = llvm::map_to_vector(rows, [&](const Numbers &row) { return row[at]; });
      places.push_back(llvm::all_equal(column)
                           ? std::nullopt
                           : std::optional(distinct.try_emplace(column, distinct.size()).first->second));
    }
  }

  size_t count() const { return distinct.size(); }
  /// The column of a constant; none: all kernels have it alike.
  std::optional<size_t> of(size_t constant) const { return places[constant]; }
  Numbers rowOf(size_t kernel) const {
    Numbers row(count());
    for (const auto &[column, place] : distinct)
      row[place] = column[kernel];
    return row;
  }

private:
  std::map<Numbers, size_t> distinct;
  SmallVector<std::optional<size_t>> places;
};

/// The code of `kernel` with the columns' numbers from a table, its last argument.
LLVM::LLVMFuncOp makeShared(Kernel &kernel, const Columns &columns) {
  LLVM::LLVMFuncOp shared = kernel.function;
  OpBuilder b(shared);
  const auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  SmallVector<Type> types(shared.getArgumentTypes());
  types.push_back(pointer);
  // insertArgument() does not know functions without a result.
  const unsigned count = shared.getNumArguments();
  function_interface_impl::insertFunctionArguments(
      shared, count, pointer, DictionaryAttr(), shared.getLoc(), count,
      LLVM::LLVMFunctionType::get(shared.getFunctionType().getReturnType(), types));
  Value table = shared.getArguments().back();
  b.setInsertionPointToStart(&shared.getBody().front());
  SmallVector<Value> loaded;
  for (size_t at = 0; at < columns.count(); ++at) {
    Value place = LLVM::GEPOp::create(b, shared.getLoc(), pointer, b.getI64Type(), table,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(at)});
    auto load = LLVM::LoadOp::create(b, shared.getLoc(), b.getI64Type(), place, /*alignment=*/8);
    load.setInvariant(true);
    loaded.push_back(load);
  }
  for (auto [at, constant] : llvm::enumerate(kernel.constants))
    if (auto column = columns.of(at)) {
      constant.replaceAllUsesWith(loaded[*column]);
      constant.erase();
    }
  return shared;
}

/// Makes the kernel a call of `shared` with its own numbers.
void makeCall(LLVM::LLVMFuncOp kernel, LLVM::LLVMFuncOp shared, ArrayRef<int64_t> numbers) {
  OpBuilder b(kernel);
  const Location loc = kernel.getLoc();
  auto type = LLVM::LLVMArrayType::get(b.getI64Type(), numbers.size());
  auto table = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Private,
                                      (kernel.getName() + "_numbers").str(), b.getI64TensorAttr(numbers),
                                      /*alignment=*/8);
  kernel.eraseBody();
  Block *body = kernel.addEntryBlock(b);
  b.setInsertionPointToStart(body);
  SmallVector<Value> operands(body->getArguments());
  operands.push_back(LLVM::AddressOfOp::create(b, loc, table));
  LLVM::CallOp::create(b, loc, shared, operands);
  LLVM::ReturnOp::create(b, loc, ValueRange());
}

/// Gives kernels of one shape one code, where their numbers differ: equal kernels are one object anyway.
bool share(MutableArrayRef<Kernel> kernels) {
  const Columns columns(kernels);
  if (columns.count() == 0)
    return false;
  Kernel &first = kernels.front();
  OpBuilder b(first.function);
  // The first kernel's function becomes the shared one, so that its constants stay where they are.
  LLVM::LLVMFuncOp heir = cast<LLVM::LLVMFuncOp>(b.cloneWithoutRegions(first.function));
  const std::string name = first.function.getName().str();
  LLVM::LLVMFuncOp shared = makeShared(first, columns);
  shared.setName(name + "_shared");
  shared.setLinkage(LLVM::Linkage::Private);
  // Neither a copy in each caller nor one for each table of numbers.
  shared.setNoInline(true);
  shared.setPassthroughAttr(b.getStrArrayAttr({"noduplicate"}));
  first.function = heir;
  for (auto [at, kernel] : llvm::enumerate(kernels))
    makeCall(kernel.function, shared, columns.rowOf(at));
  return true;
}

} // namespace

SharedCode shareCode(ModuleOp kernels) {
  llvm::MapVector<std::string, Kernels, std::map<std::string, unsigned>> byShape;
  codegen::CodeKeys keys(CacheKey{});
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>())
    if (standsAlone(function)) {
      Kernel kernel{function, {}};
      const std::string shape = keys.shapeOf(function, kernel.constants);
      byShape[shape].push_back(std::move(kernel));
    }
  SharedCode made;
  for (auto &[shape, group] : byShape)
    if (group.size() > 1 && share(group)) {
      made.kernels += static_cast<int64_t>(group.size());
      ++made.functions;
    }
  return made;
}

} // namespace kedge::lower
