#include "runtime/train/weights/Adapters.h"
#include "runtime/exec/ThreadPool.h"
#include "runtime/format/Convert.h"
#include "runtime/io/AtomicFile.h"
#include "runtime/io/Error.h"
#include "runtime/platform/Folders.h"
#include "runtime/train/checkpoint/CheckpointTensors.h"
#include "runtime/train/weights/EncodedWeights.h"
#include "runtime/train/weights/StateValues.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

namespace kedge::rt {
namespace {

/// What a weight is merged with; null without.
struct Factors {
  const State *a = nullptr, *b = nullptr, *magnitude = nullptr;
  const State *scale = nullptr; ///< also of the module whose bias this is
  const State *tokens = nullptr;

  bool any() const { return a || scale || tokens; }
};

Factors factorsOf(const Program &program, const State &base) {
  Factors factors;
  for (const State &state : program.states)
    if (state.adapter && state.adapter->bias == base.name)
      factors.scale = &state;
    else if (state.adapter && state.adapter->base == base.name)
      (state.adapter->isMagnitude() ? factors.magnitude
       : state.adapter->isScale()   ? factors.scale
       : state.adapter->isTokens()  ? factors.tokens
       : state.adapter->isB()       ? factors.b
                                    : factors.a) = &state;
  return factors;
}

/// The tensor's name in a folder of this configuration.
std::string factorKey(const State &state, const nlohmann::json &config) {
  if (state.adapter->isScale())
    return ScaledModule{state.adapter->path}.key();
  if (state.adapter->isTokens())
    return TokenModule{state.adapter->path, {}, config.value("peft_type", "") == "LORA"}.key();
  AdaptedModule module{state.adapter->path, 0, 0};
  module.isEmbedding = state.adapter->tensor == AdapterTensor::EmbeddingA ||
                       state.adapter->tensor == AdapterTensor::EmbeddingB;
  return state.adapter->isMagnitude() ? module.keyMagnitude()
         : state.adapter->isB()       ? module.keyB()
                                      : module.keyA();
}

/// Elements [begin, end) of the merged weight's rows; `inputs`: of A's second and further axes.
void mergeRows(float *weight, const float *a, const float *b, const AdapterFactor &factor, int64_t rank,
               int64_t outputs, int64_t inputs, int64_t begin, int64_t end) {
  std::vector<double> row(static_cast<size_t>(inputs));
  for (int64_t out = begin; out < end; ++out) {
    std::fill(row.begin(), row.end(), 0.0);
    for (int64_t r = 0; r < rank; ++r)
      for (int64_t in = 0; in < inputs; ++in)
        row[static_cast<size_t>(in)] +=
            static_cast<double>(b[out * rank + r]) * static_cast<double>(a[r * inputs + in]);
    for (int64_t in = 0; in < inputs; ++in) {
      float &element = weight[factor.transposed ? in * outputs + out : out * inputs + in];
      element =
          static_cast<float>(static_cast<double>(element) + factor.scale * row[static_cast<size_t>(in)]);
    }
  }
}

/// The outputs of a merged weight get these norms.
void setNorms(float *weight, const std::vector<float> &norms, bool transposed, int64_t inputs) {
  const auto outputs = static_cast<int64_t>(norms.size());
  for (int64_t out = 0; out < outputs; ++out) {
    const auto element = [&](int64_t in) -> float & {
      return weight[transposed ? in * outputs + out : out * inputs + in];
    };
    double squares = 0;
    for (int64_t in = 0; in < inputs; ++in)
      squares += static_cast<double>(element(in)) * static_cast<double>(element(in));
    const double factor = static_cast<double>(norms[static_cast<size_t>(out)]) / std::sqrt(squares);
    for (int64_t in = 0; in < inputs; ++in)
      element(in) = static_cast<float>(factor * static_cast<double>(element(in)));
  }
}

/// Each output, or each input, of a weight times its number; a bias is of outputs alone.
void multiply(std::vector<float> &values, const std::vector<float> &numbers, const AdapterFactor &factor) {
  const size_t count = numbers.size(), others = values.size() / count;
  const bool areFirst = (factor.tensor == AdapterTensor::OutputScale) != factor.transposed;
  for (size_t at = 0; at < values.size(); ++at)
    values[at] *= numbers[areFirst ? at / others : at % count];
}

void putRows(std::vector<float> &table, const std::vector<float> &tokens, const std::vector<int64_t> &rows) {
  const size_t width = tokens.size() / rows.size();
  for (size_t row = 0; row < rows.size(); ++row)
    std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                table.begin() + rows[row] * static_cast<std::ptrdiff_t>(width));
}

/// How many matrices the weight consists of: as [experts, ...], or in the codes of a file one under the
/// other. A of a convolution has as many axes as its weight.
int64_t expertsOf(const std::vector<int64_t> &weight, const Factors &factors) {
  const std::vector<int64_t> a = factors.a->viewOrWhole().whole, b = factors.b->viewOrWhole().whole;
  return a.size() == 2 ? TensorDesc{DType::F32, weight}.elements() / (b[0] * a[1]) : 1;
}

/// B of one expert, [out, r], out of [out, r, experts].
std::vector<float> columnsOf(const std::vector<float> &b, int64_t count, int64_t experts, int64_t expert) {
  if (experts == 1)
    return b;
  std::vector<float> own(static_cast<size_t>(count));
  for (int64_t place = 0; place < count; ++place)
    own[static_cast<size_t>(place)] = b[static_cast<size_t>(place * experts + expert)];
  return own;
}

} // namespace

