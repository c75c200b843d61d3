// kedge-tiny-cuda-program SPEC [options]: the programs of the runtime's tests, compiled by hand for CUDA.
#include "runtime/cuda/CudaDevice.h"
#include "runtime/train/ProgramMain.h"
#include "test/unit/runtime/tiny/Tiny.h"
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;

std::map<std::string, int> &operandCounts() {
  static std::map<std::string, int> counts;
  return counts;
}

/// One thread an iteration, operands in order.
void moveToGpu(json &launch) {
  const std::string name = launch.at("kernel");
  json operands = json::array();
  for (size_t i = 0; i < launch.at("args").size(); ++i)
    operands.push_back(i);
  operandCounts()[name] = static_cast<int>(operands.size());
  launch["kernels"] = {{{"name", name},
                        {"grid", {launch.value("iterations", 1), 1, 1}},
                        {"block", {1, 1, 1}},
                        {"operands", operands}}};
}

/// Every collective of a step runs on the stream of ranks, as compiled programs have it.
void moveToRankStream(json &launches) {
  constexpr size_t kEvents = 9;
  for (size_t i = 0; i + 1 < launches.size(); ++i)
    if (launches[i].value("library", "") == "dist.all_reduce") {
      launches[i].update({{"stream", 3}, {"records", kEvents + i}});
      launches[i + 1]["waits"].push_back(kEvents + i);
    }
}

uint64_t take(json &program, uint64_t bytes) {
  const uint64_t offset = program["arena"]["bytes"], end = offset + (bytes + 63) / 64 * 64;
  program["arena"] = {{"bytes", end}, {"persistent_bytes", end}};
  return offset;
}

json transfer(json &program, bool sends, int number, int peer, int elements) {
  const json value = {{"dtype", "f32"}, {"shape", {elements}}},
             token = {{"dtype", "i64"}, {"shape", json::array()}};
  const uint64_t bytes = take(program, 64), before = take(program, 8), after = take(program, 8);
  json launch = {{"library", sends ? "dist.send" : "dist.receive"},
                 {"attrs", {{"axis", "pipeline"}, {"number", number}, {"peer", peer}, {"ranks", 2}}},
                 {"reads", sends ? 2 : 1},
                 {"stream", 4},
                 {"loc", "between stages"}};
  launch["args"] = sends ? json{bytes, before, after} : json{before, bytes, after};
  launch["inputs"] = sends ? json{value, token} : json::array({token});
  launch["outputs"] = sends ? json::array({token}) : json{value, token};
  return launch;
}

/// At the end of a step each of two stages has a message for the other one. `fault`: "size" (the second
/// expects fewer elements), "circle" (both send first), or none.
void addTransfers(json &program, int stage, const std::string &fault) {
  json &launches = program["functions"]["step"]["launches"];
  const bool sendsFirst = stage == 0 || fault == "circle";
  for (const bool sends : {sendsFirst, !sendsFirst}) {
    const int number = sends ? stage : 1 - stage;
    launches.push_back(
        transfer(program, sends, number, 1 - stage, fault == "size" && stage == 1 && !sends ? 3 : 4));
  }
}

json cudaProgram(const std::string &spec) {
  json program = json::parse(kedge::tiny::programJson(spec));
  program["target"] = {{"kind", "cuda"},
                       {"arch", "sm_90"},
                       {"ptx", {{"offset", 0}, {"length", 16}}},
                       {"cubin", {{"offset", 16}, {"length", 16}}}};
  for (auto &[name, function] : program["functions"].items())
    moveToRankStream(function["launches"]);
  for (auto &[name, function] : program["functions"].items())
    for (json &launch : function["launches"])
      if (launch.contains("kernel"))
        moveToGpu(launch);
  return program;
}

/// "stages/FAULT": two stages of two ranks each, with a program for each stage behind the code.
std::string stagePrograms(const std::string &fault, std::string &data) {
  const json code = {{"offset", 0}, {"length", data.size()}};
  json worlds = json::array();
  for (int stage = 0; stage < 2; ++stage) {
    json program = cudaProgram("boxes/pipeline=2,data=2/flat/3");
    addTransfers(program, stage, fault);
    const std::string text = program.dump();
    worlds.push_back({{"stage", stage},
                      {"ranks", 4},
                      {"text", {{"offset", data.size()}, {"length", text.size()}}},
                      {"data", code}});
    data += text;
  }
  return "{\"worlds\":" + worlds.dump() + "}";
}

} // namespace

/// What the driver's stand-in runs for a kernel.
extern "C" __attribute__((visibility("default"))) KedgeKernel kedge_stub_kernel(const char *name,
                                                                                int *operands) {
  const auto found = operandCounts().find(name);
  *operands = found == operandCounts().end() ? 0 : found->second;
  return kedge::tiny::kernelByName(name);
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  std::string data = "//PTX          .ELF             ";
  const std::string spec = argv[1], stages = "stages/";
  const std::string text =
      spec.starts_with(stages) ? stagePrograms(spec.substr(stages.size()), data) : cudaProgram(spec).dump();
  kedge::rt::ProgramImage image;
  image.json = text;
  image.data = reinterpret_cast<const unsigned char *>(data.data());
  image.dataSize = data.size();
  image.device = kedge::rt::cuda::makeCudaDevice;
  argv[1] = argv[0];
  const int exitCode = kedge::rt::programMain(argc - 1, argv + 1, image);
  if (std::getenv("TINY_COUNT_ALLOCATIONS"))
    kedge::tiny::printAllocations();
  return exitCode;
}
