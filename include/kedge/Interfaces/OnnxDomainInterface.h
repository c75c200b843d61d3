// A dialect whose ops are the operators of a domain of ONNX: nodes of the domain are imported as them.
#pragma once
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/OperationSupport.h"
#include <optional>
#include <string>

namespace kedge {

/// The dialect adds it to itself: `addInterface<OnnxDomainInterface>("com.example")`. A node `Snake` of the
/// domain becomes the op `DIALECT.Snake`. Its inputs are the node's, in order; none may be left out. Its
/// attributes are the node's, of the same names: FLOAT as f32, INT as i64, STRING, and lists of them as
/// DenseI64ArrayAttr and DenseF32ArrayAttr. Its result types are inferred (InferTypeOpInterface), so the op
/// needs one result for each output of the node. What trains follows from its DifferentiableOpInterface.
class OnnxDomainInterface : public mlir::DialectInterface::Base<OnnxDomainInterface> {
public:
  OnnxDomainInterface(mlir::Dialect *dialect, std::string domain) : Base(dialect), name(std::move(domain)) {}
  llvm::StringRef domain() const { return name; }

private:
  std::string name;
};

/// The op of an operator, of the loaded dialects with an OnnxDomainInterface; nullopt: none has it.
std::optional<mlir::RegisteredOperationName> opOfDomain(mlir::MLIRContext &context, llvm::StringRef domain,
                                                        llvm::StringRef opType);
/// Whether the dialect of an op has one.
bool isOfOnnxDomain(mlir::Operation *op);

} // namespace kedge

MLIR_DECLARE_EXPLICIT_TYPE_ID(kedge::OnnxDomainInterface)
