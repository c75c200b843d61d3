#include "passes/Lower/Gpu/LaunchGroups.h"
#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "kedge/Dialect/Exec/Lifetimes.h"
#include "kedge/Dialect/Kedge/Place.h"
#include "kedge/abi/Streams.h"
#include "lib/Analysis/Products.h"
#include "lib/Analysis/StepCost.h"
#include "passes/Lower/Gpu/FlatKernels.h"
#include "passes/Lower/Gpu/KernelCopies.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace {

using exec::bufferOf;

int64_t offsetOf(Value value) { return bufferOf(value).getOffset(); }

/// One launch, or several that have become one.
struct Step {
  SmallVector<exec::LaunchInterface> launches; ///< none: it has joined a later one
  exec::LaunchBytes bytes;

  explicit Step(exec::LaunchInterface launch) : launches{launch}, bytes(launch) {}
  void take(Step &other) {
    launches.insert(launches.begin(), other.launches.begin(), other.launches.end());
    bytes.add(other.bytes);
    other.launches.clear();
  }
};

/// The flat function of a launch that may join others; "" otherwise.
StringRef flatOf(exec::LaunchInterface any) {
  auto launch = dyn_cast<exec::LaunchOp>(*any);
  DictionaryAttr flat = launch ? launch.getFlatAttr() : DictionaryAttr();
  if (!flat)
    return {};
  bool writesStates = llvm::all_of(launch.getWrites(), [](Value value) {
    return bufferOf(value).getState().has_value() && !bufferOf(value).getHost();
  });
  return writesStates ? flat.getAs<StringAttr>("function").getValue() : StringRef();
}

/// Blocks of a launch that leaves most of a GPU idle.
constexpr int64_t kFewBlocks = 128;

/// The only kernel of a launch that may run beside others of it; null otherwise.
DictionaryAttr smallKernelOf(exec::LaunchInterface any, mlir::gpu::GPUModuleOp kernels) {
  auto launch = dyn_cast<exec::LaunchOp>(*any);
  if (!launch || launch.getLibrary() || launch.getWorkspace() || launch.getRecomputedAttr() ||
      !launch.getKernelsAttr() || launch.getKernelsAttr().size() != 1)
    return {};
  auto kernel = cast<DictionaryAttr>(launch.getKernelsAttr()[0]);
  ArrayRef<int64_t> grid = kernel.getAs<DenseI64ArrayAttr>("grid").asArrayRef();
  const bool takesTensors = llvm::all_of(kernel.getAs<ArrayAttr>("operands"),
                                         [](Attribute operand) { return isa<IntegerAttr>(operand); });
  auto function = kernels.lookupSymbol<mlir::gpu::GPUFuncOp>(kernel.getAs<StringAttr>("name"));
  return takesTensors && grid[0] <= kFewBlocks && function && hasOneRowOfBlocks(function, grid)
             ? kernel
             : DictionaryAttr();
}

void forEachKernel(exec::LaunchOp launch, llvm::function_ref<void(StringRef)> take) {
  if (ArrayAttr kernels = launch.getKernelsAttr())
    for (auto kernel : kernels.getAsRange<DictionaryAttr>())
      take(kernel.getAs<StringAttr>("name").getValue());
}

constexpr llvm::StringLiteral kFlat = "flat ";

/// Transient bytes of the device that are live at each launch of a function.
class Load {
public:
  explicit Load(exec::FunctionOp function) {
    auto launches = function.getBody().getOps<exec::LaunchInterface>();
    bytes.resize(llvm::range_size(launches) + 2);
    for (auto buffer : function.getBody().getOps<exec::BufferOp>())
      if (!buffer.getHost() && !buffer.isPersistent())
        for (int64_t at = buffer.getFirst(); at <= static_cast<int64_t>(buffer.getLast()); ++at)
          bytes[at + 1] += sizeOf(buffer);
    most = *llvm::max_element(bytes);
  }

  /// Whether the largest set of all, of which plans tell, is another one and stays it when `launches`, at
  /// `from` or before, move to `to`. Then what they read lives until there.
  bool takes(ArrayRef<exec::LaunchInterface> launches, int64_t from, int64_t to) {
    std::vector<int64_t> longer = bytes;
    for (exec::LaunchInterface launch : launches)
      for (Value value : launch.getReads())
        for (int64_t at = std::max<int64_t>(bufferOf(value).getLast(), from) + 1; at <= to; ++at)
          longer[at + 1] += sizeOf(bufferOf(value));
    for (int64_t at = from; at <= to; ++at)
      if (longer[at + 1] >= most)
        return false;
    bytes = std::move(longer);
    return true;
  }

private:
  static int64_t sizeOf(exec::BufferOp buffer) {
    constexpr int64_t kAlignment = 256;
    return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(buffer.getSize()), kAlignment));
  }

  std::vector<int64_t> bytes; ///< by launch, from -1 on
  int64_t most = 0;
};

