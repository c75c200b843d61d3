// The graph API of the stand-in of cuDNN: one convolution of 16 bits. Descriptors keep what they are given,
// and are complete or refused when they are finalized. The heuristics know three engines: number 1, which is
// not deterministic; 2, which needs KEDGE_STUB_WORKSPACE bytes (0); and, in the mode to fall back to, 3,
// which needs nothing. With KEDGE_STUB_REFUSES_PLAIN=query engine 2 has no plan, with =run neither 2 nor 3
// has one.
#include "runtime/format/Float16.h"
#include "test/unit/cuda/stubs/Convolution.h"
#include "test/unit/cuda/stubs/Stub.h"
#include <algorithm>
#include <map>
#include <memory>
#include <span>

using namespace kedge::stub;

namespace {

struct Value {
  cudnnBackendAttributeType_t type;
  int64_t count;
  std::vector<unsigned char> bytes;
};

struct Descriptor {
  cudnnBackendDescriptorType_t type{};
  bool isFinal = false;
  std::map<int, Value> values;
  int64_t engine = 0;                    ///< of a configuration and of an engine
  const Descriptor *operation = nullptr; ///< of a configuration

  template <typename T> std::span<const T> list(int name) const {
    const auto found = values.find(name);
    if (found == values.end())
      return {};
    return {reinterpret_cast<const T *>(found->second.bytes.data()),
            static_cast<size_t>(found->second.count)};
  }
  template <typename T> T at(int name) const { return list<T>(name).front(); }
  const Descriptor &part(int name) const { return *at<const Descriptor *>(name); }
};

size_t sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  default:
    return 4;
  }
}

/// What a descriptor must have before it is finalized; of others nothing is asked.
std::vector<int> needs(const Descriptor &d) {
  switch (d.type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES,
            CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT};
  case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    return {CUDNN_ATTR_CONVOLUTION_COMP_TYPE,     CUDNN_ATTR_CONVOLUTION_CONV_MODE,
            CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,  CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
            CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
            CUDNN_ATTR_CONVOLUTION_DILATIONS};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return {
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return {
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_ATTR_OPERATIONGRAPH_HANDLE};
  case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    return {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_ATTR_ENGINEHEUR_MODE};
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
    return {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_ATTR_EXECUTION_PLAN_HANDLE};
  case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    return {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
            CUDNN_ATTR_VARIANT_PACK_WORKSPACE};
  default:
    return {};
  }
}

bool isComplete(const Descriptor &d) {
  for (int name : needs(d))
    if (!d.values.contains(name))
      return false;
  for (const auto &[name, value] : d.values)
    if (value.type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
      for (const Descriptor *part : d.list<const Descriptor *>(name))
        if (!part->isFinal)
          return false;
  return true;
}

int64_t workspaceOf(int64_t engine) { return engine == 2 ? setting("KEDGE_STUB_WORKSPACE", 0) : 0; }

bool hasPlan(int64_t engine) {
  const char *refuses = std::getenv("KEDGE_STUB_REFUSES_PLAIN");
  return !refuses || engine == 1 || (engine == 3 && std::strcmp(refuses, "query") == 0);
}

/// Image, filter and result of an operation, and which of them it computes.
struct Roles {
  int convolution, image, filter, result, computes;
};

Roles rolesOf(const Descriptor &operation) {
  switch (operation.type) {
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 2};
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 0};
  default:
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 1};
  }
}

std::vector<int> sizes(std::span<const int64_t> list) { return {list.begin(), list.end()}; }

Shape shapeOf(const Descriptor &tensor) {
  return {tensor.at<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE),
          sizes(tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS))};
}

bool isDense(const Descriptor &tensor) {
  const auto dims = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i])
    if (strides[i] != stride)
      return false;
  return true;
}

float wide(cudnnDataType_t type, uint16_t bits) {
  kedge::rt::BFloat16 brain;
  kedge::rt::Float16 half;
  brain.bits = half.bits = bits;
  return type == CUDNN_DATA_BFLOAT16 ? static_cast<float>(brain) : static_cast<float>(half);
}

uint16_t narrow(cudnnDataType_t type, float value) {
  return type == CUDNN_DATA_BFLOAT16 ? kedge::rt::BFloat16(value).bits : kedge::rt::Float16(value).bits;
}

/// One call of the operation, from and to these places.
struct Run {
  Shape shapes[3]; ///< of image, filter and result
  Convolution convolution;
  uint16_t *data[3];
  int computes;

  void operator()() const {
    std::vector<float> values[3];
    for (int i = 0; i < 3; ++i) {
      values[i].assign(static_cast<size_t>(elements(shapes[i])), 0.0f);
      for (size_t k = 0; i != computes && k < values[i].size(); ++k)
        values[i][k] = wide(shapes[i].type, data[i][k]);
    }
    visitProducts(
        shapes[0], shapes[1], shapes[2], convolution, [&](int64_t image, int64_t filter, int64_t result) {
          float &x = values[0][static_cast<size_t>(image)], &w = values[1][static_cast<size_t>(filter)],
                &y = values[2][static_cast<size_t>(result)];
          (computes == 0   ? x
           : computes == 1 ? w
                           : y) += computes == 0   ? w * y
                                   : computes == 1 ? x * y
                                                   : x * w;
        });
    const std::vector<float> &made = values[computes];
    std::transform(made.begin(), made.end(), data[computes],
                   [this](float value) { return narrow(shapes[computes].type, value); });
  }
};

