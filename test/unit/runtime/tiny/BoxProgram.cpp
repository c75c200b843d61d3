// "line" on a mesh whose ranks hold boxes of the weight and of its momentum, or flat parts of boxes: the
// weight is gathered and put together, its gradient summed and taken apart.
#include "runtime/calls/LibraryKernel.h"
#include "runtime/program/Shard.h"
#include "test/unit/runtime/tiny/Tiny.h"
#include <nlohmann/json.hpp>

namespace kedge::tiny {
namespace {

using nlohmann::json;

json desc(std::vector<int64_t> shape) { return {{"dtype", "f32"}, {"shape", shape}}; }

json shardJson(const std::string &form, const std::string &axis) {
  json shard = {{"shape", {2, 3}}};
  if (form == "flat")
    return shard;
  shard["flat"] = form == "flat-columns";
  json cut = {{"dim", form == "rows" ? 0 : 1}, {"axis", axis}};
  if (form == "sections")
    cut["sections"] = {1, 2};
  shard["cuts"] = {cut};
  return shard;
}

/// Which element of the weight each element of all parts in a row is, as digits of base 8; 7: padding.
int64_t pointersOf(const rt::Shard &shard, const rt::Mesh &mesh, int64_t room) {
  int64_t places = 0;
  const std::vector<int64_t> holders = mesh.groupOf(shard.axes(), 0).members;
  std::vector<int64_t> digits(holders.size() * static_cast<size_t>(room), 7);
  for (size_t part = 0; part < holders.size(); ++part)
    shard.viewOf(mesh, holders[part]).forEachRun([&](const rt::ElementRun &run) {
      for (int64_t i = 0; i < run.count; ++i)
        digits[part * static_cast<size_t>(room) + static_cast<size_t>(run.here + i)] = run.whole + i;
    });
  for (size_t digit = digits.size(); digit-- > 0;)
    places = places * 8 + digits[digit];
  return places;
}

class BoxProgram {
public:
  BoxProgram(const std::string &mesh, const std::string &form, int64_t batch)
      : program(json::parse(programJson("line:" + std::to_string(batch)))), mesh(rt::Mesh::parse(mesh)),
        shardAsJson(shardJson(form, this->mesh.sizeOf("tensor") > 1 ? "tensor" : "data")),
        shard(rt::localShardOf(shardAsJson)) {
    const std::vector<int64_t> local = shard.localShape(this->mesh);
    for (const int64_t size : local)
      room *= size;
    for (const char *name : {"W", "m_W"}) {
      json &state = named(name);
      state["shard"] = shardAsJson;
      state["shape"] = local;
    }
    parts = this->mesh.sizeOf(shard.axes());
    places = addConstant("places", pointersOf(shard, this->mesh, room));
    elements = addConstant("elements", parts * room);
    own = addConstant("own", room);
    const uint64_t bytes = static_cast<uint64_t>(parts * room) * 4;
    joined = take(bytes), wholeW = take(24), boxed = take(bytes), summed = take(24), summedB = take(8);
    scattered = take(bytes);
    setFunctions();
    json &options = program["options"];
    options["ranks"] = {this->mesh.size()};
    options["mesh"] = mesh;
    options["nominal_items"] =
        options["nominal_items"].get<double>() * static_cast<double>(this->mesh.sizeOf(rt::Mesh::kRows));
  }

  std::string text() const { return program.dump(); }

private:
  json &named(const char *name) {
    for (json &state : program["states"])
      if (state["name"] == name)
        return state;
    throw std::runtime_error(name);
  }

  uint64_t take(uint64_t bytes) {
    const uint64_t offset = program["arena"]["bytes"];
    const uint64_t end = offset + (bytes + 63) / 64 * 64;
    program["arena"] = {{"bytes", end}, {"persistent_bytes", end}};
    return offset;
  }

