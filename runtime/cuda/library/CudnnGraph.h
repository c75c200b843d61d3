// cuDNN's graph API: descriptors, and the plan of one convolution of 16-bit tensors.
// https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-graph-library.html
#pragma once
#include "runtime/calls/LibraryWork.h"
#include "runtime/cuda/driver/SharedLibrary.h"
#include <cudnn.h>
#include <optional>
#include <span>

namespace kedge::rt::cuda {

/// Functions of the graph API.
struct CudnnGraph {
  explicit CudnnGraph(const SharedLibrary &library);

  decltype(&::cudnnBackendCreateDescriptor) create = nullptr;
  decltype(&::cudnnBackendDestroyDescriptor) destroy = nullptr;
  decltype(&::cudnnBackendSetAttribute) set = nullptr;
  decltype(&::cudnnBackendGetAttribute) get = nullptr;
  decltype(&::cudnnBackendFinalize) finalize = nullptr;
  decltype(&::cudnnBackendExecute) execute = nullptr;
  decltype(&::cudnnGetErrorString) errorString = nullptr;
};

/// A descriptor, destroyed with its owner. Throws rt::RuntimeError, naming the attribute's number, where the
/// library takes no value.
class GraphDescriptor {
public:
  GraphDescriptor(const CudnnGraph &library, cudnnBackendDescriptorType_t type);
  ~GraphDescriptor();
  GraphDescriptor(GraphDescriptor &&other) noexcept;
  GraphDescriptor &operator=(GraphDescriptor &&) = delete;

  template <typename Value>
  GraphDescriptor &set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       std::span<const Value> values) {
    return setBytes(name, type, static_cast<int64_t>(values.size()), values.data());
  }
  template <typename Value>
  GraphDescriptor &set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       const Value &value) {
    return setBytes(name, type, 1, &value);
  }
  GraphDescriptor &set(cudnnBackendAttributeName_t name, const GraphDescriptor &other) {
    return setBytes(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.handle);
  }
  /// What the library says; no error where it refuses.
  cudnnStatus_t tryFinalize() { return library.finalize(handle); }
  GraphDescriptor &finalize();

  const CudnnGraph &library;
  cudnnBackendDescriptor_t handle = nullptr;

private:
  GraphDescriptor &setBytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                            const void *values);
};

/// Where plans are made for: a GPU by its handle, or one that is only described
/// (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR).
struct PlanDevice {
  cudnnHandle_t handle = nullptr;
  const GraphDescriptor *properties = nullptr;
};

/// One convolution, or gradient of one, of bf16 or f16 with sums in f32, on an engine that gives equal bits
/// in every run and rounds as plain sums do.
class ConvolutionPlan {
public:
  /// Takes the first such engine, in the order of the library's heuristics, whose workspace is at most `room`
  /// bytes, else the one with the least. Throws rt::RuntimeError where there is none; `name` is of the
  /// convolution.
  ConvolutionPlan(const CudnnGraph &library, PlanDevice device, const calls::ConvolutionCall &call,
                  uint64_t room, const std::string &name);

  uint64_t workspaceBytes() const { return workspace; }
  int64_t engine() const { return engineNumber; }
  /// Where a run finds image, filter and result, and its workspace.
  GraphDescriptor pack(void *image, void *filter, void *result, void *workspace) const;
  /// Enqueues it on the handle's stream.
  cudnnStatus_t run(const GraphDescriptor &pack) const;

private:
  void describe(const calls::ConvolutionCall &call);
  GraphDescriptor tensor(const std::array<int, 5> &shape, int count, int64_t number,
                         cudnnDataType_t type) const;
  std::vector<GraphDescriptor> configurations(cudnnBackendHeurMode_t mode) const;
  bool isPlain(const GraphDescriptor &configuration, int64_t &number) const;
  /// Keeps the plan of a configuration if the library makes one, and it needs less workspace than the one so
  /// far.
  void tryPlan(GraphDescriptor configuration, int64_t number);

  const CudnnGraph &library;
  PlanDevice device;
  std::vector<GraphDescriptor> parts;                  ///< what the graph refers to
  std::optional<GraphDescriptor> graph, planned, plan; ///< `planned`: the configuration of the plan
  uint64_t workspace = 0;
  int64_t engineNumber = -1;
};

} // namespace kedge::rt::cuda
