#include "driver/data/Picture.h"
#include "lib/Support/Error.h"
#include "runtime/io/FileMap.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

namespace kedge::driver {
namespace {

std::string endingOf(const std::string &path) {
  const size_t dot = path.rfind('.');
  std::string ending = dot == std::string::npos ? "" : path.substr(dot + 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return ending;
}

/// The next word of a header, where lines of # may stand between words.
std::string_view headerWord(std::string_view text, size_t &at, const std::string &path) {
  const auto isSpace = [&](size_t i) { return std::isspace(static_cast<unsigned char>(text[i])) != 0; };
  while (at < text.size() && (isSpace(at) || text[at] == '#'))
    at = text[at] == '#' ? std::min(text.find('\n', at), text.size()) : at + 1;
  const size_t begin = at;
  while (at < text.size() && !isSpace(at))
    ++at;
  if (begin == at)
    fail("{}: ends within its header", path);
  return text.substr(begin, at - begin);
}

int64_t headerNumber(std::string_view text, size_t &at, const std::string &path) {
  const std::string_view word = headerWord(text, at, path);
  constexpr size_t kDigits = 9;
  if (word.size() > kDigits || word.find_first_not_of("0123456789") != std::string_view::npos || word == "0")
    fail("{}: expected a size in its header, found '{}'", path, word);
  return std::stoll(std::string(word));
}

/// P5 and P6.
Picture readPortable(const std::string &path) {
  const rt::FileMap file(path, "picture");
  const std::string_view text(file.data(), file.size());
  size_t at = 0;
  const std::string_view kind = headerWord(text, at, path);
  if (kind != "P5" && kind != "P6")
    fail("{}: expected a binary .ppm or .pgm file of 8 bits (P6, P5), found '{}'", path, kind.substr(0, 8));
  Picture picture;
  picture.width = headerNumber(text, at, path);
  picture.height = headerNumber(text, at, path);
  picture.channels = kind == "P6" ? 3 : 1;
  const int64_t largest = headerNumber(text, at, path);
  if (largest > 255)
    fail("{}: expected a picture of 8 bits, found values up to {}", path, largest);
  picture.largest = static_cast<int>(largest);
  const auto count = static_cast<size_t>(picture.width * picture.height * picture.channels);
  if (at + 1 + count > text.size())
    fail("{}: truncated: {}x{} pixels of {} bytes, found {} bytes", path, picture.width, picture.height,
         picture.channels, text.size() - std::min(text.size(), at + 1));
  picture.pixels.assign(text.begin() + static_cast<ptrdiff_t>(at) + 1,
                        text.begin() + static_cast<ptrdiff_t>(at + 1 + count));
  return picture;
}

/// The weights of source pixels for each pixel along one axis, as whole numbers over 2^22.
struct Taps {
  struct Span {
    int64_t first;
    std::vector<int32_t> weights;
  };
  std::vector<Span> spans;
};

constexpr int kWeightBits = 22;

Taps tapsOf(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  Taps taps;
  for (int64_t place = 0; place < to; ++place) {
    const double centre = (static_cast<double>(place) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(centre - reach + 0.5));
    const auto last = std::min(from, static_cast<int64_t>(centre + reach + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t at = first; at < last; ++at) {
      const double distance = std::abs((static_cast<double>(at) - centre + 0.5) / reach);
      weights.push_back(distance < 1 ? 1 - distance : 0);
      sum += weights.back();
    }
    Taps::Span span{first, {}};
    for (const double weight : weights)
      span.weights.push_back(
          static_cast<int32_t>(0.5 + (sum != 0 ? weight / sum : weight) * (1 << kWeightBits)));
    taps.spans.push_back(std::move(span));
  }
  return taps;
}

/// One pixel: get(at) is the source's byte.
template <typename Get> uint8_t weighted(const Taps::Span &span, Get &&get) {
  int32_t sum = 1 << (kWeightBits - 1);
  for (size_t at = 0; at < span.weights.size(); ++at)
    sum += get(span.first + static_cast<int64_t>(at)) * span.weights[at];
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

Picture scaledRows(const Picture &from, int64_t width) {
  if (width == from.width)
    return from;
  Picture to{from.height, width, from.channels, from.largest, {}};
  const Taps taps = tapsOf(from.width, width);
  for (int64_t y = 0; y < to.height; ++y)
    for (const Taps::Span &span : taps.spans)
      for (int64_t c = 0; c < to.channels; ++c)
        to.pixels.push_back(weighted(span, [&](int64_t x) { return from.at(y, x, c); }));
  return to;
}

Picture scaledColumns(const Picture &from, int64_t height) {
  if (height == from.height)
    return from;
  Picture to{height, from.width, from.channels, from.largest, {}};
  for (const Taps::Span &span : tapsOf(from.height, height).spans)
    for (int64_t x = 0; x < to.width; ++x)
      for (int64_t c = 0; c < to.channels; ++c)
        to.pixels.push_back(weighted(span, [&](int64_t y) { return from.at(y, x, c); }));
  return to;
}

} // namespace

bool isPictureName(const std::string &path) {
  const std::string ending = endingOf(path);
  return ending == "ppm" || ending == "pgm" || ending == "png" || ending == "jpg" || ending == "jpeg";
}

Picture readPicture(const std::string &path) {
  const std::string ending = endingOf(path);
  if (ending == "png")
    return readPng(path);
  if (ending == "jpg" || ending == "jpeg")
    return readJpeg(path);
  if (ending == "ppm" || ending == "pgm")
    return readPortable(path);
  fail("{}: expected a picture: .png, .jpg, .ppm or .pgm; convert it, or take it out of the folder", path);
}

Picture toGray(const Picture &picture) {
  if (picture.channels == 1)
    return picture;
  Picture gray{picture.height, picture.width, 1, picture.largest, {}};
  for (size_t at = 0; at < picture.pixels.size(); at += 3) {
    const uint32_t sum =
        picture.pixels[at] * 19595U + picture.pixels[at + 1] * 38470U + picture.pixels[at + 2] * 7471U;
    gray.pixels.push_back(static_cast<uint8_t>((sum + 0x8000U) >> 16));
  }
  return gray;
}

Picture toColours(const Picture &picture) {
  if (picture.channels == 3)
    return picture;
  Picture colours{picture.height, picture.width, 3, picture.largest, {}};
  for (const uint8_t pixel : picture.pixels)
    colours.pixels.insert(colours.pixels.end(), 3, pixel);
  return colours;
}

Picture scaled(const Picture &picture, int64_t height, int64_t width) {
  return scaledColumns(scaledRows(picture, width), height);
}

} // namespace kedge::driver
