// Files that programs read: npy, safetensors, token files, ONNX weights, manifests with and without a
// checksum, folders of adapters. The first byte says which.
#include "runtime/data/Source.h"
#include "runtime/format/AdapterFolder.h"
#include "runtime/format/TensorFile.h"
#include "runtime/io/Error.h"
#include "runtime/train/Manifest.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "test/fuzz/JsonEdits.h"
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

using namespace kedge::rt;

namespace {

/// Gone with the process.
struct Folder {
  Folder() {
    if (!mkdtemp(path.data()))
      std::abort();
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const char *name, const uint8_t *data, size_t size) const {
    const std::string file = path + "/" + name;
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char *>(data), static_cast<std::streamsize>(size));
    return file;
  }
  std::string path = std::filesystem::temp_directory_path() / "kedge-fuzz-XXXXXX";
};

volatile char seen;

void touch(const char *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64)
    seen = data[at];
  if (bytes != 0)
    seen = data[bytes - 1];
}

void touchAll(const TensorFile &file) {
  for (const auto &[name, view] : file.tensors())
    touch(view.data, view.desc.bytes());
}

void readTokens(const std::string &path) {
  const TokenFile file(path);
  if (file.tokens() > 0)
    seen = static_cast<char>(file.at(0) + file.at(file.tokens() - 1));
}

/// What is behind the checksum: a manifest that was edited and sealed again.
void readSealed(const Folder &folder, const std::string &text) {
  const auto manifest = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object())
    return;
  const std::string sealed = sealedManifest(manifest);
  folder.write("manifest.json", reinterpret_cast<const uint8_t *>(sealed.data()), sealed.size());
  readCheckpoint(folder.path, /*files=*/false);
}

const char *const kManifest =
    R"({"format":3,"program":"p","run":"0123","step":7,"optimizer_steps":7,"samples":70,"optimizer":"adamw",
"batch":8,"accumulate":1,"ranks":2,"loss_scale":65536.0,"growth_counter":3,"hysteresis":1,"scalars":{"steps":20,"decay_steps":20,
"lr":0.1,"min_lr":0.0,"schedule":"cosine","warmup":3,"warmup_start":0.0,"weight_decay":0.01,"betas":[0.9,0.999],"eps":1e-8,"seed":0,
"shuffle":5},"frozen":[{"name":"b","dtype":"f32","checksum":"00"}],"files":[{"name":"model.safetensors","bytes":0,
"checksum":"cbf29ce484222325"},{"name":"optimizer.safetensors","bytes":0,"checksum":"cbf29ce484222325"}],
"parts":{"ranks":2,"tensors":{"model.safetensors":{"w":{"shape":[2,3],"perm":[1,0]}}}}})";

const char *const kAdapterSettings =
    R"({"peft_type":"LORA","r":2,"lora_alpha":4,"lora_dropout":0.1,"use_rslora":true,"bias":"none",
"target_modules":["up"],"rank_pattern":{"h.1.up":3},"alpha_pattern":{"up":8},"layers_to_transform":[0,1],"layers_pattern":null,
"modules_to_save":["head"],"init_lora_weights":true,"use_dora":false})";

std::string withLength(const std::string &header, size_t data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header + std::string(data, 1);
}

std::string adapterTensors() {
  std::string header;
  size_t end = 0;
  const auto add = [&](const std::string &name, size_t rows, size_t columns) {
    const size_t begin = end;
    end += rows * columns * 4;
    header += fmt::format(
        R"({}"base_model.model.{}.weight":{{"dtype":"F32","shape":[{},{}],"data_offsets":[{},{}]}})",
        header.empty() ? "{" : ",", name, rows, columns, begin, end);
  };
  add("h.0.up.lora_A", 2, 3);
  add("h.0.up.lora_B", 4, 2);
  add("h.1.up.lora_A", 3, 3);
  add("h.1.up.lora_B", 4, 3);
  add("head", 2, 2);
  return withLength(header + "}", end);
}

/// One of the two files is what came, the other is as it should be.
void readAdapters(const Folder &folder, const std::string &config, const std::string &tensors) {
  const auto write = [&](const char *name, const std::string &text) {
    folder.write(name, reinterpret_cast<const uint8_t *>(text.data()), text.size());
  };
  write(kAdapterConfig, config);
  write(kAdapterTensors, tensors);
  const AdapterFolder adapters = AdapterFolder::open(folder.path);
  if (!(adapters.dropout() >= 0 && adapters.dropout() < 1))
    throw std::logic_error("a dropout out of range");
  for (const AdaptedModule &module : adapters.modules()) {
    if (!std::isfinite(module.scale))
      throw std::logic_error("a scale that is no number");
    for (const std::string &key : {module.keyA(), module.keyB()})
      touch(adapters.tensor(key).data, adapters.tensor(key).desc.bytes());
  }
}

void read(char kind, const Folder &folder, const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  if (kind == 'a')
    return readAdapters(folder, text, adapterTensors());
  if (kind == 'A')
    return readAdapters(folder, kedge::test::editedJson(kAdapterSettings, data, size), adapterTensors());
  if (kind == 'C')
    return readSealed(folder, kedge::test::editedJson(kManifest, data, size));
  if (kind == 'b')
    return readAdapters(folder, kAdapterSettings, text);
  const std::string file = folder.write(kind == 'm' ? "manifest.json" : "file", data, size);
  if (kind == 'n') {
    const Npy npy(file);
    touch(npy.data, TensorDesc{npy.type, npy.shape}.bytes());
  } else if (kind == 's')
    touchAll(TensorFile::openSafetensors(file));
  else if (kind == 'o')
    touchAll(TensorFile::openOnnx(file));
  else if (kind == 'm')
    readCheckpoint(folder.path, /*files=*/true);
  else if (kind == 'c')
    readSealed(folder, text);
  else
    readTokens(file);
}

std::vector<uint8_t> seed(char kind, const std::string &text) {
  const std::string whole = kind + text;
  return {whole.begin(), whole.end()};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  if (size == 0)
    return 0;
  try {
    read(static_cast<char>(data[0]), folder, data + 1, size - 1);
  } catch (const RuntimeError &) {
  }
  return 0;
}

std::vector<std::vector<uint8_t>> fuzzSeeds() {
  std::vector<std::vector<uint8_t>> seeds = {
      seed('n', npyHeader(DType::F32, {2, 3}) + std::string(24, 1)),
      seed('n', npyHeader(DType::I64, {4}) + std::string(32, 2)),
      seed('s',
           withLength(R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},)"
                      R"("b":{"dtype":"I64","shape":[1],"data_offsets":[24,32]}})",
                      32)),
      seed('t', std::string(64, 3)),
      seed('o', std::string("\x3a\x12\x2a\x10\x08\x01\x10\x01\x42\x01w\x4a\x04\x01\x02\x03\x04", 17)),
      seed('m', kManifest),
      seed('m', sealedManifest(nlohmann::ordered_json::parse(kManifest))),
      seed('c', kManifest),
      seed('a', kAdapterSettings),
      seed('b', adapterTensors())};
  for (const char kind : {'A', 'C'})
    for (char at = 1; at < 64; at += 3)
      seeds.push_back(seed(kind, {at, at, 0, 0, 0, 0}));
  return seeds;
}
