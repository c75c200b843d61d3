#include "runtime/cpu/LinkedKernel.h"
#include "runtime/cpu/Kernel.h"
#include "runtime/io/Error.h"
#include <deque>

namespace kedge::rt::cpu {
namespace {

kedge_type numberOf(DType type, const std::string &name) {
  switch (type) {
  case DType::F32:
    return KEDGE_FLOAT32;
  case DType::F64:
    return KEDGE_FLOAT64;
  case DType::F16:
    return KEDGE_FLOAT16;
  case DType::BF16:
    return KEDGE_BFLOAT16;
  case DType::I8:
    return KEDGE_INT8;
  case DType::I16:
    return KEDGE_INT16;
  case DType::I32:
    return KEDGE_INT32;
  case DType::I64:
    return KEDGE_INT64;
  case DType::U8:
    return KEDGE_UINT8;
  case DType::U16:
    return KEDGE_UINT16;
  case DType::U32:
    return KEDGE_UINT32;
  case DType::U64:
    return KEDGE_UINT64;
  case DType::Bool:
    return KEDGE_BOOL;
  default:
    fail("{}: kernels of plugins with tensors of {} are not available yet", name, dtypeName(type));
  }
}

/// Owns what the call points to.
class LinkedKernel final : public LibraryKernel {
public:
  LinkedKernel(const LibraryCall &source, kedge_kernel function, int64_t iterations, int threads)
      : function(function), iterations(iterations), threads(threads) {
    describe(source.name, source.inputs, inputs);
    describe(source.name, source.outputs, outputs);
    for (const auto &[name, value] : source.attrs.items())
      add(source.name, name, value);
    call = {inputs.size(),  inputs.data(),     outputs.size(),
            outputs.data(), attributes.size(), attributes.data()};
  }

  void run(Inputs from, Outputs to, void *) override {
    parallelFor(threads, iterations, 1,
                [&](int64_t begin, int64_t end) { function(&call, from, to, begin, end); });
  }

private:
  void describe(const std::string &name, const std::vector<TensorDesc> &tensors,
                std::vector<kedge_operand> &list) {
    for (const TensorDesc &tensor : tensors) {
      shapes.emplace_back(tensor.shape.begin(), tensor.shape.end());
      list.push_back({numberOf(tensor.type, name), shapes.back().size(), shapes.back().data()});
    }
  }

  void add(const std::string &op, const std::string &name, const nlohmann::json &value) {
    texts.push_back(name);
    kedge_attribute attribute{texts.back().c_str(), nullptr, 0, nullptr};
    if (value.is_string()) {
      texts.push_back(value.get<std::string>());
      attribute.text = texts.back().c_str();
    } else {
      numbers.push_back(numbersOf(op + "." + name, value));
      attribute.count = numbers.back().size();
      attribute.numbers = numbers.back().data();
    }
    attributes.push_back(attribute);
  }

  static std::vector<double> numbersOf(const std::string &name, const nlohmann::json &value) {
    std::vector<double> list;
    for (const nlohmann::json &one : value.is_array() ? value : nlohmann::json::array({value})) {
      if (!one.is_number() && !one.is_boolean())
        fail("{}: a kernel of a plugin takes numbers, lists of numbers and strings as attributes, found {}",
             name, one.dump());
      list.push_back(one.is_boolean() ? double(one.get<bool>()) : one.get<double>());
    }
    return list;
  }

  kedge_kernel function;
  int64_t iterations;
  int threads;
  // Deques: what they hold stays where it is.
  std::deque<std::vector<int64_t>> shapes;
  std::deque<std::string> texts;
  std::deque<std::vector<double>> numbers;
  std::vector<kedge_operand> inputs, outputs;
  std::vector<kedge_attribute> attributes;
  kedge_call call{};
};

} // namespace

std::unique_ptr<LibraryKernel> makeLinkedKernel(const LibraryCall &call, kedge_kernel function,
                                                int64_t iterations, int threads) {
  return std::make_unique<LinkedKernel>(call, function, iterations, threads);
}

} // namespace kedge::rt::cpu
