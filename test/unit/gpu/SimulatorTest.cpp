// The simulator itself: what it runs right, and what it must notice.
#include "lib/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "test/support/GpuMatrices.h"
#include "test/support/GpuSimulator.h"
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

using namespace mlir;

namespace kedge::test {
namespace {

using Body = std::function<void(OpBuilder &, mlir::gpu::GPUFuncOp, Value thread)>;

/// Runs one block of 64 threads over 64 numbers that start as -1.
std::vector<int32_t> run(const Body &body) {
  MLIRContext context;
  context.loadDialect<mlir::gpu::GPUDialect, LLVM::LLVMDialect, arith::ArithDialect, scf::SCFDialect>();
  OpBuilder b(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToStart(module->getBody());
  auto kernels = mlir::gpu::GPUModuleOp::create(b, b.getUnknownLoc(), "kernels");
  lower::gpu::GpuEmitter emitter(kernels);
  lower::gpu::KernelLaunch launch;
  launch.name = emitter.kernel("k", "k", 1, {64, 1, 1}, [&](OpBuilder &b, mlir::gpu::GPUFuncOp kernel) {
    Value id = mlir::gpu::ThreadIdOp::create(b, kernel.getLoc(), b.getIndexType(), mlir::gpu::Dimension::x);
    body(b, kernel, arith::IndexCastOp::create(b, kernel.getLoc(), b.getI32Type(), id));
  });
  launch.block = {64, 1, 1};
  launch.operands = {{lower::gpu::KernelLaunch::Operand::Tensor, 0}};
  std::vector<int32_t> numbers(64, -1);
  char *tensors[] = {reinterpret_cast<char *>(numbers.data())};
  lower::gpu::LaunchCode code;
  code.kernels.push_back(launch);
  GpuSimulator(kernels).run(code, tensors, nullptr);
  return numbers;
}

Value constant(OpBuilder &b, Location loc, int32_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value at(OpBuilder &b, Location loc, Value pointer, Value index) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI32Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{index});
}

/// Every thread gives its number to the one opposite, through shared memory.
std::vector<int32_t> reversed(bool meets) {
  return run([&](OpBuilder &b, mlir::gpu::GPUFuncOp kernel, Value thread) {
    Location loc = kernel.getLoc();
    Value shared = lower::gpu::sharedMemory(b, kernel, 64 * 4);
    LLVM::StoreOp::create(b, loc, thread, at(b, loc, shared, thread));
    if (meets)
      mlir::gpu::BarrierOp::create(b, loc);
    Value other = arith::SubIOp::create(b, loc, constant(b, loc, 63), thread);
    Value number = LLVM::LoadOp::create(b, loc, b.getI32Type(), at(b, loc, shared, other));
    LLVM::StoreOp::create(b, loc, number, at(b, loc, kernel.getArgument(0), thread));
  });
}

TEST(GpuSimulator, BarrierOrdersSharedMemory) {
  std::vector<int32_t> expected;
  for (int32_t thread = 0; thread < 64; ++thread)
    expected.push_back(63 - thread);
  EXPECT_EQ(reversed(true), expected);
  EXPECT_NE(reversed(false), expected) << "a missing barrier does not show";
}

TEST(GpuSimulator, ShufflesStayInTheirWarp) {
  auto numbers = run([](OpBuilder &b, mlir::gpu::GPUFuncOp kernel, Value thread) {
    Location loc = kernel.getLoc();
    Value other =
        mlir::gpu::ShuffleOp::create(b, loc, thread, 5, 32, mlir::gpu::ShuffleMode::XOR).getShuffleResult();
    LLVM::StoreOp::create(b, loc, other, at(b, loc, kernel.getArgument(0), thread));
  });
  for (int32_t thread = 0; thread < 64; ++thread)
    EXPECT_EQ(numbers[thread], thread ^ 5);
}

TEST(GpuSimulator, DivergedBarriersAreErrors) {
  auto diverged = [] {
    run([](OpBuilder &b, mlir::gpu::GPUFuncOp kernel, Value thread) {
      Location loc = kernel.getLoc();
      Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, thread, constant(b, loc, 7));
      auto branch = scf::IfOp::create(b, loc, some, /*withElse=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      mlir::gpu::BarrierOp::create(b, loc);
    });
  };
  EXPECT_THROW(diverged(), Error);
}

/// The words of a warp.
struct Words {
  std::array<std::array<int32_t, 10>, 32> of{};
  std::array<int32_t *, 32> lanes() {
    std::array<int32_t *, 32> all;
    for (size_t lane = 0; lane < 32; ++lane)
      all[lane] = of[lane].data();
    return all;
  }
};

// One element of A and B each, where the PTX ISA document has it ("Matrix Fragments for mma.m16n8k16 with
// floating point type"): lane = 4 * group + member, an element's row and column from group, member and its
// number in the registers.
struct OneElement {
  int leftLane, leftElement, rightLane, rightElement; ///< elements are halves of registers, in their order
  int resultLane, resultElement;
};
constexpr OneElement kElements[] = {
    {0, 0, 0, 0, 0, 0},    // A(0, 0) B(0, 0) = D(0, 0)
    {6, 7, 22, 3, 6, 3},   // a7 of lane 6: A(9, 13); b3 of lane 22: B(13, 5); c3 of lane 6: D(9, 5)
    {13, 4, 29, 2, 15, 1}, // a4 of lane 13: A(3, 10); b2 of lane 29: B(10, 7); c1 of lane 15: D(3, 7)
    {31, 3, 11, 1, 29, 2}, // a3 of lane 31: A(15, 7); b1 of lane 11: B(7, 2); c2 of lane 29: D(15, 2)
};

TEST(GpuSimulator, ProductsHaveTheDocumentedLayout) {
  for (OneElement one : kElements)
    for (bool isHalf : {true, false}) {
      Words words;
      int32_t number = isHalf ? 0x3c00 : 0x3f80; // 1
      auto put = [&](int lane, int first, int element) {
        words.of[lane][first + element / 2] = number << element % 2 * 16;
      };
      put(one.leftLane, 0, one.leftElement);
      put(one.rightLane, 4, one.rightElement);
      runMatrices(isHalf ? MatrixWork::MultiplyHalf : MatrixWork::MultiplyBrain, words.lanes());
      for (int lane = 0; lane < 32; ++lane)
        for (int e = 0; e < 4; ++e) {
          bool isResult = lane == one.resultLane && e == one.resultElement;
          EXPECT_EQ(words.of[lane][6 + e], isResult ? 0x3f800000 : 0) << lane << " " << e;
        }
    }
}

TEST(GpuSimulator, LoadedMatricesHaveTheDocumentedLayout) {
  alignas(16) uint16_t rows[4][8][8];
  for (int m = 0; m < 4; ++m)
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 8; ++column)
        rows[m][row][column] = static_cast<uint16_t>(100 * m + 10 * row + column);
  auto load = [&](MatrixWork work) {
    Words words;
    for (int lane = 0; lane < 32; ++lane) {
      const void *address = rows[lane / 8][lane % 8];
      std::memcpy(words.of[lane].data(), &address, sizeof address);
    }
    runMatrices(work, words.lanes());
    return words;
  };
  // Lane 4 r + c has columns 2 c and 2 c + 1 of row r, the lower one in the lower half; transposed, of column
  // r.
  Words plain = load(MatrixWork::Load4), transposed = load(MatrixWork::LoadTransposed4);
  EXPECT_EQ(plain.of[0][0], 0 | 1 << 16);
  EXPECT_EQ(plain.of[5][0], 12 | 13 << 16);
  EXPECT_EQ(plain.of[31][3], 376 | 377 << 16);
  EXPECT_EQ(plain.of[14][2], 234 | 235 << 16);
  EXPECT_EQ(transposed.of[0][0], 0 | 10 << 16);
  EXPECT_EQ(transposed.of[5][0], 21 | 31 << 16);
  EXPECT_EQ(transposed.of[31][3], 367 | 377 << 16);
  EXPECT_EQ(transposed.of[14][1], 143 | 153 << 16);
}

/// When a thread waits for its copies.
enum class Waits { InTime, TooLate, Never };

/// Each thread copies four words of the input to shared memory, asynchronously, and reads those of its
/// neighbour.
std::vector<int32_t> copied(Waits waits) {
  return run([&](OpBuilder &b, mlir::gpu::GPUFuncOp kernel, Value thread) {
    Location loc = kernel.getLoc();
    Value shared = lower::gpu::sharedMemory(b, kernel, 64 * 16), four = constant(b, loc, 4);
    Value own = arith::MulIOp::create(b, loc, thread, four), input = kernel.getArgument(0);
    // All copy the first four numbers, which are -1; the last two words of a copy are filled with zeros.
    NVVM::CpAsyncOp::create(b, loc, at(b, loc, shared, own), input, 16, NVVM::LoadCacheModifierKind::CG,
                            constant(b, loc, 8));
    NVVM::CpAsyncCommitGroupOp::create(b, loc);
    if (waits == Waits::InTime)
      NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
    mlir::gpu::BarrierOp::create(b, loc);
    Value other = arith::XOrIOp::create(b, loc, own, four);
    Value word =
        arith::AddIOp::create(b, loc, other, arith::AndIOp::create(b, loc, thread, constant(b, loc, 2)));
    Value number = LLVM::LoadOp::create(b, loc, b.getI32Type(), at(b, loc, shared, word));
    // What lies there is -1, 0 or garbage, which is -1, too.
    number = arith::AddIOp::create(b, loc, number, constant(b, loc, 2));
    mlir::gpu::BarrierOp::create(b, loc);
    LLVM::StoreOp::create(b, loc, number, at(b, loc, input, thread));
    if (waits == Waits::TooLate)
      NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
  });
}

TEST(GpuSimulator, CopiesAreThereWhenTheyAreWaitedFor) {
  std::vector<int32_t> expected;
  for (int32_t thread = 0; thread < 64; ++thread)
    expected.push_back(thread & 2 ? 2 : 1);
  EXPECT_EQ(copied(Waits::InTime), expected);
  EXPECT_NE(copied(Waits::TooLate), expected) << "a copy that is not waited for does not show";
  EXPECT_THROW(copied(Waits::Never), Error);
}

} // namespace
} // namespace kedge::test
