#include "runtime/calls/LibraryWork.h"
#include "runtime/calls/BatchedMatmul.h"
#include "runtime/calls/ConvShape.h"
#include <algorithm>

namespace kedge::rt::calls {
namespace {

constexpr uint64_t kMiB = uint64_t(1) << 20;

/// The innermost dimension is the largest group of matrices that lie at equal distances in both operands.
void cutBatches(const calls::BatchedMatmul &product, MatmulCalls &calls) {
  const int64_t batches = product.batches();
  const calls::BatchLayout::Dim group =
      product.layout.dims.empty() ? calls::BatchLayout::Dim{1, 0, 0} : product.layout.dims[0];
  calls.shape.batch = group.size, calls.shape.strideA = group.strideA, calls.shape.strideB = group.strideB;
  for (int64_t begin = 0; begin < batches; begin += group.size) {
    calls.offsetsA.push_back(product.offsetA(begin));
    calls.offsetsB.push_back(product.offsetB(begin));
  }
}

/// What the first matrix of every call is aligned to.
int64_t alignmentOf(const MatmulCalls &calls) {
  int64_t places = 256;
  const auto note = [&](int64_t elements, DType type) {
    places |= elements * static_cast<int64_t>(dtypeSize(type));
  };
  for (int64_t offset : calls.offsetsA)
    note(offset, calls.shape.typeA);
  for (int64_t offset : calls.offsetsB)
    note(offset, calls.shape.typeB);
  if (calls.offsetsA.size() > 1)
    note(calls.shape.batch * calls.shape.m * calls.shape.n, calls.shape.type);
  return places & -places;
}

void takeAddend(const calls::Addend &addend, MatmulCalls &calls) {
  calls.shape.alpha = addend.alpha;
  calls.addend = addend.index;
  if (addend.index < 0)
    return;
  // cuBLASLt's table of types has no epilogue for doubles.
  if (addend.isBias() && addend.alpha == 1 && calls.shape.type != DType::F64) {
    calls.shape.bias = true;
    return;
  }
  calls.shape.beta = addend.beta;
  calls.rowStride = addend.rowStride;
  calls.columnStride = addend.columnStride;
  const bool whole = addend.rowStride == calls.shape.n && (addend.columnStride == 1 || calls.shape.n == 1);
  calls.broadcasts = !whole;
}

/// Room for partial sums of products that are cut along k, in steps so that similar shapes ask for the same.
/// Sums of 16-bit numbers are fp32.
uint64_t matmulWorkspace(const MatmulShape &shape) {
  const uint64_t result =
      static_cast<uint64_t>(shape.m * shape.n * shape.batch) * std::max<uint64_t>(4, dtypeSize(shape.type));
  uint64_t bytes = kMiB / 4;
  while (bytes < 8 * result && bytes < 32 * kMiB)
    bytes *= 2;
  return bytes;
}

template <size_t N> std::array<int, N> narrow(const LibraryCall &call, const std::vector<int64_t> &values) {
  std::array<int, N> result{};
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > INT32_MAX)
      failCall(call, "a size of {} is more than cuDNN takes", values[i]);
    result[i] = static_cast<int>(values[i]);
  }
  return result;
}

/// Pads of some dimension are not the same at its two ends.
bool padsDiffer(const calls::Shape &pads) {
  for (size_t i = 0, rank = pads.size() / 2; i < rank; ++i)
    if (pads[i] != pads[i + rank])
      return true;
  return false;
}

} // namespace

static bool isMultiplied(DType type) {
  return type == DType::F32 || type == DType::F64 || type == DType::BF16 || type == DType::F16;
}

bool isAmongRanks(const std::string &library) { return library.starts_with("dist."); }

bool isMatmul(const std::string &library) {
  return library == "onnx.MatMul" || library == "onnx.Gemm" || library == "train.scaled_product" ||
         library == "train.fused_product" || library == "train.accumulate_product";
}

bool isConvolution(const std::string &library) {
  return library == "onnx.Conv" || library == "onnx.ConvTranspose" ||
         library.rfind("train.conv_grad", 0) == 0 || library.rfind("train.conv_transpose_grad", 0) == 0;
}

