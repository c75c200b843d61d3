// Turns MLIR's diagnostics into errors of Kedge's form: file, node, what is wrong. By itself MLIR begins with
// a location.
#pragma once
#include "lib/Model/Model.h"
#include "lib/Support/Reporter.h"
#include "mlir/IR/Diagnostics.h"
#include <memory>
#include <set>

namespace kedge::driver {

/// While it lives, errors in the context are kept until they are thrown; warnings and remarks are printed.
class Diagnostics {
public:
  /// `model`: whose nodes the locations name; null for a file of IR. `file` is named where no location has
  /// one. `isSilent`: nothing but errors. `told`: notes that are not given again, such as those of
  /// plans for other ranks; may be null.
  Diagnostics(mlir::MLIRContext &context, std::string file, const model::Model *model = nullptr,
              bool isSilent = false, std::shared_ptr<std::set<std::string>> told = nullptr);
  /// Prints errors that raise() has not thrown.
  ~Diagnostics();
  /// All errors that were reported, one per line, their notes after them.
  std::string text() const;
  /// kedge::Error of all that was reported, a line each; of `otherwise` if nothing was.
  [[noreturn]] void raise(const std::string &otherwise);

private:
  void take(mlir::Diagnostic &diagnostic);
  std::string sentence(mlir::Diagnostic &diagnostic) const;
  std::string placeOf(mlir::Location location) const;

  std::string file;
  const model::Model *model;
  const bool isSilent;
  std::shared_ptr<std::set<std::string>> told;
  std::vector<std::string> errors;
  Reporter &to; ///< of the thread that compiles: passes may work on others
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace kedge::driver
