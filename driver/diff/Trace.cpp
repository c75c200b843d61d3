#include "driver/diff/Trace.h"
#include "driver/diff/ReferenceScript.h"
#include "lib/Dialect/Kedge/KedgeDialect.h"
#include "lib/Import/GraphPlaces.h"
#include "lib/Model/Model.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <spawn.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace kedge::driver {
namespace {

TracedTensor tensorOf(const nlohmann::json &record) {
  TracedTensor tensor;
  tensor.desc = {rt::parseDType(record.at("dtype").get<std::string>()),
                 record.at("shape").get<std::vector<int64_t>>()};
  tensor.step = record.at("step");
  tensor.isState = record.at("kind") == "state";
  if (tensor.isState) {
    tensor.name = record.at("name");
    tensor.readAs = record.at("read_as");
    tensor.isPart = record.contains("whole");
    if (!tensor.isPart)
      return tensor;
    tensor.whole = record["whole"].get<std::vector<int64_t>>();
    for (const nlohmann::json &run : record.at("runs"))
      tensor.runs.push_back({run[0], run[1], run[2]});
    return tensor;
  }
  tensor.run = record.at("run");
  tensor.launch = record.at("launch");
  tensor.function = record.at("function");
  tensor.op = record.at("op");
  tensor.place = record.at("place");
  tensor.backward = record.at("backward");
  tensor.intoState = record.at("into_state");
  tensor.reads = record.at("reads").get<std::vector<std::string>>();
  return tensor;
}

} // namespace

std::string contentOf(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Trace::Trace(const std::string &path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts{};
  if (file < 0 || fstat(file, &facts) != 0)
    fail("{}: cannot be read", path);
  size = static_cast<size_t>(facts.st_size);
  mapped = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) {
    mapped = nullptr;
    fail("{}: {} bytes cannot be mapped", path, size);
  }
  const char *at = static_cast<const char *>(mapped), *end = at + size;
  while (at < end) {
    const char *line = static_cast<const char *>(memchr(at, '\n', static_cast<size_t>(end - at)));
    if (!line)
      fail("{}: the trace is torn: a line has no end", path);
    const nlohmann::json record = nlohmann::json::parse(at, line);
    const size_t bytes = record.at("bytes");
    if (static_cast<size_t>(end - line - 1) < bytes)
      fail("{}: the trace is torn: a value of {} bytes has {}", path, bytes, end - line - 1);
    add(record, line + 1);
    at = line + 1 + bytes;
  }
}

void Trace::add(const nlohmann::json &record, const char *data) {
  const std::string kind = record.at("kind");
  if (kind == "run")
    ranks = rt::Mesh::parse(record.at("mesh").get<std::string>());
  if (kind != "state" && kind != "value")
    return;
  list.push_back(tensorOf(record));
  list.back().data = data;
  list.back().origin = static_cast<int64_t>(list.size());
}

Trace::~Trace() {
  if (mapped)
    munmap(mapped, size);
}

void runCommand(std::vector<std::string> words, const std::string &output) {
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    fail("{}: cannot be started: {}", words.front(), strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return;
  fail("{}: ended with {} {}:\n{}", words.front(), WIFEXITED(status) ? "exit code" : "signal",
       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), contentOf(output));
}

/// posix_spawnp looks for names without a slash in PATH.
static std::string pathOf(const std::string &program) {
  const std::string path = program.find('/') == std::string::npos ? "./" + program : program;
  if (access(path.c_str(), X_OK) != 0)
    fail("{}: is no program that can be run; expected what kedge compile -o wrote", program);
  return path;
}

int64_t ranksOf(const std::string &program, const std::string &folder) {
  const std::string file = folder + "/plan";
  runCommand({pathOf(program), "--plan"}, file);
  const std::string text = contentOf(file); // notes may come first
  const nlohmann::json plan = nlohmann::json::parse(text.substr(std::min(text.find('{'), text.size())),
                                                    nullptr, /*allow_exceptions=*/false);
  if (!plan.is_object())
    return 1;
  if (const auto mesh = plan.find("mesh"); mesh != plan.end()) {
    int64_t ranks = 1;
    for (const nlohmann::json &axis : mesh->at("axes")) {
      const auto size = axis.at("size").get<int64_t>();
      if (axis.at("name") == rt::Mesh::kPipeline && size > 1)
        fail("{}: kedge diff is not available yet for a program of a pipeline, whose ranks run different "
             "launches; compile for one rank or along data",
             program);
      ranks *= size;
    }
    return ranks;
  }
  const auto ranks = plan.find("ranks");
  return ranks != plan.end() && ranks->is_number() ? ranks->get<int64_t>() : 1;
}

