#include "kedge/abi/ProgramKeys.h"
#include "runtime/format/Convert.h"
#include "runtime/format/QuantisedTensor.h"
#include "runtime/io/Error.h"
#include "runtime/program/Program.h"

namespace kedge::rt {
namespace {

namespace key = abi::key;
using nlohmann::json;

StateRole parseRole(const std::string &name) {
  for (size_t i = 0; i < std::size(abi::kRoleWords); ++i)
    if (abi::kRoleWords[i] == name)
      return static_cast<StateRole>(i);
  fail("unknown role of a state: '{}'", name);
}

Space spaceOf(const json &value) {
  const std::string name = value.value(key::space, "device");
  if (name != "device" && name != "host")
    fail("unknown space of memory: '{}'", name);
  return name == "host" ? Space::Host : Space::Device;
}

DType typeOf(const json &value) { return parseDType(value.at(key::dtype).get_ref<const std::string &>()); }

TensorDesc descOf(const json &value) {
  return {typeOf(value), value.value(key::shape, std::vector<int64_t>{})};
}

std::vector<TensorDesc> descsOf(const json &launch, const char *key) {
  std::vector<TensorDesc> result;
  if (auto found = launch.find(key); found != launch.end())
    for (const json &entry : *found)
      result.push_back(descOf(entry));
  return result;
}

std::vector<int> permOf(const json &value) { return value.value(key::perm, std::vector<int>{}); }

StateInit initOf(const json &value) {
  StateInit init;
  const std::string kind = value.at(key::kind);
  if (kind == "zeros")
    return init;
  if (kind == "fill") {
    init.kind = StateInit::Kind::Fill;
    init.value = value.at(key::value);
    return init;
  }
  if (kind == "uniform" || kind == "normal") {
    init.kind = kind == "uniform" ? StateInit::Kind::Uniform : StateInit::Kind::Normal;
    init.value = value.at(key::value);
    return init;
  }
  if (kind != "file" && kind != "data")
    fail("unknown initial value of a state: '{}'", kind);
  init.kind = kind == "file" ? StateInit::Kind::File : StateInit::Kind::Data;
  init.file = value.value(key::file, 0);
  init.offset = value.at(key::offset);
  init.length = value.at(key::length);
  init.hash = value.value(key::hash, "");
  init.type = typeOf(value);
  init.perm = permOf(value);
  if (auto resized = value.find(key::resized); resized != value.end())
    init.resized = Resized{resized->at(key::axis), resized->at(key::before)};
  return init;
}

std::optional<Shard> shardIn(const json &value) {
  const auto shard = value.find(key::shard);
  return shard == value.end() ? std::nullopt : std::optional(localShardOf(*shard));
}

StateView viewOf(const json &value, const State &state) {
  const auto shape = value.at(key::shape).get<std::vector<int64_t>>();
  const int64_t first = value.value(key::first, int64_t(0)), at = value.value(key::at, int64_t(0)),
                count = value.at(key::count);
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
  constexpr const char *parts[] = {"codes",         "absmax", "absmax_codes",
                                   "nested_absmax", "offset", "zero_points"};
  return {static_cast<QuantizedFormat>(indexOf(value.at(key::format), kQuantizedNames)),
          static_cast<EncodedPart>(indexOf(value.at(key::part), parts)),
          value.at(key::isDouble),
          value.at(key::shape),
          value.at(key::axis),
          value.value(key::zero, 0),
          value.value(key::block, int64_t(0))};
}

AdapterFactor adapterOf(const json &value) {
  constexpr const char *kinds[] = {"", "pissa", "olora"};
  constexpr const char *tensors[] = {"A",           "B",      "magnitude",    "embedding_A",
                                     "embedding_B", "tokens", "output_scale", "input_scale"};
  return {static_cast<AdapterTensor>(indexOf(value.at(key::factor), tensors)),
          value.at(key::base),
          value.at(key::scale),
          value.at(key::transposed),
          value.at(key::path),
          static_cast<Decomposition>(indexOf(value.value(key::from, json("")), kinds)),
          value.value(key::bias, ""),
          value.value(key::rows, std::vector<int64_t>())};
}

State stateOf(const json &value) {
  State state;
  state.name = value.at(key::name);
  state.role = parseRole(value.at(key::role));
  state.onnxName = value.value(key::onnxName, "");
  state.of = value.value(key::of, "");
  state.desc = descOf(value);
  state.offset = value.at(key::offset);
  state.space = spaceOf(value);
  state.perm = permOf(value);
  if (auto init = value.find(key::init); init != value.end())
    state.init = initOf(*init);
  if (auto adapter = value.find(key::adapter); adapter != value.end())
    state.adapter = adapterOf(*adapter);
  if (auto encoding = value.find(key::encoding); encoding != value.end())
    state.encoding = encodingOf(*encoding);
  state.shard = shardIn(value);
  if (auto view = value.find(key::view); view != value.end())
    state.view = viewOf(*view, state);
  return state;
}

InputSpec inputOf(const json &value, int64_t batch) {
  InputSpec input;
  input.name = value.at(key::name);
  input.desc = descOf(value);
  input.labels = value.value(key::role, "data") == "labels";
  if (value.contains(key::lo))
    input.lo = value[key::lo].get<int64_t>();
  if (value.contains(key::hi))
    input.hi = value[key::hi].get<int64_t>();
  input.allowed = value.value(key::allowed, std::vector<int64_t>{});
  input.batched = !input.desc.shape.empty() && input.desc.shape[0] == batch;
  return input;
}

std::vector<ArenaSlot> pointersOf(const json &function, const char *key) {
  std::vector<ArenaSlot> result;
  if (auto found = function.find(key); found != function.end())
    for (const json &entry : *found) {
      ArenaSlot place{entry.at(key::name), entry.at(key::offset),
                      entry.contains(key::dtype) ? descOf(entry) : TensorDesc{}};
      if (auto part = entry.find(key::part); part != entry.end()) {
        place.first = part->at(key::first);
        place.elements = part->at(key::elements);
        place.afterLaunch = part->at(key::afterLaunch);
      }
      result.push_back(place);
    }
  return result;
}

std::array<uint32_t, 3> extentOf(const json &value) {
  return {value.at(0).get<uint32_t>(), value.at(1).get<uint32_t>(), value.at(2).get<uint32_t>()};
}

GpuTensorMap tensorMapOf(const json &value) {
  GpuTensorMap map;
  map.argument = value.at(key::tensor);
  map.offset = value.at(key::offset);
  map.type = typeOf(value);
  map.sizes = value.at(key::sizes).get<std::vector<uint64_t>>();
  map.strides = value.at(key::strides).get<std::vector<uint64_t>>();
  map.box = value.at(key::box).get<std::vector<uint32_t>>();
  if (map.sizes.empty() || map.sizes.size() > 5 || map.strides.size() + 1 != map.sizes.size() ||
      map.box.size() != map.sizes.size())
    fail("a tensor map has {} sizes, {} strides and {} sizes of its box", map.sizes.size(),
         map.strides.size(), map.box.size());
  return map;
}

GpuKernel::Operand gpuOperandOf(const json &value) {
  if (!value.is_object())
    return {false, value.get<uint64_t>()};
  if (const auto map = value.find(key::map); map != value.end())
    return {false, 0, tensorMapOf(*map)};
  return {true, value.at(key::workspace)};
}

GpuKernel gpuKernelOf(const json &value) {
  GpuKernel kernel;
  kernel.name = value.at(key::name);
  kernel.grid = extentOf(value.at(key::grid));
  kernel.block = extentOf(value.at(key::block));
  for (const json &operand : value.at(key::operands))
    kernel.operands.push_back(gpuOperandOf(operand));
  return kernel;
}

Launch launchOf(const json &value) {
  Launch launch;
  launch.kernel = value.value(key::kernel, "");
  launch.library = value.value(key::library, "");
  if (launch.kernel.empty() == launch.library.empty())
    fail("a launch names neither or both of a generated and a library kernel");
  if (auto kernels = value.find(key::kernels); kernels != value.end()) {
    launch.onGpu = true;
    for (const json &entry : *kernels)
      launch.kernels.push_back(gpuKernelOf(entry));
  }
  launch.attrs = value.value(key::attrs, json::object());
  launch.args = value.at(key::args).get<std::vector<uint64_t>>();
  launch.hostArg = value.value(key::hostArg, -1);
  launch.stream = value.value(key::stream, 0);
  launch.waits = value.value(key::waits, std::vector<int>{});
  launch.records = value.value(key::records, -1);
  launch.reads = value.at(key::reads);
  launch.isLinked = !launch.library.empty() && value.contains(key::iterations);
  launch.iterations = value.value(key::iterations, int64_t(1));
  launch.grain = std::max<int64_t>(1, value.value(key::grain, int64_t(1)));
  launch.inputs = descsOf(value, key::inputs);
  launch.outputs = descsOf(value, key::outputs);
  if (auto space = value.find(key::workspace); space != value.end()) {
    launch.workspaceOffset = space->at(key::offset);
    launch.workspaceBytes = space->at(key::bytes);
  }
  launch.loc = value.value(key::loc, "");
  launch.backward = value.value(key::backward, false);
  launch.values = value.value(key::values, json::array());
  return launch;
}

Function functionOf(const std::string &name, const json &value) {
  Function function;
  function.name = name;
  function.inputs = pointersOf(value, key::inputs);
  function.outputs = pointersOf(value, key::outputs);
  for (const json &entry : value.value(key::buffers, json::array()))
    function.buffers.push_back({entry.at(key::offset), entry.at(key::bytes), entry.at(key::first),
                                entry.at(key::last), entry.value(key::name, ""), spaceOf(entry)});
  for (const json &entry : value.at(key::launches))
    function.launches.push_back(launchOf(entry));
  function.lossReady = value.value(key::lossReady, -1);
  function.normReady = value.value(key::normReady, -1);
  for (const json &entry : value.value(key::gradients, json::array()))
    function.gradients.push_back({entry.at(key::parameter), entry.at(key::offset), typeOf(entry),
                                  entry.value(key::afterLaunch, -1), spaceOf(entry), shardIn(entry)});
  function.gradientsPerItems = value.value(key::gradientScale, "one") == "items";
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
  if (value.contains(key::kind))
    schedule.schedule = parseSchedule(value[key::kind].get<std::string>());
  const auto steps = [&](const char *key, std::optional<int64_t> &to) {
    if (value.contains(key))
      to = value[key].get<int64_t>();
  };
  steps(key::warmup, schedule.warmup);
  steps(key::decaySteps, schedule.decaySteps);
  if (value.contains(key::warmupStart))
    schedule.warmupStart = value[key::warmupStart].get<double>();
  if (value.contains(key::minLr))
    schedule.minLr = value[key::minLr].get<double>();
  return schedule;
}

CompiledOptions optionsOf(const json &value) {
  CompiledOptions options;
  options.loss = lossOf(value.value(key::lossKind, "items"));
  options.batch = value.value(key::batch, int64_t(1));
  options.accumulate = value.value(key::accumulate, int64_t(1));
  options.parts = value.value(key::parts, int64_t(1));
  options.joinedMicroBatches = value.value(key::joinedMicroBatches, int64_t(1));
  if (options.joinedMicroBatches < 1 || options.batch % options.joinedMicroBatches != 0)
    fail("a step of {} rows joins {} micro-batches", options.batch, options.joinedMicroBatches);
  options.ranks = value.value(key::ranks, std::vector<int>{1});
  options.mesh = value.value(key::mesh, "");
  options.nominalItems = value.value(key::nominalItems, 0.0);
  options.itemsPerBatch = value.value(key::itemsPerBatch, 0.0);
  if (value.contains(key::ignoreIndex))
    options.ignoreIndex = value[key::ignoreIndex].get<int64_t>();
  options.labels = value.value(key::labels, "");
  options.lossName = value.value(key::loss, "none");
  options.logits = value.value(key::logits, "");
  if (value.contains(key::classAxis))
    options.classAxis = value[key::classAxis].get<int64_t>();
  options.tokensPerRow = value.value(key::tokensPerRow, 1.0);
  options.rowsTogether = value.value(key::rowsTogether, int64_t(1));
  if (options.rowsTogether < 1 || options.batch % options.rowsTogether != 0)
    fail("a batch of {} rows compares {} with each other", options.batch, options.rowsTogether);
  if (value.contains(key::dpoBeta))
    options.dpoBeta = value[key::dpoBeta].get<double>();
  options.optimizer = value.value(key::optimizer, "adamw");
  options.lr = value.value(key::lr, 1e-3);
  const auto betas = value.value(key::betas, std::vector<double>{0.9, 0.999});
  options.beta1 = betas.at(0);
  options.beta2 = betas.at(1);
  options.eps = value.value(key::eps, 1e-8);
  options.weightDecay = value.value(key::weightDecay, 0.0);
  options.momentum = value.value(key::momentum, 0.0);
  options.clipNorm = value.value(key::clipNorm, 0.0);
  options.lossScaleMin = value.value(key::lossScaleMin, 0.0);
  options.lossScaleFixed = value.value(key::lossScaleFixed, false);
  options.fileInputs = value.value(key::fileInputs, std::vector<std::string>());
  options.drawsInEvaluation = value.value(key::drawsInEvaluation, std::vector<std::string>());
  options.seed = value.value(key::seed, int64_t(0));
  options.parameters = value.value(key::parameters, int64_t(0));
  options.adapter = value.value(key::adapter, json());
  options.schedule = scheduleOf(value.value(key::schedule, json::object()));
  options.trainingInfo = value.value(key::trainingInfo, false);
  return options;
}

Target targetOf(const json &value) {
  Target target;
  target.kind = value.value(key::kind, "cpu");
  target.arch = value.value(key::arch, "");
  const auto blob = [&](const char *key, uint64_t &offset, uint64_t &bytes) {
    if (auto found = value.find(key); found != value.end()) {
      offset = found->at(key::offset);
      bytes = found->at(key::length);
    }
  };
  blob(key::ptx, target.ptxOffset, target.ptxBytes);
  blob(key::cubin, target.cubinOffset, target.cubinBytes);
  target.algorithms = value.value(key::algorithms, json::array());
  target.dependentLaunches = value.value(key::dependentLaunches, false);
  return target;
}

void readModel(const json &value, Program &program) {
  for (const json &entry : value.value(key::files, json::array()))
    program.files.push_back({entry.at(key::path), entry.at(key::bytes)});
  program.graphHash = value.value(key::graphHash, "");
  for (const json &entry : value.value(key::weights, json::array()))
    program.weightPlaces.push_back(
        {entry.at(key::offset), entry.at(key::length), entry.value(key::location, "")});
  program.embedded = value.value(key::embedded, false);
}

Program programOf(const json &root) {
  if (root.at(key::format) != 1)
    fail("the program has format {}, this runtime reads format 1: compile it again",
         root.at(key::format).dump());
  Program program;
  program.name = root.value(key::name, "program");
  if (root.contains(key::model))
    readModel(root[key::model], program);
  const json target = root.value(key::target, json::object());
  program.target = targetOf(target);
  program.features = target.value(key::features, std::vector<std::string>{});
  program.defaultThreads = target.value(key::threads, 0);
  program.arenaBytes = root.at(key::arena).at(key::bytes);
  program.persistentBytes = root.at(key::arena).value(key::persistentBytes, uint64_t(0));
  program.arenaAlign = root.at(key::arena).value(key::align, uint64_t(64));
  if (auto host = root.find(key::hostArena); host != root.end()) {
    program.hostArenaBytes = host->at(key::bytes);
    program.hostPersistentBytes = host->value(key::persistentBytes, uint64_t(0));
    for (const json &file : host->value(key::files, json::array()))
      program.diskParts.push_back({file.at(key::directory), file.at(key::bytes)});
  }
  program.options = optionsOf(root.value(key::options, json::object()));
  for (const json &entry : root.value(key::states, json::array()))
    program.states.push_back(stateOf(entry));
  for (const json &entry : root.value(key::scalars, json::array()))
    program.scalars.push_back({entry.at(key::name), typeOf(entry), entry.at(key::offset)});
  for (const json &entry : root.value(key::results, json::array()))
    program.results.push_back(
        {entry.at(key::name), entry.at(key::function), descOf(entry), entry.at(key::offset)});
  for (const json &entry : root.value(key::inputs, json::array()))
    program.inputs.push_back(inputOf(entry, program.options.batch));
  for (const auto &[name, entry] : root.at(key::functions).items())
    program.functions.emplace(name, functionOf(name, entry));
  program.plan = root.value(key::plan, json::object());
  program.exportTemplate = root.value(key::exportTemplate, json::object());
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

std::string_view roleName(StateRole role) { return abi::roleWord(role); }

} // namespace kedge::rt