Convolution convolutionOf(const Descriptor &d, int groups) {
  Convolution made;
  made.groups = groups;
  made.pad = sizes(d.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS));
  made.stride = sizes(d.list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES));
  made.dilation = sizes(d.list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS));
  return made;
}

cudnnStatus_t execute(const Descriptor &plan, const Descriptor &pack) {
  const Descriptor &configuration = plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG),
                   &operation = *configuration.operation;
  const Roles roles = rolesOf(operation);
  const auto numbers = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto places = pack.list<uint16_t *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  Run run{{}, {}, {}, roles.computes};
  const int names[3] = {roles.image, roles.filter, roles.result};
  for (int i = 0; i < 3; ++i) {
    const Descriptor &tensor = operation.part(names[i]);
    const auto number =
        std::find(numbers.begin(), numbers.end(), tensor.at<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID));
    if (number == numbers.end() || !isDense(tensor))
      return CUDNN_STATUS_BAD_PARAM;
    run.shapes[i] = shapeOf(tensor);
    run.data[i] = places[static_cast<size_t>(number - numbers.begin())];
    if (reinterpret_cast<uintptr_t>(run.data[i]) % 16 != 0)
      return CUDNN_STATUS_BAD_PARAM;
  }
  const bool needsRoom = workspaceOf(configuration.engine) > 0;
  if (needsRoom && !pack.at<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE))
    return CUDNN_STATUS_BAD_PARAM;
  run.convolution =
      convolutionOf(operation.part(roles.convolution), run.shapes[0].sizes[1] / run.shapes[1].sizes[1]);
  record("cudnnBackendExecute engine %d computes %d", static_cast<int>(configuration.engine), roles.computes);
  enqueue(run, convolutionStream);
  return static_cast<cudnnStatus_t>(failure("cudnnBackendExecute"));
}

std::vector<int64_t> enginesOf(const Descriptor &heuristics) {
  return heuristics.at<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_A
             ? std::vector<int64_t>{1, 2}
             : std::vector<int64_t>{3};
}

cudnnStatus_t readEngines(const Descriptor &heuristics, int64_t wanted, int64_t *count, Descriptor **list) {
  const std::vector<int64_t> engines = enginesOf(heuristics);
  *count = static_cast<int64_t>(engines.size());
  for (int64_t i = 0; i < std::min(wanted, *count); ++i) {
    Descriptor &made = *list[i];
    made.engine = engines[static_cast<size_t>(i)];
    made.operation =
        &heuristics.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).part(CUDNN_ATTR_OPERATIONGRAPH_OPS);
    made.isFinal = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t read(const Descriptor &d, int name, int64_t wanted, int64_t *count, void *values) {
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    return readEngines(d, wanted, count, static_cast<Descriptor **>(values));
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    (*static_cast<Descriptor **>(values))->engine = d.engine;
    break;
  case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
    *static_cast<int64_t *>(values) = d.engine;
    break;
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
    auto *notes = static_cast<cudnnBackendNumericalNote_t *>(values);
    notes[0] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE, notes[1] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    *count = d.engine == 1 ? 2 : d.engine == 2 ? 1 : 0;
    return CUDNN_STATUS_SUCCESS;
  }
  case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    *static_cast<int64_t *>(values) = workspaceOf(d.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).engine);
    break;
  default:
    return CUDNN_STATUS_BAD_PARAM;
  }
  *count = 1;
  return CUDNN_STATUS_SUCCESS;
}

} // namespace

extern "C" {
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *made) {
  *made = new Descriptor;
  static_cast<Descriptor *>(*made)->type = type;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
  delete static_cast<Descriptor *>(d);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  Descriptor &d = *static_cast<Descriptor *>(to);
  if (d.isFinal || count < 1)
    return CUDNN_STATUS_BAD_PARAM;
  const auto *bytes = static_cast<const unsigned char *>(values);
  d.values[name] = {type, count, {bytes, bytes + static_cast<size_t>(count) * sizeOf(type)}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t wanted, int64_t *count,
                                       void *values) {
  const Descriptor &d = *static_cast<const Descriptor *>(from);
  return d.isFinal || d.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR ? read(d, name, wanted, count, values)
                                                                : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t which) {
  Descriptor &d = *static_cast<Descriptor *>(which);
  if (!isComplete(d))
    return CUDNN_STATUS_BAD_PARAM;
  if (d.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
      !hasPlan(d.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).engine))
    return CUDNN_STATUS_NOT_SUPPORTED;
  d.isFinal = true;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  return execute(*static_cast<const Descriptor *>(plan), *static_cast<const Descriptor *>(pack));
}
}
