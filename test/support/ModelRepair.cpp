// kedge-model-repair IN.onnx OUT.onnx: writes IN as an exported file would have it after --repair, untrained;
// the tests compare what both files compute, and what lint says of the second.
#include "lib/Export/Template/ExportTemplate.h"
#include "lib/Export/Template/ModelDiff.h"
#include "lib/Lint/Lint.h"
#include "lib/Support/Error.h"
#include "runtime/format/OnnxWriter.h"
#include <cstdio>

using namespace kedge;

static void repairFile(const std::string &from, const std::string &to) {
  model::Model model = model::loadModel(from);
  model::Model loaded = model;
  for (const std::string &change : lint::repair(model))
    std::printf("%s\n", change.c_str());
  for (const std::string &change : lint::tieCopies(model))
    std::printf("%s\n", change.c_str());
  std::vector<uint8_t> blob;
  nlohmann::json skeleton =
      exporter::buildExportTemplate(loaded, exporter::editsBetween(loaded, model)).toJson(loaded, blob);
  rt::writeOnnx(skeleton, blob.data(), blob.size(), from, to,
                [](const std::string &name) -> rt::ExportedState {
                  fail("'{}' is no state: nothing was trained here", name);
                });
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 1;
  try {
    repairFile(argv[1], argv[2]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "kedge-model-repair: error: %s\n", error.what());
    return 1;
  }
  return 0;
}
