#include "test/unit/gpu/LibraryCase.h"
#include "lib/Analysis/LibraryCall.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "passes/Lower/Gpu/GpuCode.h"
#include "runtime/calls/LibraryKernel.h"
#include "runtime/calls/LibraryWork.h"
#include "test/support/GpuPtx.h"
#include "test/support/GpuSimulator.h"
#include "test/unit/gpu/GuardedMemory.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>

using namespace mlir;
using kedge::rt::DType;

namespace kedge::test {
namespace {

using Bytes = std::vector<char>;
using Tensors = std::vector<Bytes>;

bool isShort(DType type) { return type == DType::F16 || type == DType::BF16; }
const llvm::fltSemantics &semanticsOf(DType type) {
  return type == DType::F16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
}

float widened(DType type, const char *data, int64_t i) {
  uint16_t bits;
  std::memcpy(&bits, data + 2 * i, 2);
  llvm::APFloat value(semanticsOf(type), llvm::APInt(16, bits));
  bool inexact;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToFloat();
}
uint16_t rounded(DType type, float number) {
  llvm::APFloat value(number);
  bool inexact;
  value.convert(semanticsOf(type), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
}

Bytes randomTensor(const rt::TensorDesc &tensor, const CaseOptions &options, std::mt19937 &random) {
  Bytes bytes(tensor.bytes());
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int64_t> integer(options.low, options.high);
  size_t element = rt::dtypeSize(tensor.type);
  auto put = [&](int64_t i, auto value) { std::memcpy(bytes.data() + i * element, &value, element); };
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (tensor.type == DType::F32)
      put(i, static_cast<float>(real(random)));
    else if (isShort(tensor.type))
      put(i, rounded(tensor.type, static_cast<float>(real(random))));
    else if (tensor.type == DType::F64)
      put(i, real(random));
    else if (tensor.type == DType::I64 || tensor.type == DType::I32)
      put(i, integer(random)); // the low bytes come first
    else if (tensor.type == DType::Bool)
      put(i, random() % 3 != 0);
    else
      put(i, static_cast<uint64_t>(random()) << 8 ^ random());
  }
  return bytes;
}

double valueOf(DType type, const char *data, int64_t i) {
  if (isShort(type))
    return widened(type, data, i);
  return type == DType::F32 ? reinterpret_cast<const float *>(data)[i]
                            : reinterpret_cast<const double *>(data)[i];
}

/// Between neighbouring numbers around 1.
double unitOf(DType type) { return type == DType::F16 ? 0x1p-10 : type == DType::BF16 ? 0x1p-7 : 0; }

/// The first element that is too far away; "" when none is.
std::string difference(const rt::TensorDesc &tensor, const Bytes &actual, const Bytes &expected,
                       double tolerance) {
  size_t element = rt::dtypeSize(tensor.type);
  bool isFloat = tensor.type == DType::F32 || tensor.type == DType::F64 || isShort(tensor.type);
  bool byBits = !isFloat || (tolerance == 0 && !isShort(tensor.type));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (std::memcmp(actual.data() + i * element, expected.data() + i * element, element) == 0)
      continue;
    if (byBits && tensor.type != DType::F32)
      return "element " + std::to_string(i);
    double a = valueOf(tensor.type, actual.data(), i), e = valueOf(tensor.type, expected.data(), i);
    if (a == e && !byBits)
      continue;
    double unit = unitOf(tensor.type) * std::abs(e);
    if (byBits || !(std::abs(a - e) <= tolerance * (1 + std::abs(e)) + unit))
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", expected " + std::to_string(e);
  }
  return "";
}

Tensors runOnCpu(const rt::calls::LibraryCall &call, const Tensors &inputs) {
  auto kernel = rt::calls::makeKernel(call, 1);
  Tensors outputs;
  for (const rt::TensorDesc &tensor : call.outputs)
    outputs.emplace_back(tensor.bytes());
  std::vector<const void *> in;
  std::vector<void *> out;
  for (const Bytes &input : inputs)
    in.push_back(input.data());
  for (Bytes &output : outputs)
    out.push_back(output.data());
  std::unique_ptr<void, decltype(&std::free)> workspace(
      std::aligned_alloc(64, kernel->workspaceBytes() / 64 * 64 + 64), &std::free);
  kernel->run(in.data(), out.data(), workspace.get());
  return outputs;
}

/// 16-bit floats as f32, before or after a call.
Tensors converted(const std::vector<rt::TensorDesc> &tensors, const Tensors &all, bool widen) {
  Tensors results = all;
  for (auto [tensor, from, to] : llvm::zip(tensors, all, results)) {
    if (!isShort(tensor.type))
      continue;
    to.resize(tensor.elements() * (widen ? sizeof(float) : 2));
    for (int64_t i = 0; i < tensor.elements(); ++i)
      if (widen)
        reinterpret_cast<float *>(to.data())[i] = widened(tensor.type, from.data(), i);
      else
        reinterpret_cast<uint16_t *>(to.data())[i] =
            rounded(tensor.type, reinterpret_cast<const float *>(from.data())[i]);
  }
  return results;
}

/// What the call gives when it computes in f32 and rounds its results once.
Tensors expectedOf(const rt::calls::LibraryCall &call, const Tensors &inputs) {
  rt::calls::LibraryCall single = call;
  for (auto *list : {&single.inputs, &single.outputs})
    for (rt::TensorDesc &tensor : *list)
      if (isShort(tensor.type))
        tensor.type = DType::F32;
  Tensors outputs = runOnCpu(single, converted(call.inputs, inputs, true));
  return converted(call.outputs, outputs, false);
}

/// The generated kernels of one call.
class GpuCall {
public:
  GpuCall(sched::LibraryOp op, StringRef arch) : call(analysis::libraryCallOf(op)) {
    op.getContext()->loadDialect<mlir::gpu::GPUDialect>();
    OpBuilder b(op.getContext());
    module = ModuleOp::create(op.getLoc());
    b.setInsertionPointToStart(module->getBody());
    auto kernels = mlir::gpu::GPUModuleOp::create(b, op.getLoc(), "kernels");
    auto emitted = lower::gpu::GpuEmitter(kernels, arch == "sm_90a").emit(op);
    if (failed(emitted) || failed(verify(*module)))
      throw std::runtime_error("the kernels are not emitted");
    code = *emitted;
    if (arch.empty())
      simulator = std::make_unique<GpuSimulator>(kernels);
    else
      ptx = std::make_unique<GpuPtx>(kernels, arch);
  }

