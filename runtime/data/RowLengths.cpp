#include "runtime/data/RowLengths.h"
#include "runtime/data/DefaultInputs.h"
#include "runtime/format/Convert.h"
#include "runtime/io/Error.h"
#include <algorithm>
#include <cstring>

namespace kedge::rt {
namespace {

bool isMask(const InputSpec &input) {
  return input.desc.shape.size() == 2 && input.name.ends_with("attention_mask") && !input.labels;
}

bool isOfPlaces(const InputSpec &input) { return input.batched && input.desc.shape.size() == 2; }

/// The axes whose sizes differ between buckets.
std::vector<int64_t> sizesThatVary(const InputSpec &input, const Function &shortest) {
  std::vector<int64_t> sizes;
  const TensorDesc *least = inputOf(shortest, input);
  for (size_t axis = 0; least && axis < input.desc.shape.size(); ++axis)
    if (least->shape[axis] != input.desc.shape[axis])
      sizes.push_back(input.desc.shape[axis]);
  return sizes;
}

} // namespace

RowLengths::RowLengths(const Program &program, const std::string &function,
                       const std::vector<RowSource> &sources) {
  for (const Function *each : bucketsOf(program, function))
    buckets.push_back({each});
  for (const RowSource &source : sources)
    addTelling(program, source);
  if (telling.empty())
    fail("the program has several lengths of rows, and no data that tell where a row ends: give an "
         "attention_mask, or labels of [batch, length] of which those of padding are --ignore-index");
  checkAllTold(sources);
}

void RowLengths::addTelling(const Program &program, const RowSource &source) {
  const InputSpec &input = *source.input;
  const auto &ignored = program.options.ignoreIndex;
  const bool isOfLabels = input.labels && ignored && !isFloat(input.desc.type);
  if (!isOfPlaces(input) || (!isOfLabels && !isMask(input)))
    return;
  if (!source.given)
    fail("the program has several lengths of rows, and '{0}' says where a row ends: give --data {0}=FILE.npy",
         input.name);
  Telling entry{&input, source.source, isOfLabels ? static_cast<double>(*ignored) : 0, {}};
  for (Bucket &bucket : buckets) {
    const TensorDesc *desc = inputOf(*bucket.function, input);
    entry.sizes.push_back(desc ? desc->shape[1] : input.desc.shape[1]);
    bucket.places = std::max(bucket.places, entry.sizes.back());
  }
  bytes.resize(std::max(bytes.size(), input.desc.bytes() / static_cast<size_t>(input.desc.shape[0])));
  telling.push_back(std::move(entry));
}

void RowLengths::checkAllTold(const std::vector<RowSource> &sources) const {
  for (const RowSource &source : sources)
    for (const int64_t size : sizesThatVary(*source.input, *buckets.front().function))
      if (std::none_of(telling.begin(), telling.end(),
                       [&](const Telling &entry) { return entry.sizes.back() == size; }))
        fail(
            "the program has several lengths of rows, and no data that tell where those of '{}' end: give an "
            "attention_mask of [batch, {}]",
            source.input->name, size);
}

RowLength RowLengths::of(int64_t row) const {
  RowLength length;
  for (const Telling &entry : telling) {
    entry.source->read(row, bytes.data());
    int64_t end = entry.sizes.back();
    while (end > 0 && loadAsDouble(entry.input->desc.type, bytes.data(), end - 1) == entry.silent)
      --end;
    const auto fits = std::lower_bound(entry.sizes.begin(), entry.sizes.end(), end);
    length.places = std::max(length.places, end);
    length.bucket = std::max(length.bucket, static_cast<size_t>(fits - entry.sizes.begin()));
  }
  return length;
}

void copyFront(const char *source, std::span<const int64_t> from, char *destination,
               std::span<const int64_t> to, size_t elementBytes) {
  // What is whole behind the last axis that is cut is copied at once.
  size_t last = from.size();
  size_t piece = elementBytes;
  while (last > 0 && from[last - 1] == to[last - 1])
    piece *= static_cast<size_t>(from[--last]);
  if (last == 0) {
    std::memcpy(destination, source, piece);
    return;
  }
  const size_t copied = piece * static_cast<size_t>(to[last - 1]);
  int64_t pieces = 1;
  for (size_t axis = 0; axis + 1 < last; ++axis)
    pieces *= to[axis];
  for (int64_t at = 0; at < pieces; ++at) {
    int64_t rest = at, offset = 0, stride = from[last - 1];
    for (size_t axis = last - 1; axis-- > 0;) {
      offset += rest % to[axis] * stride;
      rest /= to[axis];
      stride *= from[axis];
    }
    std::memcpy(destination + static_cast<size_t>(at) * copied, source + static_cast<size_t>(offset) * piece,
                copied);
  }
}

} // namespace kedge::rt
