#include "test/support/GpuSimulator.h"
#include "kedge/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/Lower/Codegen.h"
#include "passes/Lower/Gpu/GpuMath.h"
#include "passes/Lower/JitProgram.h"
#include "test/support/GpuThreads.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>
#include <vector>

using namespace mlir;

namespace kedge::test {
namespace {

Type withoutSpace(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::LLVMPointerType::get(type.getContext());
  return type;
}

/// Where the globals of a kernel lie on the host.
struct Globals {
  llvm::StringMap<int64_t> shared;         ///< from the block's shared memory on
  llvm::StringMap<const char *> constants;
};

/// One gpu.func as an llvm.func of type KedgeKernel: the arguments' addresses, then the address of the GpuThread.
class HostFunction {
public:
  HostFunction(ModuleOp host, mlir::gpu::GPUFuncOp source)
      : source(source), b(OpBuilder::atBlockEnd(host.getBody())), loc(source.getLoc()),
        pointer(LLVM::LLVMPointerType::get(host.getContext())) {}

  void build(const Globals &globals) {
    Type i64 = b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
    auto function = LLVM::LLVMFuncOp::create(b, loc, source.getName(), type);
    Block *entry = function.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    thread = LLVM::IntToPtrOp::create(b, loc, pointer, entry->getArgument(1));
    Block &body = source.getBody().front();
    for (BlockArgument argument : body.getArguments()) {
      Value slot = LLVM::GEPOp::create(b, loc, pointer, pointer, entry->getArgument(0),
                                       ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(argument.getArgNumber())});
      argument.replaceAllUsesWith(LLVM::LoadOp::create(b, loc, pointer, slot));
    }
    entry->getOperations().splice(entry->end(), body.getOperations());
    SmallVector<Operation *> operations;
    function.walk([&](Operation *op) { operations.push_back(op); });
    for (Operation *op : operations)
      rewrite(op, globals);
  }
  bool meets = false;

private:
  Value field(size_t offset, Type type) {
    Value at = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), thread,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    return LLVM::LoadOp::create(b, loc, type, at);
  }
  Value index(size_t offset, mlir::gpu::Dimension dim) {
    Value value = field(offset + 8 * static_cast<size_t>(dim), b.getI64Type());
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  }
  Value call(size_t offset, Type result, ValueRange operands) {
    meets = true;
    SmallVector<Value> all{field(offset, pointer), thread};
    all.append(operands.begin(), operands.end());
    SmallVector<Type> types(ValueRange(all).drop_front().getTypes());
    Type returned = result ? result : LLVM::LLVMVoidType::get(b.getContext());
    auto called = LLVM::CallOp::create(b, loc, LLVM::LLVMFunctionType::get(returned, types), all);
    return result ? called.getResult() : Value();
  }
  Value shuffle(mlir::gpu::ShuffleOp op) {
    if (!op.getValid().use_empty() || !matchesWarp(op.getWidth()))
      fail("kernel {}: a shuffle's 'valid', and widths other than 32, are not simulated", source.getName().str());
    Type type = op.getShuffleResult().getType(), word = b.getI32Type();
    Value value = op.getValue();
    if (type.getIntOrFloatBitWidth() != 32)
      fail("kernel {}: only words of 32 bits are shuffled here", source.getName().str());
    value = arith::BitcastOp::create(b, loc, word, value);
    Value mode = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(modeOf(op.getMode())));
    Value result = call(offsetof(GpuThread, shuffle), word, {value, op.getOffset(), mode});
    return arith::BitcastOp::create(b, loc, type, result);
  }
  static bool matchesWarp(Value width) {
    auto constant = width.getDefiningOp<arith::ConstantOp>();
    return constant && cast<IntegerAttr>(constant.getValue()).getInt() == 32;
  }
  static int modeOf(mlir::gpu::ShuffleMode mode) {
    switch (mode) {
    case mlir::gpu::ShuffleMode::XOR: return 0;
    case mlir::gpu::ShuffleMode::UP: return 1;
    case mlir::gpu::ShuffleMode::DOWN: return 2;
    case mlir::gpu::ShuffleMode::IDX: return 3;
    }
    llvm_unreachable("shuffle mode");
  }

  Value placeOf(StringRef name, const Globals &globals) {
    if (const char *constant = globals.constants.lookup(name)) {
      auto place = b.getI64IntegerAttr(reinterpret_cast<int64_t>(constant));
      Value number = LLVM::ConstantOp::create(b, loc, b.getI64Type(), place);
      return LLVM::IntToPtrOp::create(b, loc, pointer, number);
    }
    auto offset = static_cast<int32_t>(globals.shared.lookup(name));
    return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), field(offsetof(GpuThread, shared), pointer),
                               ArrayRef<LLVM::GEPArg>{offset});
  }

  /// The host's value of a gpu operation with one result; null for what is no such.
  Value hostValue(Operation *op, const Globals &globals) {
    if (auto id = dyn_cast<mlir::gpu::ThreadIdOp>(op))
      return index(offsetof(GpuThread, thread), id.getDimension());
    if (auto id = dyn_cast<mlir::gpu::BlockIdOp>(op))
      return index(offsetof(GpuThread, block), id.getDimension());
    if (auto size = dyn_cast<mlir::gpu::BlockDimOp>(op))
      return index(offsetof(GpuThread, blockSize), size.getDimension());
    if (auto size = dyn_cast<mlir::gpu::GridDimOp>(op))
      return index(offsetof(GpuThread, gridSize), size.getDimension());
    if (auto moved = dyn_cast<mlir::gpu::ShuffleOp>(op))
      return shuffle(moved);
    if (auto cast = dyn_cast<LLVM::AddrSpaceCastOp>(op))
      return cast.getArg();
    if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
      return placeOf(address.getGlobalName(), globals);
    return nullptr;
  }

  void rewrite(Operation *op, const Globals &globals) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(withoutSpace(argument.getType()));
    b.setInsertionPoint(op);
    if (Value value = hostValue(op, globals)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    } else if (isa<mlir::gpu::BarrierOp>(op)) {
      call(offsetof(GpuThread, barrier), Type(), {});
      op->erase();
    } else if (isa<mlir::gpu::ReturnOp>(op)) {
      LLVM::ReturnOp::create(b, loc, ValueRange());
      op->erase();
    } else if (op->getName().getDialectNamespace() == "gpu" || op->getName().getDialectNamespace() == "nvvm") {
      fail("kernel {}: {} is not simulated", source.getName().str(), op->getName().getStringRef().str());
    } else {
      for (OpResult result : op->getResults())
        result.setType(withoutSpace(result.getType()));
    }
  }

  mlir::gpu::GPUFuncOp source;
  OpBuilder b;
  Location loc;
  Type pointer;
  Value thread;
};

