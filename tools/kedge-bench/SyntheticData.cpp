#include "tools/kedge-bench/SyntheticData.h"
#include "kedge/Dialect/Train/Bindings.h"
#include "kedge/InitAllDialects.h"
#include "lib/Support/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include <fstream>
#include <random>

using namespace mlir;

namespace kedge::bench {
namespace {

constexpr int64_t kSteps = 2; ///< that a file has rows for

/// The header of a .npy file, padded to a multiple of 64 bytes.
std::string npyHeader(const char *type, ArrayRef<int64_t> shape) {
  std::string sizes;
  for (int64_t size : shape)
    sizes += fmt::format("{}, ", size);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, sizes);
  text.resize((text.size() + 11 + 63) / 64 * 64 - 11, ' ');
  const size_t length = text.size() + 1;
  return std::string("\x93NUMPY\x01", 7) + '\0' + static_cast<char>(length & 255) +
         static_cast<char>(length >> 8) + text + '\n';
}

template <typename T, typename Draw>
void writeRows(const std::filesystem::path &file, const char *type, ArrayRef<int64_t> shape, Draw draw) {
  std::ofstream out(file, std::ios::binary);
  out << npyHeader(type, shape);
  std::vector<T> values(static_cast<size_t>(ShapedType::getNumElements(shape)));
  for (T &value : values)
    value = draw();
  out.write(reinterpret_cast<const char *>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!out.flush())
    fail("{}: cannot be written", file.string());
}

void writeInput(const std::filesystem::path &file, RankedTensorType type, int64_t integersBelow,
                std::mt19937 &random) {
  SmallVector<int64_t> shape(type.getShape());
  shape[0] *= kSteps;
  const int64_t below = type.getElementType().isInteger(1) ? 2 : integersBelow;
  std::normal_distribution<float> normal;
  if (type.getElementType().isInteger())
    writeRows<int64_t>(file, "<i8", shape,
                       [&] { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); });
  else
    writeRows<float>(file, "<f4", shape, [&] { return normal(random); });
}

} // namespace

SyntheticInputs writeSyntheticInputs(const std::filesystem::path &schedule,
                                     const std::filesystem::path &folder, int64_t integersBelow) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(schedule.string(), &context);
  auto step = module ? module->lookupSymbol<func::FuncOp>("step") : func::FuncOp();
  if (!step)
    fail("{}: cannot be read", schedule.string());
  std::mt19937 random(0);
  SyntheticInputs inputs;
  int integers = 0, others = 0;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    const train::BindingAttr binding = train::bindingOfArgument(step, i, train::BindingKind::Input);
    auto type = dyn_cast<RankedTensorType>(step.getArgument(i).getType());
    if (!binding || !type || type.getRank() == 0)
      continue;
    const std::filesystem::path file = folder / fmt::format("input{}.npy", i);
    writeInput(file, type, integersBelow, random);
    inputs.data.push_back(binding.getName().str() + "=" + file.string());
    if (!inputs.batch)
      inputs.batch = type.getDimSize(0);
    if (binding.getName() == "labels")
      continue;
    type.getElementType().isInteger() ? ++integers : ++others;
    inputs.tokens = type.getNumElements();
  }
  if (integers != 1 || others)
    inputs.tokens = 0;
  return inputs;
}

} // namespace kedge::bench