  /// The outputs, which lie with all operands at the border of forbidden memory; "" or what is wrong.
  std::string run(const Tensors &inputs, GuardedMemory::Guard guard, Tensors &results) {
    std::vector<std::unique_ptr<GuardedMemory>> memory;
    std::vector<char *> tensors;
    auto place = [&](size_t bytes) {
      memory.push_back(std::make_unique<GuardedMemory>(bytes, guard));
      return memory.back()->data();
    };
    for (const Bytes &input : inputs)
      std::memcpy(tensors.emplace_back(place(input.size())), input.data(), input.size());
    for (const rt::TensorDesc &tensor : call.outputs)
      std::memset(tensors.emplace_back(place(tensor.bytes())), 0x7f, tensor.bytes());
    char *workspace = place(code.workspaceBytes);
    std::memset(workspace, 0x7f, code.workspaceBytes);
    if (simulator)
      simulator->run(code, tensors, workspace);
    else if (std::string wrong = interpret(memory, workspace); !wrong.empty())
      return wrong;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (std::memcmp(tensors[i], inputs[i].data(), inputs[i].size()) != 0)
        return "input " + std::to_string(i) + " is written";
    for (const auto &piece : memory)
      if (!piece->isPaddingWhole())
        return "bytes behind an operand are written";
    for (size_t i = 0; i < call.outputs.size(); ++i)
      results.emplace_back(tensors[inputs.size() + i], tensors[inputs.size() + i] + call.outputs[i].bytes());
    return "";
  }

  rt::calls::LibraryCall call;
  GpuPtx &interpreted() { return *ptx; }

private:
  /// The last piece of memory is the workspace.
  std::string interpret(std::vector<std::unique_ptr<GuardedMemory>> &memory, char *workspace) {
    std::vector<llvm::MutableArrayRef<char>> tensors;
    for (auto &piece : memory)
      tensors.emplace_back(piece->data(), piece->size());
    tensors.pop_back();
    return ptx->run(code, tensors, {workspace, static_cast<size_t>(code.workspaceBytes)});
  }

