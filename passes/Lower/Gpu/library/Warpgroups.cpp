// Most of this is inline PTX: MLIR's ops have no product with a left operand in registers, and its waits are
// loops with labels.
#include "passes/Lower/Gpu/library/Warpgroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace {

/// Text with $0, $1, ... for results, then operands.
LLVM::InlineAsmOp inlinePtx(KernelBuilder &k, Type result, ValueRange operands, StringRef text,
                            StringRef constraints) {
  return LLVM::InlineAsmOp::create(k.b, k.loc, result, operands, text,
                                   (constraints + (constraints.empty() ? "" : ",") + "~{memory}").str(),
                                   /*has_side_effects=*/true, /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr());
}

Value i32(KernelBuilder &k, int64_t value) {
  return LLVM::ConstantOp::create(k.b, k.loc, k.b.getI32Type(), k.b.getI32IntegerAttr(value));
}
Value i64(KernelBuilder &k, int64_t value) {
  return LLVM::ConstantOp::create(k.b, k.loc, k.b.getI64Type(), k.b.getI64IntegerAttr(value));
}
Value flag(KernelBuilder &k, bool value) {
  return LLVM::ConstantOp::create(k.b, k.loc, k.b.getI1Type(), k.b.getBoolAttr(value));
}
Value asI32(KernelBuilder &k, Num value) { return k.convert(value, k.b.getI32Type()).value; }
Value sharedAddress(KernelBuilder &k, Memory memory) {
  return LLVM::PtrToIntOp::create(k.b, k.loc, k.b.getI32Type(), memory.pointer);
}
Value genericAddress(KernelBuilder &k, Memory memory) {
  return LLVM::AddrSpaceCastOp::create(k.b, k.loc, LLVM::LLVMPointerType::get(k.b.getContext()),
                                       memory.pointer);
}

/// Of a matrix with rows of 128 bytes whose chunks are exchanged. `leading`: bytes between slabs.
Value descriptor(KernelBuilder &k, Memory memory, int64_t leading) {
  constexpr int64_t kExchanged128 = int64_t(1) << 62, kEightRows = 8 * 128 / 16;
  Value chunk = LLVM::LShrOp::create(k.b, k.loc, sharedAddress(k, memory), i32(k, 4));
  Value wide = LLVM::ZExtOp::create(k.b, k.loc, k.b.getI64Type(), chunk);
  return LLVM::AddOp::create(k.b, k.loc, wide, i64(k, kExchanged128 | kEightRows << 32 | leading / 16 << 16));
}

/// Constraints of operands of one kind, in front of which there are others.
void addConstraints(std::string &list, StringRef kind, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    list += (list.empty() ? "" : ",") + kind.str();
}

/// "{$from, $from+1, ...}"
std::string registers(int64_t from, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += (i == 0 ? "{$" : ", $") + std::to_string(from + i);
  return text + "}";
}

LLVM::LLVMStructType structOf(KernelBuilder &k, int64_t count) {
  return LLVM::LLVMStructType::getLiteral(k.b.getContext(), SmallVector<Type>(count, k.b.getF32Type()));
}

Nums partsOf(KernelBuilder &k, LLVM::InlineAsmOp made, int64_t count) {
  Nums parts;
  for (int64_t i = 0; i < count; ++i)
    parts.emplace_back(k, LLVM::ExtractValueOp::create(k.b, k.loc, made.getResult(0), i));
  return parts;
}

/// The number, as Pieces count, of what each register of a product holds.
SmallVector<int64_t> registerOrder(int64_t width) {
  Pieces pieces{1, width / 8};
  SmallVector<int64_t> order;
  for (int64_t j = 0; j < pieces.columnTiles; ++j)
    for (int64_t e = 0; e < 4; ++e)
      order.push_back(pieces.number(0, j, e));
  return order;
}

struct Right {
  Value descriptor;
  Fn<int64_t(int64_t)> offset; ///< bytes, of a step
  bool isTransposed;
};

/// One wgmma after the other, on the same sums; without sums, the first one's are 0. In one piece of text, so
/// that nothing moves what the tensor cores write.
Nums beginMatmuls(KernelBuilder &k, Type type, int64_t width, LeftWords left, const Right &right,
                  int64_t steps, const Nums &sums) {
  int64_t results = width / 2, words = results + static_cast<int64_t>(sums.size()),
          places = words + 4 * steps;
  SmallVector<Value> operands;
  std::string constraints;
  addConstraints(constraints, "=&f", results);
  SmallVector<int64_t> order = registerOrder(width);
  for (int64_t at = 0; !sums.empty() && at < results; ++at) {
    operands.push_back(sums[order[at]].value);
    constraints += "," + std::to_string(at);
  }
  for (int64_t step = 0; step < steps; ++step)
    for (const Num &word : left(0, step))
      operands.push_back(word.value);
  addConstraints(constraints, "r", 4 * steps);
  for (int64_t step = 0; step < steps; ++step)
    operands.push_back(LLVM::AddOp::create(k.b, k.loc, right.descriptor, i64(k, right.offset(step) / 16)));
  addConstraints(constraints, "l", steps);
  operands.append({flag(k, !sums.empty()), flag(k, true)});
  addConstraints(constraints, "b", 2);
  StringRef element = type.isBF16() ? "bf16" : "f16";
  std::string text = "wgmma.fence.sync.aligned;\n";
  for (int64_t step = 0; step < steps; ++step)
    text += llvm::formatv(
                "wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} {2}, {3}, ${4}, ${5}, 1, 1, {6};\n",
                width, element, registers(0, results), registers(words + 4 * step, 4), places + step,
                places + steps + (step > 0), right.isTransposed ? 1 : 0)
                .str();
  text += "wgmma.commit_group.sync.aligned;";
  Nums parts = partsOf(k, inlinePtx(k, structOf(k, results), operands, text, constraints), results);
  Nums ordered(results);
  for (int64_t at = 0; at < results; ++at)
    ordered[order[at]] = parts[at];
  return ordered;
}

} // namespace

