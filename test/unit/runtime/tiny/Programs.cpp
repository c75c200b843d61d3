#include "runtime/format/GraphHash.h"
#include "test/unit/runtime/tiny/Tiny.h"
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace kedge::tiny {
namespace {

using nlohmann::json;

constexpr char kHead[] = "HEAD of a model.";
constexpr char kTail[] = "TAIL";
constexpr size_t kHeadBytes = sizeof(kHead) - 1;

/// Places for everything, one after the other; 64-byte aligned.
class Arena {
public:
  uint64_t put(const std::string &name, uint64_t bytes) {
    const uint64_t offset = next;
    next += (bytes + 63) / 64 * 64;
    places[name] = offset;
    return offset;
  }
  uint64_t operator[](const std::string &name) const { return places.at(name); }
  uint64_t bytes() const { return next; }

private:
  uint64_t next = 0;
  std::map<std::string, uint64_t> places;
};

struct Numbers {
  int64_t batch = 4, accumulate = 1;
};

json desc(const char *dtype, std::vector<int64_t> shape) { return {{"dtype", dtype}, {"shape", shape}}; }

json launch(const Arena &arena, const char *kernel, std::vector<std::string> reads,
            std::vector<std::string> writes, int64_t iterations, std::vector<json> outputs, const char *loc) {
  json args = json::array();
  for (const auto *list : {&reads, &writes})
    for (const std::string &name : *list)
      args.push_back(arena[name]);
  return {
      {"kernel", kernel},   {"args", args}, {"reads", reads.size()}, {"iterations", iterations}, {"grain", 1},
      {"outputs", outputs}, {"loc", loc}};
}

json buffer(const Arena &arena, const char *name, int64_t bytes, int first, int last) {
  return {{"id", 0},        {"name", name},   {"offset", arena[name]},
          {"bytes", bytes}, {"first", first}, {"last", last}};
}

json momentumOf(const Arena &arena, const std::string &name, std::vector<int64_t> shape) {
  return {{"name", "m_" + name},
          {"role", "momentum"},
          {"of", name},
          {"dtype", "f32"},
          {"shape", shape},
          {"offset", arena["m_" + name]},
          {"init", {{"kind", "zeros"}}}};
}

json lineStates(const Arena &arena) {
  json w = {{"name", "W"},     {"role", "parameter"}, {"onnx_name", "w"},    {"dtype", "f32"},
            {"shape", {2, 3}}, {"perm", {1, 0}},      {"offset", arena["W"]}};
  w["init"] = {{"kind", "file"}, {"file", 0},      {"offset", kHeadBytes},
               {"length", 24},   {"dtype", "f32"}, {"perm", {1, 0}}};
  json b = {{"name", "B"},    {"role", "parameter"}, {"onnx_name", "b"},
            {"dtype", "f32"}, {"shape", {2}},        {"offset", arena["B"]}};
  b["init"] = {{"kind", "file"}, {"file", 0}, {"offset", kHeadBytes + 24}, {"length", 8}, {"dtype", "f32"}};
  json size = {{"name", "batch"},          {"role", "constant"},
               {"dtype", "i64"},           {"shape", json::array()},
               {"offset", arena["batch"]}, {"init", {{"kind", "fill"}, {"value", 0}}}};
  return json::array({w, b, momentumOf(arena, "W", {2, 3}), momentumOf(arena, "B", {2}), size});
}

json modelJson() {
  const std::vector<char> file = modelFile(std::vector<float>(6), std::vector<float>(2));
  return {
      {"files", {{{"path", "model.bin"}, {"bytes", file.size()}}}},
      {"graph_hash", rt::hashGraph(reinterpret_cast<const uint8_t *>(file.data()), file.size(),
                                   {{kHeadBytes, 24, ""}, {kHeadBytes + 24, 8, ""}})},
      {"weights", {{{"offset", kHeadBytes}, {"length", 24}}, {{"offset", kHeadBytes + 24}, {"length", 8}}}}};
}

/// The model file again, with the states' values.
json skeletonJson() {
  json pieces = json::array();
  pieces.push_back({"copy", 0, 0, kHeadBytes});
  pieces.push_back({"state", "W", "f32", json::array({3, 2})});
  pieces.push_back({"state", "B", "f32", json::array({2})});
  pieces.push_back({"copy", 0, kHeadBytes + 32, sizeof(kTail) - 1});
  return {{"files", json::array({""})}, {"model", pieces}, {"external", json::array()}};
}

void putShared(Arena &arena, const Numbers &n) {
  for (const char *name : {"W", "B", "m_W", "m_B", "gw", "gb", "lr", "momentum", "decay", "nominal", "micro",
                           "batch", "loss_sum", "grad_norm"})
    arena.put(name, 64);
  arena.put("loss_rows", static_cast<uint64_t>(n.batch) * 4);
}

json scalarsJson(const Arena &arena) {
  const auto scalar = [&](const char *name, const char *type, const char *place) {
    return json{{"name", name}, {"dtype", type}, {"offset", arena[place]}};
  };
  return json::array({scalar("lr", "f32", "lr"), scalar("momentum", "f32", "momentum"),
                      scalar("weight_decay", "f32", "decay"), scalar("nominal_items", "f64", "nominal"),
                      scalar("micro", "i64", "micro")});
}

json lineProgram(const Numbers &n, bool mean) {
  Arena arena;
  putShared(arena, n);
  const uint64_t persistent = arena.bytes();
  const int64_t B = n.batch;
  for (const char *name : {"x", "labels", "y", "dy", "rows"})
    arena.put(name, static_cast<uint64_t>(B) * 12);
  const json y = desc("f32", {B, 2});
  json launches = json::array();
  launches.push_back(launch(arena, "line_forward", {"x", "W", "B"}, {"y"}, B, {y}, "layer"));
  launches.push_back(
      launch(arena, "line_loss_rows", {"y", "labels"}, {"rows"}, B, {desc("f32", {B})}, "loss"));
  launches.push_back(launch(arena, mean ? "mean_rows" : "sum_rows", {"rows", "batch"}, {"loss_sum"}, 1,
                            {desc("f32", {})}, "loss"));
  launches.push_back(launch(arena, "line_loss_grad", {"y", "labels", "nominal"}, {"dy"}, 2 * B, {y}, "loss"));
  launches.push_back(
      launch(arena, "line_backward", {"dy", "x", "batch", "micro"}, {"gw", "gb"}, 1, {}, "layer"));
  const json update = launch(arena, "line_update", {"gw", "gb", "lr", "momentum", "decay"},
                             {"W", "B", "m_W", "m_B", "grad_norm"}, 1, {}, "optimizer");
  const json inputs = {{{"name", "x"}, {"offset", arena["x"]}},
                       {{"name", "labels"}, {"offset", arena["labels"]}}};
  const json buffers = {buffer(arena, "x", B * 12, -1, 4), buffer(arena, "labels", B * 8, -1, 3),
                        buffer(arena, "y", B * 8, 0, 3), buffer(arena, "rows", B * 4, 1, 2),
                        buffer(arena, "dy", B * 8, 3, 4)};
  const auto gradients = [&](int after) {
    return json{{{"parameter", "W"}, {"offset", arena["gw"]}, {"dtype", "f32"}, {"after_launch", after}},
                {{"parameter", "B"}, {"offset", arena["gb"]}, {"dtype", "f32"}, {"after_launch", after}}};
  };
  json functions;
  json step = {{"inputs", inputs}, {"buffers", buffers}, {"launches", launches}, {"loss_ready", 2}};
  const char *forward = n.accumulate == 1 ? "step" : "micro", *last = n.accumulate == 1 ? "step" : "update";
  if (n.accumulate == 1) {
    step["launches"].push_back(update);
    step["gradients"] = gradients(4);
  } else {
    functions["update"] = {{"launches", {update}}, {"gradients", gradients(-1)}};
  }
  functions[forward] = step;
  json eval = {{"inputs", inputs},
               {"launches", {launches[0], launches[1]}},
               {"buffers",
                {buffer(arena, "x", B * 12, -1, 0), buffer(arena, "labels", B * 8, -1, 1),
                 buffer(arena, "y", B * 8, 0, 2), buffer(arena, "rows", B * 4, 1, 2)}},
               {"outputs", {{{"name", "y"}, {"dtype", "f32"}, {"shape", {B, 2}}, {"offset", arena["y"]}}}}};
  json results = {
      {{"name", "loss_sum"}, {"function", forward}, {"dtype", "f32"}, {"offset", arena["loss_sum"]}},
      {{"name", "grad_norm"}, {"function", last}, {"dtype", "f32"}, {"offset", arena["grad_norm"]}}};
  if (mean) {
    eval["launches"].push_back(launches[2]);
    eval["buffers"][3]["last"] = 3;
    eval["buffers"][2]["last"] = 3;
    results.push_back(
        {{"name", "loss_sum"}, {"function", "eval"}, {"dtype", "f32"}, {"offset", arena["loss_sum"]}});
  } else {
    results.push_back({{"name", "loss_rows"},
                       {"function", "eval"},
                       {"dtype", "f32"},
                       {"shape", {B}},
                       {"offset", arena["rows"]}});
  }
  functions["eval"] = eval;
  json states = lineStates(arena);
  states[4]["init"]["value"] = B;
  const double items = static_cast<double>(2 * B);
  return {{"format", 1},
          {"name", "line"},
          {"model", modelJson()},
          {"arena", {{"bytes", arena.bytes()}, {"persistent_bytes", persistent}}},
          {"states", states},
          {"scalars", scalarsJson(arena)},
          {"results", results},
          {"inputs",
           {{{"name", "x"}, {"dtype", "f32"}, {"shape", {B, 3}}},
            {{"name", "labels"}, {"dtype", "f32"}, {"shape", {B, 2}}, {"role", "labels"}}}},
          {"functions", functions},
          {"options",
           {{"loss_kind", mean ? "mean" : "items"},
            {"batch", B},
            {"accumulate", n.accumulate},
            {"nominal_items", items * static_cast<double>(n.accumulate)},
            {"items_per_batch", items},
            {"optimizer", "sgd"},
            {"lr", 0.1},
            {"momentum", 0.9},
            {"seed", 7},
            {"labels", "labels"}}},
          {"export", {{"inference", skeletonJson()}, {"notes", json::array({"b: kept"})}}},
          {"plan",
           {{"schema", 1},
            {"arena_bytes", arena.bytes()},
            {"peak_bytes", arena.bytes()},
            {"reservations", json::array()}}}};
}

json bigramProgram(const Numbers &n) {
  Arena arena;
  for (const char *name : {"table", "gradient"})
    arena.put(name, 256);
  for (const char *name : {"lr", "batch", "loss_sum", "items"})
    arena.put(name, 8);
  const int64_t B = n.batch;
  arena.put("loss_rows", static_cast<uint64_t>(B) * 4);
  arena.put("item_rows", static_cast<uint64_t>(B) * 4);
  const uint64_t persistent = arena.bytes();
  arena.put("ids", static_cast<uint64_t>(B) * 32);
  arena.put("labels", static_cast<uint64_t>(B) * 32);
  const json inputs = {{{"name", "ids"}, {"offset", arena["ids"]}},
                       {{"name", "labels"}, {"offset", arena["labels"]}}};
  const json step = {{"inputs", inputs},
                     {"loss_ready", 0},
                     {"launches",
                      {launch(arena, "bigram_step", {"ids", "labels", "table", "batch"},
                              {"loss_sum", "items", "gradient"}, 1, {}, "table"),
                       launch(arena, "bigram_update", {"gradient", "lr"}, {"table"}, 64, {}, "optimizer")}}};
  const json eval = {{"inputs", inputs},
                     {"launches",
                      {launch(arena, "bigram_eval", {"ids", "labels", "table"}, {"loss_rows", "item_rows"}, B,
                              {}, "table")}}};
  const auto result = [&](const char *name, const char *function, const char *type,
                          std::vector<int64_t> shape) {
    return json{
        {"name", name}, {"function", function}, {"dtype", type}, {"shape", shape}, {"offset", arena[name]}};
  };
  const auto input = [&](const char *name, const char *role) {
    json entry = desc("i64", {B, 4});
    entry.update({{"name", name}, {"role", role}, {"lo", 0}, {"hi", 7}});
    return entry;
  };
  json labels = input("labels", "labels");
  labels["allowed"] = {-100};
  const json table = {
      {"name", "table"}, {"role", "parameter"},      {"onnx_name", "table"},       {"dtype", "f32"},
      {"shape", {8, 8}}, {"offset", arena["table"]}, {"init", {{"kind", "zeros"}}}};
  const json size = {{"name", "batch"},          {"role", "constant"},
                     {"dtype", "i64"},           {"shape", json::array()},
                     {"offset", arena["batch"]}, {"init", {{"kind", "fill"}, {"value", B}}}};
  return {{"format", 1},
          {"name", "bigram"},
          {"model", {{"embedded", true}}},
          {"arena", {{"bytes", arena.bytes()}, {"persistent_bytes", persistent}}},
          {"states", {table, size}},
          {"scalars", {{{"name", "lr"}, {"dtype", "f32"}, {"offset", arena["lr"]}}}},
          {"results",
           {result("loss_sum", "step", "f64", {}), result("items", "step", "f32", {}),
            result("loss_rows", "eval", "f32", {B}), result("item_rows", "eval", "f32", {B})}},
          {"inputs", {input("ids", "data"), labels}},
          {"functions", {{"step", step}, {"eval", eval}}},
          {"options",
           {{"loss_kind", "items"},
            {"batch", B},
            {"ignore_index", -100},
            {"labels", "labels"},
            {"nominal_items", 4 * B},
            {"items_per_batch", 4 * B},
            {"optimizer", "sgd"},
            {"lr", 1.0},
            {"tokens_per_row", 4}}}};
}

} // namespace

std::vector<char> modelFile(const std::vector<float> &w, const std::vector<float> &b) {
  std::vector<char> file(kHead, kHead + kHeadBytes);
  for (const auto *values : {&w, &b}) {
    const char *bytes = reinterpret_cast<const char *>(values->data());
    file.insert(file.end(), bytes, bytes + values->size() * sizeof(float));
  }
  file.insert(file.end(), kTail, kTail + sizeof(kTail) - 1);
  return file;
}

std::string programJson(const std::string &spec) {
  Numbers n;
  long long batch = 4, accumulate = 1;
  const size_t colon = spec.find(':');
  if (colon != std::string::npos)
    std::sscanf(spec.c_str() + colon, ":%lld:%lld", &batch, &accumulate);
  n.batch = batch;
  n.accumulate = accumulate;
  if (spec.starts_with("boxes/")) {
    const size_t form = spec.find('/', 6), last = spec.rfind('/');
    return boxProgramJson(spec.substr(6, form - 6), spec.substr(form + 1, last - form - 1),
                          std::stoll(spec.substr(last + 1)));
  }
  const std::string kind = spec.substr(0, colon);
  if (kind == "ranks")
    return rankProgramJson(batch, accumulate == 1 ? 4 : accumulate);
  if (kind == "bigram")
    return bigramProgram(n).dump();
  return lineProgram(n, kind == "mean").dump();
}

} // namespace kedge::tiny