int64_t countAdapted(const Program &program) {
  return std::count_if(program.states.begin(), program.states.end(), [](const State &state) {
    return state.adapter && (state.adapter->isB() || state.adapter->isScale() || state.adapter->isTokens());
  });
}

void checkAdapterOptions(const Program &program, const Options &options) {
  const std::pair<const char *, const std::string &> given[] = {
      {"--adapter", options.adapter},
      {"--export-adapter", options.exportAdapter},
      {"--export-onnx-adapters", options.exportOnnxAdapters}};
  for (const auto &[flag, value] : given)
    if (!value.empty() && countAdapted(program) == 0)
      fail("{} {}: the program has no adapters: compile it with --lora REGEX or --adapter DIR", flag, value);
  const nlohmann::json &adapter = program.options.adapter;
  const bool holdsOnlyRows =
      adapter.contains("config") && adapter["config"].value("peft_type", "") == "TRAINABLE_TOKENS";
  if (!options.exportAdapter.empty() && holdsOnlyRows &&
      !adapter.value("whole", nlohmann::json::object()).empty())
    fail("--export-adapter {}: peft's folders of trainable tokens hold nothing else, and '{}' trains, "
         "too; use "
         "--export-onnx or --export-safetensors",
         options.exportAdapter, adapter["whole"].begin().key());
  if (!options.exportAdapter.empty() && platform::exists(options.exportAdapter) &&
      !platform::isFolder(options.exportAdapter))
    fail("--export-adapter {}: expected a folder, found a file", options.exportAdapter);
}

GivenAdapter::GivenAdapter(const Program &program, const std::string &path)
    : program(program), folder(AdapterFolder::open(path)) {
  if (countAdapted(program) == 0)
    fail("--adapter {}: the program has no adapters: compile it with --lora REGEX or --adapter DIR", path);
  std::set<std::string> known;
  for (const State &state : program.states)
    if (state.adapter)
      known.insert(state.adapter->path);
  const bool hasMagnitudes =
      std::any_of(program.states.begin(), program.states.end(),
                  [](const State &state) { return state.adapter && state.adapter->isMagnitude(); });
  for (const AdaptedModule &module : folder.modules()) {
    if (module.hasMagnitude != hasMagnitudes)
      fail("--adapter {}: its adapters {} magnitudes (DoRA), those of the program {}: compile it with "
           "--adapter {}",
           path, module.hasMagnitude ? "have" : "have no", hasMagnitudes ? "do" : "do not", path);
    if (!known.count(module.path))
      fail("--adapter {}: adapts '{}', which this program does not: compile it with --adapter {}", path,
           module.path, path);
    for (const State &state : program.states)
      if (state.adapter && state.adapter->path == module.path &&
          std::abs(state.adapter->scale - module.scale) > 1e-12)
        fail("--adapter {}: scales '{}' by {}, the program by {}: compile it with --adapter {}", path,
             module.path, module.scale, state.adapter->scale, path);
  }
  checkOthers(path);
}

void GivenAdapter::checkOthers(const std::string &path) const {
  const auto has = [&](auto &&fits) {
    return std::any_of(program.states.begin(), program.states.end(), fits);
  };
  for (const ScaledModule &module : folder.scales()) {
    const AdapterTensor wanted = module.ofInputs ? AdapterTensor::InputScale : AdapterTensor::OutputScale;
    if (!has([&](const State &state) {
          return state.adapter && state.adapter->tensor == wanted && state.adapter->path == module.path;
        }))
      fail("--adapter {}: scales {} of '{}', which this program does not: compile it with --adapter {}", path,
           module.ofInputs ? "inputs" : "outputs", module.path, path);
  }
  for (const TokenModule &module : folder.tokens()) // a tied head has those of its table, too
    if (!has([&](const State &state) {
          return state.adapter && state.adapter->rows == module.rows &&
                 (state.adapter->path == module.path || folder.areTied(state.adapter->path, module.path));
        }))
      fail("--adapter {}: has rows of '{}' that this program does not train: compile it with --adapter {}",
           path, module.path, path);
}

