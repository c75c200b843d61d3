// What kedge-translate does with a file.
#pragma once
#include "lib/Import/GraphImporter.h"
#include <string>

namespace kedge::tool {

/// Adds "input_ids=8x1024" to the options; nothing after '=' is a scalar. Throws kedge::Error.
void parseShape(const std::string &text, importer::ImportOptions &options);
/// The ONNX file of a level 1 in `path`.
std::string readIr(const std::string &path);
/// The level 1 of an ONNX file, as MLIR prints it.
std::string readModel(const std::string &path, const importer::ImportOptions &options, bool locations);
/// IR of any level, as --emit prints it.
std::string readAgain(const std::string &path, const std::string &only);

} // namespace kedge::tool
