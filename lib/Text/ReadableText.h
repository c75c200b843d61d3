// IR as people read it: functions first, an argument a line, values by the names of the model, no locations.
#pragma once
#include "lib/Text/ValueNames.h"
#include "llvm/Support/MemoryBuffer.h"

namespace kedge::text {

/// The module as text that MLIR's parser reads. A function's arguments are named by their bindings, other
/// values by the node of the model that they come from; an op's place is a comment after it, `// backward
/// h.0.attn`. No line has more than kWidth characters, but for tokens that are longer. There are no aliases
/// and no locations, and constants of many elements are left out (`dense_resource<__elided__>`).
///
/// `only` is the name of a function, which is shown with the states that it names, or the path of a module of
/// the model, of which the ops alone are shown: the text of a part is for reading. Throws kedge::Error when
/// nothing has that name.
std::string readableText(mlir::ModuleOp module, llvm::StringRef only = "");
std::string readableText(mlir::ModuleOp module, const ValueNames &names, llvm::StringRef only = "");

/// Any IR of ours, printed again; names and places of a text that readableText made are kept. Throws
/// kedge::Error, with the buffer's name, when it cannot be parsed.
std::string readableAgain(std::unique_ptr<llvm::MemoryBuffer> source, mlir::MLIRContext &context,
                          llvm::StringRef only = "");

/// The same of several modules with `// -----` between them, as --split-input-file has them.
std::string readableModules(llvm::StringRef text, const mlir::DialectRegistry &registry);

} // namespace kedge::text
