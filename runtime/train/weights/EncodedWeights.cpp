#include "runtime/train/weights/EncodedWeights.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace kedge::rt {
namespace {

constexpr int64_t kEncodedSlice = 1 << 18; // a multiple of all blocks

/// Calls `visit(values, first, count)` for the weight's elements in order, in f32.
template <typename Visit>
void forSlices(const TensorSource &source, const std::vector<int64_t> &shape, Visit &&visit) {
  const int64_t elements = TensorDesc{DType::F32, shape}.elements();
  const size_t size = dtypeSize(source.type);
  std::vector<float> slice(static_cast<size_t>(std::min(kEncodedSlice, elements)));
  for (int64_t first = 0; first < elements; first += kEncodedSlice) {
    const int64_t count = std::min(kEncodedSlice, elements - first);
    transposeRange(slice.data(), DType::F32, shape, source.data, source.type, source.perm, first, count);
    visit(slice.data(), first, count);
    if (source.letGo && source.perm.empty())
      source.letGo(source.data + static_cast<size_t>(first) * size, static_cast<size_t>(count) * size);
  }
}

std::vector<float> absmaxOf(const Encoding &encoding, const TensorSource &source) {
  const int64_t elements = TensorDesc{DType::F32, encoding.whole}.elements();
  std::vector<float> absmax(static_cast<size_t>((elements + kQuantizedBlock - 1) / kQuantizedBlock));
  forSlices(source, encoding.whole, [&](const float *values, int64_t first, int64_t count) {
    encodeFourBits(encoding.format, values, count, first + count == elements, nullptr,
                   absmax.data() + first / kQuantizedBlock);
  });
  return absmax;
}

/// Of int8: which scale an element has.
struct Rows {
  int64_t inner, size, matrix, matrices;
  int64_t of(int64_t element) const { return element / matrix * size + element / inner % size; }
  size_t count() const { return static_cast<size_t>(matrices * size); }
};

/// The dimensions in front of the last two count matrices, as of experts, unless scales lie along them.
Rows rowsOf(const Encoding &encoding) {
  const auto axis = static_cast<size_t>(encoding.axis), rank = encoding.whole.size();
  const auto sizeFrom = [&](size_t dim) {
    return TensorDesc{DType::F32,
                      {encoding.whole.begin() + static_cast<std::ptrdiff_t>(dim), encoding.whole.end()}}
        .elements();
  };
  const int64_t all = sizeFrom(0), matrix = axis > 0 && rank > 2 ? sizeFrom(rank - 2) : all;
  return {sizeFrom(axis + 1), encoding.whole[axis], std::max<int64_t>(1, matrix),
          matrix == 0 ? 0 : all / matrix};
}

std::vector<float> rowAbsmax(const Encoding &encoding, const TensorSource &source) {
  const Rows rows = rowsOf(encoding);
  std::vector<float> absmax(rows.count());
  forSlices(source, encoding.whole, [&](const float *values, int64_t first, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      float &most = absmax[static_cast<size_t>(rows.of(first + k))];
      most = std::max(most, std::abs(values[k]));
    }
  });
  return absmax;
}

/// Round half to even of x 127 / absmax; the scale is absmax / 127.
void encodeEightBits(const State &state, const TensorSource &source, char *destination) {
  const Encoding &encoding = *state.encoding;
  const std::vector<float> absmax = rowAbsmax(encoding, source);
  if (encoding.part == EncodedPart::Absmax) {
    for (size_t k = 0; k < absmax.size(); ++k)
      storeDouble(DType::F32, destination, static_cast<int64_t>(k), static_cast<double>(absmax[k] / 127.0f));
    return;
  }
  const Rows rows = rowsOf(encoding);
  auto *codes = reinterpret_cast<int8_t *>(destination);
  forSlices(source, encoding.whole, [&](const float *values, int64_t first, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      const float most = absmax[static_cast<size_t>(rows.of(first + k))];
      codes[first + k] = static_cast<int8_t>(most == 0 ? 0 : std::nearbyint(values[k] * (127.0f / most)));
    }
  });
}

/// Of the whole tensor, which this process may hold a part of.
TensorDesc wholeOf(const State &state) { return {state.desc.type, state.viewOrWhole().whole}; }

std::vector<float> floatsOf(const State &state, const char *bytes) {
  const int64_t elements = wholeOf(state).elements();
  std::vector<float> values(static_cast<size_t>(elements));
  convert(values.data(), DType::F32, 1, bytes, state.desc.type, 1, elements);
  return values;
}

} // namespace

