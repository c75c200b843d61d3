#include "passes/Lower/Gpu/FlatKernels.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/Lower/Cluster/KernelNames.h"
#include "passes/Lower/Gpu/GpuMemory.h"
#include "passes/Lower/Gpu/library/KernelBuilder.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace kedge;
using namespace kedge::lower;
using namespace kedge::lower::gpu;

using Operand = KernelLaunch::Operand;

namespace {

bool isNumber(const Access &access) {
  return access.linear && access.coefficients[0] == 0 && access.constant == 0;
}
bool isRow(const Access &access, int64_t elements) {
  return access.linear && access.coefficients[0] == 1 && access.constant == 0 && access.elements == elements;
}

/// The loop of a flat function over the elements of its block.
class FlatBody {
public:
  FlatBody(OpBuilder &b, mlir::gpu::GPUFuncOp function, const ClusterNest &nest)
      : k(b, function, /*wide=*/false), ops(b, function.getLoc(), Conversions::Device), function(function),
        nest(nest) {}

  void emit() {
    unsigned pointers = nest.inputs.size() + nest.outputs.size();
    Num elements(k, function.getArgument(pointers)), first(k, function.getArgument(pointers + 1));
    for (auto [at, access] : llvm::enumerate(nest.inputs))
      if (isNumber(access))
        numbers[nest.body().getArgument(at)] = load(at, k.index(0), 1);
    int64_t width = vectorWidth();
    Num from = first + k.thread() * width, to = min(first + kFlatElements, elements);
    k.loop(from, to, k.index(kFlatThreads * width), [&](Num at) {
      Num isWhole = at + width <= elements;
      k.when(isWhole, [&] { walk(at, width); });
      k.when(!isWhole, [&] { k.loop(at, elements, k.index(1), [&](Num single) { walk(single, 1); }); });
    });
  }

private:
  /// 16 bytes of the narrowest row.
  int64_t vectorWidth() const {
    auto isShort = [](const Access &access) {
      return !isNumber(access) && isa<FloatType>(access.element) &&
             access.element.getIntOrFloatBitWidth() == 16;
    };
    return llvm::any_of(nest.inputs, isShort) || llvm::any_of(nest.outputs, isShort) ? 8 : 4;
  }
  ElementMemory memory(unsigned operand) {
    unsigned inputs = nest.inputs.size();
    return gpuMemory(ops, (operand < inputs ? nest.inputs[operand] : nest.outputs[operand - inputs]).element);
  }
  Value address(unsigned operand, Num at) {
    return memory(operand).address(function.getArgument(operand), at.value);
  }
  Value load(unsigned operand, Num at, unsigned width) {
    return memory(operand).load(address(operand, at), width);
  }

  /// All is read before anything is written: outputs may lie on inputs.
  void walk(Num at, unsigned width) {
    llvm::DenseMap<Value, Value> env = numbers;
    for (auto [operand, access] : llvm::enumerate(nest.inputs))
      if (!isNumber(access))
        env[nest.body().getArgument(operand)] = load(operand, at, width);
    for (Operation &op : nest.body().without_terminator()) {
      SmallVector<Value> operands;
      unsigned widest = 1;
      for (Value operand : op.getOperands())
        widest = std::max(widest, kedge::lower::widthOf(env.lookup(operand)));
      for (Value operand : op.getOperands())
        operands.push_back(ops.splat(env.lookup(operand), widest));
      env[op.getResult(0)] = ops.emit(&op, operands, widest);
    }
    for (auto [number, result] : llvm::enumerate(nest.yield().getOperands())) {
      unsigned operand = nest.inputs.size() + number;
      memory(operand).store(address(operand, at), ops.splat(env.lookup(result), width));
    }
  }

  KernelBuilder k;
  ScalarOps ops;
  mlir::gpu::GPUFuncOp function;
  const ClusterNest &nest;
  llvm::DenseMap<Value, Value> numbers; ///< inputs of one element
};

mlir::gpu::GPUFuncOp createFunction(OpBuilder &b, Location loc, StringRef name, ArrayRef<Type> types) {
  auto function = mlir::gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  for (auto [at, type] : llvm::enumerate(types))
    if (isa<LLVM::LLVMPointerType>(type))
      function.setArgAttr(at, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(16));
  b.setInsertionPointToStart(&function.getBody().front());
  return function;
}

/// What the blocks of a group look up: where each set begins, then rows of numbers for it.
struct GroupTable {
  SmallVector<int32_t>
      firstBlocks; ///< of each set, ascending; as many as a power of two, the last ones never reached
  SmallVector<int64_t> rows;     ///< elements, then offsets that differ from set to set
  SmallVector<unsigned> columns; ///< of each operand; 0: the same offset in all sets
  unsigned width = 1;            ///< of a row
  int64_t blocks = 0;

