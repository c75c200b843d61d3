// What the operators of the default domain take, in all opsets that are read. scripts/make/node_schemas.py
// writes this file from the schemas of onnx 1.23.2.
#include "lib/Model/Schema.h"

namespace kedge::model {

// A line an operator, a part between semicolons for each opset that changed it: SINCE IN > OUT / ATTRIBUTES /
// TYPES. An input or output is the name of its types, with ? where it may be left out, * or + where any
// number of them or at least one may follow, and ~ where these may differ in type. An attribute is NAME:KIND,
// with ! where it must be there. TYPES are NAME=LETTERS; "any": not checked. Parts that are as before are
// written as =.
const char *const schemaTable = R"(
Abs 6 T > T /  / T=BILWbdfhilw; 13 = / = / T=BILWbdfghilw
Acos 7 T > T /  / T=dfh; 22 = / = / T=dfgh
Acosh 9 T > T /  / T=dfh; 22 = / = / T=dfgh
Add 7 T T > T /  / T=ILdfhil; 13 = / = / T=ILdfghil; 14 = / = / T=BILWbdfghilw
AffineGrid 20 T1 T2 > T1 / align_corners:i / T1=dfgh T2=l
And 7 T T > T1 /  / T=? T1=?
ArgMax 1 T > _l / axis:i keepdims:i / T=BILWbdfhilw _l=l; 12 = / axis:i keepdims:i select_last_index:i / =; 13 = / = / T=BILWbdfghilw _l=l
ArgMin 1 T > _l / axis:i keepdims:i / T=BILWbdfhilw _l=l; 12 = / axis:i keepdims:i select_last_index:i / =; 13 = / = / T=BILWbdfghilw _l=l
Asin 7 T > T /  / T=dfh; 22 = / = / T=dfgh
Asinh 9 T > T /  / T=dfh; 22 = / = / T=dfgh
Atan 7 T > T /  / T=dfh; 22 = / = / T=dfgh
Atanh 9 T > T /  / T=dfh; 22 = / = / T=dfgh
Attention 23 T1 T1 T2 U? T1? T2? > T1 T1? T2? T1? / is_causal:i kv_num_heads:i q_num_heads:i qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i / T1=dfgh T2=dfgh U=?BILWbdfghilw; 24 T1 T1 T2 U? T1? T2? _l? > T1 T1? T2? T1? / = / T1=dfgh T2=dfgh U=?BILWbdfghilw _l=l; 25 = / is_causal:i kv_num_heads:i left_window_size:i q_num_heads:i qk_matmul_output_mode:i right_window_size:i scale:f softcap:f softmax_precision:i / =
AveragePool 7 T > T / auto_pad:s count_include_pad:i kernel_shape:I! pads:I strides:I / T=dfh; 10 = / auto_pad:s ceil_mode:i count_include_pad:i kernel_shape:I! pads:I strides:I / =; 19 = / auto_pad:s ceil_mode:i count_include_pad:i dilations:I kernel_shape:I! pads:I strides:I / =; 22 = / = / T=dfgh
BatchNormalization 7 T T T T T > T T? T? T? T? / epsilon:f momentum:f spatial:i / T=dfh; 9 = / epsilon:f momentum:f / =; 14 T T T U U > T U? U? / epsilon:f momentum:f training_mode:i / T=dfgh U=dfgh; 15 T T1 T1 T2 T2 > T T2? T2? / = / T=dfgh T1=dfgh T2=dfgh
Bernoulli 15 T1 > T2 / dtype:i seed:f / T1=dfh T2=?BILWbdfghilw; 22 = / = / T1=dfgh T2=?BILWbdfghilw
BitCast 26 T1 > T2 / to:i! / T1=0123456789?BCILWbcdfghilw T2=0123456789?BCILWbcdfghilw
BitShift 11 T T > T / direction:s! / T=BILW; 28 = / = / T=BILWbilw
BitwiseAnd 18 T T > T /  / T=BILWbilw
BitwiseNot 18 T > T /  / T=BILWbilw
BitwiseOr 18 T T > T /  / T=BILWbilw
BitwiseXor 18 T T > T /  / T=BILWbilw
BlackmanWindow 17 T1 > T2 / output_datatype:i periodic:i / T1=il T2=BILWbdfghilw
Cast 6 T1 > T2 / to:i! / T1=?BILWbdfhilw T2=?BILWbdfhilw; 9 = / = / T1=?BILWbdfhilsw T2=?BILWbdfhilsw; 13 = / = / T1=?BILWbdfghilsw T2=?BILWbdfghilsw; 19 = / saturate:i to:i! / T1=1234?BILWbdfghilsw T2=1234?BILWbdfghilsw; 21 = / = / T1=123456?BILWbdfghilsw T2=123456?BILWbdfghilsw; 23 = / = / T1=1234567?BILWbdfghilsw T2=1234567?BILWbdfghilsw; 24 = / round_mode:s saturate:i to:i! / T1=12345678?BILWbdfghilsw T2=12345678?BILWbdfghilsw; 25 = / = / T1=0123456789?BILWbdfghilsw T2=0123456789?BILWbdfghilsw
CastLike 15 T1 T2 > T2 /  / T1=?BILWbdfghilsw T2=?BILWbdfghilsw; 19 = / saturate:i / T1=1234?BILWbdfghilsw T2=1234?BILWbdfghilsw; 21 = / = / T1=123456?BILWbdfghilsw T2=123456?BILWbdfghilsw; 23 = / = / T1=1234567?BILWbdfghilsw T2=1234567?BILWbdfghilsw; 24 = / round_mode:s saturate:i / T1=12345678?BILWbdfghilsw T2=12345678?BILWbdfghilsw; 25 = / = / T1=0123456789?BILWbdfghilsw T2=0123456789?BILWbdfghilsw
CausalConvWithState 27 T T T? T? > T T / activation:s / T=fgh
Ceil 6 T > T /  / T=dfh; 13 = / = / T=dfgh
Celu 12 T > T / alpha:f / T=f; 28 = / = / T=dfgh
CenterCropPad 18 T Tind > T / axes:I / T=?BCILWbcdfghilsw Tind=il
Clip 6 T > T / max:f min:f / T=dfh; 11 T T? T? > T /  / =; 12 = / = / T=BILWbdfhilw; 13 = / = / T=BILWbdfghilw
Col2Im 18 T _l _l > T / dilations:I pads:I strides:I / T=?BCILWbcdfghilsw _l=l
Compress 9 T T1 > T / axis:i / T=?BCILWbcdfhilsw T1=?; 28 = / = / T=?BCILWbcdfghilsw T1=?
Concat 4 T+ > T / axis:i! / T=?BCILWbcdfhilsw; 13 = / = / T=?BCILWbcdfghilsw
ConcatFromSequence 11 S > T / axis:i! new_axis:i / S=any T=?BCILWbcdfhilsw
Constant 1 > T / value:t! / T=dfh; 9 = / = / T=?BCILWbcdfhilsw; 11 = / sparse_value:p value:t / =; 12 = / sparse_value:p value:t value_float:f value_floats:F value_int:i value_ints:I value_string:s value_strings:S / =; 13 = / = / T=?BCILWbcdfghilsw; 19 = / = / T=1234?BCILWbcdfghilsw; 21 = / = / T=123456?BCILWbcdfghilsw; 23 = / = / T=1234567?BCILWbcdfghilsw; 24 = / = / T=12345678?BCILWbcdfghilsw; 25 = / = / T=any
ConstantOfShape 9 T1 > T2 / value:t / T1=l T2=?BILWbdfhilw; 20 = / = / T1=l T2=1234?BILWbdfghilw; 21 = / = / T1=l T2=123456?BILWbdfghilw; 23 = / = / T1=l T2=1234567?BILWbdfghilw; 24 = / = / T1=l T2=12345678?BILWbdfghilw; 25 = / = / T1=l T2=0123456789?BILWbdfghilw
Conv 1 T T T? > T / auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I / T=dfh; 22 = / = / T=dfgh
ConvInteger 10 T1 T2 T1? T2? > T3 / auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I / T1=Bb T2=Bb T3=i
ConvTranspose 1 T T T? > T / auto_pad:s dilations:I group:i kernel_shape:I output_padding:I output_shape:I pads:I strides:I / T=dfh; 22 = / = / T=dfgh
Cos 7 T > T /  / T=dfh; 22 = / = / T=dfgh
Cosh 9 T > T /  / T=dfh; 22 = / = / T=dfgh
CumProd 26 T T2 > T / exclusive:i reverse:i / T=ILdfghil T2=il
CumSum 11 T T2 > T / exclusive:i reverse:i / T=ILdfil T2=il; 14 = / = / T=ILdfghil T2=il
DFT 17 T1 T2? > T1 / axis:i inverse:i onesided:i / T1=dfgh T2=il; 20 T1 T2? _l? > T1 / inverse:i onesided:i / T1=dfgh T2=il _l=l
DeformConv 19 T T T T? T? > T / dilations:I group:i kernel_shape:I offset_group:i pads:I strides:I / T=dfh; 22 = / = / T=dfgh
DepthToSpace 1 T > T / blocksize:i! / T=?BCILWbcdfhilsw; 11 = / blocksize:i! mode:s / =; 13 = / = / T=?BCILWbcdfghilsw
DequantizeLinear 10 T _f T? > _f /  / T=Bbi _f=f; 13 = / axis:i / =; 19 T1 T2 T1? > T2 / = / T1=1234Bbi T2=fgh; 21 = / axis:i block_size:i / T1=123456BWbiw T2=fgh; 23 T1 T2 T1? > T3 / axis:i block_size:i output_dtype:i / T1=1234567BWbiw T2=fgh T3=fgh; 24 = / = / T1=1234567BWbiw T2=8fgh T3=fgh; 25 = / = / T1=012345679BWbiw T2=8fgh T3=fgh
Det 11 T > T /  / T=dfh; 22 = / = / T=dfgh
Div 7 T T > T /  / T=ILdfhil; 13 = / = / T=ILdfghil; 14 = / = / T=BILWbdfghilw
Dropout 7 T > T T? / ratio:f / T=dfh; 10 T > T T1? / = / T=dfh T1=?; 12 T T1? T2? > T T2? / seed:i / T=dfh T1=dfh T2=?; 13 = / = / T=dfgh T1=dfh T2=?; 22 = / = / T=1234dfgh T1=1234dfgh T2=?
DynamicQuantizeLinear 11 T1 > T2 _f T2 /  / T1=f T2=B _f=f
Einsum 12 T+ > T / equation:s! / T=BILWbdfhilw; 28 = / = / T=BILWbdfghilw
Elu 6 T > T / alpha:f / T=dfh; 22 = / = / T=dfgh
Equal 7 T T > T1 /  / T=?il T1=?; 11 = / = / T=?BILWbdfhilw T1=?; 13 = / = / T=?BILWbdfghilw T1=?; 19 = / = / T=?BILWbdfghilsw T1=?
Erf 9 T > T /  / T=BILWbdfhilw; 13 = / = / T=dfgh
Exp 6 T > T /  / T=dfh; 13 = / = / T=dfgh
Expand 8 T _l > T /  / T=?BCILWbcdfhilsw _l=l; 13 = / = / T=?BCILWbcdfghilsw _l=l
EyeLike 9 T1 > T2 / dtype:i k:i / T1=?BILWbdfhilw T2=?BILWbdfhilw; 22 = / = / T1=?BILWbdfghilw T2=?BILWbdfghilw
Flatten 1 T > T / axis:i / T=dfh; 9 = / = / T=?BCILWbcdfhilsw; 13 = / = / T=?BCILWbcdfghilsw; 21 = / = / T=123456?BCILWbcdfghilsw; 23 = / = / T=1234567?BCILWbcdfghilsw; 24 = / = / T=12345678?BCILWbcdfghilsw; 25 = / = / T=any
Floor 6 T > T /  / T=dfh; 13 = / = / T=dfgh
GRU 7 T T T T? T1? T? > T? T? / activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i linear_before_reset:i / T=dfh T1=i; 14 = / activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i linear_before_reset:i / =; 22 = / = / T=dfgh T1=i
Gather 1 T Tind > T / axis:i / T=?BCILWbcdfhilsw Tind=il; 13 = / = / T=?BCILWbcdfghilsw Tind=il
GatherElements 11 T Tind > T / axis:i / T=?BCILWbcdfhilsw Tind=il; 13 = / = / T=?BCILWbcdfghilsw Tind=il
GatherND 11 T _l > T /  / T=?BCILWbcdfhilsw _l=l; 12 = / batch_dims:i / =; 13 = / = / T=?BCILWbcdfghilsw _l=l
Gelu 20 T > T / approximate:s / T=dfgh
Gemm 7 T T T > T / alpha:f beta:f transA:i transB:i / T=dfh; 9 = / = / T=ILdfhil; 11 T T T? > T / = / =; 13 = / = / T=ILdfghil
GlobalAveragePool 1 T > T /  / T=dfh; 22 = / = / T=dfgh
GlobalLpPool 2 T > T / p:i / T=dfh; 22 = / = / T=dfgh
GlobalMaxPool 1 T > T /  / T=dfh; 22 = / = / T=dfgh
Greater 7 T T > T1 /  / T=dfh T1=?; 9 = / = / T=BILWbdfhilw T1=?; 13 = / = / T=BILWbdfghilw T1=?
GreaterOrEqual 12 T T > T1 /  / T=BILWbdfhilw T1=?; 16 = / = / T=BILWbdfghilw T1=?
GridSample 16 T1 T2 > T1 / align_corners:i mode:s padding_mode:s / T1=?BCILWbcdfhilsw T2=dfh; 22 = / = / T1=?BCILWbcdfghilsw T2=dfgh
GroupNormalization 18 T T T > T / epsilon:f num_groups:i! / T=dfgh; 21 = / epsilon:f num_groups:i! stash_type:i / =
HammingWindow 17 T1 > T2 / output_datatype:i periodic:i / T1=il T2=BILWbdfghilw
HannWindow 17 T1 > T2 / output_datatype:i periodic:i / T1=il T2=BILWbdfghilw
HardSigmoid 6 T > T / alpha:f beta:f / T=dfh; 22 = / = / T=dfgh
HardSwish 14 T > T /  / T=dfh; 22 = / = / T=dfgh
Hardmax 1 T > T / axis:i / T=dfh; 13 = / = / T=dfgh
Identity 1 T > T /  / T=?BCILWbcdfhilsw; 13 = / = / T=?BCILWbcdfghilsw; 14 V > V / = / V=any
If 1 B > V+~ / else_branch:g! then_branch:g! / V=?BCILWbcdfhilsw B=?; 13 = / = / V=any B=?
ImageDecoder 20 T1 > T2 / pixel_format:s / T1=B T2=B
InstanceNormalization 6 T T T > T / epsilon:f / T=dfh; 22 = / = / T=dfgh
IsInf 10 T1 > T2 / detect_negative:i detect_positive:i / T1=df T2=?; 20 = / = / T1=1234dfgh T2=?
IsNaN 9 T1 > T2 /  / T1=dfh T2=?; 13 = / = / T1=dfgh T2=?; 20 = / = / T1=1234dfgh T2=?
LRN 1 T > T / alpha:f beta:f bias:f size:i! / T=dfh; 13 = / = / T=dfgh
LSTM 7 T T T T? T1? T? T? T? > T? T? T? / activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:i / T=dfh T1=i; 14 = / activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:i layout:i / =; 22 = / = / T=dfgh T1=i
LayerNormalization 17 T T T? > T U? U? / axis:i epsilon:f stash_type:i / T=dfgh U=fg
LeakyRelu 6 T > T / alpha:f / T=dfh; 16 = / = / T=dfgh
Less 7 T T > T1 /  / T=dfh T1=?; 9 = / = / T=BILWbdfhilw T1=?; 13 = / = / T=BILWbdfghilw T1=?
LessOrEqual 12 T T > T1 /  / T=BILWbdfhilw T1=?; 16 = / = / T=BILWbdfghilw T1=?
LinearAttention 27 T T T S? T? T? > T S / chunk_size:i kv_num_heads:i! q_num_heads:i! scale:f update_rule:s / T=fgh S=fgh
Log 6 T > T /  / T=dfh; 13 = / = / T=dfgh
LogSoftmax 1 T > T / axis:i / T=dfh; 13 = / = / T=dfgh
Loop 1 I? B? V+~ > V+~ / body:g! / V=?BCILWbcdfhilsw I=l B=?; 11 I? B? V*~ > V+~ / = / =; 13 = / = / V=any I=l B=?
LpNormalization 1 T > T / axis:i p:i / T=dfh; 22 = / = / T=dfgh
LpPool 2 T > T / auto_pad:s kernel_shape:I! p:i pads:I strides:I / T=dfh; 18 = / auto_pad:s ceil_mode:i dilations:I kernel_shape:I! p:i pads:I strides:I / =; 22 = / = / T=dfgh
MatMul 1 T T > T /  / T=dfh; 9 = / = / T=ILdfhil; 13 = / = / T=ILdfghil
MatMulInteger 10 T1 T2 T1? T2? > T3 /  / T1=Bb T2=Bb T3=i
Max 6 T+ > T /  / T=dfh; 12 = / = / T=BILWbdfhilw; 13 = / = / T=BILWbdfghilw
MaxPool 1 T > T / auto_pad:s kernel_shape:I! pads:I strides:I / T=dfh; 8 T > T I? / auto_pad:s kernel_shape:I! pads:I storage_order:i strides:I / T=dfh I=l; 10 = / auto_pad:s ceil_mode:i dilations:I kernel_shape:I! pads:I storage_order:i strides:I / =; 12 = / = / T=Bbdfh I=l; 22 = / = / T=Bbdfgh I=l
MaxRoiPool 1 T T > T / pooled_shape:I! spatial_scale:f / T=dfh; 22 = / = / T=dfgh
MaxUnpool 9 T1 T2 T2? > T1 / kernel_shape:I! pads:I strides:I / T1=dfh T2=l; 22 = / = / T1=dfgh T2=l
Mean 6 T+ > T /  / T=dfh; 13 = / = / T=dfgh
MeanVarianceNormalization 9 T > T / axes:I / T=dfh; 13 = / = / T=dfgh
MelWeightMatrix 17 T1 T1 T1 T2 T2 > T3 / output_datatype:i / T1=il T2=dfgh T3=BILWbdfghilw
Min 6 T+ > T /  / T=dfh; 12 = / = / T=BILWbdfhilw; 13 = / = / T=BILWbdfghilw
Mish 18 T > T /  / T=dfh; 22 = / = / T=dfgh
Mod 10 T T > T / fmod:i / T=BILWbdfhilw; 13 = / = / T=BILWbdfghilw
Mul 7 T T > T /  / T=ILdfhil; 13 = / = / T=ILdfghil; 14 = / = / T=BILWbdfghilw
Multinomial 7 T1 > T2 / dtype:i sample_size:i seed:f / T1=dfh T2=il; 22 = / = / T1=dfgh T2=il
Neg 6 T > T /  / T=bdfhilw; 13 = / = / T=bdfghilw
NegativeLogLikelihoodLoss 12 T Tind T? > T / ignore_index:i reduction:s / T=dfh Tind=il; 22 = / = / T=dfgh Tind=il
NonMaxSuppression 10 _f _f _l? _f? _f? > _l / center_point_box:i / _f=f _l=l
NonZero 9 T > _l /  / T=?BCILWbcdfhilsw _l=l; 13 = / = / T=?BCILWbcdfghilsw _l=l
Not 1 T > T /  / T=?
OneHot 9 T1 T2 T3 > T3 / axis:i / T1=BILWbdfhilw T2=BILWbdfhilw T3=?BCILWbcdfhilsw; 28 = / = / T1=BILWbdfhilw T2=BILWbdfhilw T3=?BCILWbcdfghilsw
Optional 15 V? > O / type:y / V=any O=any
OptionalGetElement 15 O > V /  / O=any V=any
OptionalHasElement 15 O > B /  / O=any B=?; 18 O? > B / = / =
Or 7 T T > T1 /  / T=? T1=?
PRelu 7 T T > T /  / T=dfh; 9 = / = / T=ILdfhil; 16 = / = / T=ILdfghil
Pad 2 T > T / mode:s pads:I! value:f / T=dfh; 11 T _l T? > T / mode:s / T=BILWbdfhilw _l=l; 13 = / = / T=?BCILWbcdfghilsw _l=l; 18 T _l T? Tind? > T / = / T=?BCILWbcdfghilsw Tind=il _l=l; 21 = / = / T=123456?BCILWbcdfghilsw Tind=il _l=l; 23 = / = / T=1234567?BCILWbcdfghilsw Tind=il _l=l; 24 = / = / T=12345678?BCILWbcdfghilsw Tind=il _l=l; 25 = / = / T=any Tind=il _l=l
Pow 7 T T > T /  / T=dfh; 12 T T1 > T / = / T=dfhil T1=BILWbdfhilw; 13 = / = / T=dfghil T1=BILWbdfhilw; 15 = / = / T=dfghil T1=BILWbdfghilw
QLinearConv 10 T1 _f T1 T2 _f T2 _f T3 T4? > T3 / auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I / T1=Bb T2=Bb T3=Bb T4=i _f=f
QLinearMatMul 10 T1 _f T1 T2 _f T2 _f T3 > T3 /  / T1=Bb T2=Bb T3=Bb _f=f; 21 T1 TS T1 T2 TS T2 TS T3 > T3 / = / TS=fgh T1=1234Bb T2=1234Bb T3=1234Bb
QuantizeLinear 10 T1 _f T2? > T2 /  / T1=fi T2=Bb _f=f; 13 = / axis:i / =; 19 T1 T1 T2? > T2 / axis:i saturate:i / T1=fghi T2=1234Bb; 21 = / axis:i block_size:i output_dtype:i saturate:i / T1=fghi T2=123456BWbw; 23 T1 T2 T3? > T3 / axis:i block_size:i output_dtype:i precision:i saturate:i / T1=fghi T2=fghi T3=1234567BWbw; 24 = / = / T1=fghi T2=8fghi T3=1234567BWbw; 25 = / = / T1=fghi T2=8fghi T3=012345679BWbw
RMSNormalization 23 T V > V / axis:i epsilon:f stash_type:i / T=dfgh V=dfgh
RNN 7 T T T T? T1? T? > T? T? / activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i / T=dfh T1=i; 14 = / activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i / =; 22 = / = / T=dfgh T1=i
RandomNormal 1 > T / dtype:i mean:f scale:f seed:f shape:I! / T=dfh; 22 = / = / T=dfgh
RandomNormalLike 1 T1 > T2 / dtype:i mean:f scale:f seed:f / T1=?BCILWbcdfhilsw T2=dfh; 22 = / = / T1=?BCILWbcdfghilsw T2=dfgh
RandomUniform 1 > T / dtype:i high:f low:f seed:f shape:I! / T=dfh; 22 = / = / T=dfgh
RandomUniformLike 1 T1 > T2 / dtype:i high:f low:f seed:f / T1=?BCILWbcdfhilsw T2=dfh; 22 = / = / T1=?BCILWbcdfghilsw T2=dfgh
Range 11 T T T > T /  / T=dfilw; 27 = / stash_type:i / T=dfghilw
Reciprocal 6 T > T /  / T=dfh; 13 = / = / T=dfgh
ReduceL1 1 T > T / axes:I keepdims:i / T=ILdfhil; 13 = / = / T=ILdfghil; 18 T _l? > T / keepdims:i noop_with_empty_axes:i / T=ILdfghil _l=l
ReduceL2 1 T > T / axes:I keepdims:i / T=ILdfhil; 13 = / = / T=ILdfghil; 18 T _l? > T / keepdims:i noop_with_empty_axes:i / T=ILdfghil _l=l
ReduceLogSum 1 T > T / axes:I keepdims:i / T=ILdfhil; 13 = / = / T=ILdfghil; 18 T _l? > T / keepdims:i noop_with_empty_axes:i / T=ILdfghil _l=l; 28 = / = / T=dfgh _l=l
ReduceLogSumExp 1 T > T / axes:I keepdims:i / T=ILdfhil; 13 = / = / T=ILdfghil; 18 T _l? > T / keepdims:i noop_with_empty_axes:i / T=ILdfghil _l=l; 28 = / = / T=dfgh _l=l
ReduceMax 1 T > T / axes:I keepdims:i / T=ILdfhil; 12 = / = / T=BILbdfhil; 13 = / = / T=BILbdfghil; 18 T _l? > T / keepdims:i noop_with_empty_axes:i / T=BILbdfghil _l=l; 20 = / = / T=?BILbdfghil _l=l
ReduceMean 1 T > T / axes:I keepdims:i / T=ILdfhil; 13 = / = / T=ILdfghil; 18 T _l? > T / keepdims:i noop_with_empty_axes:i / T=ILdfghil _l=l
ReduceMin 1 T > T / axes:I keepdims:i / T=ILdfhil; 12 = / = / T=BILbdfhil; 13 = / = / T=BILbdfghil; 18 T _l? > T / keepdims:i noop_with_empty_axes:i / T=BILbdfghil _l=l; 20 = / = / T=?BILbdfghil _l=l
ReduceProd 1 T > T / axes:I keepdims:i / T=ILdfhil; 13 = / = / T=ILdfghil; 18 T _l? > T / keepdims:i noop_with_empty_axes:i / T=ILdfghil _l=l
ReduceSum 1 T > T / axes:I keepdims:i / T=ILdfhil; 13 T _l? > T / keepdims:i noop_with_empty_axes:i / T=ILdfghil _l=l
ReduceSumSquare 1 T > T / axes:I keepdims:i / T=ILdfhil; 13 = / = / T=ILdfghil; 18 T _l? > T / keepdims:i noop_with_empty_axes:i / T=ILdfghil _l=l
RegexFullMatch 20 T1 > T2 / pattern:s / T1=s T2=?
Relu 6 T > T /  / T=dfh; 13 = / = / T=dfgh; 14 = / = / T=bdfghilw
Reshape 5 T _l > T /  / T=?BCILWbcdfhilsw _l=l; 13 = / = / T=?BCILWbcdfghilsw _l=l; 14 = / allowzero:i / =; 19 = / = / T=1234?BCILWbcdfghilsw _l=l; 21 = / = / T=123456?BCILWbcdfghilsw _l=l; 23 = / = / T=1234567?BCILWbcdfghilsw _l=l; 24 = / = / T=12345678?BCILWbcdfghilsw _l=l; 25 = / = / T=any _l=l
Resize 10 T _f > T / mode:s / T=?BCILWbcdfhilsw _f=f; 11 T1 T2? _f? _l? > T1 / coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i extrapolation_value:f mode:s nearest_mode:s / T1=?BCILWbcdfhilsw T2=dfh _f=f _l=l; 13 = / = / T1=?BCILWbcdfghilsw T2=dfh _f=f _l=l; 18 = / antialias:i axes:I coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i extrapolation_value:f keep_aspect_ratio_policy:s mode:s nearest_mode:s / =
ReverseSequence 10 T _l > T / batch_axis:i time_axis:i / T=?BCILWbcdfhilsw _l=l; 28 = / = / T=?BCILWbcdfghilsw _l=l
RoiAlign 10 T1 T1 T2 > T1 / mode:s output_height:i output_width:i sampling_ratio:i spatial_scale:f / T1=dfh T2=l; 16 = / coordinate_transformation_mode:s mode:s output_height:i output_width:i sampling_ratio:i spatial_scale:f / =; 22 = / = / T1=dfgh T2=l
RotaryEmbedding 23 T T T M? > T / interleaved:i num_heads:i rotary_embedding_dim:i / T=fgh M=l
Round 11 T > T /  / T=dfh; 22 = / = / T=dfgh
STFT 17 T1 T2 T1? T2? > T1 / onesided:i / T1=dfgh T2=il
Scan 8 I? V+~ > V+~ / body:g! directions:I num_scan_inputs:i! / I=l V=?BCILWbcdfhilsw; 9 V+~ > V+~ / body:g! num_scan_inputs:i! scan_input_axes:I scan_input_directions:I scan_output_axes:I scan_output_directions:I / V=?BCILWbcdfhilsw; 16 = / = / V=?BCILWbcdfghilsw; 19 = / = / V=1234?BCILWbcdfghilsw; 21 = / = / V=123456?BCILWbcdfghilsw; 23 = / = / V=1234567?BCILWbcdfghilsw; 24 = / = / V=12345678?BCILWbcdfghilsw; 25 = / = / V=any
Scatter 9 T Tind T > T / axis:i / T=?BCILWbcdfhilsw Tind=il
ScatterElements 11 T Tind T > T / axis:i / T=?BCILWbcdfhilsw Tind=il; 13 = / = / T=?BCILWbcdfghilsw Tind=il; 16 = / axis:i reduction:s / =
ScatterND 11 T _l T > T /  / T=?BCILWbcdfhilsw _l=l; 13 = / = / T=?BCILWbcdfghilsw _l=l; 16 = / reduction:s / =
Selu 6 T > T / alpha:f gamma:f / T=dfh; 22 = / = / T=dfgh
SequenceAt 11 S I > T /  / S=any T=?BCILWbcdfhilsw I=il
SequenceConstruct 11 T+ > S /  / T=?BCILWbcdfhilsw S=any
SequenceEmpty 11 > S / dtype:i / S=any
SequenceErase 11 S I? > S /  / S=any I=il
SequenceInsert 11 S T I? > S /  / T=?BCILWbcdfhilsw S=any I=il
SequenceLength 11 S > I /  / S=any I=l
SequenceMap 17 S V*~ > S+~ / body:g! / S=any V=any
Shape 1 T > T1 /  / T=?BCILWbcdfhilsw T1=l; 13 = / = / T=?BCILWbcdfghilsw T1=l; 15 = / end:i start:i / =; 19 = / = / T=1234?BCILWbcdfghilsw T1=l; 21 = / = / T=123456?BCILWbcdfghilsw T1=l; 23 = / = / T=1234567?BCILWbcdfghilsw T1=l; 24 = / = / T=12345678?BCILWbcdfghilsw T1=l; 25 = / = / T=any T1=l
Shrink 9 T > T / bias:f lambd:f / T=BILWbdfhilw
Sigmoid 6 T > T /  / T=dfh; 13 = / = / T=dfgh
Sign 9 T > T /  / T=BILWbdfhilw; 13 = / = / T=BILWbdfghilw
Sin 7 T > T /  / T=dfh; 22 = / = / T=dfgh
Sinh 9 T > T /  / T=dfh; 22 = / = / T=dfgh
Size 1 T > T1 /  / T=?BCILWbcdfhilsw T1=l; 13 = / = / T=?BCILWbcdfghilsw T1=l; 19 = / = / T=1234?BCILWbcdfghilsw T1=l; 21 = / = / T=123456?BCILWbcdfghilsw T1=l; 23 = / = / T=1234567?BCILWbcdfghilsw T1=l; 24 = / = / T=12345678?BCILWbcdfghilsw T1=l; 25 = / = / T=any T1=l
Slice 1 T > T / axes:I ends:I! starts:I! / T=?BCILWbcdfhilsw; 10 T Tind Tind Tind? Tind? > T /  / T=?BCILWbcdfhilsw Tind=il; 13 = / = / T=?BCILWbcdfghilsw Tind=il
Softmax 1 T > T / axis:i / T=dfh; 13 = / = / T=dfgh
SoftmaxCrossEntropyLoss 12 T Tind T? > T T? / ignore_index:i reduction:s / T=dfh Tind=il; 13 = / = / T=dfgh Tind=il
Softplus 1 T > T /  / T=dfh; 22 = / = / T=dfgh
Softsign 1 T > T /  / T=dfh; 22 = / = / T=dfgh
SpaceToDepth 1 T > T / blocksize:i! / T=?BCILWbcdfhilsw; 13 = / = / T=?BCILWbcdfghilsw; 28 = / blocksize:i! mode:s / =
Split 2 T > T+ / axis:i split:I / T=?BCILWbcdfhilsw; 13 T _l? > T+ / axis:i / T=?BCILWbcdfghilsw _l=l; 18 = / axis:i num_outputs:i / =
SplitToSequence 11 T I? > S / axis:i keepdims:i / T=?BCILWbcdfhilsw I=il S=any; 24 = / = / T=?BCILWbcdfghilsw I=il S=any
Sqrt 6 T > T /  / T=dfh; 13 = / = / T=dfgh
Squeeze 1 T > T / axes:I / T=?BCILWbcdfhilsw; 13 T _l? > T /  / T=?BCILWbcdfghilsw _l=l; 21 = / = / T=123456?BCILWbcdfghilsw _l=l; 23 = / = / T=1234567?BCILWbcdfghilsw _l=l; 24 = / = / T=12345678?BCILWbcdfghilsw _l=l; 25 = / = / T=any _l=l
StringConcat 20 T T > T /  / T=s
StringNormalizer 10 _s > _s / case_change_action:s is_case_sensitive:i locale:s stopwords:S / _s=s
StringSplit 20 T1 > T2 T3 / delimiter:s maxsplit:i / T1=s T2=s T3=l
Sub 7 T T > T /  / T=ILdfhil; 13 = / = / T=ILdfghil; 14 = / = / T=BILWbdfghilw
Sum 6 T+ > T /  / T=dfh; 13 = / = / T=dfgh
SwiGLU 28 T T > T / alpha:f / T=dfgh
Swish 24 T > T / alpha:f / T=dfgh
Tan 7 T > T /  / T=dfh; 22 = / = / T=dfgh
Tanh 6 T > T /  / T=dfh; 13 = / = / T=dfgh
TensorScatter 24 T T _l? > T / axis:i mode:s / T=12345678?BCILWbcdfghilsw _l=l
TfIdfVectorizer 9 T > T1 / max_gram_length:i! max_skip_count:i! min_gram_length:i! mode:s! ngram_counts:I! ngram_indexes:I! pool_int64s:I pool_strings:S weights:F / T=ils T1=f
ThresholdedRelu 10 T > T / alpha:f / T=dfh; 22 = / = / T=dfgh
Tile 6 T T1 > T /  / T=?BCILWbcdfhilsw T1=l; 13 = / = / T=?BCILWbcdfghilsw T1=l
TopK 1 T > T I / axis:i k:i! / T=dfh I=l; 10 T _l > T I / axis:i / T=dfh I=l _l=l; 11 = / axis:i largest:i sorted:i / T=BILWbdfhilw I=l _l=l; 24 = / = / T=BILWbdfghilw I=l _l=l
Transpose 1 T > T / perm:I / T=?BCILWbcdfhilsw; 13 = / = / T=?BCILWbcdfghilsw; 21 = / = / T=123456?BCILWbcdfghilsw; 23 = / = / T=1234567?BCILWbcdfghilsw; 24 = / = / T=12345678?BCILWbcdfghilsw; 25 = / = / T=any
Trilu 14 T _l? > T / upper:i / T=?BCILWbcdfghilsw _l=l
Unique 11 T > T _l? _l? _l? / axis:i sorted:i / T=?BCILWbcdfhilsw _l=l; 28 = / = / T=?BCILWbcdfghilsw _l=l
Unsqueeze 1 T > T / axes:I! / T=?BCILWbcdfhilsw; 13 T _l > T /  / T=?BCILWbcdfghilsw _l=l; 21 = / = / T=123456?BCILWbcdfghilsw _l=l; 23 = / = / T=1234567?BCILWbcdfghilsw _l=l; 24 = / = / T=12345678?BCILWbcdfghilsw _l=l; 25 = / = / T=any _l=l
Upsample 7 T > T / mode:s scales:F! / T=?BCILWbcdfhilsw; 9 T _f > T / mode:s / T=?BCILWbcdfhilsw _f=f
Where 9 B T T > T /  / B=? T=?BCILWbcdfhilsw; 16 = / = / B=? T=?BCILWbcdfghilsw
Xor 7 T T > T1 /  / T=? T1=?
)";

} // namespace kedge::model