void encodeWeight(const State &state, const TensorSource &source, char *destination) {
  const Encoding &encoding = *state.encoding;
  if (encoding.format == QuantizedFormat::Int8)
    return encodeEightBits(state, source, destination);
  if (encoding.part == EncodedPart::Codes) {
    const int64_t elements = TensorDesc{DType::F32, encoding.whole}.elements();
    auto *codes = reinterpret_cast<uint8_t *>(destination);
    return forSlices(source, encoding.whole, [&](const float *values, int64_t first, int64_t count) {
      encodeFourBits(encoding.format, values, count, first + count == elements, codes + first / 2, nullptr);
    });
  }
  const std::vector<float> absmax = absmaxOf(encoding, source);
  if (encoding.part == EncodedPart::Absmax) {
    std::memcpy(destination, absmax.data(), absmax.size() * sizeof(float));
    return;
  }
  const NestedAbsmax nested = nestAbsmax(absmax);
  if (encoding.part == EncodedPart::AbsmaxCodes)
    std::memcpy(destination, nested.codes.data(), nested.codes.size());
  else if (encoding.part == EncodedPart::NestedAbsmax)
    std::memcpy(destination, nested.absmax.data(), nested.absmax.size() * sizeof(float));
  else
    std::memcpy(destination, &nested.offset, sizeof(float));
}

namespace {

void checkAcrossRanks(const Encoding &encoding, const QuantisedTensor &tensor, const std::vector<int> &perm,
                      const std::string &path, const std::string &name) {
  const auto kind = [](QuantizedFormat format, bool doubled) {
    return std::string(quantizedName(format)) + (doubled ? " with --double-quantize" : "");
  };
  const std::string found = kind(tensor.format, tensor.doubled),
                    expected = kind(encoding.format, encoding.doubled);
  if (found != expected)
    fail("{}: '{}' is quantised to {}, the program is for {}: compile it for what the file has", path, name,
         found, expected);
  std::vector<int64_t> shape(tensor.shape);
  for (size_t k = 0; k < perm.size() && perm.size() == shape.size(); ++k)
    shape[k] = tensor.shape[static_cast<size_t>(perm[k])];
  const bool isTransposed = !perm.empty() && tensor.format != QuantizedFormat::Int8;
  if (shape != encoding.whole || isTransposed)
    fail("{}: '{}' is quantised as {}{}, the program takes {}: these are weights of another model{}", path,
         name, shapeText(tensor.shape), isTransposed ? ", and stored transposed in the model" : "",
         shapeText(encoding.whole), isTransposed ? ", or its codes would be in another order" : "");
}

} // namespace

void copyQuantised(const State &state, const QuantisedTensor &tensor, const std::vector<int> &perm,
                   const std::string &path, const std::string &name, char *destination) {
  const Encoding &encoding = *state.encoding;
  checkAcrossRanks(encoding, tensor, perm, path, name);
  const auto copy = [&](const TensorView *view) { std::memcpy(destination, view->data, view->desc.bytes()); };
  switch (encoding.part) {
  case EncodedPart::Codes:
    if (tensor.format != QuantizedFormat::Int8)
      return copy(tensor.codes);
    return transposeRange(destination, DType::I8, encoding.whole, tensor.codes->data, DType::I8, perm, 0,
                          tensor.codes->desc.elements());
  case EncodedPart::Absmax:
    if (tensor.format != QuantizedFormat::Int8)
      return copy(tensor.absmax);
    for (int64_t k = 0; k < tensor.absmax->desc.elements(); ++k) // a scale here
      storeDouble(
          DType::F32, destination, k,
          static_cast<double>(static_cast<float>(loadAsDouble(DType::F32, tensor.absmax->data, k)) / 127.0f));
    return;
  case EncodedPart::AbsmaxCodes:
    return copy(tensor.absmax);
  case EncodedPart::NestedAbsmax:
    return copy(tensor.nestedAbsmax);
  case EncodedPart::Offset:
    std::memcpy(destination, &tensor.offset, sizeof(float));
    return;
  case EncodedPart::ZeroPoints: // of codes of a model's file, which are never copied from another
    return;
  }
}

