// RUN: kedge-opt %s --kedge-quantize-weights="weights=^a=nf4,^b=int8,^c=fp4 double-quantize" --kedge-statistics 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATISTICS < %t
// RUN: not kedge-opt %s --kedge-quantize-weights="weights=^a=nf3" 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not kedge-opt %s --kedge-quantize-weights="weights=(=nf4" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not kedge-opt %s --kedge-quantize-weights="weights=zzz=nf4" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not kedge-opt %s --kedge-quantize-weights="weights=trained=nf4" 2>&1 | FileCheck %s --check-prefix=TRAINED
// RUN: not kedge-opt %s --kedge-quantize-weights="weights=norm=nf4" 2>&1 | FileCheck %s --check-prefix=NORM
// RUN: not kedge-opt %s --kedge-quantize-weights="weights=table=int8" 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: not kedge-opt %s --kedge-quantize-weights="weights=half=int8" 2>&1 | FileCheck %s --check-prefix=HALF
// FORMAT: for the --weights option: '^a=nf3': expected REGEX=nf4, REGEX=fp4 or REGEX=int8
// REGEX: for the --weights option: '(=nf4': not a regular expression
// NONE: error: --quantize 'zzz=nf4': no frozen weight has such a name
// TRAINED: error: --quantize 'trained=nf4': 'trained' trains, and quantised weights cannot
// NORM: error: --quantize 'norm=nf4': 'norm' ('tensor<8xf32>') is no matrix
// TABLE: error: --quantize 'table=int8': 'table' is no weight of a MatMul, Gemm or Conv
// HALF: error: --quantize 'half=int8': 'half' ('tensor<8x8xf16>') is not stored in f32

// CHECK: train.state frozen @a tensor<128xui8> {tune.encoding = #tune.encoding<nf4 codes of tensor<16x16xf32> double true>}
// CHECK: train.state frozen @a.absmax tensor<4xui8> {{.*}}<nf4 absmax_codes
// CHECK: train.state frozen @a.nested_absmax tensor<1xf32>
// CHECK: train.state frozen @a.absmax_offset tensor<1xf32>
// CHECK: train.state frozen @b tensor<16x8xi8> {tune.encoding = #tune.encoding<int8 codes of tensor<16x8xf32> double false>}
// CHECK: train.state frozen @b.absmax tensor<1x8xf32>
train.state frozen @a tensor<16x16xf32>
train.state frozen @b tensor<16x8xf32>
train.state frozen @c tensor<8x8xf32>
train.state parameter @trained tensor<8x8xf32>
train.state frozen @norm tensor<8xf32>
train.state frozen @table tensor<8x8xf32>
train.state frozen @half tensor<8x8xf16>
// CHECK: func.func @model
// CHECK: %[[I:.*]] = onnx.Cast %{{.*}} {{.*}}to = i32
// CHECK: %[[T:.*]] = onnx.Gather %{{.*}}, %[[I]]
// CHECK: %[[S:.*]] = train.scale_blocks %[[T]], %{{.*}} {block = 256
// CHECK: %[[M:.*]] = onnx.Add %[[S]]
// CHECK: %[[W:.*]] = train.dequantize %{{.*}}, %[[M]] {block = 64 : i64, format = #tune.format<nf4>
// CHECK: onnx.MatMul %{{.*}}, %[[W]]
// CHECK: %[[B:.*]] = onnx.Mul
// CHECK: onnx.MatMul %{{.*}}, %[[B]]
func.func @model(%x: tensor<2x16xf32>, %a: tensor<16x16xf32> {train.binding = #train.binding<state @a>},
                 %b: tensor<16x8xf32> {train.binding = #train.binding<state @b>},
                 %c: tensor<8x8xf32> {train.binding = #train.binding<state @c>},
                 %p: tensor<8x8xf32> {train.binding = #train.binding<state @trained>},
                 %n: tensor<8xf32> {train.binding = #train.binding<state @norm>},
                 %t: tensor<8x8xf32> {train.binding = #train.binding<state @table>},
                 %h: tensor<8x8xf16> {train.binding = #train.binding<state @half>}) -> tensor<2x8xf32> attributes {train.kind = #train.kind<model>} {
  %0 = onnx.MatMul %x, %a {transB = true} : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
  %1 = onnx.MatMul %0, %b : (tensor<2x16xf32>, tensor<16x8xf32>) -> tensor<2x8xf32>
  %2 = onnx.MatMul %1, %c : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %3 = onnx.MatMul %2, %p : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %4 = onnx.Mul %3, %n : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %5 = onnx.Neg %t : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = onnx.Neg %h : (tensor<8x8xf16>) -> tensor<8x8xf16>
  return %4 : tensor<2x8xf32>
}
// STATISTICS: 3 kedge-quantize-weights weights
