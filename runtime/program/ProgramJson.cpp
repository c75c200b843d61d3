#include "runtime/format/Convert.h"
#include "runtime/format/QuantisedTensor.h"
#include "runtime/io/Error.h"
#include "runtime/program/Program.h"

namespace kedge::rt {
namespace {

using nlohmann::json;

constexpr std::string_view kRoles[] = {"parameter",    "frozen",   "buffer",      "constant", "moment1",
                                       "moment2",      "momentum", "accumulator", "counter",  "state",
                                       "working_copy", "scaler",   "average",     "residual"};

StateRole parseRole(const std::string &name) {
  for (size_t i = 0; i < std::size(kRoles); ++i)
    if (kRoles[i] == name)
      return static_cast<StateRole>(i);
  fail("unknown role of a state: '{}'", name);
}

Space spaceOf(const json &value) {
  const std::string name = value.value("space", "device");
  if (name != "device" && name != "host")
    fail("unknown space of memory: '{}'", name);
  return name == "host" ? Space::Host : Space::Device;
}

DType typeOf(const json &value) { return parseDType(value.at("dtype").get_ref<const std::string &>()); }

TensorDesc descOf(const json &value) { return {typeOf(value), value.value("shape", std::vector<int64_t>{})}; }

std::vector<TensorDesc> descsOf(const json &launch, const char *key) {
  std::vector<TensorDesc> result;
  if (auto found = launch.find(key); found != launch.end())
    for (const json &entry : *found)
      result.push_back(descOf(entry));
  return result;
}

std::vector<int> permOf(const json &value) { return value.value("perm", std::vector<int>{}); }

StateInit initOf(const json &value) {
  StateInit init;
  const std::string kind = value.at("kind");
  if (kind == "zeros")
    return init;
  if (kind == "fill") {
    init.kind = StateInit::Kind::Fill;
    init.value = value.at("value");
    return init;
  }
  if (kind == "uniform" || kind == "normal") {
    init.kind = kind == "uniform" ? StateInit::Kind::Uniform : StateInit::Kind::Normal;
    init.value = value.at("value");
    return init;
  }
  if (kind != "file" && kind != "data")
    fail("unknown initial value of a state: '{}'", kind);
  init.kind = kind == "file" ? StateInit::Kind::File : StateInit::Kind::Data;
  init.file = value.value("file", 0);
  init.offset = value.at("offset");
  init.length = value.at("length");
  init.hash = value.value("hash", "");
  init.type = typeOf(value);
  init.perm = permOf(value);
  return init;
}

std::optional<Shard> shardIn(const json &value) {
  const auto shard = value.find("shard");
  return shard == value.end() ? std::nullopt : std::optional(shardOf(*shard));
}

StateView viewOf(const json &value, const State &state) {
  const auto shape = value.at("shape").get<std::vector<int64_t>>();
  const int64_t first = value.value("first", int64_t(0)), at = value.value("at", int64_t(0)),
                count = value.at("count");
  const int64_t whole = TensorDesc{state.desc.type, shape}.elements(), here = state.desc.elements();
  if (count < 0 || first < 0 || first > whole - count || at < 0 || at > here - count)
    fail("the view of state '{}' ({} elements at {} of {}, here at {} of {}) is outside", state.name, count,
         first, whole, at, here);
  return StateView::range(shape, first, at, count);
}

template <size_t N> size_t indexOf(const std::string &name, const char *const (&names)[N]) {
  for (size_t k = 0; k < N; ++k)
    if (name == names[k])
      return k;
  fail("unknown way to hold a weight in few bits: '{}'", name);
}

Encoding encodingOf(const json &value) {
  constexpr const char *parts[] = {"codes", "absmax", "absmax_codes", "nested_absmax", "offset"};
  return {static_cast<QuantizedFormat>(indexOf(value.at("format"), kQuantizedNames)),
          static_cast<EncodedPart>(indexOf(value.at("part"), parts)), value.at("double"), value.at("shape"),
          value.at("axis")};
}

State stateOf(const json &value) {
  State state;
  state.name = value.at("name");
  state.role = parseRole(value.at("role"));
  state.onnxName = value.value("onnx_name", "");
  state.of = value.value("of", "");
  state.desc = descOf(value);
  state.offset = value.at("offset");
  state.space = spaceOf(value);
  state.perm = permOf(value);
  if (auto init = value.find("init"); init != value.end())
    state.init = initOf(*init);
  if (auto adapter = value.find("adapter"); adapter != value.end())
    state.adapter = AdapterFactor{adapter->at("factor") == "B", adapter->at("base"), adapter->at("scale"),
                                  adapter->at("transposed"), adapter->at("path")};
  if (auto encoding = value.find("encoding"); encoding != value.end())
    state.encoding = encodingOf(*encoding);
  state.shard = shardIn(value);
  if (auto view = value.find("view"); view != value.end())
    state.view = viewOf(*view, state);
  return state;
}

InputSpec inputOf(const json &value, int64_t batch) {
  InputSpec input;
  input.name = value.at("name");
  input.desc = descOf(value);
  input.labels = value.value("role", "data") == "labels";
  if (value.contains("lo"))
    input.lo = value["lo"].get<int64_t>();
  if (value.contains("hi"))
    input.hi = value["hi"].get<int64_t>();
  input.allowed = value.value("allowed", std::vector<int64_t>{});
  input.batched = !input.desc.shape.empty() && input.desc.shape[0] == batch;
  return input;
}

std::vector<Place> placesOf(const json &function, const char *key) {
  std::vector<Place> result;
  if (auto found = function.find(key); found != function.end())
    for (const json &entry : *found) {
      Place place{entry.at("name"), entry.at("offset"),
                  entry.contains("dtype") ? descOf(entry) : TensorDesc{}};
      if (auto part = entry.find("part"); part != entry.end()) {
        place.first = part->at("first");
        place.elements = part->at("elements");
        place.afterLaunch = part->at("after_launch");
      }
      result.push_back(place);
    }
  return result;
}

std::array<uint32_t, 3> extentOf(const json &value) {
  return {value.at(0).get<uint32_t>(), value.at(1).get<uint32_t>(), value.at(2).get<uint32_t>()};
}

GpuKernel gpuKernelOf(const json &value) {
  GpuKernel kernel;
  kernel.name = value.at("name");
  kernel.grid = extentOf(value.at("grid"));
  kernel.block = extentOf(value.at("block"));
  for (const json &operand : value.at("operands"))
    kernel.operands.push_back(operand.is_object() ? GpuKernel::Operand{true, operand.at("workspace")}
                                                  : GpuKernel::Operand{false, operand.get<uint64_t>()});
  return kernel;
}

Launch launchOf(const json &value) {
  Launch launch;
  launch.kernel = value.value("kernel", "");
  launch.library = value.value("library", "");
  if (launch.kernel.empty() == launch.library.empty())
    fail("a launch names neither or both of a generated and a library kernel");
  if (auto kernels = value.find("kernels"); kernels != value.end()) {
    launch.onGpu = true;
    for (const json &entry : *kernels)
      launch.kernels.push_back(gpuKernelOf(entry));
  }
  launch.attrs = value.value("attrs", json::object());
  launch.args = value.at("args").get<std::vector<uint64_t>>();
  launch.hostArg = value.value("host_arg", -1);
  launch.stream = value.value("stream", 0);
  launch.waits = value.value("waits", std::vector<int>{});
  launch.records = value.value("records", -1);
  launch.reads = value.at("reads");
  launch.iterations = value.value("iterations", int64_t(1));
  launch.grain = std::max<int64_t>(1, value.value("grain", int64_t(1)));
  launch.inputs = descsOf(value, "inputs");
  launch.outputs = descsOf(value, "outputs");
  if (auto space = value.find("workspace"); space != value.end()) {
    launch.workspaceOffset = space->at("offset");
    launch.workspaceBytes = space->at("bytes");
  }
  launch.loc = value.value("loc", "");
  launch.backward = value.value("backward", false);
  launch.values = value.value("values", json::array());
  return launch;
}

Function functionOf(const std::string &name, const json &value) {
  Function function;
  function.name = name;
  function.inputs = placesOf(value, "inputs");
  function.outputs = placesOf(value, "outputs");
  for (const json &entry : value.value("buffers", json::array()))
    function.buffers.push_back({entry.at("offset"), entry.at("bytes"), entry.at("first"), entry.at("last"),
                                entry.value("name", ""), spaceOf(entry)});
  for (const json &entry : value.at("launches"))
    function.launches.push_back(launchOf(entry));
  function.lossReady = value.value("loss_ready", -1);
  function.normReady = value.value("norm_ready", -1);
  for (const json &entry : value.value("gradients", json::array()))
    function.gradients.push_back({entry.at("parameter"), entry.at("offset"), typeOf(entry),
                                  entry.value("after_launch", -1), spaceOf(entry), shardIn(entry)});
  function.gradientsPerItems = value.value("gradient_scale", "one") == "items";
  return function;
}

LossKind lossOf(const std::string &name) {
  if (name == "items")
    return LossKind::Items;
  if (name == "mean")
    return LossKind::Mean;
  if (name == "none")
    return LossKind::None;
  fail("unknown kind of loss '{}'", name);
}

ScalarOptions scheduleOf(const json &value) {
  ScalarOptions schedule;
  if (value.contains("kind"))
    schedule.schedule = parseSchedule(value["kind"].get<std::string>());
  const auto steps = [&](const char *key, std::optional<int64_t> &to) {
    if (value.contains(key))
      to = value[key].get<int64_t>();
  };
  steps("warmup", schedule.warmup);
  steps("decay_steps", schedule.decaySteps);
  if (value.contains("warmup_start"))
    schedule.warmupStart = value["warmup_start"].get<double>();
  if (value.contains("min_lr"))
    schedule.minLr = value["min_lr"].get<double>();
  return schedule;
}

CompileOptions optionsOf(const json &value) {
  CompileOptions options;
  options.loss = lossOf(value.value("loss_kind", "items"));
  options.batch = value.value("batch", int64_t(1));
  options.accumulate = value.value("accumulate", int64_t(1));
  options.parts = value.value("parts", int64_t(1));
  options.joinedMicroBatches = value.value("joined_micro_batches", int64_t(1));
  if (options.joinedMicroBatches < 1 || options.batch % options.joinedMicroBatches != 0)
    fail("a step of {} rows joins {} micro-batches", options.batch, options.joinedMicroBatches);
  options.ranks = value.value("ranks", std::vector<int>{1});
  options.mesh = value.value("mesh", "");
  options.nominalItems = value.value("nominal_items", 0.0);
  options.itemsPerBatch = value.value("items_per_batch", 0.0);
  if (value.contains("ignore_index"))
    options.ignoreIndex = value["ignore_index"].get<int64_t>();
  options.labels = value.value("labels", "");
  options.lossName = value.value("loss", "none");
  options.logits = value.value("logits", "");
  if (value.contains("class_axis"))
    options.classAxis = value["class_axis"].get<int64_t>();
  options.tokensPerRow = value.value("tokens_per_row", 1.0);
  options.optimizer = value.value("optimizer", "adamw");
  options.lr = value.value("lr", 1e-3);
  const auto betas = value.value("betas", std::vector<double>{0.9, 0.999});
  options.beta1 = betas.at(0);
  options.beta2 = betas.at(1);
  options.eps = value.value("eps", 1e-8);
  options.weightDecay = value.value("weight_decay", 0.0);
  options.momentum = value.value("momentum", 0.0);
  options.clipNorm = value.value("clip_norm", 0.0);
  options.lossScaleMin = value.value("loss_scale_min", 0.0);
  options.lossScaleFixed = value.value("loss_scale_fixed", false);
  options.drawsInEvaluation = value.value("draws_in_evaluation", std::vector<std::string>());
  options.seed = value.value("seed", int64_t(0));
  options.parameters = value.value("parameters", int64_t(0));
  options.adapter = value.value("adapter", json());
  options.schedule = scheduleOf(value.value("schedule", json::object()));
  options.trainingInfo = value.value("training_info", false);
  return options;
}

Target targetOf(const json &value) {
  Target target;
  target.kind = value.value("kind", "cpu");
  target.arch = value.value("arch", "");
  const auto blob = [&](const char *key, uint64_t &offset, uint64_t &bytes) {
    if (auto found = value.find(key); found != value.end()) {
      offset = found->at("offset");
      bytes = found->at("length");
    }
  };
  blob("ptx", target.ptxOffset, target.ptxBytes);
  blob("cubin", target.cubinOffset, target.cubinBytes);
  target.algorithms = value.value("algorithms", json::array());
  return target;
}

void readModel(const json &value, Program &program) {
  for (const json &entry : value.value("files", json::array()))
    program.files.push_back({entry.at("path"), entry.at("bytes")});
  program.graphHash = value.value("graph_hash", "");
  for (const json &entry : value.value("weights", json::array()))
    program.weightPlaces.push_back({entry.at("offset"), entry.at("length"), entry.value("location", "")});
  program.embedded = value.value("embedded", false);
}

Program programOf(const json &root) {
  if (root.at("format") != 1)
    fail("the program has format {}, this runtime reads format 1: compile it again",
         root.at("format").dump());
  Program program;
  program.name = root.value("name", "program");
  if (root.contains("model"))
    readModel(root["model"], program);
  const json target = root.value("target", json::object());
  program.target = targetOf(target);
  program.features = target.value("features", std::vector<std::string>{});
  program.defaultThreads = target.value("threads", 0);
  program.arenaBytes = root.at("arena").at("bytes");
  program.persistentBytes = root.at("arena").value("persistent_bytes", uint64_t(0));
  program.arenaAlign = root.at("arena").value("align", uint64_t(64));
  if (auto host = root.find("host_arena"); host != root.end()) {
    program.hostArenaBytes = host->at("bytes");
    program.hostPersistentBytes = host->value("persistent_bytes", uint64_t(0));
    for (const json &file : host->value("files", json::array()))
      program.diskParts.push_back({file.at("directory"), file.at("bytes")});
  }
  program.options = optionsOf(root.value("options", json::object()));
  for (const json &entry : root.value("states", json::array()))
    program.states.push_back(stateOf(entry));
  for (const json &entry : root.value("scalars", json::array()))
    program.scalars.push_back({entry.at("name"), typeOf(entry), entry.at("offset")});
  for (const json &entry : root.value("results", json::array()))
    program.results.push_back({entry.at("name"), entry.at("function"), descOf(entry), entry.at("offset")});
  for (const json &entry : root.value("inputs", json::array()))
    program.inputs.push_back(inputOf(entry, program.options.batch));
  for (const auto &[name, entry] : root.at("functions").items())
    program.functions.emplace(name, functionOf(name, entry));
  program.plan = root.value("plan", json::object());
  program.exportTemplate = root.value("export", json::object());
  return program;
}

} // namespace

Program parseProgram(std::string_view text) {
  try {
    Program program = programOf(json::parse(text));
    return program;
  } catch (const json::exception &error) {
    fail("the program's description is damaged: {}", error.what());
  }
}

std::string_view roleName(StateRole role) { return kRoles[static_cast<size_t>(role)]; }

} // namespace kedge::rt