namespace {

/// Codes of a model's file, in blocks.
std::vector<float> decodedBlocks(const Program &program, const State &codes,
                                 const std::function<const char *(const State &)> &fetch) {
  const Encoding &encoding = *codes.encoding;
  std::vector<float> scales;
  std::vector<uint8_t> points;
  BlockedMatrix matrix;
  matrix.format = encoding.format;
  matrix.rows = encoding.whole[0], matrix.columns = encoding.whole[1];
  for (const State &part : program.states) {
    if (!part.encoding || part.of != codes.name)
      continue;
    const char *bytes = fetch(part);
    matrix.axis = part.encoding->axis;
    if (part.encoding->part == EncodedPart::Absmax)
      scales = floatsOf(part, bytes);
    else
      points.assign(bytes, bytes + wholeOf(part).bytes());
  }
  const int64_t inAll = static_cast<int64_t>(scales.size()),
                across = matrix.axis == 0 ? matrix.columns : matrix.rows;
  if (inAll == 0 || inAll % across != 0)
    fail("the program is damaged: '{}' has {} scales for a matrix of {}", codes.name, inAll,
         shapeText(encoding.whole));
  const int64_t blocks = inAll / across, blockRows = matrix.axis == 0 ? blocks : matrix.rows;
  matrix.block = encoding.whole[static_cast<size_t>(matrix.axis)] / blocks;
  matrix.zeroPitch = static_cast<int64_t>(points.size()) * 8 / bitsOf(encoding.format) / blockRows;
  matrix.zero = encoding.zero;
  matrix.codes = reinterpret_cast<const uint8_t *>(fetch(codes));
  matrix.zeroPoints = points.empty() ? nullptr : points.data();
  matrix.scales = scales.data();
  std::vector<float> values(static_cast<size_t>(matrix.rows * matrix.columns));
  for (int64_t row = 0; row < matrix.rows; ++row)
    matrix.unpack(row, 0, matrix.columns, values.data() + row * matrix.columns);
  return values;
}

} // namespace

std::vector<float> decodedWeight(const Program &program, const State &codes,
                                 const std::function<const char *(const State &)> &fetch) {
  if (isOfOnnx(codes.encoding->format))
    return decodedBlocks(program, codes, fetch);
  std::vector<float> absmax, nested, offset;
  std::vector<uint8_t> absmaxCodes;
  Encoding encoding = *codes.encoding;
  for (const State &part : program.states) {
    if (!part.encoding || part.of != codes.name)
      continue;
    const char *bytes = fetch(part);
    encoding.axis = std::max(encoding.axis, part.encoding->axis);
    if (part.encoding->part == EncodedPart::Absmax)
      absmax = floatsOf(part, bytes);
    else if (part.encoding->part == EncodedPart::NestedAbsmax)
      nested = floatsOf(part, bytes);
    else if (part.encoding->part == EncodedPart::Offset)
      offset = floatsOf(part, bytes);
    else
      absmaxCodes.assign(bytes, bytes + wholeOf(part).bytes());
  }
  for (size_t k = 0; k < absmaxCodes.size(); ++k)
    absmax.push_back(dynamicMap(true)[absmaxCodes[k]] * nested[k / kNestedBlock] + offset[0]);
  const int64_t elements = TensorDesc{DType::F32, encoding.whole}.elements();
  std::vector<float> values(static_cast<size_t>(elements));
  const int64_t block = encoding.block != 0 ? encoding.block : kQuantizedBlock;
  const char *bytes = fetch(codes);
  if (encoding.format == QuantizedFormat::Int8) {
    const Rows rows = rowsOf(encoding);
    for (int64_t k = 0; k < elements; ++k)
      values[static_cast<size_t>(k)] =
          static_cast<float>(static_cast<int8_t>(bytes[k])) * absmax[static_cast<size_t>(rows.of(k))];
    return values;
  }
  for (int64_t k = 0; k < elements; ++k) {
    const auto byte = static_cast<uint8_t>(bytes[k / 2]);
    const float value = fourBitTable(encoding.format)[k % 2 == 0 ? byte >> 4 : byte & 15];
    values[static_cast<size_t>(k)] = value * absmax[static_cast<size_t>(k / block)];
  }
  return values;
}

State wholeOfEncoded(const Program &program, const State &state) {
  State whole = state;
  whole.desc = {DType::F32, state.encoding->whole};
  const State *codes = state.of.empty() ? &state : program.state(state.of);
  whole.onnxName = codes->onnxName;
  return whole;
}

} // namespace kedge::rt
