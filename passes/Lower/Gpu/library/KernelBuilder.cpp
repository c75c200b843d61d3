#include "passes/Lower/Gpu/library/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Lower/Gpu/GpuKernels.h"
#include "passes/Lower/Gpu/GpuMemory.h"

using namespace mlir;
using namespace kedge::lower::gpu;

Type kedge::lower::gpu::computeTypeOf(Type element) {
  bool isShort = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isShort ? Float32Type::get(element.getContext()) : element;
}

KernelBuilder::KernelBuilder(OpBuilder &builder, mlir::gpu::GPUFuncOp kernel, bool wide)
    : b(builder), loc(kernel.getLoc()), scalars(b, loc, Conversions::Device),
      indexType(builder.getIntegerType(wide ? 64 : 32)), kernel(kernel) {
  auto place = [&](Value index) { return Num(*this, arith::IndexCastOp::create(b, loc, indexType, index)); };
  threadX = place(mlir::gpu::ThreadIdOp::create(b, loc, mlir::gpu::Dimension::x));
  blockX = place(mlir::gpu::BlockIdOp::create(b, loc, mlir::gpu::Dimension::x));
}

void KernelBuilder::residentBlocks(int64_t count) {
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(static_cast<int32_t>(count)));
}

Num KernelBuilder::index(int64_t value) {
  return {*this, arith::ConstantOp::create(b, loc, b.getIntegerAttr(indexType, value))};
}
Num KernelBuilder::f32(double value) {
  return {*this, arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)))};
}

Num KernelBuilder::asIndex(Num value) { return convert(value, indexType); }

Num KernelBuilder::convert(Num value, Type to) {
  Type from = value.type();
  if (from == to)
    return value;
  if (isa<IntegerType>(from) && isa<IntegerType>(to)) {
    if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
      return {*this, b.createOrFold<arith::TruncIOp>(loc, to, value.value)};
    if (from.isInteger(1))
      return {*this, b.createOrFold<arith::ExtUIOp>(loc, to, value.value)};
    return {*this, b.createOrFold<arith::ExtSIOp>(loc, to, value.value)};
  }
  if (isa<IntegerType>(from))
    return {*this, b.createOrFold<arith::SIToFPOp>(loc, to, value.value)};
  if (isa<IntegerType>(to))
    return {*this, b.createOrFold<arith::FPToSIOp>(loc, to, value.value)};
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return {*this, b.createOrFold<arith::ExtFOp>(loc, to, value.value)};
  return {*this, b.createOrFold<arith::TruncFOp>(loc, to, value.value)};
}

Num KernelBuilder::exp2(Num x) {
  // 2^round(x) times a polynomial of the rest, as runtime/cpu/attention/AttentionRows.isa.cpp.
  Num isTiny = x < -126.0;
  Num clamped = select(isTiny, f32(-126), x); // a NaN stays one
  clamped = select(clamped > 127.0, f32(127), clamped);
  constexpr double kMagic = 12582912;
  Num shifted = clamped + kMagic, rest = clamped - (shifted - kMagic);
  Num p = f32(1.5252733804e-5);
  for (double next : {1.5403530393e-4, 1.3333558146e-3, 9.6181291076e-3, 5.5504108665e-2, 2.4022650696e-1,
                      6.9314718056e-1, 1.0})
    p = fma(p, rest, f32(next));
  Type i32 = b.getI32Type();
  auto bits = [&](Num v) { return Num(*this, arith::BitcastOp::create(b, loc, i32, v.value)); };
  Num exponent = bits(shifted) - int64_t(0x4b400000);
  exponent = {*this, arith::ShLIOp::create(b, loc, exponent.value, literal(exponent, int64_t(23)).value)};
  Num result{*this, arith::BitcastOp::create(b, loc, b.getF32Type(), (bits(p) + exponent).value)};
  return select(isTiny, f32(0), result);
}

Num KernelBuilder::log(Num x) { return {*this, math::LogOp::create(b, loc, x.value)}; }

Memory KernelBuilder::shifted(KernelBuilder &k, Memory from, Num elements) {
  return {k.address(from, elements), from.element, from.compute};
}

Value KernelBuilder::address(Memory memory, Num at) {
  return LLVM::GEPOp::create(b, loc, memory.pointer.getType(), memory.element, memory.pointer,
                             ArrayRef<LLVM::GEPArg>{at.value});
}

Num KernelBuilder::load(Memory from, Num at, unsigned width) {
  Value value = gpuMemory(scalars, from.element).load(address(from, at), width);
  return {*this, from.compute == from.element ? value : scalars.widen(value, from.element)};
}

void KernelBuilder::store(Memory to, Num at, Num value) {
  Value stored = to.compute == to.element ? value.value : scalars.narrow(value.value, to.element);
  gpuMemory(scalars, to.element).store(address(to, at), stored);
}

Memory KernelBuilder::shared(Type element, int64_t count, int64_t alignment) {
  int64_t bytes = (count * element.getIntOrFloatBitWidth() / 8 + 15) / 16 * 16;
  return {sharedMemory(b, kernel, bytes, alignment), element};
}

