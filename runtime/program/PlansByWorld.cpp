#include "runtime/program/PlansByWorld.h"
#include "runtime/io/Error.h"
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace kedge::rt {
namespace {

using nlohmann::json;

std::string_view bytesAt(const ProgramImage &image, const json &place) {
  const uint64_t offset = place.at("offset"), length = place.at("length");
  if (offset > image.dataSize || length > image.dataSize - offset)
    fail("the program is damaged: a part of {} bytes at {} ends beyond its {} bytes of data", length, offset,
         image.dataSize);
  return {reinterpret_cast<const char *>(image.data) + offset, length};
}

ProgramImage partOf(const ProgramImage &image, const json &entry) {
  const std::string_view data = bytesAt(image, entry.at("data"));
  ProgramImage part = image;
  part.json = bytesAt(image, entry.at("text"));
  part.data = reinterpret_cast<const unsigned char *>(data.data());
  part.dataSize = data.size();
  const std::string prefix = entry.value("kernels", fmt::format("r{}.", entry.at("ranks").get<int64_t>()));
  auto shared = entry.value("shared", std::map<std::string, std::string>()); // stored with another program
  part.kernel = [all = image.kernel, prefix, shared = std::move(shared)](const std::string &name) {
    const auto found = shared.find(name);
    return all(found == shared.end() ? prefix + name : found->second);
  };
  return part;
}

} // namespace

ProgramImage imageFor(const ProgramImage &image, int64_t ranks, int64_t onMachine, int64_t rank) {
  if (image.json.substr(0, 10) != R"({"worlds":)")
    return image;
  try {
    const json worlds = json::parse(image.json).at("worlds");
    if (worlds.at(0).contains("stage")) { // of a pipeline: the outermost axis
      const int64_t each = worlds.at(0).at("ranks").get<int64_t>() / static_cast<int64_t>(worlds.size());
      const bool isWhole = worlds.at(0).at("ranks") == ranks && rank >= 0 && rank < ranks;
      return partOf(image, worlds.at(isWhole ? static_cast<size_t>(rank / each) : 0));
    }
    const bool meshed = worlds.at(0).contains("mesh");
    bool known = false;
    for (const json &entry : worlds) {
      known |= entry.at("ranks") == ranks;
      if (entry.at("ranks") == ranks &&
          (!meshed || Mesh::parse(entry.at("mesh")).sizeOf(Mesh::kData) == onMachine))
        return partOf(image, entry);
    }
    if (meshed && known)
      fail("{} ranks, {} of them on this machine: --replicas node needs as many ranks on each machine, and a "
           "number that divides "
           "all; start them so, or compile with --mesh",
           ranks, onMachine);
    return partOf(image, worlds.at(0));
  } catch (const json::exception &error) {
    fail("the program is damaged: its table of worlds: {}", error.what());
  }
}

} // namespace kedge::rt
