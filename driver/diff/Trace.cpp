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
#include <spawn.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace kedge::driver {
namespace {

/// What the program knows of the value (`kedge.values` in the IR).
void readValue(const nlohmann::json &note, TracedTensor &tensor) {
  tensor.value = note.value("value", "");
  tensor.micro = note.value("micro", int64_t(-1));
  tensor.isSummand = note.contains("sum");
  if (const auto cut = note.find("cut"); cut != note.end())
    tensor.cut = TracedCut{cut->at("dim"), cut->at("sections"), cut->at("rooms")};
}

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
  readValue(record.value("value", nlohmann::json::object()), tensor);
  tensor.launch = record.at("launch");
  tensor.function = record.at("function");
  if (tensor.micro < 0)
    tensor.micro = tensor.function == "micro" ? tensor.run - 1 : 0;
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
    for (const nlohmann::json &axis : mesh->at("axes"))
      ranks *= axis.at("size").get<int64_t>();
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
