#include "lib/Import/LintOps.h"
#include "kedge/Interfaces/DecomposableOpInterface.h"
#include "kedge/Interfaces/DifferentiableOpInterface.h"
#include "kedge/Interfaces/OnnxDomainInterface.h"
#include "lib/Import/NodeImporter.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace kedge::importer {

namespace {
/// Operators of training_info are no nodes of level 1: the step's builder reads them.
bool isTrainingOperator(const std::string &domain, const std::string &op) {
  return domain == model::trainingDomain &&
         (op == "Gradient" || op == "Adam" || op == "Adagrad" || op == "Momentum");
}

/// The level-1 op of the same name; nullopt for operators that importers write in terms of other ops: those
/// have the gradients of what they become.
std::optional<RegisteredOperationName> opOf(MLIRContext &context, const std::string &domain,
                                            const std::string &op) {
  if (std::optional<RegisteredOperationName> own = opOfDomain(context, domain, op))
    return own;
  return RegisteredOperationName::lookup("onnx." + op, &context);
}

train::Role roleOf(lint::Verdict verdict) {
  switch (verdict) {
  case lint::Verdict::Parameter:
    return train::Role::Parameter;
  case lint::Verdict::Frozen:
    return train::Role::Frozen;
  case lint::Verdict::Buffer:
    return train::Role::Buffer;
  case lint::Verdict::State:
    return train::Role::State;
  case lint::Verdict::Constant:
    return train::Role::Constant;
  }
  return train::Role::Constant;
}
} // namespace

std::map<std::string, train::Role> rolesOf(const lint::Report &findings) {
  std::map<std::string, train::Role> roles;
  for (const lint::Initializer &initializer : findings.initializers)
    roles[initializer.name] = roleOf(initializer.verdict);
  return roles;
}

lint::Operators lintOperators(MLIRContext &context) {
  lint::Operators operators;
  operators.isSupported = [&context](const std::string &domain, const std::string &op) {
    return NodeImporters::get().find(domain, op) || isTrainingOperator(domain, op) ||
           opOfDomain(context, domain, op);
  };
  operators.hasGradient = [&context](const std::string &domain, const std::string &op) {
    std::optional<RegisteredOperationName> name = opOf(context, domain, op);
    return !name || name->hasInterface<DifferentiableOpInterface>() ||
           name->hasInterface<DecomposableOpInterface>();
  };
  operators.isDifferentiable = [&context](const std::string &domain, const std::string &op, size_t operand) {
    std::optional<RegisteredOperationName> name = opOf(context, domain, op);
    if (!name)
      return true;
    auto *interface = name->getInterface<DifferentiableOpInterface>();
    return !interface || interface->isDifferentiableOperand(operand);
  };
  return operators;
}

} // namespace kedge::importer