/// As keys of the algorithm table have it.
static std::string epilogueText(const MatmulShape &shape) {
  static constexpr const char *names[] = {"",        " gelu",  " gelu-kept", " gelu-grad", " gelu-grad-sums",
                                          " sums-a", " sums-b"};
  return (shape.bias ? "bias" : "plain") + std::string(names[static_cast<size_t>(shape.epilogue)]);
}

std::string MatmulShape::key() const {
  const std::string types = typeA != type
                                ? fmt::format("{} {} {}", dtypeName(typeA), dtypeName(typeB), dtypeName(type))
                                : std::string(dtypeName(type));
  const std::string rows = isPadded() ? fmt::format(" rows {} {} {}", rowA, rowB, rowY) : "";
  return fmt::format("{} {}x{}x{} {}{}{} batch {} steps {} {} alpha {} beta {} {} align {} workspace {}",
                     types, m, n, k, transA ? 'T' : 'N', transB ? 'T' : 'N', rows, batch, strideA, strideB,
                     alpha, beta, epilogueText(*this), alignment, workspaceBytes);
}

/// A product that is added to the sum of earlier micro-batches.
static calls::ScaledOperands readAccumulateMatmul(const LibraryCall &call) {
  calls::expectCounts(call, 4, 4, 1, 1);
  const DType type = call.inputs[0].type, sum = call.outputs[0].type;
  const bool widens = sum == DType::F32 && (type == DType::BF16 || type == DType::F16);
  const bool fits = call.inputs[1].type == type &&
                    (widens || (sum == type && (type == DType::F32 || type == DType::F64))) &&
                    call.inputs[2].type == sum && call.inputs[2].shape == call.outputs[0].shape &&
                    call.inputs[3].type == DType::I64;
  if (!fits)
    failCall(call,
             "two operands of one type, a sum of f32 or f64 and the number of the micro-batch are expected");
  calls::BatchedMatmul product = calls::readGemm(calls::withoutEpilogue(call));
  const calls::Addend addend{1, 1, 2, product.n, 1};
  return {std::move(product), addend};
}

/// All operands of one type, 16-bit factors of an f32 result and C, or as readScaledMatmul and
/// readAccumulateMatmul take them.
static calls::ScaledOperands readOperands(const LibraryCall &call) {
  if (call.name == "train.scaled_product")
    return calls::readScaledMatmul(call);
  if (call.name == "train.accumulate_product")
    return readAccumulateMatmul(call);
  const bool isWide = calls::isWideSum(call);
  for (size_t at = 0; at < call.inputs.size(); ++at)
    calls::expectSameType(call, call.inputs[at], at < 2 || !isWide ? call.inputs[0] : call.outputs[0]);
  if (!isWide)
    calls::expectSameType(call, call.outputs[0], call.inputs[0]);
  if (!isMultiplied(call.inputs[0].type))
    failCall(call, "CUDA multiplies f32, f64, bf16 and f16 only; compile with --target cpu");
  const LibraryCall plain = calls::withoutEpilogue(call);
  if (plain.name != "onnx.Gemm")
    return {calls::readMatMul(plain), {}};
  calls::BatchedMatmul product = calls::readGemm(plain);
  const calls::Addend addend = calls::readGemmAddend(plain, product);
  return {std::move(product), addend};
}

/// Rows as they lie. Matrices of a batch would have to be padded, too; nothing asks for that.
static void takeRows(const LibraryCall &call, MatmulCalls &calls) {
  MatmulShape &shape = calls.shape;
  shape.rowA = shape.widthA(), shape.rowB = shape.widthB(), shape.rowY = shape.n;
  if (!calls::hasPaddedRows(call))
    return;
  shape.rowA = call.inputs[0].shape.back(), shape.rowB = call.inputs[1].shape.back();
  shape.rowY = call.outputs[0].shape.back();
  const bool adds = calls.addend >= 0 && !shape.bias;
  if (shape.batch != 1 || calls.offsetsA.size() != 1 || (adds && shape.rowY != shape.n))
    failCall(call, "rows are padded in single products, of results to which no more than a bias is added");
}

