// A compiled program as structs: what runtime/abi/program.md describes.
#pragma once
#include "runtime/abi/kedge_abi.h"
#include "runtime/format/FewBits.h"
#include "runtime/format/GraphHash.h"
#include "runtime/format/Tensor.h"
#include "runtime/program/World.h"
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

class Communicator;
class Device;
struct Program;
struct ProgramImage;
/// Makes what a program runs on (runtime/exec/Device.h). The communicator may be null: a world of one rank.
using DeviceFactory = std::unique_ptr<Device> (*)(const Program &, const ProgramImage &, int threads, Communicator *);

/// What the object file (or the compiler, in-process) hands over. Must outlive everything made from it.
struct ProgramImage {
  std::string_view json;
  const unsigned char *data = nullptr;
  size_t dataSize = 0;
  std::function<KedgeKernel(const std::string &name)> kernel; ///< null when there is none of that name
  DeviceFactory device = nullptr;                           ///< null: the host
};

enum class StateRole : uint8_t {
  Parameter,
  Frozen,
  Buffer,
  Constant,
  Moment1,
  Moment2,
  Momentum,
  Accumulator,
  Counter,
  State,
  WorkingCopy, ///< 16-bit form of a parameter; @restore makes it from its master
  Scaler       ///< of dynamic loss scaling; a checkpoint's manifest holds its values
};

struct StateInit {
  enum class Kind : uint8_t { File, Data, Zeros, Fill, Uniform, Normal } kind = Kind::Zeros;
  int file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  DType type = DType::F32; ///< of the bytes at that place
  std::vector<int> perm;   ///< arena tensor = transpose(those bytes, perm); empty: as they are
  double value = 0;        ///< Fill; Uniform: in [-value, value); Normal: its standard deviation
  std::string hash;        ///< File: hashWeights (runtime/format/WeightHash.h) of those bytes when it was compiled; empty: unknown
};

/// Which factor of a low-rank adapter a state is: the frozen weight `base` acts as base + scale B A.
struct AdapterFactor {
  bool isB = false;
  std::string base; ///< name of the weight's state
  double scale = 0;
  bool transposed = false; ///< the weight lies as [in, out]
  std::string path;        ///< of its module, in a folder of adapters
};

/// Where bytes lie: in the arena that kernels work on, or in the arena of host memory (--offload), which launches of
/// the library kernel `copy` alone read and write.
enum class Space : uint8_t { Device, Host };

/// The part of a tensor that a state holds: elements [first, first + count) of the whole, in the order of the arena's
/// axes, lie at element `at` of the state; its other elements are padding.
struct StateView {
  std::vector<int64_t> whole; ///< shape of the whole
  int64_t first = 0, at = 0, count = 0;
};

struct State {
  std::string name;
  StateRole role = StateRole::Constant;
  std::string onnxName; ///< empty for moments, accumulators, counters
  std::string of;       ///< `name` of the parameter that a moment or accumulator belongs to
  TensorDesc desc;      ///< in its arena
  Space space = Space::Device;
  uint64_t offset = 0;
  std::vector<int> perm; ///< arena tensor = transpose(tensor in the exported file, perm)
  StateInit init;
  std::optional<AdapterFactor> adapter;
  std::optional<Encoding> encoding; ///< it is part of a weight in few bits, whose values `init` gives
  /// The state is each rank's part of a tensor of this shape: shardOf (runtime/program/World.h) says which.
  std::optional<std::vector<int64_t>> shard;
  std::optional<StateView> view; ///< absent: the state is the whole tensor; of a shard once the rank is known

  StateView viewOrWhole() const;
  /// Of the whole tensor in the exported file, safetensors and checkpoints.
  std::vector<int64_t> fileShape() const;
  /// Throws rt::Error when this process has but a part of the tensor, which is to be `done` as a whole.
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
  std::vector<int64_t> allowed;  ///< also fine
  /// Leading dimension is the micro-batch; otherwise the file holds the whole tensor.
  bool batched = true;
};

struct Place {
  std::string name;
  uint64_t offset = 0;
  TensorDesc desc; ///< of outputs
  /// Of an output in parts (one Place each): elements [first, first + elements) of it lie at `offset` right after this
  /// launch, and no longer. afterLaunch -1: the whole output, at the end of the function.
  int64_t first = 0, elements = 0;
  int afterLaunch = -1;
};

struct BufferLife {
  uint64_t offset = 0, bytes = 0;
  int first = -1, last = 0;
  std::string name;
  Space space = Space::Device;
};

/// A kernel of a GPU: its function in the program's module and the operands it is given.
struct GpuKernel {
  struct Operand {
    bool workspace = false; ///< `value` bytes into the launch's workspace; else argument number `value`
    uint64_t value = 0;
  };
  std::string name;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::vector<Operand> operands;
};

