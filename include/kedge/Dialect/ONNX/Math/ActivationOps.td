// Activations of one operand, and PRelu. Gradients at kinks are PyTorch's.
#ifndef KEDGE_ONNX_ACTIVATION_OPS
#define KEDGE_ONNX_ACTIVATION_OPS
include "kedge/Dialect/ONNX/Math/MathBase.td"

def ONNX_ReluOp : ONNX_Function<"Relu", "max(x, 0)", "getResult()">;
def ONNX_SigmoidOp : ONNX_Function<"Sigmoid", "1 / (1 + exp(-x))", "getResult()">;
def ONNX_TanhOp : ONNX_Function<"Tanh", "Hyperbolic tangent", "getResult()">;
def ONNX_SoftplusOp : ONNX_Function<"Softplus", "log(1 + exp(x))", "getX()", [FullPrecision]>;
def ONNX_SoftsignOp : ONNX_Function<"Softsign", "x / (1 + |x|)">;
def ONNX_HardSwishOp : ONNX_Function<"HardSwish", "x clip(x / 6 + 1/2, 0, 1)">;
def ONNX_MishOp : ONNX_Function<"Mish", "x tanh(softplus(x))">;

/// Its derivative reads its numbers, too.
class ONNX_ScaledActivation<string mnemonic, string text, dag numbers = (ins F32Attr:$alpha)>
    : ONNX_Function<mnemonic, text, "getX()", [],
                    "math.pointwise(F::" # mnemonic # ", {grad, getX()}, floatsOf(*this))"> {
  let arguments = !con((ins ONNX_Tensor:$x), numbers);
}
def ONNX_LeakyReluOp : ONNX_ScaledActivation<"LeakyRelu", "x where x > 0, else alpha x">;
def ONNX_EluOp : ONNX_ScaledActivation<"Elu", "x where x > 0, else alpha (exp(x) - 1)">;
def ONNX_CeluOp : ONNX_ScaledActivation<"Celu", "max(0, x) + min(0, alpha (exp(x / alpha) - 1))">;
def ONNX_ThresholdedReluOp : ONNX_ScaledActivation<"ThresholdedRelu", "x where x > alpha, else 0">;
def ONNX_SeluOp : ONNX_ScaledActivation<"Selu", "gamma x where x > 0, else gamma alpha (exp(x) - 1)",
                                        (ins F32Attr:$alpha, F32Attr:$gamma)>;
def ONNX_HardSigmoidOp : ONNX_ScaledActivation<"HardSigmoid", "clip(alpha x + beta, 0, 1)",
                                               (ins F32Attr:$alpha, F32Attr:$beta)>;
def ONNX_ShrinkOp : ONNX_ScaledActivation<"Shrink", "x + bias below -lambd, x - bias above lambd, 0 between",
                                          (ins F32Attr:$lambd, F32Attr:$bias)>;

def ONNX_PReluOp : ONNX_Elementwise<"PRelu", [Differentiable, LowPrecision]> {
  let summary = "x where x > 0, else slope x";
  let arguments = (ins ONNX_Tensor:$x, ONNX_Tensor:$slope);
}
#endif