  OwningOpRef<ModuleOp> module;
  lower::gpu::LaunchCode code;
  std::unique_ptr<GpuSimulator> simulator;
  std::unique_ptr<GpuPtx> ptx;
};

/// A module with one function around the call.
class Parsed {
public:
  explicit Parsed(const std::string &text) {
    DialectRegistry registry;
    registry.insert<sched::SchedDialect, func::FuncDialect, mlir::gpu::GPUDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    size_t colon = text.rfind(" : ("), space = text.find(' ');
    auto type = cast<FunctionType>(parseType(text.substr(colon + 3), &context));
    auto attrs = cast<DictionaryAttr>(parseAttribute(text.substr(space + 1, colon - space - 1), &context));
    Location loc = UnknownLoc::get(&context);
    module = ModuleOp::create(loc);
    auto b = OpBuilder::atBlockBegin(module->getBody());
    auto function = func::FuncOp::create(b, loc, "f", FunctionType::get(&context, type.getInputs(), {}));
    b.setInsertionPointToStart(function.addEntryBlock());
    call = sched::LibraryOp::create(b, loc, type.getResults(), text.substr(0, space), function.getArguments(),
                                    attrs, IntegerAttr(), /*collective=*/false, StringAttr());
    func::ReturnOp::create(b, loc);
    b.setInsertionPointToEnd(module->getBody());
    kernels = mlir::gpu::GPUModuleOp::create(b, loc, "kernels");
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  sched::LibraryOp call;
  mlir::gpu::GPUModuleOp kernels;
};

} // namespace

std::string compareWithCpu(sched::LibraryOp op, const CaseOptions &options, StringRef arch) {
  GpuCall gpu(op, arch);
  const rt::calls::LibraryCall &call = gpu.call;
  std::mt19937 random(7);
  Tensors inputs, first, second;
  for (const rt::TensorDesc &tensor : call.inputs)
    inputs.push_back(randomTensor(tensor, options, random));
  std::string wrong = gpu.run(inputs, GuardedMemory::Guard::End, first);
  if (wrong.empty() && arch.empty())
    wrong = gpu.run(inputs, GuardedMemory::Guard::Begin, second);
  if (!wrong.empty())
    return wrong;
  Tensors expected = expectedOf(call, inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    wrong = difference(call.outputs[i], first[i], expected[i], options.tolerance);
    if (!wrong.empty())
      return "output " + std::to_string(i) + ": " + wrong;
    if (arch.empty() && first[i] != second[i])
      return "output " + std::to_string(i) + " has other bits when threads take turns in another order";
  }
  return "";
}

Removals removalsOf(const std::string &text, StringRef arch) {
  Parsed parsed(text);
  GpuCall gpu(parsed.call, arch);
  std::mt19937 random(7);
  Tensors inputs;
  for (const rt::TensorDesc &tensor : gpu.call.inputs)
    inputs.push_back(randomTensor(tensor, {}, random));
  return gpu.interpreted().removals([&] {
    Tensors results;
    return !gpu.run(inputs, GuardedMemory::Guard::End, results).empty();
  });
}

CaseOptions optionsOf(sched::LibraryOp op) {
  rt::calls::LibraryCall call = analysis::libraryCallOf(op);
  int64_t axis = call.attrs.value("axis", int64_t(0));
  if (call.name == "onnx.Gather")
    return {0, call.inputs[0].shape[axis] - 1};
  if (call.name == "train.gather_grad")
    return {0, call.outputs[0].shape[axis] - 1, 1e-5};
  if (call.name == "onnx.GatherND")
    return {0, *std::min_element(call.inputs[0].shape.begin(), call.inputs[0].shape.end()) - 1};
  if (rt::calls::isConvolution(call.name))
    return {0, 0, 1e-5};
  if (!call.name.starts_with("train.attention"))
    return {0, 1000, 0};
  // Weights of 16 bits, and gradients of scores, are rounded before they are multiplied.
  const double unit = unitOf(call.inputs[0].type);
  if (call.name == "train.attention")
    return {0, 1000, 1e-4 + unit};
  // Weights belong to a random LSE; a mask of floats makes them larger still.
  const bool hasMask = call.inputs.size() > 6 && call.inputs[6].type != DType::Bool;
  return {0, 1000, 1e-4 + (hasMask ? 11 : 4) * unit};
}

void expectSameAsCpu(const std::string &text, const CaseOptions &options, StringRef arch) {
  Parsed parsed(text);
  EXPECT_EQ(compareWithCpu(parsed.call, options, arch), "") << text << arch.str();
}

std::string emitterErrorOf(const std::string &text) {
  Parsed parsed(text);
  std::string message;
  ScopedDiagnosticHandler handler(&parsed.context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  (void)lower::gpu::GpuEmitter(parsed.kernels).emit(parsed.call);
  return message;
}

int64_t spillsOf(const std::string &text, const std::string &arch) {
  Parsed parsed(text);
  if (failed(lower::gpu::GpuEmitter(parsed.kernels, arch == "sm_90a").emit(parsed.call)))
    throw std::runtime_error("the kernels are not emitted");
  std::string error;
  auto code = lower::gpu::compileGpu(parsed.kernels, arch, 3, &error);
  if (failed(code))
    throw std::runtime_error(error);
  if (code->cubin.empty())
    return -1;
  int64_t bytes = 0;
  for (const lower::gpu::KernelStatistics &kernel : code->statistics)
    bytes += kernel.spillStores + kernel.spillLoads;
  return bytes;
}

} // namespace kedge::test
