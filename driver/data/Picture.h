// Pictures of 8 bits a channel, read from files and scaled.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kedge::driver {

struct Picture {
  int64_t height = 0, width = 0, channels = 0; ///< 1 (gray) or 3
  int largest = 255;                           ///< what stands for white
  std::vector<uint8_t> pixels;                 ///< [height, width, channels]

  uint8_t at(int64_t y, int64_t x, int64_t channel) const {
    return pixels[static_cast<size_t>((y * width + x) * channels + channel)];
  }
};

/// A .ppm or .pgm file of 8 bits; .png and .jpeg where the build has their libraries. Throws an error that
/// names the file.
Picture readPicture(const std::string &path);
/// Whether the file's name is that of a picture that this build reads.
bool isPictureName(const std::string &path);

Picture readPng(const std::string &path);
Picture readJpeg(const std::string &path);

/// As Pillow's convert("L") and convert("RGB").
Picture toGray(const Picture &picture);
Picture toColours(const Picture &picture);
/// As Pillow's resize(..., BILINEAR), bit for bit: all pixels under the triangle count.
Picture scaled(const Picture &picture, int64_t height, int64_t width);

} // namespace kedge::driver
