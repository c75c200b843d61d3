#include "test/support/GpuOnHost.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"
#include "passes/Lower/Cluster/ScalarOps.h"
#include "passes/Lower/Gpu/DeviceConversions.h"
#include "passes/Lower/Gpu/GpuMath.h"
#include "test/support/GpuMatrices.h"
#include "test/support/GpuThreads.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kedge::test {
namespace {

Type withoutSpace(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::LLVMPointerType::get(type.getContext());
  return type;
}

/// Shared memory of a kernel: where its globals lie in the block's.
using SharedPlaces = llvm::StringMap<int64_t>;

class HostFunction {
public:
  HostFunction(ModuleOp host, mlir::gpu::GPUFuncOp source)
      : source(source), b(OpBuilder::atBlockEnd(host.getBody())), loc(source.getLoc()),
        pointer(LLVM::LLVMPointerType::get(host.getContext())) {}

  void build(const SharedPlaces &shared) {
    Type i64 = b.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
    auto function = LLVM::LLVMFuncOp::create(b, loc, source.getName(), type);
    Block *entry = function.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    thread = LLVM::IntToPtrOp::create(b, loc, pointer, entry->getArgument(1));
    words = LLVM::AllocaOp::create(b, loc, pointer, LLVM::LLVMArrayType::get(b.getI32Type(), 10),
                                   LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(1)), /*alignment=*/8);
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
      rewrite(op, shared);
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
      fail("kernel {}: a shuffle's 'valid', and widths other than 32, are not simulated",
           source.getName().str());
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
    case mlir::gpu::ShuffleMode::XOR:
      return 0;
    case mlir::gpu::ShuffleMode::UP:
      return 1;
    case mlir::gpu::ShuffleMode::DOWN:
      return 2;
    case mlir::gpu::ShuffleMode::IDX:
      return 3;
    }
    llvm_unreachable("shuffle mode");
  }

  Value number(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); }
  Value word(int32_t at) {
    return LLVM::GEPOp::create(b, loc, pointer, b.getI32Type(), words, ArrayRef<LLVM::GEPArg>{at});
  }
  /// What lanes do together: operands go in by words, results come out from word number `from` on.
  Value matrices(MatrixWork work, ValueRange operands, Type result, int32_t from) {
    int32_t at = 0;
    for (Value operand : operands)
      LLVM::StoreOp::create(b, loc, operand, word(at++));
    call(offsetof(GpuThread, matrices), Type(), {number(static_cast<int32_t>(work)), words});
    auto all = dyn_cast<LLVM::LLVMStructType>(result);
    if (!all)
      return LLVM::LoadOp::create(b, loc, result, word(from));
    Value value = LLVM::UndefOp::create(b, loc, result);
    for (auto [part, type] : llvm::enumerate(all.getBody()))
      value = LLVM::InsertValueOp::create(b, loc, value,
                                          LLVM::LoadOp::create(b, loc, type, word(from + part)), part);
    return value;
  }
  Value multiply(NVVM::MmaOp op) {
    auto shape = op.getShape();
    bool isHalf = isa<VectorType>(op.getOperandA()[0].getType());
    if (shape.getM() != 16 || shape.getN() != 8 || shape.getK() != 16 || op.getOperandA().size() != 4 ||
        op.getOperandC().size() != 4)
      fail("kernel {}: only m16n8k16 of 16-bit floats with f32 sums is simulated", source.getName().str());
    return matrices(isHalf ? MatrixWork::MultiplyHalf : MatrixWork::MultiplyBrain, op->getOperands(),
                    op.getRes().getType(), 6);
  }
  Value loadMatrices(NVVM::LdMatrixOp op) {
    bool isTransposed = op.getLayout() == NVVM::MMALayout::col;
    auto work = isTransposed ? MatrixWork::LoadTransposed1 : MatrixWork::Load1;
    int32_t power = op.getNum() == 1 ? 0 : op.getNum() == 2 ? 1 : 2;
    return matrices(static_cast<MatrixWork>(static_cast<int32_t>(work) + power), op.getPtr(),
                    op.getRes().getType(), 0);
  }
  /// cvt.rn: the first operand goes to the upper half.
  Value narrowed(Value upper, Value lower, Type type) {
    lower::ScalarOps ops(b, loc);
    Type element = cast<VectorType>(type).getElementType();
    Value value = LLVM::UndefOp::create(b, loc, type);
    Value parts[] = {lower, upper};
    for (auto [at, part] : llvm::enumerate(parts)) {
      Value bits = LLVM::BitcastOp::create(b, loc, element, ops.narrow(part, element));
      value = LLVM::InsertElementOp::create(b, loc, value, bits, number(at));
    }
    return value;
  }
  Value intrinsic(LLVM::CallIntrinsicOp op) {
    if (op.getIntrin() == "llvm.nvvm.rcp.approx.ftz.f")
      return call(offsetof(GpuThread, reciprocal), b.getF32Type(), op.getArgs());
    if (op.getIntrin() != "llvm.nvvm.ex2.approx.ftz.f32")
      fail("kernel {}: {} is not simulated", source.getName().str(), op.getIntrin().str());
    return call(offsetof(GpuThread, exp2), b.getF32Type(), op.getArgs());
  }

  /// The host's form of an asynchronous copy; false for what is no such.
  bool copy(Operation *op) {
    if (auto begun = dyn_cast<NVVM::CpAsyncOp>(op)) {
      Value bytes = number(begun.getSize()), given = begun.getCpSize() ? begun.getCpSize() : bytes;
      call(offsetof(GpuThread, copy), Type(), {begun.getDst(), begun.getSrc(), bytes, given});
    } else if (isa<NVVM::CpAsyncCommitGroupOp>(op)) {
      call(offsetof(GpuThread, commitCopies), Type(), {});
    } else if (auto waits = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
      call(offsetof(GpuThread, waitForCopies), Type(), number(waits.getN()));
    } else {
      return false;
    }
    return true;
  }

  /// A global of the block is a place in its shared memory; the others are constants, which come along.
  Value placeOf(StringRef name, const SharedPlaces &shared) {
    if (auto found = shared.find(name); found != shared.end())
      return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), field(offsetof(GpuThread, shared), pointer),
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(found->second)});
    return LLVM::AddressOfOp::create(b, loc, pointer, name);
  }

  /// The host's value of a gpu operation with one result; null for what is no such.
  Value hostValue(Operation *op, const SharedPlaces &shared) {
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
    if (auto product = dyn_cast<NVVM::MmaOp>(op))
      return multiply(product);
    if (auto load = dyn_cast<NVVM::LdMatrixOp>(op))
      return loadMatrices(load);
    if (auto pair = dyn_cast<NVVM::ConvertF32x2ToBF16x2Op>(op))
      return narrowed(pair.getSrcHi(), pair.getSrcLo(), pair.getType());
    if (auto pair = dyn_cast<NVVM::ConvertF32x2ToF16x2Op>(op))
      return narrowed(pair.getSrcHi(), pair.getSrcLo(), pair.getType());
    if (auto called = dyn_cast<LLVM::CallIntrinsicOp>(op))
      return intrinsic(called);
    if (auto cast = dyn_cast<LLVM::AddrSpaceCastOp>(op))
      return cast.getArg();
    if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
      return placeOf(address.getGlobalName(), shared);
    return nullptr;
  }

  void rewrite(Operation *op, const SharedPlaces &shared) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(withoutSpace(argument.getType()));
    b.setInsertionPoint(op);
    if (Value value = hostValue(op, shared)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    } else if (copy(op) || isa<NVVM::GriddepcontrolOp>(op)) { // kernels run one after the other
      op->erase();
    } else if (isa<mlir::gpu::BarrierOp>(op)) {
      call(offsetof(GpuThread, barrier), Type(), {});
      op->erase();
    } else if (isa<mlir::gpu::ReturnOp>(op)) {
      LLVM::ReturnOp::create(b, loc, ValueRange());
      op->erase();
    } else if (op->getName().getDialectNamespace() == "gpu" ||
               op->getName().getDialectNamespace() == "nvvm") {
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
  Value words; ///< of this lane, for what the warp does together
};

