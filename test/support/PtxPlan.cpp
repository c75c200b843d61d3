#include "test/support/PtxPlan.h"
#include "kedge/Dialect/Exec/LaunchBytes.h"
#include "lib/Support/Error.h"
#include "runtime/format/Float16.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace kedge::test {
namespace {

constexpr size_t kAlign = 4096;

template <class T, class Make> void fillWith(std::span<char> bytes, Make make) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const T value = make();
    std::memcpy(bytes.data() + at, static_cast<const void *>(&value), sizeof value);
  }
}

void fillRandom(std::span<char> bytes, Type type, std::mt19937 &random) {
  std::normal_distribution<float> normal;
  const auto number = [&] { return normal(random); };
  if (type.isF32())
    fillWith<float>(bytes, number);
  else if (type.isF64())
    fillWith<double>(bytes, number);
  else if (type.isBF16())
    fillWith<rt::BFloat16>(bytes, [&] { return rt::BFloat16(number()); });
  else if (type.isF16())
    fillWith<rt::Float16>(bytes, [&] { return rt::Float16(number()); });
  else if (type.isInteger(64))
    fillWith<int64_t>(bytes, [&] { return random() % 2; });
  else if (type.isInteger(32))
    fillWith<int32_t>(bytes, [&] { return random() % 2; });
  else // truth values, codes of few bits, floats of 8 bits below NaN
    fillWith<char>(bytes, [&] { return type.isInteger(1) ? random() & 1 : random() & 0x3f; });
}

ArrayRef<int64_t> numbersOf(DictionaryAttr from, StringRef name) {
  return from.getAs<DenseI64ArrayAttr>(name).asArrayRef();
}

std::array<int64_t, 3> sizesOf(DictionaryAttr kernel, StringRef name) {
  ArrayRef<int64_t> sizes = numbersOf(kernel, name);
  return {sizes[0], sizes[1], sizes[2]};
}

} // namespace

PtxPlan::PtxPlan(PtxProgram &program, const Options &options)
    : program(program), interpreter(program, static_cast<unsigned>(options.seed)), options(options),
      random(static_cast<unsigned>(options.seed)) {}

void PtxPlan::run(ModuleOp module) {
  int64_t bytes = 0;
  module.walk([&](exec::ArenaOp op) { bytes = static_cast<int64_t>(op.getBytes()); });
  memory.assign(bytes + kAlign, 0);
  arena = memory.data() + kAlign - reinterpret_cast<uintptr_t>(memory.data()) % kAlign;
  module.walk([&](exec::FunctionOp function) { run(function); });
}

/// Buffers share bytes, one after the other: each is filled when its first reader or writer comes.
void PtxPlan::run(exec::FunctionOp function) {
  filled.clear();
  for (Operation &op : function.getBody().front())
    if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
      run(launch);
    } else if (auto copy = dyn_cast<exec::CopyOp>(op)) {
      fillOnce(copy.getSource());
      fillOnce(copy.getDestination());
    }
}

void PtxPlan::run(exec::LaunchOp launch) {
  for (Value buffer : launch.getReads())
    fillOnce(buffer);
  const auto read =
      llvm::map_to_vector(launch.getReads(), [](Value v) { return exec::ArenaRange(exec::bufferOf(v)); });
  for (Value buffer : launch.getWrites()) {
    const exec::ArenaRange range(exec::bufferOf(buffer));
    if (llvm::none_of(read, [&](const exec::ArenaRange &other) { return other.overlaps(range); }))
      fillOnce(buffer);
    filled.insert(buffer);
  }
  const ArrayAttr kernels = launch.getKernels().value_or(ArrayAttr());
  if (!kernels)
    return;
  ++launches;
  // A kernel may take for indices what the one before left in the workspace.
  const bool handsOn = launch.getWorkspace() && kernels.size() > 1;
  for (Attribute kernel : kernels)
    run(cast<DictionaryAttr>(kernel), launch, handsOn ? INT64_MAX : options.mostBlocks);
}

void PtxPlan::run(DictionaryAttr kernel, exec::LaunchOp op, int64_t mostBlocks) {
  SmallVector<Value> tensors(op.getReads());
  tensors.append(op.getWrites().begin(), op.getWrites().end());
  PtxLaunch launch{kernel.getAs<StringAttr>("name").str(),
                   sizesOf(kernel, "grid"),
                   sizesOf(kernel, "block"),
                   {},
                   {},
                   mostBlocks,
                   {}};
  for (Value tensor : tensors)
    launch.memory.push_back(bytesOf(tensor));
  if (op.getWorkspace())
    launch.memory.push_back(bytesOf(op.getWorkspace()));
  const auto operands = kernel.getAs<ArrayAttr>("operands");
  for (Attribute operand : operands)
    if (auto number = dyn_cast<IntegerAttr>(operand))
      launch.arguments.push_back(bytesOf(tensors[number.getInt()]).data());
    else if (auto map = cast<DictionaryAttr>(operand).getAs<DictionaryAttr>("map"))
      launch.addMap(bytesOf(tensors[map.getAs<IntegerAttr>("tensor").getInt()]).data() +
                        map.getAs<IntegerAttr>("offset").getInt(),
                    numbersOf(map, "sizes"), numbersOf(map, "strides"), numbersOf(map, "box"));
    else
      launch.arguments.push_back(
          bytesOf(op.getWorkspace()).data() +
          cast<IntegerAttr>(cast<DictionaryAttr>(operand).begin()->getValue()).getInt());
  interpreter.run(launch);
  ran.insert(launch.kernel);
}

std::span<char> PtxPlan::bytesOf(Value value) {
  exec::BufferOp buffer = exec::bufferOf(value);
  if (buffer.getHost())
    fail("buffer {} is in host memory, and a kernel has it", buffer.getName().str());
  return {arena + buffer.getOffset(), static_cast<size_t>(buffer.getSize())};
}

void PtxPlan::fillOnce(Value value) {
  exec::BufferOp buffer = exec::bufferOf(value);
  if (!buffer.getHost() && filled.insert(value).second)
    fillRandom(bytesOf(value), cast<ShapedType>(buffer.getType()).getElementType(), random);
}

std::vector<std::string> PtxPlan::findings() const {
  std::vector<std::string> all;
  for (const auto &[text, times] : interpreter.findings())
    all.push_back(fmt::format("{} ({} times)", text, times));
  return all;
}

std::string PtxPlan::summary() const {
  return fmt::format("{} kernels of {} ran, {} launches, {} blocks, {} launches read in place and drop it",
                     ran.size(), program.all().size(), launches, interpreter.blocks(),
                     interpreter.launchesThatDrop());
}

} // namespace kedge::test
