// A compiled program as structs. include/kedge/abi/program.md describes the format.
#pragma once
#include "kedge/abi.h"
#include "kedge/abi/StateRoles.h"
#include "kedge/abi/Streams.h"
#include "runtime/format/GraphHash.h"
#include "runtime/format/QuantizedFormats.h"
#include "runtime/format/ResizedTensor.h"
#include "runtime/format/Tensor.h"
#include "runtime/program/Mesh.h"
#include "runtime/program/Options.h"
#include "runtime/program/Shard.h"
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::rt {

using abi::isOfRanks, abi::kRankStream, abi::kStreams, abi::kTransferStream;

class Communicator;
class Device;
struct Program;
struct ProgramImage;
/// Creates the device that a program runs on (runtime/exec/Device.h). The communicator may be null: one rank.
using DeviceFactory = std::unique_ptr<Device> (*)(const Program &, const ProgramImage &, int threads,
                                                  Communicator *);

/// The parts of a program, from its object file or from a compiler in this process. Must outlive everything
/// made from it.
struct ProgramImage {
  std::string_view json;
  const unsigned char *data = nullptr;
  size_t dataSize = 0;
  std::function<KedgeKernel(const std::string &name)> kernel; ///< null when there is none of that name
  DeviceFactory device = nullptr;                             ///< null: the host
};

using abi::StateRole;

struct StateInit {
  enum class Kind : uint8_t { File, Data, Zeros, Fill, Uniform, Normal } kind = Kind::Zeros;
  int file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  DType type = DType::F32; ///< type of the bytes in the file or in the program
  std::vector<int> perm;   ///< arena tensor = transpose(those bytes, perm); empty: no transposition
  double value = 0; ///< Fill: the value. Uniform: values are in [-value, value). Normal: standard deviation
  std::string hash; ///< File: hashWeights (runtime/format/WeightHash.h) of those bytes at compile time;
                    ///< empty: unknown
  std::optional<Resized> resized = {}; ///< those bytes are of a tensor with another shape
};

/// Tensors of an adapter; those of embeddings have names of their own in folders.
enum class AdapterTensor : uint8_t {
  A,
  B,
  Magnitude,
  EmbeddingA,
  EmbeddingB,
  Tokens,
  OutputScale,
  InputScale
};
/// What an adapter begins as a part of, and its base as the rest.
enum class Decomposition : uint8_t { None, Pissa, Olora };

/// Says that a state is of a low-rank adapter: the frozen weight `base` is used as base + scale B A, with
/// outputs of norm m where the adapter has a magnitude.
struct AdapterFactor {
  AdapterTensor tensor = AdapterTensor::A;
  std::string base; ///< name of the weight's state
  double scale = 0;
  bool transposed = false; ///< the weight is stored as [in, out]
  std::string path;        ///< of its module, in an adapter folder
  Decomposition from = Decomposition::None;
  std::string bias = {};          ///< name of the state that an output scale multiplies, too
  std::vector<int64_t> rows = {}; ///< of a table, in whose place tokens are

  bool isA() const { return tensor == AdapterTensor::A || tensor == AdapterTensor::EmbeddingA; }
  bool isB() const { return tensor == AdapterTensor::B || tensor == AdapterTensor::EmbeddingB; }
  bool isMagnitude() const { return tensor == AdapterTensor::Magnitude; }
  bool isTokens() const { return tensor == AdapterTensor::Tokens; }
  bool isScale() const { return tensor == AdapterTensor::OutputScale || tensor == AdapterTensor::InputScale; }
};

/// Where bytes are: in the arena of kernels, or in the arena in host memory
/// (--offload), which only launches of the library kernel `copy` access. Files hold the first bytes of the
/// latter where Program::diskParts says so.
enum class Space : uint8_t { Device, Host };

struct State {
  std::string name;
  StateRole role = StateRole::Constant;
  std::string onnxName; ///< empty for moments, accumulators and counters
  std::string of;       ///< name of the parameter that this moment or accumulator belongs to
  TensorDesc desc;      ///< in its arena
  Space space = Space::Device;
  uint64_t offset = 0;
  std::vector<int> perm; ///< arena tensor = transpose(tensor in the exported file, perm)
  StateInit init;
  std::optional<AdapterFactor> adapter;
  std::optional<Encoding>
      encoding; ///< set if it is part of a weight in few bits; `init` then has the weight's values
  std::optional<Shard> shard; ///< set if the state is one rank's part of a tensor
  std::optional<StateView>
      view; ///< not set: the state is the whole tensor. For shards it is set once the rank is known

  StateView viewOrWhole() const;
  /// The shape of the whole tensor in the exported file, in safetensors and in checkpoints.
  std::vector<int64_t> fileShape() const;
  /// The same before it was resized; fileShape() if it was not.
  std::vector<int64_t> firstShape() const;
  /// Whether a tensor of this shape gives its values.
  bool takes(const std::vector<int64_t> &shape) const;
  /// Throws rt::RuntimeError if this process has only a part of the tensor. `done`: what the whole tensor is
  /// needed for.
  void expectWhole(const char *done) const;
};

struct ScalarSlot {
  std::string name;
  DType type = DType::F32;
  uint64_t offset = 0;
};

struct ResultSlot {
  std::string name, function;
  TensorDesc desc;
  uint64_t offset = 0;
};

struct InputSpec {
  std::string name;
  TensorDesc desc;
  bool labels = false;
  std::optional<int64_t> lo, hi; ///< inclusive
  std::vector<int64_t> allowed;  ///< values that are allowed outside of these bounds
  /// The leading dimension is the micro-batch. Otherwise the file contains the whole tensor.
  bool batched = true;
};

struct ArenaSlot {
  std::string name;
  uint64_t offset = 0;
  TensorDesc desc; ///< for outputs
  /// For an output in parts (one ArenaSlot each): its elements [first, first + elements) are at `offset`
  /// right after launch afterLaunch, and only then. afterLaunch -1: the whole output is there at the end of
  /// the function.
  int64_t first = 0, elements = 0;
  int afterLaunch = -1;
};

struct BufferLife {
  uint64_t offset = 0, bytes = 0;
  int first = -1, last = 0;
  std::string name;
  Space space = Space::Device;
};

/// Boxes of an argument that the copy engine brings to shared memory, as include/kedge/abi/program.md says.
struct GpuTensorMap {
  uint64_t argument = 0, offset = 0;
  DType type = DType::BF16;
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box;
};

/// A GPU kernel: its function in the program's module, and its operands.
struct GpuKernel {
  struct Operand {
    bool workspace =
        false; ///< true: `value` is an offset in the launch's workspace; false: the number of an argument
    uint64_t value = 0;
    std::optional<GpuTensorMap> map = {}; ///< the operand is the map's address
  };
  std::string name;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::vector<Operand> operands;
};

struct Launch {
  std::string kernel;  ///< name of a generated kernel, or empty
  std::string library; ///< name of the op that a library kernel computes, or empty
  /// `kernels` do the work, in order; if there are none, there is nothing to do. Of a product they do what
  /// the library cannot.
  bool onGpu = false;
  std::vector<GpuKernel> kernels;
  nlohmann::json attrs;
  std::vector<uint64_t> args;
  int hostArg = -1;       ///< the argument that is an offset in the host arena; -1: none
  int stream = 0;         ///< launches of one stream run one after the other (include/kedge/abi/Streams.h)
  std::vector<int> waits; ///< numbers of events that earlier launches of the function record
  int records = -1;       ///< the event that this launch records at its end; -1: none
  size_t reads = 0;
  int64_t iterations = 1, grain = 1;
  bool isLinked = false; ///< the library's function is one of a plugin, in the program's table of kernels
  std::vector<TensorDesc> inputs, outputs;
  uint64_t workspaceOffset = 0, workspaceBytes = 0;
  std::string loc;
  bool backward = false; ///< part of the backward pass
  nlohmann::json values; ///< what the outputs are of the step, for --trace-values
};

struct GradientSlot {
  std::string parameter; ///< name of the parameter's state
  uint64_t offset = 0;
  DType type = DType::F32;
  int afterLaunch = -1;
  Space space = Space::Device;
  std::optional<Shard> shard; ///< set if this is one rank's part of the gradient
};

struct Function {
  std::string name;
  std::vector<ArenaSlot> inputs, outputs;
  std::vector<BufferLife> buffers;
  std::vector<Launch> launches;
  int lossReady = -1; ///< the launch after which the loss is known; -1: at the function's end
  int normReady =
      -1; ///< the launch after which grad_norm is known and nothing has been updated yet; -1: none
  std::vector<GradientSlot> gradients;
  bool gradientsPerItems = false; ///< gradients must still be multiplied by nominal items / items
};

struct ModelFile {
  std::string path;
  uint64_t bytes = 0;
};

/// What the program was compiled for.
struct Target {
  std::string kind = "cpu"; ///< cpu or cuda
  std::string arch;         ///< of cuda: "sm_90"
  /// GPU code in the program's data; length 0: none.
  uint64_t ptxOffset = 0, ptxBytes = 0, cubinOffset = 0, cubinBytes = 0;
  nlohmann::json algorithms;      ///< entries of the algorithm table (runtime/calls/AlgorithmTable.h)
  bool dependentLaunches = false; ///< kernels wait for those before them themselves (program.md)
};

enum class LossKind : uint8_t { Items, Mean, None };

struct CompiledOptions {
  LossKind loss = LossKind::Items;
  int64_t batch = 1, accumulate = 1;
  int64_t parts =
      1; ///< --same-bits: each `accumulate / parts` micro-batches are of one part of a rank's rows
  int64_t joinedMicroBatches = 1; ///< whose rows a step of a pipeline takes at once
  std::vector<int> ranks{1};
  std::string mesh; ///< of --mesh; empty: all ranks along `data`
  double nominalItems = 0, itemsPerBatch = 0;
  std::optional<int64_t> ignoreIndex;
  std::string lossName = "none";    ///< --loss
  std::string labels, logits;       ///< logits: empty if the model has only one float output
  std::optional<int64_t> classAxis; ///< --class-axis
  double tokensPerRow = 1;
  int64_t rowsTogether = 1;      ///< that the loss compares with each other, one after the other
  std::optional<double> dpoBeta; ///< of a preference loss: the default of --dpo-beta
  std::string optimizer = "adamw";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0, momentum = 0, clipNorm = 0;
  double lossScaleMin = 0;             ///< dynamic loss scaling: the smallest scale; 0: no loss scaling
  bool lossScaleFixed = false;         ///< the scale never changes
  std::vector<std::string> fileInputs; ///< of the model, whether the program reads them or not
  std::vector<std::string> drawsInEvaluation; ///< nodes whose random numbers nobody could switch off
  int64_t seed = 0;
  ScalarOptions schedule; ///< defaults of --schedule and what belongs to it
  int64_t parameters = 0;
  bool trainingInfo = false;
  nlohmann::json adapter; ///< of the adapter folder: "config" in peft's form, "whole": states beside the
                          ///< adapters; null: none
};

/// Bytes that a file of this process holds, in a directory.
struct DiskPart {
  std::string directory;
  uint64_t bytes = 0;
};

struct Program {
  std::string name;
  std::vector<ModelFile> files;
  std::string graphHash;
  std::vector<WeightBytes> weightPlaces; ///< the bytes that graphHash does not cover
  bool embedded = false;
  Target target;
  std::vector<std::string> features;
  int defaultThreads = 0; ///< 0: unknown
  uint64_t arenaBytes = 0, persistentBytes = 0;
  uint64_t arenaAlign = 64; ///< alignment of buffers in the arena
  uint64_t hostArenaBytes = 0, hostPersistentBytes = 0;
  std::vector<DiskPart> diskParts; ///< in place of the host arena's first bytes, in their order
  std::vector<State> states;
  std::vector<ScalarSlot> scalars;
  std::vector<ResultSlot> results;
  std::vector<InputSpec> inputs;
  std::map<std::string, Function> functions;
  CompiledOptions options;
  nlohmann::json plan, exportTemplate;

  Mesh mesh;                                  ///< of this run, once its ranks are known
  int64_t tensorPlace = 0, pipelinePlace = 0; ///< this rank's along these axes

  bool isPipelined() const; ///< allocates nothing: steps ask
  /// Whether this rank has the outputs of the model: those of the first stage do.
  bool hasOutputs() const { return pipelinePlace == 0; }
  const Function *function(const std::string &name) const; ///< null when absent
  const State *state(const std::string &name) const;
  const InputSpec *input(const std::string &name) const;
  const ResultSlot *result(const std::string &function, const std::string &name) const;
};

/// Arranges the ranks and sets the view of every shard for this one. Throws rt::RuntimeError if the program
/// is for other ranks.
void placeShards(Program &program, const World &world);

/// Throws rt::RuntimeError if the text is not a program, has another format, or contains offsets outside the
/// arena.
Program parseProgram(std::string_view json);

std::string_view roleName(StateRole role);

} // namespace kedge::rt