bool isShared(LLVM::GlobalOp global) { return !global.getConstant(); }

/// Finds places for the shared globals of one kernel, copies its constants into `host`; gives the shared
/// bytes.
int64_t place(mlir::gpu::GPUFuncOp kernel, mlir::gpu::GPUModuleOp module, ModuleOp host,
              SharedPlaces &shared) {
  int64_t bytes = 0;
  auto builder = OpBuilder::atBlockEnd(host.getBody());
  kernel.walk([&](LLVM::AddressOfOp address) {
    auto global = module.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName());
    if (!isShared(global)) {
      if (!host.lookupSymbol(global.getSymName()))
        LLVM::GlobalOp::create(builder, global.getLoc(), global.getGlobalType(), /*isConstant=*/true,
                               LLVM::Linkage::Private, global.getSymName(), global.getValueAttr(),
                               /*alignment=*/16);
      return;
    }
    auto [entry, isNew] = shared.try_emplace(address.getGlobalName(), bytes);
    if (isNew)
      bytes += llvm::alignTo(cast<LLVM::LLVMArrayType>(global.getGlobalType()).getNumElements(), 16);
  });
  return bytes;
}

void addFacts(HostKernel &kernel) {
  auto builder = OpBuilder::atBlockEnd(kernel.module->getBody());
  int64_t facts[] = {kernel.operands, kernel.meets, kernel.sharedBytes};
  auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), std::size(facts));
  LLVM::GlobalOp::create(builder, kernel.module->getLoc(), type, /*isConstant=*/true, LLVM::Linkage::External,
                         kernel.name + "_facts", builder.getI64TensorAttr(facts));
}

HostKernel kernelOnHost(mlir::gpu::GPUFuncOp function, mlir::gpu::GPUModuleOp source) {
  HostKernel kernel;
  kernel.name = function.getName().str();
  kernel.operands = function.getNumArguments();
  kernel.module = ModuleOp::create(source.getLoc());
  SharedPlaces shared;
  kernel.sharedBytes = place(function, source, *kernel.module, shared);
  HostFunction host(*kernel.module, function);
  host.build(shared);
  kernel.meets = host.meets;
  addFacts(kernel);
  return kernel;
}

} // namespace

std::vector<HostKernel> kernelsOnHost(mlir::gpu::GPUModuleOp source) {
  OwningOpRef<mlir::gpu::GPUModuleOp> copy = source.clone();
  if (failed(lower::gpu::lowerMath(*copy)))
    fail("math of GPU kernels is not expanded");
  lower::gpu::lowerConversions(*copy, {});
  std::vector<HostKernel> kernels;
  for (auto function : copy->getOps<mlir::gpu::GPUFuncOp>())
    kernels.push_back(kernelOnHost(function, *copy));
  return kernels;
}

} // namespace kedge::test
