#include "tools/flags/ShapeFlags.h"
#include "lib/Support/Error.h"
#include <algorithm>
#include <charconv>
#include <fmt/ranges.h>
#include <optional>

namespace kedge::tool {
namespace {

constexpr size_t kMostBuckets = 64;

/// A word that is a whole number from 0.
std::optional<int64_t> sizeOf(std::string_view word) {
  int64_t size = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (word.empty() || error != std::errc() || end != word.data() + word.size() || size < 0)
    return std::nullopt;
  return size;
}

/// The words between `separator`; one that is empty for an empty text.
std::vector<std::string_view> wordsOf(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    words.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos)
      return words;
    begin = end + 1;
  }
}

bool isInBraces(std::string_view word) {
  return word.size() >= 2 && word.front() == '{' && word.back() == '}';
}

/// Of "{128,512}". `text`: the whole of --shape.
std::vector<int64_t> sizesInBraces(const std::string &text, std::string_view word) {
  std::vector<int64_t> sizes;
  for (const std::string_view one : wordsOf(word.substr(1, word.size() - 2), ',')) {
    const std::optional<int64_t> size = sizeOf(one);
    if (!size || *size == 0)
      fail("--shape {}: '{}' in {} is no size; expected sizes from 1, joined by commas, as in "
           "INPUT=8x{{128,512,2048}}",
           text, one, word);
    if (!sizes.empty() && *size <= sizes.back())
      fail("--shape {}: {} after {} in {}: expected sizes that rise; each is a bucket, and rows take the "
           "smallest that holds them",
           text, *size, sizes.back(), word);
    sizes.push_back(*size);
  }
  if (sizes.size() == 1)
    fail("--shape {}: one size in {}: expected several, or {} alone", text, word, sizes[0]);
  if (sizes.size() > kMostBuckets)
    fail("--shape {}: {} sizes in {{}}, expected at most {}", text, sizes.size(), kMostBuckets);
  return sizes;
}

/// The shapes of "8x{128,512}", in each bucket; one if no size is in {}.
std::vector<std::vector<int64_t>> shapesOf(const std::string &text, std::string_view sizes) {
  std::vector<std::vector<int64_t>> dims;
  for (const std::string_view word : wordsOf(sizes, 'x')) {
    if (const std::optional<int64_t> size = sizeOf(word))
      dims.push_back({*size});
    else if (isInBraces(word))
      dims.push_back(sizesInBraces(text, word));
    else
      fail(
          "--shape {}: '{}' is no shape; expected sizes joined by x, as in INPUT=8x1024, or several in {{}}, "
          "as in INPUT=8x{{128,512}}",
          text, sizes);
  }
  size_t buckets = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const bool varies = text.find('{') != std::string::npos && dims[axis].size() > 1;
    if (varies && axis == 0)
      fail(
          "--shape {}: the first size counts the rows of a step, which are the same in each bucket; expected "
          "sizes in {{}} after it",
          text);
    if (varies && buckets != 0 && dims[axis].size() != buckets)
      fail("--shape {}: {} sizes in {{}}, and {} in another: the first of all belong together, and so on",
           text, buckets, dims[axis].size());
    if (varies)
      buckets = dims[axis].size();
  }
  std::vector<std::vector<int64_t>> shapes(std::max<size_t>(buckets, 1));
  for (size_t bucket = 0; bucket < shapes.size(); ++bucket)
    for (const std::vector<int64_t> &sizesOfAxis : dims)
      shapes[bucket].push_back(sizesOfAxis.size() == 1 ? sizesOfAxis[0] : sizesOfAxis[bucket]);
  return shapes;
}

std::pair<std::string, std::string> nameAndSizes(const std::string &text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    fail("--shape {}: expected INPUT=8x1024", text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

} // namespace

std::pair<std::string, std::vector<int64_t>> parseShape(const std::string &text) {
  auto [name, sizes] = nameAndSizes(text);
  if (sizes.find('{') != std::string::npos)
    fail("--shape {}: sizes in {{}} are not available yet here; give one size", text);
  return {std::move(name), sizes.empty() ? std::vector<int64_t>() : shapesOf(text, sizes).front()};
}

void parseShapes(const std::vector<std::string> &texts, driver::ModelOptions &options) {
  for (const std::string &text : texts) {
    const auto [name, sizes] = nameAndSizes(text);
    options.buckets.erase(name); // the last one counts
    if (sizes.find('{') == std::string::npos) {
      options.shapes.insert_or_assign(name, parseShape(text).second);
      continue;
    }
    std::vector<std::vector<int64_t>> shapes = shapesOf(text, sizes);
    options.shapes.insert_or_assign(name, shapes.back());
    options.buckets.insert_or_assign(name, std::move(shapes));
  }
  for (const auto &[name, shapes] : options.buckets)
    if (const auto &[first, others] = *options.buckets.begin(); shapes.size() != others.size())
      fail("--shape: '{}' has {} sizes in {{}}, and '{}' {}: the first of all belong together, and so on",
           first, others.size(), name, shapes.size());
}

} // namespace kedge::tool