void runTraced(const std::string &program, int64_t ranks, const std::string &launcher,
               const std::vector<std::string> &options, const std::string &file) {
  std::vector<std::string> words;
  if (ranks > 1) {
    std::istringstream text(launcher);
    for (std::string word; text >> word;)
      words.push_back(word);
    words.insert(words.end(), {"-n", std::to_string(ranks)});
  }
  words.push_back(pathOf(program));
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--trace-values", file});
  runCommand(words, file + ".txt");
}

namespace {

using Parts = std::vector<TracedTensor>;

/// How tensors of several ranks are one: they are alike, or blocks of it along a dimension, or parts of a
/// sum.
struct Way {
  enum class Kind { Alike, Blocks, Sum } kind = Kind::Alike;
  size_t dim = 0;
  int64_t sections = 1; ///< the dimension is so many tensors in a row, each of which is cut by itself
};

bool areAlike(const Parts &parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const TracedTensor &part) {
    return std::memcmp(part.data, parts.front().data, parts.front().desc.bytes()) == 0;
  });
}

/// `dims`: how many dimensions may be cut. Queries, keys and values are three sections, gates two.
std::vector<Way> waysOf(const std::vector<Parts> &groups, size_t dims, int64_t mostSections) {
  const TracedTensor &first = groups.front().front();
  std::vector<Way> ways;
  if (std::all_of(groups.begin(), groups.end(), areAlike)) {
    ways.push_back({});
    if (first.desc.elements() == 1 && rt::isFloat(first.desc.type))
      ways.push_back({Way::Kind::Sum, 0}); // each rank's count of its items
    return ways;
  }
  for (size_t dim = 0; dim < std::min(dims, first.desc.shape.size()); ++dim)
    for (int64_t sections = 1; sections <= mostSections; ++sections)
      if (first.desc.shape[dim] % sections == 0)
        ways.push_back({Way::Kind::Blocks, dim, sections});
  if (rt::isFloat(first.desc.type))
    ways.push_back({Way::Kind::Sum, 0});
  return ways;
}

/// The tensor that `count` such parts make, without data.
TracedTensor shaped(TracedTensor part, const Way &way, size_t count) {
  if (way.kind == Way::Kind::Blocks)
    part.desc.shape[way.dim] *= static_cast<int64_t>(count);
  if (way.kind == Way::Kind::Sum && part.desc.type != rt::DType::F64)
    part.desc.type = rt::DType::F32;
  return part;
}

class Assembly {
public:
  explicit Assembly(std::deque<std::vector<char>> &storage) : storage(storage) {}

  TracedTensor whole(const Parts &parts, const Way &way) {
    if (way.kind == Way::Kind::Alike)
      return parts.front();
    TracedTensor tensor = shaped(parts.front(), way, parts.size());
    char *bytes = room(tensor);
    if (way.kind == Way::Kind::Blocks)
      fillBlocks(parts, way, bytes);
    else if (tensor.desc.type == rt::DType::F64)
      fillSum(parts, reinterpret_cast<double *>(bytes));
    else
      fillSum(parts, reinterpret_cast<float *>(bytes));
    return tensor;
  }

  /// Where the parts leave elements out, none.
  std::optional<TracedTensor> state(const Parts &parts) {
    TracedTensor tensor = parts.front();
    if (!tensor.isPart)
      return tensor;
    tensor.desc.shape = tensor.whole;
    char *bytes = room(tensor);
    const size_t size = rt::dtypeSize(tensor.desc.type);
    std::vector<bool> known(static_cast<size_t>(tensor.desc.elements()));
    for (const TracedTensor &part : parts)
      for (const TracedRun &run : part.runs) {
        std::memcpy(bytes + static_cast<size_t>(run.whole) * size,
                    part.data + static_cast<size_t>(run.here) * size, static_cast<size_t>(run.count) * size);
        std::fill_n(known.begin() + run.whole, run.count, true);
      }
    if (std::find(known.begin(), known.end(), false) != known.end())
      return std::nullopt;
    return tensor;
  }

private:
  char *room(TracedTensor &tensor) {
    std::vector<char> &bytes = storage.emplace_back(tensor.desc.bytes());
    tensor.data = bytes.data();
    return bytes.data();
  }

  static void fillBlocks(const Parts &parts, const Way &way, char *bytes) {
    const std::vector<int64_t> &shape = parts.front().desc.shape;
    size_t rows = static_cast<size_t>(way.sections);
    for (size_t d = 0; d < way.dim; ++d)
      rows *= static_cast<size_t>(shape[d]);
    const size_t block = rows == 0 ? 0 : parts.front().desc.bytes() / rows;
    for (size_t row = 0; row < rows; ++row)
      for (const TracedTensor &part : parts) {
        std::memcpy(bytes, part.data + row * block, block);
        bytes += block;
      }
  }

  template <typename Number> static void fillSum(const Parts &parts, Number *sums) {
    for (int64_t i = 0; i < parts.front().desc.elements(); ++i) {
      double sum = 0;
      for (const TracedTensor &part : parts)
        sum += rt::loadAsDouble(part.desc.type, part.data, i);
      sums[i] = static_cast<Number>(sum);
    }
  }

