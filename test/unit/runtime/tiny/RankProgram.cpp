// "line" over ranks as ZeRO's third stage has it: the weight and its momentum are cut, the bias is whole. The
// weight is gathered and its gradient scattered on the stream of ranks.
#include "runtime/calls/LibraryKernel.h"
#include "test/unit/runtime/tiny/Tiny.h"
#include <nlohmann/json.hpp>

namespace kedge::tiny {
namespace {

using nlohmann::json;

json desc(std::vector<int64_t> shape) { return {{"dtype", "f32"}, {"shape", shape}}; }

/// Room behind the arena of "line".
class Tail {
public:
  explicit Tail(json &program) : program(program) {}
  uint64_t take(uint64_t bytes) {
    const uint64_t offset = program["arena"]["bytes"];
    const uint64_t end = offset + (bytes + 63) / 64 * 64;
    program["arena"] = {{"bytes", end}, {"persistent_bytes", end}};
    return offset;
  }

private:
  json &program;
};

json collective(Tail &tail, const char *name, int64_t ranks, const json &input, uint64_t from,
                const json &output, uint64_t to) {
  json launch = {{"library", name},   {"attrs", {{"ranks", ranks}}}, {"args", {from, to}}, {"reads", 1},
                 {"inputs", {input}}, {"outputs", {output}},         {"loc", "layer"}};
  rt::calls::LibraryCall call{name, launch["attrs"], {}, {}};
  call.inputs.push_back({rt::DType::F32, input["shape"]});
  call.outputs.push_back({rt::DType::F32, output["shape"]});
  const size_t bytes = rt::calls::makeKernel(call, 1)->workspaceBytes();
  launch["workspace"] = {{"offset", tail.take(bytes)}, {"bytes", bytes}};
  return launch;
}

json &onRankStream(json &launch, int event) {
  launch["stream"] = 3;
  launch["records"] = event;
  return launch;
}

json &stateNamed(json &program, const char *name) {
  for (json &state : program["states"])
    if (state["name"] == name)
      return state;
  throw std::runtime_error(name);
}

} // namespace

std::string rankProgramJson(int64_t ranks, int64_t batch) {
  json program = json::parse(programJson("line:" + std::to_string(batch)));
  Tail tail(program);
  const int64_t part = (6 + ranks - 1) / ranks;
  const uint64_t wholeW = tail.take(24), scattered = tail.take(24), reduced = tail.take(8),
                 partSize = tail.take(8);
  for (const char *name : {"W", "m_W"}) {
    json &state = stateNamed(program, name);
    state["shard"] = {{"shape", {2, 3}}};
    state["shape"] = {part};
  }
  program["states"].push_back({{"name", "part"},
                               {"role", "constant"},
                               {"dtype", "i64"},
                               {"shape", json::array()},
                               {"offset", partSize},
                               {"init", {{"kind", "fill"}, {"value", part}}}});
  json &step = program["functions"]["step"];
  const json launches = step["launches"];
  const uint64_t w = stateNamed(program, "W")["offset"], gw = launches[4]["args"][4],
                 gb = launches[4]["args"][5];
  json gather = collective(tail, "dist.all_gather", ranks, desc({part}), w, desc({2, 3}), wholeW);
  json forward = launches[0];
  forward["args"][1] = wholeW;
  json scatter = collective(tail, "dist.reduce_scatter", ranks, desc({2, 3}), gw, desc({part}), scattered);
  json backward = launches[4];
  backward["records"] = 2;
  scatter["waits"] = {2};
  json reduce = collective(tail, "dist.all_reduce", ranks, desc({2}), gb, desc({2}), reduced);
  json update = launches[5];
  update["kernel"] = "rank_update";
  update["args"][0] = scattered;
  update["args"][1] = reduced;
  update["args"].insert(update["args"].begin() + 5, partSize);
  update["reads"] = 6;
  update["waits"] = {1};
  json gatherAtOnce = gather;
  forward["waits"] = {0};
  step["launches"] = {onRankStream(gather, 0),  forward, launches[1], launches[2], launches[3], backward,
                      onRankStream(scatter, 1), reduce,  update};
  step["loss_ready"] = 3;
  step["buffers"] = json::array();
  step["gradients"] = {{{"parameter", "W"},
                        {"offset", scattered},
                        {"dtype", "f32"},
                        {"after_launch", 7},
                        {"shard", {{"shape", {2, 3}}}}},
                       {{"parameter", "B"}, {"offset", reduced}, {"dtype", "f32"}, {"after_launch", 7}}};
  json &eval = program["functions"]["eval"];
  forward.erase("waits");
  eval["launches"] = {gatherAtOnce, forward, launches[1]};
  eval["buffers"] = json::array();
  json &options = program["options"];
  options["ranks"] = {ranks};
  options["nominal_items"] = options["nominal_items"].get<double>() * static_cast<double>(ranks);
  json kept = json::array(); // no grad_norm: it would be a part's
  for (const json &result : program["results"])
    if (result["name"] != "grad_norm")
      kept.push_back(result);
  program["results"] = kept;
  return program.dump();
}

} // namespace kedge::tiny