std::vector<char> bytesOf(LLVM::GlobalOp global) {
  auto values = cast<DenseElementsAttr>(global.getValueAttr());
  ArrayRef<char> raw = values.getRawData();
  std::vector<char> bytes;
  for (int64_t copies = values.isSplat() ? values.getNumElements() : 1; copies > 0; --copies)
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

/// Finds places for the globals of one kernel; gives the bytes of the shared ones. Constants are kept in `constants`.
int64_t place(mlir::gpu::GPUFuncOp kernel, mlir::gpu::GPUModuleOp module, Globals &globals,
              std::deque<std::vector<char>> &constants) {
  int64_t bytes = 0;
  kernel.walk([&](LLVM::AddressOfOp address) {
    auto global = module.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName());
    if (global.getConstant()) {
      auto [entry, isNew] = globals.constants.try_emplace(address.getGlobalName());
      if (isNew)
        entry->second = constants.emplace_back(bytesOf(global)).data();
      return;
    }
    auto [entry, isNew] = globals.shared.try_emplace(address.getGlobalName(), bytes);
    if (isNew)
      bytes += llvm::alignTo(cast<LLVM::LLVMArrayType>(global.getGlobalType()).getNumElements(), 16);
  });
  return bytes;
}

} // namespace

GpuSimulator::GpuSimulator(mlir::gpu::GPUModuleOp source) {
  OwningOpRef<mlir::gpu::GPUModuleOp> module = source.clone();
  if (failed(lower::gpu::lowerMath(*module)))
    fail("math of GPU kernels is not expanded");
  OwningOpRef<ModuleOp> host = ModuleOp::create(source.getLoc());
  for (auto kernel : module->getOps<mlir::gpu::GPUFuncOp>()) {
    Globals globals;
    Kernel facts;
    facts.sharedBytes = place(kernel, *module, globals, constants);
    HostFunction function(*host, kernel);
    function.build(globals);
    facts.meets = function.meets;
    kernels[kernel.getName().str()] = facts;
  }
  if (kernels.empty())
    return;
  auto objects = lower::compileKernels(*host, lower::KernelTarget::host(), 1);
  if (failed(objects))
    fail("GPU kernels are not compiled for the host");
  program = lower::JitProgram::create(*objects);
}

GpuSimulator::~GpuSimulator() = default;

void GpuSimulator::run(const lower::gpu::LaunchCode &code, llvm::ArrayRef<char *> tensors, char *workspace) {
  for (const lower::gpu::KernelLaunch &launch : code.kernels) {
    const Kernel &facts = kernels.at(launch.name);
    KedgeKernel kernel = program->lookup(launch.name);
    std::vector<char *> arguments;
    for (const auto &operand : launch.operands)
      arguments.push_back(operand.kind == lower::gpu::KernelLaunch::Operand::Tensor ? tensors[operand.value]
                                                                                    : workspace + operand.value);
    std::vector<int64_t> blocks(launch.grid[0] * launch.grid[1] * launch.grid[2]);
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), random);
    GpuBlock block(random);
    for (int64_t place : blocks) {
      std::vector<std::max_align_t> shared(facts.sharedBytes / sizeof(std::max_align_t) + 1);
      std::fill_n(reinterpret_cast<char *>(shared.data()), facts.sharedBytes, char(0xff));
      GpuThread pattern{};
      pattern.block = {place % launch.grid[0], place / launch.grid[0] % launch.grid[1],
                       place / launch.grid[0] / launch.grid[1]};
      pattern.blockSize = launch.block;
      pattern.gridSize = launch.grid;
      pattern.shared = reinterpret_cast<char *>(shared.data());
      try {
        block.run(pattern, facts.meets,
                  [&](GpuThread *thread) { kernel(arguments.data(), reinterpret_cast<int64_t>(thread), 0); });
      } catch (const Error &error) {
        fail("kernel {}: {}", launch.name, error.what());
      }
    }
  }
}

} // namespace kedge::test