Memory KernelBuilder::constantData(ElementsAttr values, Type element, int64_t count) {
  auto module = kernel->getParentOfType<mlir::gpu::GPUModuleOp>();
  std::string name;
  for (unsigned number = 0; name.empty() || module.lookupSymbol(name); ++number)
    name = kernel.getName().str() + "_table" + std::to_string(number);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(kernel);
  auto type = LLVM::LLVMArrayType::get(element, count);
  auto global =
      LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, values,
                             /*alignment=*/16, /*addrSpace=*/1);
  b.setInsertionPointToStart(&kernel.getBody().front());
  return {LLVM::AddressOfOp::create(b, loc, global), element};
}
Memory KernelBuilder::constants(ArrayRef<int32_t> values) {
  return constantData(b.getI32TensorAttr(values), b.getI32Type(), values.size());
}
Memory KernelBuilder::constants(ArrayRef<int64_t> values) {
  return constantData(b.getI64TensorAttr(values), b.getI64Type(), values.size());
}
Memory KernelBuilder::constants(ArrayRef<float> values) {
  auto type = RankedTensorType::get({int64_t(values.size())}, b.getF32Type());
  return constantData(DenseElementsAttr::get(type, values), b.getF32Type(), values.size());
}

Num KernelBuilder::lane(Num vector, unsigned at) {
  if (!isa<VectorType>(vector.type()))
    return vector;
  return {*this, vector::ExtractOp::create(b, loc, vector.value, int64_t(at))};
}

Num KernelBuilder::vector(ArrayRef<Num> lanes) {
  if (lanes.size() == 1)
    return lanes[0];
  SmallVector<Value> values;
  for (Num lane : lanes)
    values.push_back(lane.value);
  auto type = VectorType::get({int64_t(lanes.size())}, lanes[0].type());
  return {*this, vector::FromElementsOp::create(b, loc, type, values)};
}

Num KernelBuilder::zeros(Type scalar, unsigned width) {
  Type type = width == 1 ? scalar : VectorType::get({int64_t(width)}, scalar);
  return {*this, arith::ConstantOp::create(b, loc, b.getZeroAttr(type))};
}

void KernelBuilder::loop(Num from, Num to, Num step, Fn<void(Num)> body) {
  loop(from, to, step, {}, [&](Num at, Nums) {
    body(at);
    return Nums();
  });
}

namespace {
SmallVector<Value> bareValues(const Nums &nums) {
  SmallVector<Value> values;
  for (const Num &num : nums)
    values.push_back(num.value);
  return values;
}
Nums numsOf(KernelBuilder &kernel, ValueRange values) {
  Nums nums;
  for (Value value : values)
    nums.emplace_back(kernel, value);
  return nums;
}
} // namespace

Nums KernelBuilder::loop(Num from, Num to, Num step, Nums carried, Fn<Nums(Num, Nums)> body) {
  auto loop = scf::ForOp::create(b, loc, from.value, to.value, step.value, bareValues(carried));
  OpBuilder::InsertionGuard guard(b);
  Block *block = loop.getBody();
  if (!block->empty())
    block->getTerminator()->erase();
  b.setInsertionPointToStart(block);
  Nums next = body({*this, loop.getInductionVar()}, numsOf(*this, loop.getRegionIterArgs()));
  scf::YieldOp::create(b, loc, bareValues(next));
  return numsOf(*this, loop.getResults());
}

void KernelBuilder::when(Num condition, Fn<void()> body) {
  if (auto known = condition.constant(); known && *known != 0)
    return body();
  auto branch = scf::IfOp::create(b, loc, condition.value, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

Nums KernelBuilder::choose(Num condition, Fn<Nums()> yes, Fn<Nums()> no) {
  if (auto known = condition.constant())
    return *known != 0 ? yes() : no();
  // The result types are known only after the first branch is written.
  auto draft = scf::IfOp::create(b, loc, condition.value, true);
  Nums results;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(draft.thenBlock());
  results = yes();
  SmallVector<Type> types;
  for (Num result : results)
    types.push_back(result.type());
  b.setInsertionPoint(draft);
  auto branch = scf::IfOp::create(b, loc, types, condition.value, true);
  draft.thenBlock()->getTerminator()->erase();
  branch.thenBlock()->getOperations().splice(branch.thenBlock()->begin(), draft.thenBlock()->getOperations());
  draft.erase();
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, loc, bareValues(results));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, bareValues(no()));
  return numsOf(*this, branch.getResults());
}

void KernelBuilder::trapUnless(Num condition) {
  when(!condition, [&] { LLVM::Trap::create(b, loc); });
}

void KernelBuilder::barrier() { mlir::gpu::BarrierOp::create(b, loc); }

Num KernelBuilder::shuffleXor(Num value, unsigned distance) {
  Value offset = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(distance));
  Value width = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(32));
  auto shuffle =
      mlir::gpu::ShuffleOp::create(b, loc, value.value, offset, width, mlir::gpu::ShuffleMode::XOR);
  return {*this, shuffle.getShuffleResult()};
}
Num KernelBuilder::shuffleFrom(Num value, Num lane) {
  Value width = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(32));
  auto shuffle = mlir::gpu::ShuffleOp::create(b, loc, value.value, convert(lane, b.getI32Type()).value, width,
                                              mlir::gpu::ShuffleMode::IDX);
  return {*this, shuffle.getShuffleResult()};
}

Num KernelBuilder::reduceLanes(Num value, unsigned lanes, Fn<Num(Num, Num)> combine) {
  for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
    value = combine(value, shuffleXor(value, distance));
  return value;
}

Nums KernelBuilder::split(Num flat, ArrayRef<int64_t> sizes) {
  Nums indices(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    bool isFirst = llvm::all_of(sizes.take_front(d), [](int64_t size) { return size == 1; });
    indices[d] = sizes[d] == 1 ? index(0) : isFirst ? flat : flat % sizes[d];
    if (!isFirst && sizes[d] != 1)
      flat = flat / sizes[d];
  }
  return indices;
}

Num KernelBuilder::dot(ArrayRef<Num> indices, ArrayRef<int64_t> strides) {
  Num sum = index(0);
  for (auto [at, stride] : llvm::zip_equal(indices, strides))
    sum = sum + at * stride;
  return sum;
}
