#include "test/unit/cuda/CudaProgram.h"
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/calls/LibraryKernel.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/format/Convert.h"
#include "test/support/TempFolder.h"
#include <algorithm>
#include <cmath>
#include <dlfcn.h>
#include <sstream>

namespace kedge::test {
namespace {

using nlohmann::json;

constexpr uint64_t kAlign = 256;

/// The record of this process; gone at its end.
const TempFolder &recordFolder() {
  static const TempFolder folder;
  return folder;
}

/// Programs that the tests start find the stand-ins, those of the runtime's tests as well.
const int forChildren = setenv("LD_LIBRARY_PATH", KEDGE_STUB_FOLDER, 1);

/// Loaded by path, the stand-ins answer to their names from then on.
void loadStubs() {
  static const bool loaded = [] {
    setenv("KEDGE_STUB_LOG", recordFolder().path("calls.txt").c_str(), 1);
    for (const char *name : {"libcuda.so.1", "libcublasLt.so.13", "libcudnn.so.9", "libnvidia-ml.so.1"})
      if (!dlopen((std::string(KEDGE_STUB_FOLDER "/") + name).c_str(), RTLD_NOW | RTLD_GLOBAL))
        ADD_FAILURE() << dlerror();
    return true;
  }();
  EXPECT_TRUE(loaded);
}

json tensorAt(const std::string &name, const std::string &type, const std::vector<int64_t> &shape,
              uint64_t &offset) {
  const rt::TensorDesc desc{rt::parseDType(type), shape};
  json entry = {{"name", name}, {"dtype", type}, {"shape", shape}, {"offset", offset}};
  offset += (desc.bytes() + kAlign) / kAlign * kAlign;
  return entry;
}

/// Elements of a row that count, of each input and, last, of the result; behind them lies what no product may
/// read.
using Widths = std::vector<int64_t>;
bool counts(const rt::TensorDesc &tensor, int64_t element, int64_t width) {
  return tensor.shape.empty() || element % tensor.shape.back() < width;
}

std::vector<double> runOn(const json &source, rt::DeviceFactory device, const Widths &widths = {}) {
  const std::string text = source.dump();
  rt::ProgramImage image;
  image.json = text;
  image.device = device;
  const rt::Program program = rt::parseProgram(text);
  rt::Executor executor(program, image, 1);
  std::vector<double> values;
  for (int run = 0; run < 3; ++run) {
    int64_t number = run;
    for (size_t at = 0; at < program.inputs.size(); ++at) {
      const rt::InputSpec &input = program.inputs[at];
      char *place = executor.input("f", input.name);
      for (int64_t i = 0; i < input.desc.elements(); ++i) {
        const bool isNumber = at >= widths.size() || counts(input.desc, i, widths[at]);
        rt::storeDouble(input.desc.type, place, i,
                        isNumber ? static_cast<double>(number * 7 % 23 - 11) / 8 : NAN);
        number += isNumber;
      }
    }
    executor.run("f");
    const rt::TensorDesc &y = program.functions.at("f").outputs.front().desc;
    const char *bytes = executor.output("f", "y");
    for (int64_t i = 0; i < y.elements(); ++i)
      if (widths.empty() || counts(y, i, widths.back()))
        values.push_back(rt::loadAsDouble(y.type, bytes, i));
  }
  return values;
}

} // namespace

std::vector<std::string> stubCalls() {
  std::vector<std::string> lines;
  std::istringstream stream(recordFolder().read("calls.txt"));
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

json callProgram(const std::string &name, const std::string &type,
                 const std::vector<std::vector<int64_t>> &inputs, const std::vector<int64_t> &output,
                 const json &attrs) {
  uint64_t offset = 0;
  json places = json::array(), args = json::array();
  // A wide sum's C and result are f32.
  const std::string sums = attrs.value("wide", false) ? "f32" : type;
  rt::calls::LibraryCall call{name, attrs, {}, {{rt::parseDType(sums), output}}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string own = i < 2 ? type : sums;
    places.push_back(tensorAt(std::to_string(i), own, inputs[i], offset));
    args.push_back(places.back()["offset"]);
    call.inputs.push_back({rt::parseDType(own), inputs[i]});
  }
  const json y = tensorAt("y", sums, output, offset);
  args.push_back(y["offset"]);
  const uint64_t workspace =
      std::max<uint64_t>(rt::calls::plannedWorkspaceBytes(call),
                         rt::calls::makeKernel(rt::calls::withDenseRows(call), 1)->workspaceBytes());
  const json launch = {{"library", name},       {"attrs", attrs},
                       {"args", args},          {"reads", inputs.size()},
                       {"inputs", places},      {"outputs", json::array({y})},
                       {"loc", "the.one.call"}, {"workspace", {{"offset", offset}, {"bytes", workspace}}}};
  return {
      {"format", 1},
      {"name", name},
      {"arena", {{"bytes", offset + workspace}, {"persistent_bytes", 0}, {"align", kAlign}}},
      {"inputs", places},
      {"functions",
       {{"f", {{"inputs", places}, {"outputs", json::array({y})}, {"launches", json::array({launch})}}}}}};
}

bool isSameOnBoth(json program) {
  loadStubs();
  const std::vector<double> expected = runOn(program, nullptr);
  program["target"] = {{"kind", "cuda"}, {"arch", "sm_90"}};
  const std::vector<double> found = runOn(program, rt::cuda::makeCudaDevice);
  return std::equal(expected.begin(), expected.end(), found.begin(), found.end(),
                    [](double a, double b) { return std::abs(a - b) <= 1e-4 * std::max(1.0, std::abs(a)); });
}

/// Sums of 16-bit numbers are fp32 on both, in another order: they may round to neighbours.
static double lastPlaceOf(const json &program) {
  const std::string type = program["functions"]["f"]["outputs"][0]["dtype"];
  return type == "bf16" ? 0x1p-7 : type == "f16" ? 0x1p-10 : 0;
}

void expectSameOnBoth(json program) { expectSameRows(program, program, {}); }

void expectSameRows(const json &dense, json program, const std::vector<int64_t> &widths) {
  loadStubs();
  const std::vector<double> expected = runOn(dense, nullptr);
  program["target"] = {{"kind", "cuda"}, {"arch", "sm_90"}};
  const std::vector<double> found = runOn(program, rt::cuda::makeCudaDevice, widths);
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(expected[i], found[i], 1e-5 + lastPlaceOf(program) * std::abs(expected[i]))
        << "element " << i << " of " << program["name"];
}

} // namespace kedge::test