  explicit GroupTable(ArrayRef<FlatTensors> sets) {
    findColumns(sets);
    for (const FlatTensors &set : sets) {
      firstBlocks.push_back(blocks);
      blocks += llvm::divideCeil(set.elements, kFlatElements);
      rows.push_back(set.elements);
      rows.resize(rows.size() + width - 1);
      for (auto [offset, column] : llvm::zip(set.offsets, columns))
        if (column)
          rows[rows.size() - width + column] = offset;
    }
    firstBlocks.resize(llvm::PowerOf2Ceil(sets.size()), std::numeric_limits<int32_t>::max());
  }

private:
  /// An output in place of an input shares its column.
  void findColumns(ArrayRef<FlatTensors> sets) {
    for (size_t operand = 0; operand < sets[0].offsets.size(); ++operand) {
      auto equals = [&](size_t other) {
        return llvm::all_of(
            sets, [&](const FlatTensors &set) { return set.offsets[operand] == set.offsets[other]; });
      };
      unsigned column = 0;
      if (llvm::any_of(sets, [&](const FlatTensors &set) {
            return set.offsets[operand] != sets[0].offsets[operand];
          })) {
        size_t other = 0;
        while (other < operand && !equals(other))
          ++other;
        column = other < operand ? columns[other] : width++;
      }
      columns.push_back(column);
    }
  }
};

} // namespace

bool kedge::lower::gpu::isFlat(const ClusterNest &nest) {
  // Positions count in 32 bits, threads beyond the end included.
  if (nest.passes || nest.rank() != 1 || nest.sizes[0] <= 1 ||
      nest.sizes[0] >= (int64_t(1) << 31) - kFlatElements)
    return false;
  auto hasBytes = [](const Access &access) { return !access.element.isInteger(1); };
  return nest.body().getOps<sched::IndexOp>().empty() && nest.body().getOps<sched::RandomOp>().empty() &&
         llvm::all_of(nest.inputs,
                      [&](const Access &input) {
                        return isNumber(input) || (hasBytes(input) && isRow(input, nest.sizes[0]));
                      }) &&
         llvm::all_of(nest.outputs,
                      [&](const Access &output) { return hasBytes(output) && isRow(output, nest.sizes[0]); });
}

std::string kedge::lower::gpu::flatText(const ClusterNest &nest) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Access &input : nest.inputs)
    os << (isNumber(input) ? "number " : "row ") << input.element << " ";
  for (const Access &output : nest.outputs)
    os << output.element << " ";
  os << "\n";
  printBody(os, nest.op);
  return text;
}

mlir::gpu::GPUFuncOp kedge::lower::gpu::emitFlatFunction(mlir::gpu::GPUModuleOp module,
                                                         const ClusterNest &nest, StringRef name) {
  auto b = OpBuilder::atBlockEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(module.getContext(), unsigned(NVVM::NVVMMemorySpace::Global));
  SmallVector<Type> types(nest.inputs.size() + nest.outputs.size(), pointer);
  types.append(2, b.getI32Type());
  Location loc = NameLoc::get(b.getStringAttr(name));
  auto function = createFunction(b, loc, name, types);
  FlatBody(b, function, nest).emit();
  b.setInsertionPointToEnd(&function.getBody().front());
  mlir::gpu::ReturnOp::create(b, loc);
  return function;
}

KernelLaunch kedge::lower::gpu::emitGroup(mlir::gpu::GPUFuncOp flat, ArrayRef<FlatTensors> sets,
                                          StringRef hint) {
  auto module = flat->getParentOfType<mlir::gpu::GPUModuleOp>();
  GroupTable table(sets);
  KernelLaunch launch;
  int64_t before = llvm::count_if(module.getOps<mlir::gpu::GPUFuncOp>(), [](mlir::gpu::GPUFuncOp function) {
    return function.getName().starts_with("group");
  });
  launch.name = "group" + std::to_string(before) + "_" + hint.str();
  launch.grid = {table.blocks, 1, 1};
  launch.block = {kFlatThreads, 1, 1};
  launch.operands = {{Operand::Tensor, 0}};

  auto b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = NameLoc::get(b.getStringAttr(launch.name));
  auto kernel = createFunction(b, loc, launch.name, {flat.getArgument(0).getType()});
  kernel->setAttr(mlir::gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(kFlatThreads), 1, 1}));
  KernelBuilder k(b, kernel, /*wide=*/false);
  Memory firstBlocks = k.constants(table.firstBlocks), rows = k.constants(table.rows);

  // The last set that begins at this block or before.
  Num set = k.index(0);
  for (int64_t half = table.firstBlocks.size() / 2; half >= 1; half /= 2) {
    Num further = set + half;
    set = select(k.load(firstBlocks, further) <= k.block(), further, set);
  }
  SmallVector<Num> row;
  for (unsigned column = 0; column < table.width; ++column)
    row.push_back(k.load(rows, set * int64_t(table.width) + int64_t(column)));
  IRMapping mapping;
  for (auto [operand, column] : llvm::enumerate(table.columns)) {
    Value bytes = column ? row[column].value : literal(row[0], sets[0].offsets[operand]).value;
    mapping.map(flat.getArgument(operand),
                LLVM::GEPOp::create(b, loc, kernel.getArgument(0).getType(), b.getI8Type(),
                                    kernel.getArgument(0), ArrayRef<LLVM::GEPArg>{bytes}));
  }
  mapping.map(flat.getArgument(table.columns.size()), k.convert(row[0], k.indexType).value);
  Num first = (k.block() - k.load(firstBlocks, set)) * kFlatElements;
  mapping.map(flat.getArgument(table.columns.size() + 1), first.value);
  for (Operation &op : flat.getBody().front())
    b.clone(op, mapping);
  return launch;
}