  std::deque<std::vector<char>> &storage;
};

/// The tensors of all ranks by their rows: those of a group differ along `tensor` alone.
std::vector<Parts> byRows(const Parts &parts, const rt::Mesh &mesh) {
  std::vector<Parts> groups(static_cast<size_t>(mesh.sizeOf(rt::Mesh::kRows)));
  for (size_t rank = 0; rank < parts.size(); ++rank)
    groups[static_cast<size_t>(mesh.groupOf(rt::Mesh::kRows, static_cast<int64_t>(rank)).own.rank)].push_back(
        parts[rank]);
  return groups;
}

void addReadings(const Parts &parts, const rt::Mesh &mesh, const GatheredTrace::Wanted &wanted,
                 Assembly &assembly, std::vector<TracedTensor> &readings) {
  constexpr size_t alongRows = 1, anyDimension = SIZE_MAX; // `tensor` cuts any
  constexpr int64_t mostSections = 3;
  const std::vector<Parts> groups = byRows(parts, mesh);
  const Way blocksOfRows{Way::Kind::Blocks, 0};
  for (const Way &inner : waysOf(groups, anyDimension, mostSections)) {
    const TracedTensor block = shaped(groups.front().front(), inner, groups.front().size());
    const bool hasRows = !block.desc.shape.empty();
    if (!wanted(block) && !(hasRows && wanted(shaped(block, blocksOfRows, groups.size()))))
      continue;
    Parts rows;
    for (const Parts &group : groups)
      rows.push_back(assembly.whole(group, inner));
    for (const Way &outer : waysOf({rows}, alongRows, 1))
      if (wanted(shaped(block, outer, groups.size()))) {
        readings.push_back(assembly.whole(rows, outer));
        readings.back().isGuess = inner.kind != Way::Kind::Alike || outer.kind == Way::Kind::Sum;
      }
  }
}

} // namespace

GatheredTrace::GatheredTrace(const std::string &file, int64_t ranks) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    traces.push_back(std::make_unique<Trace>(ranks == 1 ? file : file + ".rank-" + std::to_string(rank)));
  for (const std::unique_ptr<Trace> &trace : traces)
    if (trace->tensors().size() != traces.front()->tensors().size())
      fail("{}: rank 0 traced {} values, another rank {}; values of ranks that run different launches cannot "
           "be "
           "put together",
           file, traces.front()->tensors().size(), trace->tensors().size());
}

std::vector<TracedTensor> GatheredTrace::tensors(const Wanted &wanted) {
  if (ranks() == 1)
    return traces.front()->tensors();
  rt::Mesh mesh = traces.front()->mesh();
  if (mesh.size() != ranks())
    mesh = rt::Mesh::ofData(ranks());
  Assembly assembly(storage);
  std::vector<TracedTensor> gathered;
  for (size_t at = 0; at < traces.front()->tensors().size(); ++at) {
    Parts parts;
    for (const std::unique_ptr<Trace> &trace : traces)
      parts.push_back(trace->tensors()[at]);
    const size_t before = gathered.size();
    if (!parts.front().isState)
      addReadings(parts, mesh, wanted, assembly, gathered);
    else if (std::optional<TracedTensor> state = assembly.state(parts))
      gathered.push_back(*state);
    without += gathered.size() == before;
  }
  return gathered;
}

namespace {

/// For each value that a node makes: the label of the node's place, as launches have it, and its op.
nlohmann::json placesOf(const model::Model &model) {
  mlir::MLIRContext context;
  context.loadDialect<KedgeDialect>();
  nlohmann::json places = nlohmann::json::array();
  for (const model::Node &node : model.graph.nodes)
    for (const std::string &output : node.outputs)
      if (!output.empty())
        places.push_back(
            {output, importer::nodePlace(context, node).label().str(), node.opType, node.inputs});
  return places;
}

std::string pythonWithOnnx() {
  const char *named = getenv("KEDGE_PYTHON");
  return named && *named ? named : "python3";
}

} // namespace

Reference runReference(const std::string &model, const std::string &trace, const std::string &folder) {
  const std::string script = folder + "/reference.py", places = folder + "/places.json",
                    engine = folder + "/engine";
  Reference reference{"", folder + "/reference"};
  writeText(script, kReferenceScript);
  writeText(places, placesOf(model::loadModel(model)).dump());
  const std::string python = pythonWithOnnx();
  try {
    runCommand({python, script, model, trace, places, reference.trace, engine}, folder + "/python.txt");
  } catch (const Error &error) {
    fail("--against {}: {}\n"
         "expected a Python with the packages onnx and numpy, and onnxruntime for speed: pip install onnx "
         "onnxruntime; "
         "KEDGE_PYTHON names another interpreter than python3",
         model, error.what());
  }
  reference.engine = contentOf(engine);
  return reference;
}

} // namespace kedge::driver
