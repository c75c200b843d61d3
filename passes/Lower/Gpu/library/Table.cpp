#include "passes/Lower/Gpu/LibraryKernels.h"
#include "passes/Lower/Gpu/library/Generators.h"
#include "runtime/io/Error.h"

using namespace mlir;
using namespace kedge;
using namespace kedge::lower::gpu;

namespace {

template <void (*generate)(CallKernels &)>
FailureOr<LaunchCode> run(GpuEmitter &emitter, sched::LibraryOp op) {
  try {
    CallKernels kernels(emitter, op);
    generate(kernels);
    return kernels.take();
  } catch (const rt::Error &error) {
    return op.emitOpError("has no kernel for CUDA: ") << error.what();
  }
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
    {"train.Attention", run<generateAttention>},
    {"train.AttentionGrad", run<generateAttentionGrad>},
    {"train.AveragePoolGrad", run<generateAveragePoolGrad>},
    {"train.ConvGradInput", run<generateConvolution>},
    {"train.ConvGradWeight", run<generateConvolution>},
    {"train.ConvTransposeGradInput", run<generateConvolution>},
    {"train.ConvTransposeGradWeight", run<generateConvolution>},
    {"train.GatherElementsGrad", run<generateGatherElementsGrad>},
    {"train.GatherGrad", run<generateGatherGrad>},
    {"train.GatherNDGrad", run<generateGatherNDGrad>},
    {"train.MaxPoolGrad", run<generateMaxPoolGrad>},
    {"train.PadGrad", run<generatePadGrad>},
    {"train.ResizeGrad", run<generateResizeGrad>},
    {"train.SliceGrad", run<generateSliceGrad>},
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