/// Streams of launches: 0 computes, 1 copies from host memory, 2 to it, 3 is for collectives of ranks. Running launches one by one in the order of the
/// list does what streams and events ask for, too.
constexpr int kStreams = 4;
constexpr int kRankStream = 3;

struct Launch {
  std::string kernel;  ///< generated, or empty
  std::string library; ///< op name, or empty
  bool onGpu = false;  ///< `kernels` does the work, in order (none: nothing to do)
  std::vector<GpuKernel> kernels;
  nlohmann::json attrs;
  std::vector<uint64_t> args;
  int hostArg = -1; ///< the one of `args` that is an offset of the host arena
  int stream = 0;         ///< launches of one stream run one after the other; see kStreams
  std::vector<int> waits; ///< events that are recorded by earlier launches of the function
  int records = -1;       ///< the event that this launch records when it is done; -1: none
  size_t reads = 0;
  int64_t iterations = 1, grain = 1;
  std::vector<TensorDesc> inputs, outputs;
  uint64_t workspaceOffset = 0, workspaceBytes = 0;
  std::string loc;
  bool backward = false; ///< of the backward pass
};

struct GradientPlace {
  std::string parameter; ///< the state's name
  uint64_t offset = 0;
  DType type = DType::F32;
  int afterLaunch = -1;
  Space space = Space::Device;
  std::optional<std::vector<int64_t>> shard; ///< the rank's part of the gradient, as State::shard
};

struct Function {
  std::string name;
  std::vector<Place> inputs, outputs;
  std::vector<BufferLife> buffers;
  std::vector<Launch> launches;
  int lossReady = -1; ///< -1: at the function's end
  int normReady = -1; ///< grad_norm is there and no update has changed anything; -1: there is no such launch
  std::vector<GradientPlace> gradients;
  bool gradientsPerItems = false; ///< still to be multiplied by nominal items / items
};

struct ModelFile {
  std::string path;
  uint64_t bytes = 0;
};

/// What the program was compiled for.
struct Target {
  std::string kind = "cpu"; ///< cpu or cuda
  std::string arch;         ///< of cuda: "sm_90"
  /// Code for the GPU in the program's data; a length of 0: none.
  uint64_t ptxOffset = 0, ptxBytes = 0, cubinOffset = 0, cubinBytes = 0;
  nlohmann::json algorithms; ///< entries of the algorithm table (runtime/calls/AlgorithmTable.h)
};

enum class LossKind : uint8_t { Items, Mean, None };

struct CompileOptions {
  LossKind loss = LossKind::Items;
  int64_t batch = 1, accumulate = 1;
  std::vector<int> ranks{1};
  double nominalItems = 0, itemsPerBatch = 0;
  std::optional<int64_t> ignoreIndex;
  std::string lossName = "none"; ///< --loss
  std::string labels, logits;    ///< logits: empty when the only float output is meant
  std::optional<int64_t> classAxis; ///< --class-axis
  double tokensPerRow = 1;
  std::string optimizer = "adamw";
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0, momentum = 0, clipNorm = 0;
  double lossScaleMin = 0;     ///< of dynamic loss scaling; 0: none
  bool lossScaleFixed = false; ///< the scale never changes
  int64_t seed = 0;
  int64_t parameters = 0;
  bool trainingInfo = false;
  nlohmann::json adapter; ///< of a folder of adapters: "config" as peft has it, "whole": states beside them; null without
};

struct Program {
  std::string name;
  std::vector<ModelFile> files;
  std::string graphHash;
  std::vector<WeightPlace> weightPlaces; ///< what graphHash leaves out
  bool embedded = false;
  Target target;
  std::vector<std::string> features;
  int defaultThreads = 0; ///< 0: unknown
  uint64_t arenaBytes = 0, persistentBytes = 0;
  uint64_t arenaAlign = 64; ///< buffers lie at multiples of it
  uint64_t hostArenaBytes = 0, hostPersistentBytes = 0;
  std::vector<State> states;
  std::vector<ScalarSlot> scalars;
  std::vector<ResultSlot> results;
  std::vector<InputSpec> inputs;
  std::map<std::string, Function> functions;
  CompileOptions options;
  nlohmann::json plan, exportSkeleton;

  const Function *function(const std::string &name) const; ///< null when absent
  const State *state(const std::string &name) const;
  const InputSpec *input(const std::string &name) const;
  const ResultSlot *result(const std::string &function, const std::string &name) const;
};

/// Gives every shard the view of this rank. Throws rt::Error where a shard is not one of this many ranks.
void placeShards(Program &program, const World &world);

/// Throws rt::Error on text that is no program, another format, or offsets outside the arena.
Program parseProgram(std::string_view json);

std::string_view roleName(StateRole role);

} // namespace kedge::rt
