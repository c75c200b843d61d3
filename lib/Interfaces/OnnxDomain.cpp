#include "kedge/Interfaces/OnnxDomainInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Operation.h"

MLIR_DEFINE_EXPLICIT_TYPE_ID(kedge::OnnxDomainInterface)

std::optional<mlir::RegisteredOperationName>
kedge::opOfDomain(mlir::MLIRContext &context, llvm::StringRef domain, llvm::StringRef opType) {
  for (mlir::Dialect *dialect : context.getLoadedDialects())
    if (const auto *interface = dialect->getRegisteredInterface<OnnxDomainInterface>();
        interface && interface->domain() == domain)
      if (auto op =
              mlir::RegisteredOperationName::lookup((dialect->getNamespace() + "." + opType).str(), &context))
        return op;
  return std::nullopt;
}

bool kedge::isOfOnnxDomain(mlir::Operation *op) {
  mlir::Dialect *dialect = op->getDialect();
  return dialect && dialect->getRegisteredInterface<OnnxDomainInterface>();
}
