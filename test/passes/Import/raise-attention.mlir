// RUN: kedge-opt %s --pass-pipeline='builtin.module(func.func(kedge-raise-attention))' 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t

// GPT-2's: transposes become layouts, the constant mask becomes causal.
// CHECK-LABEL: @causal
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = train.attention %arg0, %arg1, %arg2 sees(causal) {k_layout = "bthd", o_layout = "bthd", q_layout = "bthd", scale = 5.000000e-01 : f64, v_layout = "bthd"}
// CHECK-NEXT: return %[[Y]]
func.func @causal(%q: tensor<2x3x2x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x4xf32>) -> tensor<2x3x2x4xf32> {
  %visible = onnx.Constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %lowest = onnx.Constant dense<-3.40282347E+38> : tensor<f32>
  %scale = onnx.Constant dense<0.5> : tensor<f32>
  %m = onnx.Where %visible, %zero, %lowest : (tensor<3x3xi1>, tensor<f32>, tensor<f32>) -> tensor<3x3xf32>
  %mask = onnx.Expand %m {shape = array<i64: 2, 1, 3, 3>} : (tensor<3x3xf32>) -> tensor<2x1x3x3xf32>
  %0 = onnx.Transpose %q {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x3x2x4xf32>) -> tensor<2x2x3x4xf32>
  %1 = onnx.Transpose %k {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x3x2x4xf32>) -> tensor<2x2x3x4xf32>
  %2 = onnx.Transpose %v {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x3x2x4xf32>) -> tensor<2x2x3x4xf32>
  %3 = onnx.Transpose %1 {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x2x3x4xf32>) -> tensor<2x2x4x3xf32>
  %4 = onnx.MatMul %0, %3 : (tensor<2x2x3x4xf32>, tensor<2x2x4x3xf32>) -> tensor<2x2x3x3xf32>
  %5 = onnx.Mul %4, %scale : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %6 = onnx.Add %5, %mask : (tensor<2x2x3x3xf32>, tensor<2x1x3x3xf32>) -> tensor<2x2x3x3xf32>
  %7 = onnx.Softmax %6 {axis = 3} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %8 = onnx.MatMul %7, %2 : (tensor<2x2x3x3xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x4xf32>
  %9 = onnx.Transpose %8 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32>
  return %9 : tensor<2x3x2x4xf32>
}

// BERT's: keys in one transpose, scales on both operands, a padding mask that hangs on an input. What hides
// nothing leaves the mask.
// CHECK-LABEL: @padding
// CHECK: %[[MASK:.*]] = onnx.Where %arg3, %{{.*}}, %{{.*}} : (tensor<2x1x1x3xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x3xf32>
// CHECK-NEXT: train.attention %arg0, %arg1, %arg2, %[[MASK]] {k_layout = "bthd", scale = 1.250000e-01 : f64}
func.func @padding(%q: tensor<2x2x3x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x2x3x4xf32>, %pad: tensor<2x1x1x3xi1>) -> tensor<2x2x3x4xf32> {
  %all = onnx.Constant dense<true> : tensor<1x1x3x1xi1>
  %zero = onnx.Constant dense<0.0> : tensor<f32>
  %lowest = onnx.Constant dense<-3.40282347E+38> : tensor<f32>
  %quarter = onnx.Constant dense<0.25> : tensor<f32>
  %two = onnx.Constant dense<2.0> : tensor<f32>
  %both = onnx.And %all, %pad : (tensor<1x1x3x1xi1>, tensor<2x1x1x3xi1>) -> tensor<2x1x3x3xi1>
  %mask = onnx.Where %both, %zero, %lowest : (tensor<2x1x3x3xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x3x3xf32>
  %0 = onnx.Mul %q, %quarter : (tensor<2x2x3x4xf32>, tensor<f32>) -> tensor<2x2x3x4xf32>
  %1 = onnx.Transpose %k {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x3x2x4xf32>) -> tensor<2x2x4x3xf32>
  %2 = onnx.Div %1, %two : (tensor<2x2x4x3xf32>, tensor<f32>) -> tensor<2x2x4x3xf32>
  %3 = onnx.MatMul %0, %2 : (tensor<2x2x3x4xf32>, tensor<2x2x4x3xf32>) -> tensor<2x2x3x3xf32>
  %4 = onnx.Add %mask, %3 : (tensor<2x1x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %5 = onnx.Softmax %4 {axis = 3} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %6 = onnx.MatMul %5, %v : (tensor<2x2x3x3xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x4xf32>
  return %6 : tensor<2x2x3x4xf32>
}

// Llama's groups: keys and values lose their repetition. T5 has no scale. A softcap is taken along.
// CHECK-LABEL: @groups
// CHECK-NEXT: train.attention %arg0, %arg1, %arg2 {scale = 1.000000e+00 : f64, softcap = 3.000000e+01 : f64} : (tensor<2x4x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>)
func.func @groups(%q: tensor<2x4x3x4xf32>, %k: tensor<2x2x3x4xf32>, %v: tensor<2x2x3x4xf32>) -> tensor<2x4x3x4xf32> {
  %cap = onnx.Constant dense<30.0> : tensor<f32>
  %0 = onnx.Reshape %k {shape = array<i64: 2, 2, 1, 3, 4>} : (tensor<2x2x3x4xf32>) -> tensor<2x2x1x3x4xf32>
  %1 = onnx.Expand %0 {shape = array<i64: 2, 2, 2, 3, 4>} : (tensor<2x2x1x3x4xf32>) -> tensor<2x2x2x3x4xf32>
  %2 = onnx.Reshape %1 {shape = array<i64: 2, 4, 3, 4>} : (tensor<2x2x2x3x4xf32>) -> tensor<2x4x3x4xf32>
  %3 = onnx.Reshape %v {shape = array<i64: 2, 2, 1, 3, 4>} : (tensor<2x2x3x4xf32>) -> tensor<2x2x1x3x4xf32>
  %4 = onnx.Expand %3 {shape = array<i64: 2, 2, 2, 3, 4>} : (tensor<2x2x1x3x4xf32>) -> tensor<2x2x2x3x4xf32>
  %5 = onnx.Reshape %4 {shape = array<i64: 2, 4, 3, 4>} : (tensor<2x2x2x3x4xf32>) -> tensor<2x4x3x4xf32>
  %6 = onnx.Transpose %2 {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x3x4xf32>) -> tensor<2x4x4x3xf32>
  %7 = onnx.MatMul %q, %6 : (tensor<2x4x3x4xf32>, tensor<2x4x4x3xf32>) -> tensor<2x4x3x3xf32>
  %8 = onnx.Div %7, %cap : (tensor<2x4x3x3xf32>, tensor<f32>) -> tensor<2x4x3x3xf32>
  %9 = onnx.Tanh %8 : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %10 = onnx.Mul %9, %cap : (tensor<2x4x3x3xf32>, tensor<f32>) -> tensor<2x4x3x3xf32>
  %11 = onnx.Softmax %10 {axis = 3} : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %12 = onnx.MatMul %11, %5 : (tensor<2x4x3x3xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  return %12 : tensor<2x4x3x4xf32>
}

// A mask that is an operand of Where; a Dropout of the probabilities in training is taken along with its id.
// CHECK-LABEL: @dropout
// CHECK-NEXT: %[[NONE:.*]], %{{.*}} = train.attention %arg0, %arg1, %arg2, %arg3 {scale = 1.000000e+00 : f64}
// CHECK-NEXT: %[[SOME:.*]], %{{.*}} = train.attention %arg0, %arg1, %arg2, %arg3 {op_id = 2 : i64, ratio = 2.000000e-01 : f32, scale = 1.000000e+00 : f64, training_mode = true}
// CHECK-NEXT: return %[[NONE]], %[[SOME]]
func.func @dropout(%q: tensor<2x2x3x4xf32>, %k: tensor<2x2x3x4xf32>, %v: tensor<2x2x3x4xf32>, %m: tensor<2x1x3x3xi1>) -> (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>) {
  %lowest = onnx.Constant dense<0xFF800000> : tensor<f32>
  %0 = onnx.MatMul %q, %k {transB = true} : (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x3xf32>
  %1 = onnx.Where %m, %0, %lowest : (tensor<2x1x3x3xi1>, tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %2 = onnx.Softmax %1 {axis = 3} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %3 = onnx.Dropout %2 {ratio = 0.000000e+00 : f32, training_mode = true, op_id = 1} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %4 = onnx.Dropout %2 {ratio = 0.200000e+00 : f32, training_mode = true, op_id = 2} : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %5 = onnx.MatMul %3, %v : (tensor<2x2x3x3xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x4xf32>
  %6 = onnx.MatMul %4, %v : (tensor<2x2x3x3xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x4xf32>
  return %5, %6 : tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>
}

// An attention that was one op in the model gets rid of its constant mask and of transposes.
// CHECK-LABEL: @whole
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = train.attention %arg0, %arg1, %arg2 sees(causal) {o_layout = "bthd", q_layout = "bthd", scale = 5.000000e-01 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @whole(%q: tensor<2x3x2x4xf32>, %k: tensor<2x2x3x4xf32>, %v: tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32> {
  %mask = onnx.Constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>
  %0 = onnx.Transpose %q {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x3x2x4xf32>) -> tensor<2x2x3x4xf32>
  %1:2 = train.attention %0, %k, %v, %mask {scale = 0.5} : (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<3x3xi1>) -> (tensor<2x2x3x4xf32>, tensor<2x2x3xf32>)
  %2 = onnx.Transpose %1#0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x2x3x4xf32>) -> tensor<2x3x2x4xf32>
  return %2 : tensor<2x3x2x4xf32>
}

// A large mask that is computed from positions, alike for every sample, is evaluated for one.
// CHECK-LABEL: @computed
// CHECK: train.attention %arg0, %arg1, %arg2 sees(causal) {scale = 5.000000e-01 : f64}
func.func @computed(%q: tensor<4x2x300x4xf32>, %k: tensor<4x2x300x4xf32>, %v: tensor<4x2x300x4xf32>) -> tensor<4x2x300x4xf32> {
  %zero = onnx.Constant dense<0> : tensor<i64>
  %one = onnx.Constant dense<1> : tensor<i64>
  %shown = onnx.Constant dense<0.0> : tensor<f32>
  %lowest = onnx.Constant dense<-3.40282347E+38> : tensor<f32>
  %p = onnx.Range %zero, %one {size = 300 : i64} : (tensor<i64>, tensor<i64>) -> tensor<300xi64>
  %column = onnx.Reshape %p {shape = array<i64: 300, 1>} : (tensor<300xi64>) -> tensor<300x1xi64>
  %rows = onnx.Expand %column {shape = array<i64: 4, 1, 300, 1>} : (tensor<300x1xi64>) -> tensor<4x1x300x1xi64>
  %0 = onnx.LessOrEqual %p, %rows : (tensor<300xi64>, tensor<4x1x300x1xi64>) -> tensor<4x1x300x300xi1>
  %1 = onnx.Where %0, %shown, %lowest : (tensor<4x1x300x300xi1>, tensor<f32>, tensor<f32>) -> tensor<4x1x300x300xf32>
  %2:2 = train.attention %q, %k, %v, %1 {scale = 0.5} : (tensor<4x2x300x4xf32>, tensor<4x2x300x4xf32>, tensor<4x2x300x4xf32>, tensor<4x1x300x300xf32>) -> (tensor<4x2x300x4xf32>, tensor<4x2x300xf32>)
  return %2#0 : tensor<4x2x300x4xf32>
}

// The last two keys, of both sides, and behind two keys of a cache; two masks add up to their intersection.
// CHECK-LABEL: @windows
// CHECK: train.attention %arg0, %arg1, %arg2 sees(causal, left = 1) {scale = 5.000000e-01 : f64}
// CHECK: train.attention %arg0, %arg1, %arg2 sees(left = 1, right = 1) {scale = 5.000000e-01 : f64}
// CHECK: train.attention %arg0, %arg3, %arg3 sees(left = 0, right = 2) {scale = 5.000000e-01 : f64}
// CHECK: train.attention %arg0, %arg1, %arg2 sees(causal, left = 2) {scale = 5.000000e-01 : f64}
func.func @windows(%q: tensor<1x1x4x4xf32>, %k: tensor<1x1x4x4xf32>, %v: tensor<1x1x4x4xf32>, %long: tensor<1x1x6x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %last = onnx.Constant dense<[[0.0, -3.4e38, -3.4e38, -3.4e38], [0.0, 0.0, -3.4e38, -3.4e38], [-3.4e38, 0.0, 0.0, -3.4e38], [-3.4e38, -3.4e38, 0.0, 0.0]]> : tensor<4x4xf32>
  %sides = onnx.Constant dense<[[[[true, true, false, false], [true, true, true, false], [false, true, true, true], [false, false, true, true]]]]> : tensor<1x1x4x4xi1>
  %cache = onnx.Constant dense<[[true, true, true, false, false, false], [false, true, true, true, false, false], [false, false, true, true, true, false], [false, false, false, true, true, true]]> : tensor<4x6xi1>
  %before = onnx.Constant dense<[[0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %near = onnx.Constant dense<[[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0xFF800000, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %both = onnx.Add %before, %near : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %0:2 = train.attention %q, %k, %v, %last {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  %1:2 = train.attention %q, %k, %v, %sides {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xi1>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  %2:2 = train.attention %q, %long, %long, %cache {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<4x6xi1>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  %3:2 = train.attention %q, %k, %v, %both {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  return %0#0, %1#0, %2#0, %3#0 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// One element off: a mask that shows or hides one pair too many, or is neither 0 nor hidden somewhere, and one whose
// finite numbers hide all keys of a query, stay tensors. Remarks say so.
// CHECK-LABEL: @nearly
// CHECK-COUNT-4: train.attention %arg0, %arg1, %arg2, %{{.*}} {scale = 5.000000e-01 : f64}
// REMARKS-COUNT-4: remark: reads a mask of 'tensor<4x4x{{.*}}', {{16|64}} bytes, element by element: its values are neither causal nor a window
// REMARKS: remark: reads a mask of 'tensor<4x4xi1>', 16 bytes, element by element: its values are not known when compiling
func.func @nearly(%q: tensor<1x1x4x4xf32>, %k: tensor<1x1x4x4xf32>, %v: tensor<1x1x4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) {
  %more = onnx.Constant dense<[[true, false, false, false], [true, true, false, false], [true, true, true, true], [true, true, true, true]]> : tensor<4x4xi1>
  %less = onnx.Constant dense<[[0.0, -3.4e38, -3.4e38, -3.4e38], [0.0, 0.0, -3.4e38, -3.4e38], [-3.4e38, 0.0, 0.0, -3.4e38], [-3.4e38, -3.4e38, -3.4e38, 0.0]]> : tensor<4x4xf32>
  %bias = onnx.Constant dense<[[0.0, -3.4e38, -3.4e38, -3.4e38], [0.5, 0.0, -3.4e38, -3.4e38], [0.0, 0.0, 0.0, -3.4e38], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %none = onnx.Constant dense<[[-3.4e38, -3.4e38, -3.4e38, -3.4e38], [0.0, -3.4e38, -3.4e38, -3.4e38], [0.0, 0.0, -3.4e38, -3.4e38], [0.0, 0.0, 0.0, -3.4e38]]> : tensor<4x4xf32>
  %0:2 = train.attention %q, %k, %v, %more {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<4x4xi1>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  %1:2 = train.attention %q, %k, %v, %less {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  %2:2 = train.attention %q, %k, %v, %bias {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  %3:2 = train.attention %q, %k, %v, %none {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<4x4xf32>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  return %0#0, %1#0, %2#0, %3#0 : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
}

// CHECK-LABEL: @given
// CHECK: train.attention %arg0, %arg0, %arg0, %arg1 sees(causal) {scale = 5.000000e-01 : f64}
func.func @given(%q: tensor<1x1x4x4xf32>, %mask: tensor<4x4xi1>) -> tensor<1x1x4x4xf32> {
  %0:2 = train.attention %q, %q, %q, %mask sees(causal) {scale = 0.5} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<4x4xi1>) -> (tensor<1x1x4x4xf32>, tensor<1x1x4xf32>)
  return %0#0 : tensor<1x1x4x4xf32>
}
