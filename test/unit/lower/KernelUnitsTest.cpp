// Which kernels are equal, and what their objects are called.
#include "passes/Lower/Codegen/KernelUnits.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "passes/Lower/Codegen/Codegen.h"
#include "passes/Lower/Codegen/JitProgram.h"
#include "test/support/TempFolder.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;

namespace {

/// A kernel that stores a number where its first argument points.
std::string kernel(const std::string &name, const std::string &number, const std::string &notes = "") {
  return "llvm.func @" + name + "(%to: !llvm.ptr, %from: i64, %until: i64)" + notes + R"( {
    %number = llvm.mlir.constant()" +
         number + R"( : f32) : f32
    %other = llvm.fadd %number, %number : f32
    %place = llvm.load %to : !llvm.ptr -> !llvm.ptr
    llvm.store %other, %place : f32, !llvm.ptr
    llvm.return
  })";
}

struct KernelUnits : testing::Test {
  KernelUnits() { context.loadDialect<LLVM::LLVMDialect, arith::ArithDialect>(); }

  OwningOpRef<ModuleOp> parsed(const std::string &text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return module;
  }
  /// The keys of a module's kernels.
  std::vector<std::string> keys(const std::string &text) {
    codegen::CodeKeys keys(CacheKey().add("test"));
    std::vector<std::string> all;
    for (const codegen::KernelUnit &unit : codegen::splitUnits(*parsed(text)))
      all.push_back(keys.of(unit.module.get())->text());
    return all;
  }
  ObjectFiles compiled(const std::string &text, FileCache *cache) {
    OwningOpRef<ModuleOp> module = parsed(text);
    auto objects = compileKernels(*module, KernelTarget::host(), 2, cache);
    EXPECT_TRUE(succeeded(objects));
    return *objects;
  }
  static float run(const ObjectFiles &objects, const std::string &name) {
    float result = 0;
    char *pointers[] = {reinterpret_cast<char *>(&result)};
    JitProgram::create(objects)->lookup(name)(pointers, 0, 1);
    return result;
  }

  MLIRContext context;
};

TEST_F(KernelUnits, NamesPlacesAndNotesMakeNoDifference) {
  const auto all = keys(kernel("a", "1.0") + kernel("another_name", "1.0") +
                        kernel("c", "1.0", " attributes {sched.grain = 7 : i64}") + kernel("d", "2.0"));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
  EXPECT_NE(all[0], all[3]);
  EXPECT_EQ(all[3], keys("\n\n\n" + kernel("first", "2.0")).front());
}

TEST_F(KernelUnits, WhatIsComputedMakesTheDifference) {
  const std::string before = kernel("a", "1.0");
  const auto changed = [&](const std::string &from, const std::string &to) {
    std::string text = before;
    text.replace(text.find(from), from.size(), to);
    return keys(text).front();
  };
  const std::string key = keys(before).front();
  EXPECT_NE(key, changed("fadd", "fmul"));
  EXPECT_NE(key, changed("%other, %place", "%number, %place"));  // another operand
  EXPECT_NE(key, changed("%place :", "%place {nontemporal} :")); // a flag
  EXPECT_NE(key, changed("llvm.fadd %number, %number : f32",
                         "llvm.fadd %number, %number {fastmathFlags = #llvm.fastmath<fast>} : f32"));
  EXPECT_NE(key, changed("%until: i64)", "%until: i64) attributes {passthrough = [\"noinline\"]}"));
}

TEST_F(KernelUnits, EqualKernelsAreCompiledOnceUnderTheirNames) {
  const test::TempFolder folder;
  FileCache cache(folder.path("c"), 0);
  const std::string longName = "a_name_as_long_as_none_" + std::string(300, 'x');
  const ObjectFiles cold = compiled(kernel("a", "1.0"), &cache), warm = compiled(kernel("b", "1.0"), &cache);
  EXPECT_EQ(cache.counts().misses, 1);
  EXPECT_EQ(cache.counts().hits, 1);
  EXPECT_EQ(run(cold, "a"), 2);
  EXPECT_EQ(run(warm, "b"), 2);
  EXPECT_EQ(warm, compiled(kernel("b", "1.0"), nullptr));
  EXPECT_EQ(run(compiled(kernel(longName, "3.0"), &cache), longName), 6);
  EXPECT_EQ(run(compiled(kernel(longName, "3.0"), &cache), longName), 6);
  EXPECT_EQ(compiled(kernel("a", "1.0") + kernel("b", "2.0"), &cache).size(), 2u);
}

TEST_F(KernelUnits, EqualKernelsOfAModuleAreMadeOnce) {
  const test::TempFolder folder;
  FileCache cache(folder.path("c"), 0);
  const std::string text = kernel("a", "1.0") + kernel("b", "2.0") + kernel("c", "1.0");
  const ObjectFiles objects = compiled(text, &cache);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(cache.counts().misses, 2);
  EXPECT_EQ(run(objects, "a"), 2);
  EXPECT_EQ(run(objects, "b"), 4);
  EXPECT_EQ(run(objects, "c"), 2);
  EXPECT_EQ(objects, compiled(text, nullptr));
}

TEST_F(KernelUnits, KernelsStayTogetherWithWhatTheyUse) {
  const std::string text = R"(
    llvm.mlir.global private constant @table(dense<[4.0, 5.0]> : tensor<2xf32>) : !llvm.array<2 x f32>
    llvm.func @expf(f32) -> f32
    llvm.func @twice(%x: f32) -> f32 {
      %y = llvm.fadd %x, %x : f32
      llvm.return %y : f32
    }
    llvm.func @user(%to: !llvm.ptr, %from: i64, %until: i64) {
      %table = llvm.mlir.addressof @table : !llvm.ptr
      %x = llvm.load %table : !llvm.ptr -> f32
      %y = llvm.call @twice(%x) : (f32) -> f32
      %place = llvm.load %to : !llvm.ptr -> !llvm.ptr
      llvm.store %y, %place : f32, !llvm.ptr
      llvm.return
    })" + kernel("alone", "1.0");
  const test::TempFolder folder;
  FileCache cache(folder.path("c"), 0);
  for (int round = 0; round < 2; ++round) {
    const ObjectFiles objects = compiled(text, &cache);
    ASSERT_EQ(objects.size(), 2u);
    EXPECT_EQ(run(objects, "user"), 8);
    EXPECT_EQ(run(objects, "alone"), 2);
  }
  EXPECT_EQ(cache.counts().hits, 2);
}

TEST_F(KernelUnits, NumbersInTextGetNames) {
  std::vector<codegen::KernelUnit> units = codegen::splitUnits(*parsed(kernel("a", "1.0")));
  auto symbol = *units.front().module->getRegion(0).getOps<SymbolOpInterface>().begin();
  const std::string number = symbol.getName().str();
  EXPECT_EQ(codegen::withNames(number + "(" + number + "_param_0)", units.front().symbols), "a(a_param_0)");
}

} // namespace