class Grouping {
public:
  Grouping(exec::FunctionOp function, mlir::gpu::GPUModuleOp kernels, int64_t beside,
           llvm::StringSet<> &unused)
      : function(function), kernels(kernels), beside(beside), unused(unused), load(function) {
    for (auto launch : function.getBody().getOps<exec::LaunchInterface>()) {
      numbers[launch] = static_cast<int64_t>(steps.size());
      steps.emplace_back(launch);
      multiplies.push_back(analysis::multiplies(launch));
    }
  }

  GroupCounts run() {
    collect();
    renumber();
    for (Step &step : steps)
      if (step.launches.size() > 1)
        emit(step);
    return counts;
  }

private:
  void collect() {
    llvm::StringMap<size_t> last; ///< step of each kind
    for (size_t at = 0; at < steps.size(); ++at) {
      const std::string kind = kindOf(steps[at].launches.front());
      if (kind.empty())
        continue;
      auto [entry, isNew] = last.try_emplace(kind, at);
      if (!isNew && mayMove(entry->second, at) &&
          (StringRef(kind).starts_with(kFlat) ||
           load.takes(steps[entry->second].launches, entry->second, at)))
        steps[at].take(steps[entry->second]);
      entry->second = at;
    }
  }

  /// What launches that may be one have in common; "" for all others.
  std::string kindOf(exec::LaunchInterface launch) {
    if (StringRef flat = flatOf(launch); !flat.empty())
      return (kFlat + flat).str();
    DictionaryAttr kernel = smallKernelOf(launch, kernels);
    return kernel ? "copies " + std::to_string(kernel.getAs<DenseI64ArrayAttr>("grid")[0]) + " " +
                        kernel.getAs<StringAttr>("name").str()
                  : "";
  }

  /// The last launch up to which what stands at `at` must be free to run: the `beside`-th product behind it.
  size_t reachOf(size_t at) const {
    int64_t products = 0;
    for (size_t next = at + 1; beside > 0 && next < steps.size(); ++next)
      if (!steps[next].launches.empty() && (products += multiplies[next]) == beside)
        return next;
    return at;
  }

  bool conflicts(size_t step, size_t first, size_t last) const {
    for (size_t at = first; at <= last; ++at)
      if (!steps[at].launches.empty() && steps[at].bytes.conflictsWith(steps[step].bytes))
        return true;
    return false;
  }

  /// Whether a step can run beside the products that follow `at`.
  bool isFreeBehind(size_t step, size_t at) const {
    const size_t reach = reachOf(at);
    return reach > at && !conflicts(step, at + 1, reach);
  }

  /// What can run beside products stays so.
  bool mayMove(size_t from, size_t to) const {
    return !conflicts(from, from + 1, to) &&
           (!isFreeBehind(from, from) || (isFreeBehind(from, to) && isFreeBehind(to, to)));
  }

  /// Lifetimes count launches. A launch that joined others runs where the last of them stood.
  void renumber() {
    SmallVector<int64_t> newOf; ///< of a launch that stayed where it was; of others that of the one before
    int64_t next = 0;
    for (const Step &step : steps)
      newOf.push_back(step.launches.empty() ? next - 1 : next++);
    const int64_t before = steps.size();
    auto moved = [&](int64_t at) { return at < 0 ? -1 : at >= before ? next : newOf[at]; };
    const std::vector<std::pair<exec::BufferOp, int64_t>> made = madeByGroups(newOf);
    const std::vector<std::pair<exec::GradientOp, int64_t>> whole = wholeAfterGroups(newOf);
    exec::Lifetimes(function).renumber(moved);
    // What a group reads lives on until it runs, and what it makes begins to.
    for (auto [at, step] : llvm::enumerate(steps))
      for (exec::LaunchInterface launch : step.launches)
        for (Value value : launch.getReads())
          bufferOf(value).setLast(std::max<int64_t>(bufferOf(value).getLast(), newOf[at]));
    for (auto [buffer, first] : made) {
      buffer.setFirst(first);
      buffer.setLast(std::max<int64_t>(buffer.getLast(), first));
    }
    for (auto [gradient, after] : whole)
      gradient.setAfter(after);
  }

