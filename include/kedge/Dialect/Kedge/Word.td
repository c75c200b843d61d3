// Attributes with a few values: an enumeration in C++, its word in the IR and in programs.
#ifndef KEDGE_WORD
#define KEDGE_WORD
include "mlir/IR/EnumAttr.td"

class Word<EnumInfo values> : Attr<CPred<"::llvm::isa<::mlir::StringAttr>($_self) && "
    # values.cppNamespace # "::" # values.stringToSymbolFnName # "(::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "one of " # !interleave(!foreach(each, values.enumerants, each.str), ", ")> {
  let storageType = "::mlir::StringAttr";
  let returnType = values.cppNamespace # "::" # values.className;
  let convertFromStorage = "*" # values.cppNamespace # "::" # values.stringToSymbolFnName # "($_self.getValue())";
  let constBuilderCall = "$_builder.getStringAttr(" # values.cppNamespace # "::" # values.symbolToStringFnName # "($0))";
  let valueType = NoneType;
}
#endif
