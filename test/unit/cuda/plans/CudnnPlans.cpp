// What the real cuDNN plans for convolutions of 16 bits on a GPU that is only described, so that no GPU is
// needed:
//   kedge-cudnn-plans PROPERTIES.json < CALLS
// A line of CALLS: forward, data or filter; bf16 or f16; shapes of image and filter as 8x64x56x56; stride,
// pad, dilation, groups. Prints the line with the engine's number, its workspace in bytes, and the bytes that
// a program plans for it.
#include "runtime/cuda/library/ConvolutionLaunch.h"
#include "runtime/io/Error.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace kedge::rt;
using calls::ConvolutionCall;

namespace {

std::vector<int64_t> sizesOf(const std::string &text) {
  std::vector<int64_t> sizes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, 'x');)
    sizes.push_back(std::stoll(part));
  return sizes;
}

calls::LibraryCall callOf(const std::string &line) {
  std::istringstream words(line);
  std::string kind, type, image, filter;
  int64_t stride = 1, pad = 0, dilation = 1, groups = 1;
  if (!(words >> kind >> type >> image >> filter >> stride >> pad >> dilation >> groups))
    fail("{}: expected KIND TYPE IMAGE FILTER STRIDE PAD DILATION GROUPS", line);
  const std::vector<int64_t> x = sizesOf(image), w = sizesOf(filter);
  std::vector<int64_t> y = {x[0], w[0]};
  for (size_t i = 2; i < x.size(); ++i)
    y.push_back((x[i] + 2 * pad - dilation * (w[i] - 1) - 1) / stride + 1);
  const size_t dims = x.size() - 2;
  const nlohmann::json attrs = {{"strides", std::vector<int64_t>(dims, stride)},
                                {"pads", std::vector<int64_t>(2 * dims, pad)},
                                {"dilations", std::vector<int64_t>(dims, dilation)},
                                {"group", groups}};
  const DType dtype = type == "bf16" ? DType::BF16 : DType::F16;
  const TensorDesc X{dtype, x}, W{dtype, w}, Y{dtype, y};
  if (kind == "forward")
    return {"onnx.Conv", attrs, {X, W}, {Y}};
  return kind == "data" ? calls::LibraryCall{"train.conv_grad_input", attrs, {Y, W}, {X}}
                        : calls::LibraryCall{"train.conv_grad_weight", attrs, {X, Y}, {W}};
}

int run(const std::string &path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.empty())
    fail("{}: expected a file that describes a GPU", path);
  const auto library = cuda::SharedLibrary::open({"libcudnn.so.9"}, "it comes with NVIDIA's packages");
  const cuda::CudnnGraph graph(library);
  cuda::GraphDescriptor gpu(graph, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  gpu.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, std::span<const char>(text)).finalize();
  for (std::string line; std::getline(std::cin, line);) {
    const calls::LibraryCall call = callOf(line);
    const uint64_t planned = calls::plannedWorkspaceBytes(call);
    const cuda::ConvolutionPlan plan(graph, {nullptr, &gpu}, calls::convolutionCallOf(call), planned, line);
    fmt::print("{}: engine {} workspace {} of {}{}\n", line, plan.engine(), plan.workspaceBytes(), planned,
               plan.workspaceBytes() > planned ? " MORE" : "");
  }
  return 0;
}

} // namespace

int main(int count, char **words) {
  try {
    return run(count > 1 ? words[1] : "");
  } catch (const RuntimeError &error) {
    std::cerr << "kedge-cudnn-plans: error: " << error.what() << "\n";
    return 1;
  }
}