  /// Buffers whose lives begin with a launch of a group, and when they will.
  std::vector<std::pair<exec::BufferOp, int64_t>> madeByGroups(ArrayRef<int64_t> newOf) {
    std::vector<std::pair<exec::BufferOp, int64_t>> made;
    for (auto [at, step] : llvm::enumerate(steps))
      for (exec::LaunchInterface launch : step.launches)
        for (Value value : launch.getWrites())
          if (static_cast<int64_t>(bufferOf(value).getFirst()) == numbers.lookup(launch))
            made.push_back({bufferOf(value), newOf[at]});
    return made;
  }

  /// Gradients that a launch of a group completes, and after which launch they will be.
  std::vector<std::pair<exec::GradientOp, int64_t>> wholeAfterGroups(ArrayRef<int64_t> newOf) {
    std::vector<std::pair<exec::GradientOp, int64_t>> whole;
    for (auto gradient : function.getBody().getOps<exec::GradientOp>())
      for (auto [at, step] : llvm::enumerate(steps))
        for (exec::LaunchInterface launch : step.launches)
          if (static_cast<int64_t>(gradient.getAfter()) == numbers.lookup(launch))
            whole.push_back({gradient, newOf[at]});
    return whole;
  }

  void emit(Step &step) {
    SmallVector<exec::LaunchOp> launches; // copies join none
    for (exec::LaunchInterface launch : step.launches)
      launches.push_back(cast<exec::LaunchOp>(*launch));
    exec::LaunchOp last = launches.back();
    SmallVector<Value> reads, writes;
    SmallVector<Attribute> readTypes, writeTypes;
    SmallVector<int64_t> rows;
    for (exec::LaunchOp launch : launches) {
      reads.append(launch.getReads().begin(), launch.getReads().end());
      writes.append(launch.getWrites().begin(), launch.getWrites().end());
      llvm::append_range(readTypes, launch.getReadTypes());
      llvm::append_range(writeTypes, launch.getWriteTypes());
      if (DenseI64ArrayAttr marked = RowsNote(launch->getContext()).getAttr(launch))
        llvm::append_range(rows, marked.asArrayRef());
    }
    OpBuilder b(last);
    const Value base = reads.empty() ? writes[0] : reads[0];
    const std::string count = std::to_string(step.launches.size());
    const bool isFlat = !flatOf(last).empty();
    KernelLaunch kernel = isFlat ? emitGroup(kernels.lookupSymbol<mlir::gpu::GPUFuncOp>(flatOf(last)),
                                             tensorsOf(launches, base), count + "_tensors")
                                 : copiesOf(launches, base);
    Location loc = NameLoc::get(b.getStringAttr(count + (isFlat ? " tensors" : " launches")));
    auto launch =
        exec::LaunchOp::create(b, loc, kernel.name, reads, writes, Value(), /*iterations=*/0, /*grain=*/1,
                               last.getStream(), b.getArrayAttr(readTypes), b.getArrayAttr(writeTypes),
                               /*library=*/false, DictionaryAttr(), DenseI64ArrayAttr(), IntegerAttr(),
                               /*recomputed=*/StringAttr(), b.getArrayAttr(kernelAttr(b, kernel)),
                               /*flat=*/DictionaryAttr(), /*collective=*/false);
    if (PlaceAttr place = placeOf(last))
      setPlace(launch, isFlat ? PlaceAttr::get(b.getContext(), TrainingPhase::Update, "", count + " tensors")
                              : place);
    if (!rows.empty())
      RowsNote(launch->getContext()).setAttr(launch, b.getDenseI64ArrayAttr(rows));
    counts.launches += step.launches.size();
    counts.groups += 1;
    for (exec::LaunchOp joined : launches) {
      forEachKernel(joined, [&](StringRef name) { unused.insert(name); });
      joined.erase();
    }
  }

  KernelLaunch copiesOf(ArrayRef<exec::LaunchOp> launches, Value base) {
    SmallVector<SmallVector<int64_t>> sets;
    for (exec::LaunchOp launch : launches) {
      SmallVector<Value> operands(launch.getReads());
      llvm::append_range(operands, launch.getWrites());
      auto kernel = cast<DictionaryAttr>(launch.getKernelsAttr()[0]);
      SmallVector<int64_t> &set = sets.emplace_back();
      for (auto operand : kernel.getAs<ArrayAttr>("operands").getAsRange<IntegerAttr>())
        set.push_back(offsetOf(operands[operand.getInt()]) - offsetOf(base));
    }
    exec::LaunchOp first = launches.front();
    auto kernel = cast<DictionaryAttr>(first.getKernelsAttr()[0]);
    const auto sizes = [&](StringRef name) {
      ArrayRef<int64_t> list = kernel.getAs<DenseI64ArrayAttr>(name).asArrayRef();
      return std::array<int64_t, 3>{list[0], list[1], list[2]};
    };
    return emitCopies(kernels.lookupSymbol<mlir::gpu::GPUFuncOp>(kernel.getAs<StringAttr>("name")), sets,
                      sizes("grid"), sizes("block"));
  }