std::string GivenAdapter::keyOf(const State &state) const {
  if (state.adapter)
    return factorKey(state, folder.config());
  const nlohmann::json whole = program.options.adapter.value("whole", nlohmann::json::object());
  const auto found = whole.find(state.name);
  if (found == whole.end() || !folder.tensors().find(found->get<std::string>()))
    return "";
  return found->get<std::string>();
}

bool GivenAdapter::fill(const State &state, char *destination) {
  const std::string key = keyOf(state);
  if (key.empty())
    return false;
  const TensorView &view = folder.tensor(key);
  if (view.desc.shape != state.fileShape() || !isFloat(view.desc.type))
    fail("{}: tensor '{}' is {}{}, the program takes {}{}: it is an adapter of another model",
         folder.tensorsPath(), key, dtypeName(view.desc.type), shapeText(view.desc.shape),
         dtypeName(state.desc.type), shapeText(state.fileShape()));
  fillFromTensor(state, {view.data, view.desc.type, state.perm}, destination);
  return true;
}

bool MergedWeights::has(const State &state) const {
  const bool isWeight = state.encoding && state.encoding->part == EncodedPart::Codes;
  return isWeight || (adds && factorsOf(executor.program(), state).any());
}

std::vector<int64_t> MergedWeights::shapeOf(const State &state) const {
  return state.encoding ? state.encoding->whole : state.viewOrWhole().whole;
}

std::vector<float> MergedWeights::floatsOf(const State &state) {
  if (state.encoding)
    return decodedWeight(executor.program(), state, [&](const State &part) { return states.fetch(part); });
  const TensorDesc whole = states.descOf(state);
  std::vector<float> result(static_cast<size_t>(whole.elements()));
  convert(result.data(), DType::F32, 1, states.fetch(state), whole.type, 1, whole.elements());
  return result;
}

const void *MergedWeights::fetch(const State &state) {
  values = floatsOf(state);
  const Factors factors = factorsOf(executor.program(), state);
  if (!adds)
    return values.data();
  if (factors.a)
    addFactors(state);
  if (factors.scale)
    multiply(values, floatsOf(*factors.scale), *factors.scale->adapter);
  if (factors.tokens)
    putRows(values, floatsOf(*factors.tokens), factors.tokens->adapter->rows);
  return values.data();
}

void MergedWeights::addFactors(const State &state) {
  const Factors factors = factorsOf(executor.program(), state);
  const std::vector<float> a = floatsOf(*factors.a), b = floatsOf(*factors.b);
  const std::vector<int64_t> whole = shapeOf(state), shape = factors.b->viewOrWhole().whole;
  const int64_t experts = expertsOf(whole, factors), outputs = shape[0];
  const int64_t rank = shape[1] / experts, inputs = static_cast<int64_t>(a.size()) / (rank * experts);
  constexpr int64_t rows = 16;
  for (int64_t expert = 0; expert < experts; ++expert) {
    const std::vector<float> own = columnsOf(b, outputs * rank, experts, expert);
    parallelParts(executor.threads(), (outputs + rows - 1) / rows, [&](int64_t part) {
      mergeRows(values.data() + expert * outputs * inputs, a.data() + expert * rank * inputs, own.data(),
                *factors.b->adapter, rank, outputs, inputs, part * rows,
                std::min(outputs, (part + 1) * rows));
    });
  }
  if (factors.magnitude)
    setNorms(values.data(), floatsOf(*factors.magnitude), factors.b->adapter->transposed, inputs);
}

void exportAdapter(const std::string &folder, const Executor &executor) {
  const Program &program = executor.program();
  const nlohmann::json whole = program.options.adapter.value("whole", nlohmann::json::object());
  onFirstRank(executor, [&](WholeStates &states) {
    std::vector<TensorOut> tensors;
    for (const State &state : program.states) {
      const auto beside = whole.find(state.name);
      if (!state.adapter && beside == whole.end())
        continue;
      const NamedState entry{&state, state.adapter ? factorKey(state, program.options.adapter.at("config"))
                                                   : beside->get<std::string>()};
      tensors.push_back(wholeTensor(program, entry, [&states, &state] { return states.fetch(state); }));
    }
    if (!platform::makeFolders(folder))
      fail("--export-adapter {}: cannot make the folder: {}", folder, std::strerror(errno));
    AtomicFile values(folder + "/" + kAdapterTensors), config(folder + "/" + kAdapterConfig);
    writeSafetensors(values.writer(), tensors);
    config.write(program.options.adapter.at("config").dump(1) + "\n");
    values.commit();
    config.commit();
  });
}

} // namespace kedge::rt
