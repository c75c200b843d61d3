#include "runtime/train/weights/ModelFiles.h"
#include "runtime/format/GraphHash.h"
#include "runtime/io/Error.h"
#include "runtime/io/FileWriter.h"
#include "runtime/platform/Files.h"
#include "runtime/train/weights/Weights.h"

namespace kedge::rt {

ModelFiles::ModelFiles(const Program &program, const std::string &model) : program(program) {
  if (program.files.empty())
    return;
  path = model.empty() ? program.files[0].path : model;
}

const FileMap &ModelFiles::file(int index) {
  if (index < 0 || static_cast<size_t>(index) >= program.files.size())
    fail("the program is damaged: it names file {} of {}", index, program.files.size());
  if (maps.empty()) {
    maps.resize(program.files.size());
    openChecked(0, path);
    checkHash();
  }
  if (index != 0 && !maps[static_cast<size_t>(index)])
    openChecked(static_cast<size_t>(index), placeOfModelFile(program, path, static_cast<size_t>(index)));
  return *maps[static_cast<size_t>(index)];
}

void ModelFiles::openChecked(size_t index, const std::string &place) {
  maps[index] = std::make_unique<FileMap>(place, "model file (--model names another place)");
  const uint64_t expected = program.files[index].bytes;
  if (expected != 0 && maps[index]->size() != expected)
    fail("{}: not the file that was compiled: expected {} bytes, found {}; compile this one, or give its "
         "weights by --weights",
         place, expected, maps[index]->size());
}

void ModelFiles::checkHash() {
  const FileMap &file = *maps[0];
  const std::string found =
      hashGraph(reinterpret_cast<const uint8_t *>(file.data()), file.size(), program.weightPlaces);
  if (!program.graphHash.empty() && found != program.graphHash)
    fail("{}: another model than the one that was compiled: expected the graph hash {}, found {}; compile "
         "this "
         "one, or give its weights by --weights",
         path, program.graphHash, found);
}

void checkModelFile(const Program &program, const std::string &model) { ModelFiles(program, model).file(0); }

std::string placeOfModelFile(const Program &program, const std::string &model, size_t index) {
  const std::string &stored = program.files[index].path, folder = folderOf(program.files[0].path) + "/";
  if (stored.rfind(folder, 0) == 0)
    return besideFile(model, stored.substr(folder.size()));
  return platform::isAbsolute(stored) ? stored : besideFile(model, stored);
}

} // namespace kedge::rt
