#include "runtime/data/Bounds.h"
#include "runtime/data/Source.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstring>

namespace kedge::rt {
namespace {

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
      fail("{}: row {}, element {}: {} is out of range for the {} '{}', which takes {}; correct the data{}",
           place, row, i, value, input.labels ? "labels" : "input", input.name, boundsText(input),
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
  NpySource(Npy npy, const InputSpec &input)
      : npy(std::move(npy)), input(input), rowElements(elementsOfRow(input)) {}

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

/// What rows of another shape most likely are; empty: that cannot be told.
std::string meantShape(const Npy &npy, const InputSpec &input) {
  const std::vector<int64_t> &want = input.desc.shape, &have = npy.shape;
  const bool classes = input.labels && isInteger(input.desc.type);
  if (classes && input.hi && have.size() == want.size() + 1 &&
      std::count(have.begin() + 1, have.end(), *input.hi + 1) > 0)
    return fmt::format("; these are one-hot labels: give the numbers of the classes, labels.argmax(axis={})",
                       have.back() == *input.hi + 1 ? -1 : 1);
  int64_t elements = 1;
  for (size_t axis = 1; axis < have.size(); ++axis)
    elements *= have[axis];
  if (elements == elementsOfRow(input))
    return fmt::format("; the numbers are as many: give array.reshape(-1{})", [&] {
      std::string sizes;
      for (size_t axis = 1; axis < want.size(); ++axis)
        sizes += fmt::format(", {}", want[axis]);
      return sizes;
    }());
  if (input.labels && !classes && isInteger(npy.type) && elements == 1)
    return "; these are numbers of classes: compile with --loss cross-entropy, which takes them";
  return "";
}

} // namespace

std::unique_ptr<Source> rowsInMemory(const void *data, int64_t rows, const InputSpec &input) {
  return std::make_unique<MemorySource>(data, rows, input);
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
         "give rows of that shape, or compile with another --shape{}",
         path, rowShape(npy.shape), input.name, rowShape(want), shapeText(npy.shape), shapeText(want),
         meantShape(npy, input));
  }
  if (isFloat(npy.type) && isInteger(input.desc.type))
    fail("{}: holds {}, the input '{}' takes {}: convert it with numpy's astype", path, dtypeName(npy.type),
         input.name, dtypeName(input.desc.type));
  if (input.batched && npy.shape[0] == 0)
    fail("{}: has shape {}: expected one row at least for '{}'", path, shapeText(npy.shape), input.name);
  return std::make_unique<NpySource>(std::move(npy), input);
}

} // namespace kedge::rt
