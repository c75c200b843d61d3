#include "runtime/data/Bounds.h"
#include "runtime/data/NpyHeader.h"
#include "runtime/data/Source.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <cstring>

namespace kedge::rt {
namespace {

struct Descr {
  const char *text;
  DType type;
};

constexpr Descr kDescrs[] = {{"<f2", DType::F16}, {"<f4", DType::F32}, {"<f8", DType::F64},
                             {"|u1", DType::U8},  {"<i4", DType::I32}, {"<i8", DType::I64},
                             {"|b1", DType::Bool}};

constexpr size_t kShownHeader = 200;

/// The shape without its rows.
std::string rowShape(const std::vector<int64_t> &shape) {
  return shapeText(std::span(shape).subspan(std::min<size_t>(1, shape.size())));
}

bool isInteger(DType type) { return !isFloat(type); }

int64_t elementsOfRow(const InputSpec &input) {
  if (!input.batched)
    return input.desc.elements();
  int64_t elements = 1;
  for (size_t axis = 1; axis < input.desc.shape.size(); ++axis)
    elements *= input.desc.shape[axis];
  return elements;
}

/// Throws on an element of the row at `source` that the input does not take. `place`: of the rows.
void checkRow(const InputSpec &input, const std::string &place, DType type, int64_t row, const char *source) {
  if (!isInteger(input.desc.type) || (!input.lo && !input.hi))
    return;
  for (int64_t i = 0, elements = elementsOfRow(input); i < elements; ++i) {
    const int64_t value = loadAsInt(type, source, i);
    if (!inBounds(input, value))
      fail("{}: row {}, element {}: {} is out of range for the {} '{}', which takes {}; correct the data{}", place, row, i, value,
           input.labels ? "labels" : "input", input.name, boundsText(input),
           input.labels ? fmt::format(", or compile with --ignore-index {}", value) : "");
  }
}

class MemorySource : public Source {
public:
  MemorySource(const void *data, int64_t count, const InputSpec &input)
      : data(static_cast<const char *>(data)), count(count), input(input),
        rowBytes(static_cast<size_t>(elementsOfRow(input)) * dtypeSize(input.desc.type)) {}

  int64_t rows() const override { return input.batched ? count : 1; }

  void read(int64_t row, char *destination) const override {
    const char *source = data + static_cast<size_t>(row) * rowBytes;
    checkRow(input, "memory", input.desc.type, row, source);
    std::memcpy(destination, source, rowBytes);
  }

private:
  const char *data;
  int64_t count;
  const InputSpec &input;
  size_t rowBytes;
};

class NpySource : public Source {
public:
  NpySource(Npy npy, const InputSpec &input) : npy(std::move(npy)), input(input), rowElements(elementsOfRow(input)) {}

  int64_t rows() const override { return input.batched ? npy.shape[0] : 1; }

  void read(int64_t row, char *destination) const override {
    const char *source = npy.data + row * rowElements * static_cast<int64_t>(dtypeSize(npy.type));
    checkRow(input, npy.file.path(), npy.type, row, source);
    convert(destination, input.desc.type, 1, source, npy.type, 1, rowElements);
  }

private:
  Npy npy;
  InputSpec input;
  int64_t rowElements;
};

} // namespace

Npy::Npy(const std::string &path) : file(path, "data file") {
  if (file.size() < 10 || std::memcmp(file.data(), "\x93NUMPY", 6) != 0)
    fail("{}: not an npy file (numpy.save writes one)", path);
  const auto *bytes = reinterpret_cast<const unsigned char *>(file.data());
  const int version = bytes[6];
  if (version < 1 || version > 3 || (version > 1 && file.size() < 12))
    fail("{}: npy version {}, expected 1 to 3", path, version);
  const size_t prefix = version == 1 ? 10 : 12;
  size_t length = bytes[8] | size_t(bytes[9]) << 8;
  if (version > 1)
    length |= size_t(bytes[10]) << 16 | size_t(bytes[11]) << 24;
  if (length > file.size() - prefix)
    fail("{}: truncated: its header of {} bytes does not fit into {} bytes", path, length, file.size());
  const std::string_view text(file.data() + prefix, length);
  const std::optional<NpyHeader> header = parseNpyHeader(text);
  if (!header)
    fail("{}: damaged npy header, expected 'descr', 'fortran_order' and 'shape' as numpy.save writes them: {}{}", path,
         text.substr(0, kShownHeader), text.size() > kShownHeader ? "..." : "");
  if (header->fortranOrder)
    fail("{}: in Fortran order; save numpy.ascontiguousarray(x)", path);
  const Descr *known = nullptr;
  for (const Descr &entry : kDescrs)
    if (header->descr == entry.text || (entry.text[0] == '|' && header->descr == std::string("<") + (entry.text + 1)))
      known = &entry;
  if (!known)
    fail("{}: holds elements of type '{}', expected f2, f4, f8, u1, i4, i8 or bool in little endian; convert "
         "it "
         "with numpy's astype",
         path, header->descr);
  type = known->type;
  shape = header->shape;
  data = file.data() + prefix + length;
  const size_t have = file.size() - prefix - length;
  const std::optional<uint64_t> need = checkedBytes({type, shape});
  if (!need)
    fail("{}: shape {} of {} is more than any file holds", path, shapeText(shape), dtypeName(type));
  if (*need > have)
    fail("{}: truncated: shape {} of {} needs {} bytes, the file has {}", path, shapeText(shape), dtypeName(type), *need,
         have);
}

std::unique_ptr<Source> rowsInMemory(const void *data, int64_t rows, const InputSpec &input) {
  return std::make_unique<MemorySource>(data, rows, input);
}

std::string npyHeader(DType type, const std::vector<int64_t> &shape) {
  std::string descr;
  for (const Descr &entry : kDescrs)
    if (entry.type == type)
      descr = entry.text;
  if (descr.empty())
    descr = fmt::format("{}{}{}", dtypeSize(type) == 1 ? "|" : "<", dtypeName(type)[0], dtypeSize(type));
  std::string dims;
  for (int64_t extent : shape)
    dims += std::to_string(extent) + ", ";
  if (shape.size() > 1)
    dims.resize(dims.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string result("\x93NUMPY\x01\x00", 8);
  result += static_cast<char>(header.size() & 255);
  result += static_cast<char>(header.size() >> 8);
  return result + header;
}

std::unique_ptr<Source> openNpy(const std::string &path, const InputSpec &input) {
  Npy npy(path);
  const std::vector<int64_t> &want = input.desc.shape;
  if (!input.batched) {
    if (npy.shape != want)
      fail("{}: has shape {}, the input '{}' is {}: it has no rows, so give one value of that shape", path,
           shapeText(npy.shape), input.name, shapeText(want));
  } else if (npy.shape.size() != want.size() ||
             !std::equal(want.begin() + 1, want.end(), npy.shape.begin() + 1)) {
    fail("{}: rows have shape {}, the input '{}' takes rows of shape {} (file {}, compiled for {}); "
         "give rows of that shape, or compile with another --shape",
         path, rowShape(npy.shape), input.name, rowShape(want), shapeText(npy.shape), shapeText(want));
  }
  if (isFloat(npy.type) && isInteger(input.desc.type))
    fail("{}: holds {}, the input '{}' takes {}: convert it with numpy's astype", path, dtypeName(npy.type),
         input.name, dtypeName(input.desc.type));
  if (input.batched && npy.shape[0] == 0)
    fail("{}: has shape {}: expected one row at least for '{}'", path, shapeText(npy.shape), input.name);
  return std::make_unique<NpySource>(std::move(npy), input);
}

} // namespace kedge::rt
