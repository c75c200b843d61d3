// Weights in several safetensors files, as Hugging Face keeps them: shards, and an index of which tensor is
// in which.
#include "runtime/format/TensorFile.h"
#include "runtime/io/Error.h"
#include "runtime/io/JsonSize.h"
#include "runtime/platform/Files.h"
#include "runtime/platform/Folders.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace kedge::rt {
namespace {

constexpr const char *kIndex = "model.safetensors.index.json", *kSingle = "model.safetensors";

std::map<std::string, std::string> weightMap(const std::string &path) {
  const FileMap file(path, "index of safetensors files");
  const auto index = nlohmann::json::parse(jsonText(file), nullptr, false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object() ||
      index["weight_map"].empty())
    fail("{}: expected an index of safetensors files: a JSON object whose 'weight_map' names the file of "
         "each tensor",
         path);
  std::map<std::string, std::string> shards;
  for (const auto &[name, shard] : index["weight_map"].items()) {
    const std::string text = shard.is_string() ? shard.get<std::string>() : "";
    if (!platform::isPlainName(text))
      fail("{}: tensor '{}' is in {}, expected the name of a file in the index's folder", path, name,
           shard.dump());
    shards[name] = text;
  }
  return shards;
}

} // namespace

TensorFile TensorFile::openIndex(const std::string &path) {
  TensorFile result;
  std::map<std::string, TensorFile> shards;
  for (const auto &[name, shard] : weightMap(path)) {
    const std::string place = folderOf(path) + "/" + shard;
    if (!shards.count(shard)) {
      if (!platform::exists(place))
        fail("{}: its shard '{}' is missing: fetch all files of the model", path, shard);
      shards.emplace(shard, openSafetensors(place));
    }
    const TensorView *view = shards.at(shard).find(name);
    if (!view)
      fail("{}: has no tensor '{}', which {} says is there: fetch both again", place, name, path);
    result.views.emplace(name, *view);
  }
  for (auto &[name, shard] : shards)
    result.maps.push_back(std::move(shard.maps.front()));
  result.maps.emplace_back(path, "index of safetensors files");
  return result;
}

std::vector<std::string> TensorFile::paths() const {
  std::vector<std::string> result;
  for (const FileMap &map : maps)
    result.push_back(map.path());
  return result;
}

TensorFile TensorFile::openFolder(const std::string &path) {
  if (platform::exists(path + "/" + kIndex))
    return openIndex(path + "/" + kIndex);
  if (platform::exists(path + "/" + kSingle))
    return openSafetensors(path + "/" + kSingle);
  std::string other;
  for (const std::string &name : platform::namesIn(path))
    if (name.ends_with(".bin") || name.ends_with(".pt"))
      other = name;
  fail("{}: expected {} or {} in this folder{}", path, kSingle, kIndex,
       other.empty()
           ? ""
           : fmt::format("; '{}' is PyTorch's own format: save the model with safe_serialization=True",
                         other));
}

} // namespace kedge::rt
