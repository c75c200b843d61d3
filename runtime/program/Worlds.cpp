#include "runtime/program/Worlds.h"
#include "runtime/io/Error.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::rt {
namespace {

using nlohmann::json;

std::string_view bytesAt(const ProgramImage &image, const json &place) {
  const uint64_t offset = place.at("offset"), length = place.at("length");
  if (offset > image.dataSize || length > image.dataSize - offset)
    fail("the program is damaged: a part of {} bytes at {} ends beyond its {} bytes of data", length, offset, image.dataSize);
  return {reinterpret_cast<const char *>(image.data) + offset, length};
}

ProgramImage partOf(const ProgramImage &image, const json &entry) {
  const std::string_view data = bytesAt(image, entry.at("data"));
  ProgramImage part = image;
  part.json = bytesAt(image, entry.at("text"));
  part.data = reinterpret_cast<const unsigned char *>(data.data());
  part.dataSize = data.size();
  part.kernel = [all = image.kernel, prefix = fmt::format("r{}.", entry.at("ranks").get<int64_t>())](const std::string &name) {
    return all(prefix + name);
  };
  return part;
}

} // namespace

ProgramImage imageFor(const ProgramImage &image, int64_t ranks) {
  if (image.json.substr(0, 10) != R"({"worlds":)")
    return image;
  try {
    const json worlds = json::parse(image.json).at("worlds");
    for (const json &entry : worlds)
      if (entry.at("ranks") == ranks)
        return partOf(image, entry);
    return partOf(image, worlds.at(0));
  } catch (const json::exception &error) {
    fail("the program is damaged: its table of worlds: {}", error.what());
  }
}

} // namespace kedge::rt