Arrivals::Arrivals(KernelBuilder &k, ArrayRef<int64_t> counts)
    : k(k), memory(k.shared(k.b.getI64Type(), static_cast<int64_t>(counts.size()))) {
  k.when(k.thread() == 0, [&] {
    for (auto [number, count] : llvm::enumerate(counts))
      inlinePtx(k, Type(), {address(k.index(static_cast<int64_t>(number))), i32(k, count)},
                "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r");
    // The copy engine is to see them, too.
    NVVM::FenceMbarrierInitOp::create(k.b, k.loc);
    NVVM::FenceProxyOp::create(k.b, k.loc, NVVM::ProxyKind::async_shared,
                               NVVM::SharedSpaceAttr::get(k.b.getContext(), NVVM::SharedSpace::shared_cta));
  });
  k.barrier();
}

Value Arrivals::address(Num number) const { return sharedAddress(k, k.shifted(memory, number)); }

void Arrivals::arrive(Num number) const {
  inlinePtx(k, Type(), address(number), "mbarrier.arrive.shared::cta.b64 _, [$0];", "r");
}

void Arrivals::expect(Num number, int64_t bytes) const {
  inlinePtx(k, Type(), {address(number), i32(k, bytes)},
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r");
}

void Arrivals::wait(Num number, Num parity) const {
  Value at = address(number), bit = asI32(k, parity);
  auto loop = scf::WhileOp::create(k.b, k.loc, TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(k.b);
  k.b.createBlock(&loop.getBefore());
  auto done = inlinePtx(k, k.b.getI1Type(), {at, bit},
                        "mbarrier.try_wait.parity.shared::cta.b64 $0, [$1], $2;", "=b,r,r");
  Value again = arith::XOrIOp::create(k.b, k.loc, done.getResult(0), flag(k, true));
  scf::ConditionOp::create(k.b, k.loc, again, ValueRange());
  k.b.createBlock(&loop.getAfter());
  scf::YieldOp::create(k.b, k.loc);
}

void kedge::lower::gpu::acquireMap(KernelBuilder &k, Memory map) {
  NVVM::FenceProxyAcquireOp::create(k.b, k.loc, NVVM::MemScopeKind::SYS, genericAddress(k, map), i32(k, 128));
}

void kedge::lower::gpu::bringBox(KernelBuilder &k, Memory map, ArrayRef<Num> coordinates, Memory to,
                                 const Arrivals &arrivals, Num barrier) {
  SmallVector<Value> operands{sharedAddress(k, to), genericAddress(k, map), arrivals.address(barrier)};
  std::string constraints = "r,l,r";
  for (Num coordinate : coordinates)
    operands.push_back(asI32(k, coordinate));
  auto count = static_cast<int64_t>(coordinates.size());
  addConstraints(constraints, "r", count);
  inlinePtx(
      k, Type(), operands,
      llvm::formatv("cp.async.bulk.tensor.{0}d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], "
                    "[$1, {1}], [$2];",
                    count, registers(3, count))
          .str(),
      constraints);
}

Nums kedge::lower::gpu::beginMatmulByRows(KernelBuilder &k, Type type, LeftWords left,
                                          const SlabMatrix &right, Num shift, int64_t steps) {
  int64_t slab = right.rows * 128;
  auto offset = [&](int64_t step) { return step / 4 * slab + step % 4 * 32; };
  return beginMatmuls(k, type, right.rows, left,
                      {descriptor(k, k.shifted(right.memory, shift), 16), offset, false}, steps, {});
}

Nums kedge::lower::gpu::beginMatmulByColumns(KernelBuilder &k, Type type, LeftWords left,
                                             const SlabMatrix &right, Num shift, int64_t steps,
                                             const Nums &sums) {
  auto offset = [&](int64_t step) { return step * 16 * 128; };
  return beginMatmuls(k, type, right.slabs * kSlabColumns, left,
                      {descriptor(k, k.shifted(right.memory, shift), right.rows * 128), offset, true}, steps,
                      sums);
}

Nums kedge::lower::gpu::waitForProducts(KernelBuilder &k, const Nums &sums) {
  auto count = static_cast<int64_t>(sums.size());
  SmallVector<Value> operands;
  std::string constraints;
  addConstraints(constraints, "=f", count);
  for (auto [at, sum] : llvm::enumerate(sums)) {
    operands.push_back(sum.value);
    constraints += "," + std::to_string(at);
  }
  return partsOf(
      k, inlinePtx(k, structOf(k, count), operands, "wgmma.wait_group.sync.aligned 0;", constraints), count);
}

void kedge::lower::gpu::keepRegisters(KernelBuilder &k, int64_t count, bool more) {
  NVVM::SetMaxRegisterOp::create(k.b, k.loc, static_cast<uint32_t>(count),
                                 more ? NVVM::SetMaxRegisterAction::increase
                                      : NVVM::SetMaxRegisterAction::decrease);
}

void kedge::lower::gpu::syncWarp(KernelBuilder &k) { NVVM::SyncWarpOp::create(k.b, k.loc, i32(k, -1)); }
