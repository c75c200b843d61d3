// Small facts of a compilation that go into the program.
#pragma once
#include "driver/options/CompileOptions.h"
#include "lib/Model/Model.h"
#include "lib/Support/TextFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json.hpp>

namespace kedge::driver {

/// Items of a step, batch, labels, tokens: what `options` of the launch table says of the loss.
nlohmann::json lossFacts(mlir::func::FuncOp step, const pipelines::StepOptions &options);
/// `options` of the program (include/kedge/abi/program.md).
nlohmann::json programOptions(const CompileOptions &options, const nlohmann::json &lossFacts,
                              mlir::ModuleOp module);
/// The exported file as skeletons, in inference and in training mode; literals go to `data`.
nlohmann::json exportTemplates(mlir::ModuleOp module, const lint::Report &report, bool embed,
                               adapters::IntegerForm form, std::vector<uint8_t> &data);

/// The kernels as tools of MLIR read them: without places in the model, nothing left out.
std::string kernelText(mlir::ModuleOp module);
/// A file that an option names lies in a folder that can be written; told before any work. An empty path is
/// fine.
void checkFolder(const char *option, const std::string &path);

} // namespace kedge::driver
