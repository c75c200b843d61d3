// Closed sets of words that ONNX's operators have as attributes.
#ifndef KEDGE_ONNX_ENUMS
#define KEDGE_ONNX_ENUMS
include "kedge/Dialect/Kedge/Word.td"

class Onnx_Enum<string name, string text, list<I32EnumCase> cases> : I32Enum<name, text, cases> {
  let cppNamespace = "::kedge::onnx";
}
def Onnx_Approximation : Onnx_Enum<"Approximation", "the form of a GELU", [
  I32EnumCase<"None", 0, "none">, I32EnumCase<"Tanh", 1, "tanh">]>;
def Onnx_PadMode : Onnx_Enum<"PadMode", "what a padded element is", [
  I32EnumCase<"Constant", 0, "constant">, I32EnumCase<"Reflect", 1, "reflect">, I32EnumCase<"Edge", 2, "edge">,
  I32EnumCase<"Wrap", 3, "wrap">]>;
def Onnx_ResizeMode : Onnx_Enum<"ResizeMode", "how a resized element is interpolated", [
  I32EnumCase<"Nearest", 0, "nearest">, I32EnumCase<"Linear", 1, "linear">, I32EnumCase<"Cubic", 2, "cubic">]>;
def Onnx_ResizeCoordinates : Onnx_Enum<"ResizeCoordinates", "where a resized element lies in the source", [
  I32EnumCase<"HalfPixel", 0, "half_pixel">, I32EnumCase<"HalfPixelSymmetric", 1, "half_pixel_symmetric">,
  I32EnumCase<"PytorchHalfPixel", 2, "pytorch_half_pixel">, I32EnumCase<"TfHalfPixel", 3, "tf_half_pixel_for_nn">,
  I32EnumCase<"AlignCorners", 4, "align_corners">, I32EnumCase<"Asymmetric", 5, "asymmetric">,
  I32EnumCase<"TfCropAndResize", 6, "tf_crop_and_resize">]>;
def Onnx_ResizeRounding : Onnx_Enum<"ResizeRounding", "which element is the nearest", [
  I32EnumCase<"PreferFloor", 0, "round_prefer_floor">, I32EnumCase<"PreferCeil", 1, "round_prefer_ceil">,
  I32EnumCase<"Floor", 2, "floor">, I32EnumCase<"Ceil", 3, "ceil">]>;
def Onnx_GridMode : Onnx_Enum<"GridMode", "how a sample is interpolated", [
  I32EnumCase<"Nearest", 0, "nearest">, I32EnumCase<"Linear", 1, "linear">, I32EnumCase<"Cubic", 2, "cubic">,
  I32EnumCase<"Bilinear", 3, "bilinear">, I32EnumCase<"Bicubic", 4, "bicubic">]>;
def Onnx_GridPadding : Onnx_Enum<"GridPadding", "what lies outside of an image", [
  I32EnumCase<"Zeros", 0, "zeros">, I32EnumCase<"Border", 1, "border">, I32EnumCase<"Reflection", 2, "reflection">]>;
#endif
