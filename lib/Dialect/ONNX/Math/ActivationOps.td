// Activations of one operand, and PRelu. Gradients at kinks are PyTorch's.
#ifndef KEDGE_ONNX_ACTIVATION_OPS
#define KEDGE_ONNX_ACTIVATION_OPS
include "lib/Dialect/ONNX/Math/MathBase.td"

class ONNX_Activation<string mnemonic, string text, list<Trait> traits = []>
    : ONNX_Unary<mnemonic, !listconcat([Differentiable], traits)> { let summary = text; }
def ONNX_ReluOp : ONNX_Activation<"Relu", "max(x, 0)">;
def ONNX_SigmoidOp : ONNX_Activation<"Sigmoid", "1 / (1 + exp(-x))">;
def ONNX_TanhOp : ONNX_Activation<"Tanh", "Hyperbolic tangent">;
def ONNX_SoftplusOp : ONNX_Activation<"Softplus", "log(1 + exp(x))", [FullPrecision]>;
def ONNX_SoftsignOp : ONNX_Activation<"Softsign", "x / (1 + |x|)">;
def ONNX_HardSwishOp : ONNX_Activation<"HardSwish", "x clip(x / 6 + 1/2, 0, 1)">;
def ONNX_MishOp : ONNX_Activation<"Mish", "x tanh(softplus(x))">;

class ONNX_ScaledActivation<string mnemonic, string text> : ONNX_Activation<mnemonic, text> {
  let arguments = (ins ONNX_Tensor:$x, F32Attr:$alpha);
}
def ONNX_LeakyReluOp : ONNX_ScaledActivation<"LeakyRelu", "x where x > 0, else alpha x">;
def ONNX_EluOp : ONNX_ScaledActivation<"Elu", "x where x > 0, else alpha (exp(x) - 1)">;
def ONNX_CeluOp : ONNX_ScaledActivation<"Celu", "max(0, x) + min(0, alpha (exp(x / alpha) - 1))">;
def ONNX_ThresholdedReluOp : ONNX_ScaledActivation<"ThresholdedRelu", "x where x > alpha, else 0">;
def ONNX_SeluOp : ONNX_Activation<"Selu", "gamma x where x > 0, else gamma alpha (exp(x) - 1)"> {
  let arguments = (ins ONNX_Tensor:$x, F32Attr:$alpha, F32Attr:$gamma);
}
def ONNX_HardSigmoidOp : ONNX_Activation<"HardSigmoid", "clip(alpha x + beta, 0, 1)"> {
  let arguments = (ins ONNX_Tensor:$x, F32Attr:$alpha, F32Attr:$beta);
}
def ONNX_ShrinkOp : ONNX_Activation<"Shrink", "x + bias below -lambd, x - bias above lambd, 0 between"> {
  let arguments = (ins ONNX_Tensor:$x, F32Attr:$lambd, F32Attr:$bias);
}

def ONNX_PReluOp : ONNX_Elementwise<"PRelu", [Differentiable, LowPrecision]> {
  let summary = "x where x > 0, else slope x";
  let arguments = (ins ONNX_Tensor:$x, ONNX_Tensor:$slope);
}
#endif