  uint64_t addConstant(const char *name, int64_t value) {
    const uint64_t offset = take(8);
    program["states"].push_back({{"name", name},
                                 {"role", "constant"},
                                 {"dtype", "i64"},
                                 {"shape", json::array()},
                                 {"offset", offset},
                                 {"init", {{"kind", "fill"}, {"value", value}}}});
    return offset;
  }

  json collective(const char *name, const std::string &axis, const json &input, uint64_t from,
                  const json &output, uint64_t to) {
    json launch = {{"library", name},    {"attrs", {{"ranks", mesh.sizeOf(axis)}, {"axis", axis}}},
                   {"args", {from, to}}, {"reads", 1},
                   {"inputs", {input}},  {"outputs", {output}},
                   {"loc", "layer"}};
    rt::calls::LibraryCall call{name, launch["attrs"], {}, {}};
    call.inputs.push_back({rt::DType::F32, input["shape"]});
    call.outputs.push_back({rt::DType::F32, output["shape"]});
    const size_t bytes = rt::calls::makeKernel(call, 1)->workspaceBytes();
    launch["workspace"] = {{"offset", take(bytes)}, {"bytes", bytes}};
    return launch;
  }

  json kernel(const char *name, uint64_t from, uint64_t to) const {
    return {{"kernel", name},  {"args", {from, places, elements, to}},
            {"reads", 3},      {"iterations", 1},
            {"outputs", {{}}}, {"loc", "layer"}};
  }

  void setFunctions() {
    json &step = program["functions"]["step"];
    const json launches = step["launches"];
    const uint64_t w = named("W")["offset"], gw = launches[4]["args"][4], gb = launches[4]["args"][5];
    const json part = desc({room}), all = desc({parts * room});
    const json gather = collective("dist.all_gather", shard.axes(), part, w, all, joined);
    json join = kernel("join_boxes", joined, wholeW), cut = kernel("cut_boxes", summed, boxed);
    join["outputs"] = {desc({2, 3})};
    cut["outputs"] = {all};
    json forward = launches[0];
    forward["args"][1] = wholeW;
    json sum = collective("dist.all_reduce", rt::Mesh::kRows, desc({2, 3}), gw, desc({2, 3}), summed);
    json sumB = collective("dist.all_reduce", rt::Mesh::kRows, desc({2}), gb, desc({2}), summedB);
    const json scatter = collective("dist.local_shard", shard.axes(), all, boxed, part, scattered);
    json backward = launches[4];
    backward["records"] = 2;
    sum["waits"] = sumB["waits"] = {2};
    json update = launches[5];
    update["kernel"] = "rank_update";
    update["args"][0] = scattered;
    update["args"][1] = summedB;
    update["args"].insert(update["args"].begin() + 5, own);
    update["reads"] = 6;
    step["launches"] = {gather,   join, forward, launches[1], launches[2], launches[3],
                        backward, sum,  sumB,    cut,         scatter,     update};
    step["loss_ready"] = 4;
    step["buffers"] = json::array();
    step["gradients"] = {{{"parameter", "W"},
                          {"offset", scattered},
                          {"dtype", "f32"},
                          {"after_launch", 10},
                          {"shard", shardAsJson}},
                         {{"parameter", "B"}, {"offset", summedB}, {"dtype", "f32"}, {"after_launch", 10}}};
    json &eval = program["functions"]["eval"];
    eval["launches"] = {gather, join, forward, launches[1]};
    eval["buffers"] = json::array();
    json kept = json::array(); // no grad_norm: it would be a part's
    for (const json &result : program["results"])
      if (result["name"] != "grad_norm")
        kept.push_back(result);
    program["results"] = kept;
  }

  json program;
  const rt::Mesh mesh;
  const json shardAsJson;
  const rt::Shard shard;
  int64_t parts = 1, room = 1;
  uint64_t places = 0, elements = 0, own = 0, joined = 0, wholeW = 0, boxed = 0, summed = 0, summedB = 0,
           scattered = 0;
};

} // namespace

std::string boxProgramJson(const std::string &mesh, const std::string &form, int64_t batch) {
  return BoxProgram(mesh, form, batch).text();
}

} // namespace kedge::tiny
