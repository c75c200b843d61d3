#include "runtime/cuda/library/CudnnGraph.h"
#include "runtime/io/Error.h"

namespace kedge::rt::cuda {
using namespace calls;

CudnnGraph::CudnnGraph(const SharedLibrary &from) {
  from.bind(create, "cudnnBackendCreateDescriptor");
  from.bind(destroy, "cudnnBackendDestroyDescriptor");
  from.bind(set, "cudnnBackendSetAttribute");
  from.bind(get, "cudnnBackendGetAttribute");
  from.bind(finalize, "cudnnBackendFinalize");
  from.bind(execute, "cudnnBackendExecute");
  from.bind(errorString, "cudnnGetErrorString");
}

GraphDescriptor::GraphDescriptor(const CudnnGraph &library, cudnnBackendDescriptorType_t type)
    : library(library) {
  if (const cudnnStatus_t status = library.create(type, &handle); status != CUDNN_STATUS_SUCCESS)
    fail("cuDNN makes no descriptor of type {}: {} ({})", static_cast<int>(type), library.errorString(status),
         static_cast<int>(status));
}

GraphDescriptor::~GraphDescriptor() {
  if (handle)
    library.destroy(handle);
}

GraphDescriptor::GraphDescriptor(GraphDescriptor &&other) noexcept
    : library(other.library), handle(std::exchange(other.handle, nullptr)) {}

GraphDescriptor &GraphDescriptor::setBytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                           int64_t count, const void *values) {
  if (const cudnnStatus_t status = library.set(handle, name, type, count, values);
      status != CUDNN_STATUS_SUCCESS)
    fail("cuDNN does not take attribute {} of a graph: {} ({})", static_cast<int>(name),
         library.errorString(status), static_cast<int>(status));
  return *this;
}

GraphDescriptor &GraphDescriptor::finalize() {
  if (const cudnnStatus_t status = tryFinalize(); status != CUDNN_STATUS_SUCCESS)
    fail("cuDNN does not take a descriptor of a graph: {} ({})", library.errorString(status),
         static_cast<int>(status));
  return *this;
}

namespace {

using Kind = ConvolutionCall::Kind;

constexpr int64_t kImage = 1, kFilter = 2, kResult = 3; // numbers of tensors in a graph

cudnnDataType_t typeOf(const ConvolutionCall &call) {
  return call.type == DType::BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

/// Attributes of the operation, by kind: the convolution, what image, filter and result are to it, and the
/// two factors.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, image, filter, result, alpha, beta;
};

OperationNames namesOf(Kind kind) {
  switch (kind) {
  case Kind::Forward:
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  case Kind::Data:
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  case Kind::Filter:
    break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

std::vector<int64_t> spatial(const std::array<int, 3> &values, int dims) {
  return {values.begin(), values.begin() + dims};
}

GraphDescriptor convolutionOf(const CudnnGraph &library, const ConvolutionCall &call) {
  const std::vector<int64_t> pad = spatial(call.pad, call.dims), stride = spatial(call.stride, call.dims),
                             dilation = spatial(call.dilation, call.dims);
  const auto sizes = [](const std::vector<int64_t> &list) { return std::span<const int64_t>(list); };
  GraphDescriptor made(library, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{call.dims})
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, sizes(pad))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, sizes(pad))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, sizes(stride))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, sizes(dilation))
      .finalize();
  return made;
}

} // namespace

ConvolutionPlan::ConvolutionPlan(const CudnnGraph &library, PlanDevice device, const ConvolutionCall &call,
                                 uint64_t room, const std::string &name)
    : library(library), device(device) {
  describe(call);
  for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (GraphDescriptor &configuration : configurations(mode)) {
      int64_t number = 0;
      if (isPlain(configuration, number))
        tryPlan(std::move(configuration), number);
      if (plan && workspace <= room)
        return;
    }
  if (!plan)
    fail("cuDNN has no deterministic engine for {}; compile with --convolution auto or generated, which have "
         "kernels of "
         "their own",
         name);
}