static Epilogue epilogueOf(const LibraryCall &call) {
  const std::string name = calls::stringAttr(call, "epilogue", "");
  const bool second = call.outputs.size() > 1;
  if (name == "gelu")
    return second ? Epilogue::GeluKept : Epilogue::Gelu;
  if (name == "gelu_grad" && call.inputs.size() == 3)
    return second ? Epilogue::GeluGradSums : Epilogue::GeluGrad;
  if (name == "sums_a" && second)
    return Epilogue::SumsOfA;
  if (name == "sums_b" && second)
    return Epilogue::SumsOfB;
  failCall(call, "no epilogue '{}' of these operands and results", name);
}

/// cuBLASLt's rules: one product of 16-bit floats, and GELU's input in rows of whole 16 bytes.
static void takeEpilogue(const LibraryCall &call, MatmulCalls &calls) {
  constexpr int64_t kRow = 8;
  MatmulShape &shape = calls.shape;
  calls.result = static_cast<int>(call.inputs.size());
  if (call.name != "train.fused_product")
    return;
  shape.epilogue = epilogueOf(call);
  const bool narrow = shape.type == DType::BF16 || shape.type == DType::F16;
  if (!narrow || shape.batch != 1 || calls.offsetsA.size() != 1 || shape.isEmpty() ||
      (shape.hasAuxiliary() && shape.n % kRow != 0))
    failCall(call,
             "an epilogue is that of one product of 16-bit floats, with rows of a multiple of {} elements",
             kRow);
  if (shape.hasAuxiliary())
    calls.auxiliary = shape.epilogue == Epilogue::GeluKept ? calls.result + 1 : 2;
  if (shape.hasSums())
    calls.sums = calls.result + 1;
}

MatmulCalls matmulCallsOf(const LibraryCall &call) {
  const auto [product, addend] = readOperands(calls::withDenseRows(call));
  MatmulCalls calls;
  calls.shape.type = call.outputs[0].type;
  calls.shape.typeA = call.inputs[0].type, calls.shape.typeB = call.inputs[1].type;
  calls.shape.m = product.m, calls.shape.n = product.n, calls.shape.k = product.k;
  calls.shape.transA = product.transA, calls.shape.transB = product.transB;
  cutBatches(product, calls);
  takeAddend(addend, calls);
  takeRows(call, calls);
  takeEpilogue(call, calls);
  if (call.name == "train.accumulate_product")
    calls.micro = 3;
  if (calls.addend >= 0 && product.k == 0)
    failCall(call, "CUDA has no Gemm of inner size 0 with a C; compile with --target cpu");
  calls.shape.alignment = alignmentOf(calls);
  calls.shape.workspaceBytes = matmulWorkspace(calls.shape);
  return calls;
}

MatmulCalls withBiasApart(MatmulCalls calls) {
  if (!calls.shape.bias)
    return calls;
  calls.shape.bias = false;
  calls.shape.beta = 1;
  calls.broadcasts = true;
  calls.rowStride = 0, calls.columnStride = 1;
  return calls;
}

MatmulCalls withEpilogueApart(MatmulCalls calls) {
  if (calls.shape.epilogue == Epilogue::None)
    return calls;
  if (calls.shape.epilogue == Epilogue::GeluKept)
    calls.result = calls.auxiliary;
  calls.shape.epilogue = Epilogue::None;
  calls.auxiliary = calls.sums = -1;
  calls.apart = true;
  return calls;
}

bool cudnnTakes(const LibraryCall &call, CudnnTypes types) {
  const DType type = call.inputs.at(0).type;
  if (padsDiffer(calls::intsAttr(call, "pads", {})))
    return false;
  if (type == DType::F32 || type == DType::F64)
    return true;
  const auto isOfType = [&](const TensorDesc &tensor) { return tensor.type == type; };
  if (types == CudnnTypes::Wide || (type != DType::BF16 && type != DType::F16))
    return false;
  const calls::ConvRoles roles = calls::convRolesOf(call);
  return !(roles.bias && calls::inputIndex(call, 2) >= 0) && !calls::readConv(call, roles).isDepthwise() &&
         std::all_of(call.inputs.begin(), call.inputs.end(), isOfType) && isOfType(call.outputs.at(0));
}

