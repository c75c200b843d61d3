#include "runtime/cuda/TensorMaps.h"

namespace kedge::rt::cuda {

TensorMaps::TensorMaps(Gpu &gpu, const Program &program) : gpu(gpu) {
  uint64_t count = 0;
  for (const auto &[name, function] : program.functions)
    for (const Launch &launch : function.launches)
      for (const GpuKernel &kernel : launch.kernels)
        for (const GpuKernel::Operand &operand : kernel.operands)
          count += operand.map.has_value();
  maps.reserve(count);
  if (count != 0)
    block = gpu.allocate(count * sizeof(CUtensorMap), "the tensor maps of kernels");
}

CUdeviceptr TensorMaps::add(const GpuTensorMap &map, CUdeviceptr argument) {
  CUtensorMap &made = maps.emplace_back();
  const std::vector<cuuint64_t> sizes(map.sizes.begin(), map.sizes.end()),
      strides(map.strides.begin(), map.strides.end());
  const std::vector<cuuint32_t> ones(sizes.size(), 1);
  gpu.driver().check(
      gpu.driver().tensorMapEncodeTiled(
          &made, map.type == DType::BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
          static_cast<cuuint32_t>(sizes.size()), reinterpret_cast<void *>(argument + map.offset),
          sizes.data(), strides.data(), map.box.data(), ones.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
          CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "the driver does not encode a tensor map of {} dimensions", sizes.size());
  return block + (maps.size() - 1) * sizeof(CUtensorMap);
}

void TensorMaps::send() {
  if (maps.empty())
    return;
  gpu.driver().check(
      gpu.driver().memcpyHtoDAsync(block, maps.data(), maps.size() * sizeof(CUtensorMap), gpu.stream()),
      "tensor maps are not copied to the GPU");
  gpu.driver().check(gpu.driver().streamSynchronize(gpu.stream()), "tensor maps are not copied to the GPU");
}

} // namespace kedge::rt::cuda
