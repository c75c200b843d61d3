#ifndef KEDGE_KEDGE_DIALECT
#define KEDGE_KEDGE_DIALECT
include "mlir/IR/OpBase.td"

def Kedge_Dialect : Dialect {
  let name = "kedge";
  let cppNamespace = "::kedge";
  let summary = "Attributes of ops of every level";
  let description = [{
    Ops that compute something carry `kedge.place`: the module of the user's model and the part of the step that they
    belong to. ShardBlocks, names of kernels and buffers, and reports come from it; locations are for diagnostics and may be
    stripped. A sched.cluster whose results come from several places carries `kedge.result_places`, one per result.
    kedge-verify-model, -step and -schedule say which op lacks its place.

    `kedge.values` says which values of the step an op's results are (a dictionary for each, empty where it is none): `value` is the
    name that kedge-name-values gave, `micro` the micro-batch in a step that has several, `cut` the blocks that ranks have of it, and
    `sum` the axis along which it is the sum of what ranks have. kedge diff pairs values by it.

    `kedge.target` (on the module) is the target that a schedule was made for; without it, cpu. `kedge.rows` is a launch's
    row in tables of launches. `kedge.saved` records how far a file of --save-ir was compiled, and with which options.
  }];
  let discardableAttrs = (ins "::mlir::StringAttr":$target, "::mlir::DenseI64ArrayAttr":$rows, "::mlir::DictionaryAttr":$saved);
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}
#endif
