#include "driver/diff/Trace.h"
#include "driver/diff/ReferenceScript.h"
#include "kedge/Dialect/Kedge/KedgeDialect.h"
#include "lib/Import/GraphPlaces.h"
#include "lib/Model/Model.h"
#include "lib/Support/Error.h"
#include "lib/Support/TextFile.h"
#include "lib/Support/ToolRun.h"
#include "runtime/format/Convert.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

/// The words of a command, whose output goes to the file `output` and is shown when it fails.
static void runToEnd(const std::vector<std::string> &words, const TemporaryFolder &folder,
                     const std::string &output) {
  const ToolEnding ending = runTool(words, folder, output);
  if (ending.code != 0)
    fail("{}: ended with {}:\n{}", words.front(), ending.how(), ending.text);
}

/// A name without a slash is a file here, not a command.
static std::string pathOf(const std::string &program) {
  const std::string path = program.find('/') == std::string::npos ? "./" + program : program;
  if (access(path.c_str(), X_OK) != 0)
    fail("{}: is no program that can be run; expected what kedge compile -o wrote", program);
  return path;
}

int64_t ranksOf(const std::string &program, const TemporaryFolder &folder) {
  const std::string file = folder.file("plan");
  runToEnd({pathOf(program), "--plan"}, folder, file);
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
               const std::vector<std::string> &options, const TemporaryFolder &folder,
               const std::string &file) {
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
  runToEnd(words, folder, file + ".txt");
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

Reference runReference(const std::string &model, const std::string &trace, const TemporaryFolder &folder) {
  const std::string script = folder.file("reference.py"), places = folder.file("places.json"),
                    engine = folder.file("engine");
  Reference reference{"", folder.file("reference")};
  writeText(script, kReferenceScript);
  writeText(places, placesOf(model::loadModel(model)).dump());
  const std::string python = pythonWithOnnx();
  try {
    runToEnd({python, script, model, trace, places, reference.trace, engine}, folder,
             folder.file("python.txt"));
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
