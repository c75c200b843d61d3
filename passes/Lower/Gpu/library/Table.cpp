#include "passes/Base/KedgePass.h"
#include "passes/Lower/Gpu/LibraryKernels.h"
#include "passes/Lower/Gpu/library/Generators.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace {

template <void (*generate)(CallKernels &)>
FailureOr<LaunchCode> run(GpuEmitter &emitter, sched::LibraryOp op) {
  LaunchCode code;
  const auto emit = [&] {
    CallKernels kernels(emitter, op);
    generate(kernels);
    code = kernels.take();
  };
  const auto report = [&](const char *text) { op.emitOpError("has no kernel for CUDA: ") << text; };
  return failed(reportingFailures(emit, report)) ? FailureOr<LaunchCode>() : std::move(code);
}

struct Entry {
  llvm::StringLiteral kernel;
  LibraryGenerator generate;
};

/// Sorted by name.
constexpr Entry kEntries[] = {
    {"onnx.ArgMax", run<generateArgExtreme>},
    {"onnx.ArgMin", run<generateArgExtreme>},
    {"onnx.AveragePool", run<generateAveragePool>},
    {"onnx.CenterCropPad", run<generateCenterCropPad>},
    {"onnx.Concat", run<generateCopies>},
    {"onnx.Conv", run<generateConvolution>},
    {"onnx.ConvTranspose", run<generateConvolution>},
    {"onnx.CumSum", run<generateCumSum>},
    {"onnx.DepthToSpace", run<generateCopies>},
    {"onnx.Expand", run<generateCopies>},
    {"onnx.EyeLike", run<generateEyeLike>},
    {"onnx.Gather", run<generateGather>},
    {"onnx.GatherElements", run<generateGatherElements>},
    {"onnx.GatherND", run<generateGatherND>},
    {"onnx.Hardmax", run<generateHardmax>},
    {"onnx.MaxPool", run<generateMaxPool>},
    {"onnx.OneHot", run<generateOneHot>},
    {"onnx.Pad", run<generatePad>},
    {"onnx.Range", run<generateRange>},
    {"onnx.Resize", run<generateResize>},
    {"onnx.Scatter", run<generateScatterElements>},
    {"onnx.ScatterElements", run<generateScatterElements>},
    {"onnx.ScatterND", run<generateScatterND>},
    {"onnx.Slice", run<generateCopies>},
    {"onnx.SpaceToDepth", run<generateCopies>},
    {"onnx.Split", run<generateCopies>},
    {"onnx.Tile", run<generateCopies>},
    {"onnx.TopK", run<generateTopK>},
    {"onnx.Transpose", run<generateCopies>},
    {"onnx.Trilu", run<generateTrilu>},
    {"train.attention", run<generateAttention>},
    {"train.attention_grad", run<generateAttentionGrad>},
    {"train.average_pool_grad", run<generateAveragePoolGrad>},
    {"train.conv_grad_input", run<generateConvolution>},
    {"train.conv_grad_weight", run<generateConvolution>},
    {"train.conv_transpose_grad_input", run<generateConvolution>},
    {"train.conv_transpose_grad_weight", run<generateConvolution>},
    {"train.gather_elements_grad", run<generateGatherElementsGrad>},
    {"train.gather_grad", run<generateGatherGrad>},
    {"train.gather_nd_grad", run<generateGatherNDGrad>},
    {"train.max_pool_grad", run<generateMaxPoolGrad>},
    {"train.pad_grad", run<generatePadGrad>},
    {"train.resize_grad", run<generateResizeGrad>},
    {"train.slice_grad", run<generateSliceGrad>},
};

} // namespace

LibraryGenerator kedge::lower::gpu::libraryGenerator(llvm::StringRef kernel) {
  for (const Entry &entry : kEntries)
    if (entry.kernel == kernel)
      return entry.generate;
  return nullptr;
}

llvm::SmallVector<llvm::StringRef> kedge::lower::gpu::generatedKernels() {
  llvm::SmallVector<llvm::StringRef> names;
  for (const Entry &entry : kEntries)
    names.push_back(entry.kernel);
  return names;
}