  static SmallVector<FlatTensors> tensorsOf(ArrayRef<exec::LaunchOp> launches, Value base) {
    SmallVector<FlatTensors> sets;
    for (exec::LaunchOp launch : launches) {
      FlatTensors &set = sets.emplace_back();
      set.elements = launch.getFlatAttr().getAs<IntegerAttr>("elements").getInt();
      for (OperandRange operands : {launch.getReads(), launch.getWrites()})
        for (Value value : operands)
          set.offsets.push_back(offsetOf(value) - offsetOf(base));
    }
    return sets;
  }

  exec::FunctionOp function;
  mlir::gpu::GPUModuleOp kernels;
  int64_t beside;            ///< products that a group can run beside
  llvm::StringSet<> &unused; ///< kernels of launches that are gone
  Load load;
  std::vector<Step> steps;
  std::vector<bool> multiplies;                 ///< by step
  llvm::DenseMap<Operation *, int64_t> numbers; ///< of launches, before any joins others
  GroupCounts counts;
};

/// Whether copies run beside the launches: the order is proven then, and stays.
bool hasEvents(exec::FunctionOp function) {
  return llvm::any_of(function.getBody().getOps<exec::LaunchInterface>(), [](exec::LaunchInterface launch) {
    return launch.getStream() != abi::kComputeStream || launch.getWaits();
  });
}

} // namespace

GroupCounts kedge::lower::gpu::groupLaunches(ModuleOp schedule, mlir::gpu::GPUModuleOp kernels,
                                             int64_t beside) {
  GroupCounts counts;
  llvm::StringSet<> unused;
  for (auto function : schedule.getOps<exec::FunctionOp>()) {
    if (hasEvents(function))
      continue;
    GroupCounts joined = Grouping(function, kernels, beside, unused).run();
    counts.launches += joined.launches;
    counts.groups += joined.groups;
  }
  for (auto function : schedule.getOps<exec::FunctionOp>())
    for (auto launch : function.getBody().getOps<exec::LaunchOp>())
      forEachKernel(launch, [&](StringRef name) { unused.erase(name); });
  for (auto function : llvm::make_early_inc_range(kernels.getOps<mlir::gpu::GPUFuncOp>()))
    if (!function.isKernel() || unused.contains(function.getName()))
      function.erase();
  return counts;
}

static Attribute mapAttr(Builder &builder, const TensorMap &map) {
  auto list = [&](StringRef name, ArrayRef<int64_t> values) {
    return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
  };
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("tensor", builder.getI64IntegerAttr(map.tensor)),
       builder.getNamedAttr("offset", builder.getI64IntegerAttr(map.offset)),
       builder.getNamedAttr("dtype", builder.getStringAttr(map.isBrain ? "bf16" : "f16")),
       list("sizes", map.sizes), list("strides", map.strides), list("box", map.box)});
}

static Attribute operandAttr(Builder &builder, const KernelLaunch &kernel,
                             const KernelLaunch::Operand &operand) {
  auto value = builder.getI64IntegerAttr(operand.value);
  if (operand.kind == KernelLaunch::Operand::Tensor)
    return value;
  if (operand.kind == KernelLaunch::Operand::Map)
    return builder.getDictionaryAttr(
        builder.getNamedAttr("map", mapAttr(builder, kernel.maps[operand.value])));
  return builder.getDictionaryAttr(builder.getNamedAttr("workspace", value));
}

Attribute kedge::lower::gpu::kernelAttr(Builder &builder, const KernelLaunch &kernel) {
  SmallVector<Attribute> operands;
  for (const KernelLaunch::Operand &operand : kernel.operands)
    operands.push_back(operandAttr(builder, kernel, operand));
  return builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(kernel.name)),
                                    builder.getNamedAttr("grid", builder.getDenseI64ArrayAttr(kernel.grid)),
                                    builder.getNamedAttr("block", builder.getDenseI64ArrayAttr(kernel.block)),
                                    builder.getNamedAttr("operands", builder.getArrayAttr(operands))});
}
