// Constants, identities, and operators that import does not know.
#ifndef KEDGE_ONNX_CORE_OPS
#define KEDGE_ONNX_CORE_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"

def ONNX_ConstantOp : ONNX_Op<"Constant", [ConstantLike]> {
  let summary = "A small constant tensor";
  let description = [{
    Splats and small tensors only; large ones are `train.state` of role constant, so that no file is read
    into the IR.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def ONNX_IdentityOp : ONNX_Op<"Identity", [View, Differentiable]> {
  let summary = "The operand";
  let description = [{ With `stops_gradient` no gradient passes (PyTorch's detach), and the op stays. }];
  let arguments = (ins ONNX_Tensor:$input, UnitAttr:$stops_gradient);
  let results = (outs ONNX_Tensor:$result);
  let hasFolder = 1;
}

def ONNX_UnsupportedOp : Op<ONNX_Dialect, "unsupported", []> {
  let summary = "An operator that import does not know";
  let description = [{ Import keeps such nodes, so that all of them are reported at once with their names. }];
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$op_type, StrAttr:$domain, I64Attr:$version);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$op_type $domain $version `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}
#endif
