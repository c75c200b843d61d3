// The files with the CPU's library kernels, and which kernels each has: a program is linked with those that
// its launches name. A new file, and a new kernel, is named here and where it is registered.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

// clang-format off
#define KEDGE_KERNEL_FILES(FILE) \
  FILE(AttentionGrad, "train.attention_grad") \
  FILE(Attention, "train.attention") \
  FILE(AveragePool, "onnx.AveragePool", "train.average_pool_grad") \
  FILE(Conv, "onnx.Conv", "train.conv_grad_input", "train.conv_grad_weight", "onnx.ConvTranspose", "train.conv_transpose_grad_input", "train.conv_transpose_grad_weight") \
  FILE(Eigenbasis, "train.eigenbasis") \
  FILE(Fill, "onnx.OneHot", "onnx.EyeLike", "onnx.Trilu", "onnx.Range", "onnx.ReverseSequence", "onnx.Compress") \
  FILE(Gather, "onnx.Gather", "onnx.GatherElements", "onnx.GatherND") \
  FILE(GatherGrad, "train.gather_grad", "train.add_gather_grad", "train.gather_elements_grad", "train.gather_nd_grad") \
  FILE(GridSample, "onnx.GridSample", "train.grid_sample_grad") \
  FILE(GroupedMatmul, "train.grouped_matmul", "train.grouped_matmul_grad") \
  FILE(IntegerMatmuls, "onnx.MatMulInteger", "onnx.QLinearMatMul", "onnx.ConvInteger") \
  FILE(LeadingBasis, "train.leading_basis") \
  FILE(MatMul, "onnx.MatMul", "onnx.Gemm") \
  FILE(MaxPool, "onnx.MaxPool", "train.max_pool_grad") \
  FILE(Movement, "onnx.Transpose", "onnx.Expand", "onnx.Tile", "onnx.DepthToSpace", "onnx.SpaceToDepth", "onnx.Concat", "onnx.Split", "onnx.Slice", "copy") \
  FILE(PackedProduct, "train.pack_columns", "train.packed_product") \
  FILE(Pad, "onnx.Pad", "train.pad_grad") \
  FILE(Recurrent, "onnx.RNN", "onnx.GRU", "onnx.LSTM") \
  FILE(Resize, "onnx.Resize", "train.resize_grad") \
  FILE(ScaledProduct, "train.scaled_product") \
  FILE(Scan, "onnx.CumSum", "onnx.ArgMax", "onnx.ArgMin", "onnx.Hardmax", "onnx.TopK") \
  FILE(Scatter, "onnx.ScatterElements", "onnx.Scatter", "onnx.ScatterND") \
  FILE(Slice, "train.slice_grad", "onnx.CenterCropPad") \
  FILE(SumProducts, "train.sum_products")
// clang-format on

namespace kedge::rt::calls {

/// The function of a program's table (kedge/abi.h) that makes this kernel known; empty: no file of the list
/// has it, as collectives and kernels of plugins.
inline std::string registrationOf(std::string_view kernel) {
#define KEDGE_LOOK(NAME, ...)                                                                                \
  if (std::initializer_list<std::string_view> kernels = {__VA_ARGS__};                                       \
      std::find(kernels.begin(), kernels.end(), kernel) != kernels.end())                                    \
    return "kedge_register_" #NAME;
  KEDGE_KERNEL_FILES(KEDGE_LOOK)
#undef KEDGE_LOOK
  return "";
}

} // namespace kedge::rt::calls