ConvolutionCall convolutionCallOf(const LibraryCall &call) {
  const calls::ConvRoles roles = calls::convRolesOf(call);
  const calls::ConvShape shape = calls::readConv(call, roles);
  if (!cudnnTakes(call, CudnnTypes::All))
    failCall(
        call,
        "cuDNN takes f32, f64, and 16 bits without a bias and with more than one channel a group, with equal "
        "pads at both ends; other convolutions have generated kernels");
  const TensorDesc &x = call.inputs[0];
  const size_t rank = x.shape.size() - 2;
  ConvolutionCall result;
  result.kind = roles.kind;
  result.type = x.type;
  result.dims = rank == 3 ? 3 : 2;
  result.groups = static_cast<int>(shape.groups);
  result.image = roles.image, result.filter = roles.filter, result.result = roles.result;
  if (roles.bias)
    result.bias = calls::inputIndex(call, 2);
  const size_t skip = static_cast<size_t>(3 - result.dims);
  const auto spatial = [&](const calls::Space &space) {
    return std::vector<int64_t>(space.begin() + skip, space.end());
  };
  const auto tensor = [&](int64_t first, int64_t second, const calls::Space &space) {
    std::vector<int64_t> sizes = spatial(space);
    sizes.insert(sizes.begin(), {first, second});
    return narrow<5>(call, sizes);
  };
  result.x = tensor(shape.batch, shape.channels, shape.in);
  result.w = tensor(shape.filters, shape.groupChannels(), shape.kernel);
  result.y = tensor(shape.batch, shape.filters, shape.out);
  result.pad = narrow<3>(call, spatial(shape.pad));
  result.stride = narrow<3>(call, spatial(shape.stride));
  result.dilation = narrow<3>(call, spatial(shape.dilation));
  return result;
}

/// Tensor cores read channels side by side: cuDNN's engines copy image, filter and result so, with channels
/// rounded up to 8, and need a little for themselves (measured with cuDNN 9.19 for an H100:
/// test/cuda/cudnn-plans.test).
static uint64_t copiesWorkspace(const ConvolutionCall &call) {
  uint64_t bytes = 64 << 10;
  for (const std::array<int, 5> *shape : {&call.x, &call.w, &call.y}) {
    uint64_t elements = (static_cast<uint64_t>((*shape)[1]) + 7) / 8 * 8;
    for (int i = 0; i < call.dims + 2; ++i)
      elements *= i == 1 ? 1 : static_cast<uint64_t>((*shape)[static_cast<size_t>(i)]);
    bytes += 2 * elements;
  }
  return bytes;
}

/// cuDNN tells what it needs only on a GPU. This much lets its deterministic algorithms run at the sizes that
/// models have; a program that needs more allocates the rest at start and lists it.
static uint64_t convolutionWorkspace(const LibraryCall &call) {
  if (const ConvolutionCall convolution = convolutionCallOf(call); convolution.isNarrow())
    return copiesWorkspace(convolution);
  uint64_t largest = 0;
  for (const auto *list : {&call.inputs, &call.outputs})
    for (const TensorDesc &tensor : *list)
      largest = std::max<uint64_t>(largest, tensor.bytes());
  return std::clamp(largest / 2 / kMiB * kMiB, 8 * kMiB, 64 * kMiB);
}

std::set<std::string> productKeys(const Program &program, bool apart) {
  std::set<std::string> keys;
  for (const auto &[name, function] : program.functions)
    for (const Launch &launch : function.launches)
      if (isMatmul(launch.library)) {
        MatmulCalls calls = matmulCallsOf({launch.library, launch.attrs, launch.inputs, launch.outputs});
        if (apart) {
          calls = withEpilogueApart(std::move(calls));
          keys.insert(calls.shape.key());
          calls = withBiasApart(std::move(calls));
        }
        keys.insert(calls.shape.key());
      }
  return keys;
}

uint64_t plannedWorkspaceBytes(const LibraryCall &call) {
  if (isMatmul(call.name))
    return matmulCallsOf(call).shape.workspaceBytes;
  if (isConvolution(call.name))
    return convolutionWorkspace(call);
  if (isAmongRanks(call.name))
    return 0; // NCCL has its own
  failCall(call, "the cuda target has no such library call");
}

} // namespace kedge::rt::calls
