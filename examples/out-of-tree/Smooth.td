// The operators of the domain com.example.filters: Smooth, whose kernel is a function in C (smooth_kernel.c).
include "kedge/Dialect/ONNX/OnnxBase.td"
include "kedge/Interfaces/LinkedKernelOpInterface.td"

def Smooth_Dialect : Dialect {
  let name = "smooth";
  let cppNamespace = "::smooth";
  let summary = "Operators of the domain com.example.filters.";
}

def Smooth_SmoothOp : Op<Smooth_Dialect, "Smooth", [Pure, SameOperandsAndResultType, Differentiable,
    DeclareOpInterfaceMethods<LinkedKernelOpInterface, ["kernelIterations", "kernelFlops"]>]> {
  let summary = "An exponential moving average along the last axis: y[t] = decay y[t-1] + (1 - decay) x[t], y[-1] = 0";
  let description = [{ With `reverse` 1 from the last element to the first. }];
  let arguments = (ins ONNX_Tensor:$x, DefaultValuedAttr<F32Attr, "0.9f">:$decay, DefaultValuedAttr<I64Attr, "0">:$reverse);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` type($result)";
  let hasVerifier = 1;
}