GraphDescriptor ConvolutionPlan::tensor(const std::array<int, 5> &shape, int count, int64_t number,
                                        cudnnDataType_t type) const {
  const std::vector<int64_t> sizes(shape.begin(), shape.begin() + count);
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * sizes[i];
  constexpr int64_t alignment = 16; // of all buffers of an arena
  GraphDescriptor made(library, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::span<const int64_t>(sizes))
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::span<const int64_t>(strides))
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, number)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment)
      .finalize();
  return made;
}

void ConvolutionPlan::describe(const ConvolutionCall &call) {
  const int count = call.dims + 2;
  parts.reserve(5);
  const GraphDescriptor &convolution = parts.emplace_back(convolutionOf(library, call)),
                        &image = parts.emplace_back(tensor(call.x, count, kImage, typeOf(call))),
                        &filter = parts.emplace_back(tensor(call.w, count, kFilter, typeOf(call))),
                        &result = parts.emplace_back(tensor(call.y, count, kResult, typeOf(call)));
  const OperationNames names = namesOf(call.kind);
  const GraphDescriptor &operation = parts.emplace_back(GraphDescriptor(library, names.type))
                                         .set(names.convolution, convolution)
                                         .set(names.image, image)
                                         .set(names.filter, filter)
                                         .set(names.result, result)
                                         .set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f)
                                         .set(names.beta, CUDNN_TYPE_FLOAT, 0.0f)
                                         .finalize();
  graph.emplace(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  if (device.handle)
    graph->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, device.handle);
  graph->finalize();
}

std::vector<GraphDescriptor> ConvolutionPlan::configurations(cudnnBackendHeurMode_t mode) const {
  GraphDescriptor heuristics(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (device.properties)
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device.properties);
  std::vector<GraphDescriptor> list;
  int64_t count = 0;
  if (heuristics.tryFinalize() != CUDNN_STATUS_SUCCESS ||
      library.get(heuristics.handle, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                  nullptr) != CUDNN_STATUS_SUCCESS)
    return list; // the other mode may know more
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < count; ++i)
    handles.push_back(list.emplace_back(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).handle);
  if (library.get(heuristics.handle, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                  &count, handles.data()) != CUDNN_STATUS_SUCCESS)
    count = 0;
  while (std::ssize(list) > count)
    list.pop_back();
  return list;
}

/// Equal bits in every run, inputs and sums as wide as they are given, no sums of transformed numbers.
bool ConvolutionPlan::isPlain(const GraphDescriptor &configuration, int64_t &number) const {
  GraphDescriptor engine(library, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  int64_t count = 0;
  const auto read = [&](const GraphDescriptor &from, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t most, void *values) {
    return library.get(from.handle, name, type, most, &count, values) == CUDNN_STATUS_SUCCESS;
  };
  if (!read(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine.handle) ||
      !read(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &number) ||
      !read(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, std::ssize(notes),
            notes.data()))
    return false;
  return std::all_of(notes.begin(), notes.begin() + count, [](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE || note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP;
  });
}

void ConvolutionPlan::tryPlan(GraphDescriptor configuration, int64_t number) {
  GraphDescriptor made(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (device.properties)
    made.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device.properties);
  else
    made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, device.handle);
  int64_t bytes = 0, count = 0;
  if (made.tryFinalize() != CUDNN_STATUS_SUCCESS ||
      library.get(made.handle, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                  &bytes) != CUDNN_STATUS_SUCCESS)
    return; // this engine does not run here
  if (plan && static_cast<uint64_t>(bytes) >= workspace)
    return;
  plan.emplace(std::move(made));
  planned.emplace(std::move(configuration));
  workspace = static_cast<uint64_t>(bytes);
  engineNumber = number;
}

GraphDescriptor ConvolutionPlan::pack(void *image, void *filter, void *result, void *room) const {
  const std::array<int64_t, 3> numbers = {kImage, kFilter, kResult};
  const std::array<void *, 3> places = {image, filter, result};
  GraphDescriptor made(library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  made.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, std::span<const int64_t>(numbers))
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::span<void *const>(places))
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, room)
      .finalize();
  return made;
}

cudnnStatus_t ConvolutionPlan::run(const GraphDescriptor &pack) const {
  return library.execute(device.handle, plan->handle, pack.handle);
}

} // namespace kedge::rt::cuda
