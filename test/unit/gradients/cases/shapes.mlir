// The same elements elsewhere: shapes, permutations, parts, joins, borders, resampling.
func.func @identity(%x0: tensor<2x3xf64>, %x1: tensor<f64>, %x2: tensor<0x3xf64>) -> (tensor<2x3xf64>, tensor<f64>, tensor<0x3xf64>) {
  %0 = onnx.Identity %x0 : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %1 = onnx.Identity %x1 : (tensor<f64>) -> tensor<f64>
  %2 = onnx.Identity %x2 : (tensor<0x3xf64>) -> tensor<0x3xf64>
  return %0, %1, %2 : tensor<2x3xf64>, tensor<f64>, tensor<0x3xf64>
}
func.func @reshape(%x0: tensor<2x3xf64>, %x1: tensor<1xf64>, %x2: tensor<2x0xf64>) -> (tensor<3x2xf64>, tensor<f64>, tensor<0x5xf64>) {
  %0 = onnx.Reshape %x0 {shape = array<i64: 3, 2>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
  %1 = onnx.Reshape %x1 {shape = array<i64>} : (tensor<1xf64>) -> tensor<f64>
  %2 = onnx.Reshape %x2 {shape = array<i64: 0, 5>} : (tensor<2x0xf64>) -> tensor<0x5xf64>
  return %0, %1, %2 : tensor<3x2xf64>, tensor<f64>, tensor<0x5xf64>
}
func.func @transpose(%x0: tensor<2x3x4xf64>, %x1: tensor<1x3xf64>, %x2: tensor<0x3xf64>) -> (tensor<4x2x3xf64>, tensor<3x1xf64>, tensor<3x0xf64>) {
  %0 = onnx.Transpose %x0 {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
  %1 = onnx.Transpose %x1 {perm = array<i64: 1, 0>} : (tensor<1x3xf64>) -> tensor<3x1xf64>
  %2 = onnx.Transpose %x2 {perm = array<i64: 1, 0>} : (tensor<0x3xf64>) -> tensor<3x0xf64>
  return %0, %1, %2 : tensor<4x2x3xf64>, tensor<3x1xf64>, tensor<3x0xf64>
}
func.func @expand(%x0: tensor<3x1xf64>, %x1: tensor<f64>, %x2: tensor<1xf64>, %x3: tensor<1x3xf64>) -> (tensor<2x3x4xf64>, tensor<2x2xf64>, tensor<1xf64>, tensor<0x3xf64>) {
  %0 = onnx.Expand %x0 {shape = array<i64: 2, 3, 4>} : (tensor<3x1xf64>) -> tensor<2x3x4xf64>
  %1 = onnx.Expand %x1 {shape = array<i64: 2, 2>} : (tensor<f64>) -> tensor<2x2xf64>
  %2 = onnx.Expand %x2 {shape = array<i64: 1>} : (tensor<1xf64>) -> tensor<1xf64>
  %3 = onnx.Expand %x3 {shape = array<i64: 0, 3>} : (tensor<1x3xf64>) -> tensor<0x3xf64>
  return %0, %1, %2, %3 : tensor<2x3x4xf64>, tensor<2x2xf64>, tensor<1xf64>, tensor<0x3xf64>
}
func.func @tile(%x0: tensor<2x3xf64>, %x1: tensor<1xf64>, %x2: tensor<2x3xf64>, %x3: tensor<0x3xf64>) -> (tensor<4x9xf64>, tensor<4xf64>, tensor<2x0xf64>, tensor<0x6xf64>) {
  %0 = onnx.Tile %x0 {repeats = array<i64: 2, 3>} : (tensor<2x3xf64>) -> tensor<4x9xf64>
  %1 = onnx.Tile %x1 {repeats = array<i64: 4>} : (tensor<1xf64>) -> tensor<4xf64>
  %2 = onnx.Tile %x2 {repeats = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<2x0xf64>
  %3 = onnx.Tile %x3 {repeats = array<i64: 2, 2>} : (tensor<0x3xf64>) -> tensor<0x6xf64>
  return %0, %1, %2, %3 : tensor<4x9xf64>, tensor<4xf64>, tensor<2x0xf64>, tensor<0x6xf64>
}
func.func @trilu(%x0: tensor<3x4xf64>, %x1: tensor<2x3x3xf64>, %x2: tensor<1x1xf64>, %x3: tensor<0x3xf64>) -> (tensor<3x4xf64>, tensor<2x3x3xf64>, tensor<1x1xf64>, tensor<0x3xf64>) {
  %0 = onnx.Trilu %x0 {upper = true, k = 1 : i64} : (tensor<3x4xf64>) -> tensor<3x4xf64>
  %1 = onnx.Trilu %x1 {upper = false, k = -1 : i64} : (tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
  %2 = onnx.Trilu %x2 {upper = true, k = 0 : i64} : (tensor<1x1xf64>) -> tensor<1x1xf64>
  %3 = onnx.Trilu %x3 {upper = true, k = 0 : i64} : (tensor<0x3xf64>) -> tensor<0x3xf64>
  return %0, %1, %2, %3 : tensor<3x4xf64>, tensor<2x3x3xf64>, tensor<1x1xf64>, tensor<0x3xf64>
}
func.func @slice(%x0: tensor<3x5xf64>, %x1: tensor<3x5xf64>, %x2: tensor<3x5xf64>, %x3: tensor<3xf64>) -> (tensor<3x2xf64>, tensor<3x5xf64>, tensor<1x1xf64>, tensor<0xf64>) {
  %0 = onnx.Slice %x0 {starts = array<i64: 0, 1>, ends = array<i64: 3, 5>, steps = array<i64: 1, 2>} : (tensor<3x5xf64>) -> tensor<3x2xf64>
  %1 = onnx.Slice %x1 {starts = array<i64: 2, 0>, ends = array<i64: -4, 5>, steps = array<i64: -1, 1>} : (tensor<3x5xf64>) -> tensor<3x5xf64>
  %2 = onnx.Slice %x2 {starts = array<i64: 1, 4>, ends = array<i64: 2, 5>, steps = array<i64: 1, 1>} : (tensor<3x5xf64>) -> tensor<1x1xf64>
  %3 = onnx.Slice %x3 {starts = array<i64: 1>, ends = array<i64: 1>, steps = array<i64: 1>} : (tensor<3xf64>) -> tensor<0xf64>
  return %0, %1, %2, %3 : tensor<3x2xf64>, tensor<3x5xf64>, tensor<1x1xf64>, tensor<0xf64>
}
func.func @pad(%x0: tensor<2x3xf64>, %x1: tensor<2x3xf64>, %x2: tensor<2x3xf64>, %x3: tensor<2x3xf64>, %x4: tensor<3x4xf64>, %x5: tensor<1x1xf64>, %x6: tensor<0x2xf64>) -> (tensor<3x6xf64>, tensor<3x6xf64>, tensor<3x6xf64>, tensor<3x6xf64>, tensor<3x2xf64>, tensor<3x3xf64>, tensor<2x2xf64>) {
  %0 = onnx.Pad %x0 {mode = "constant", pads = array<i64: 0, 1, 1, 2>} : (tensor<2x3xf64>) -> tensor<3x6xf64>
  %1 = onnx.Pad %x1 {mode = "edge", pads = array<i64: 0, 1, 1, 2>} : (tensor<2x3xf64>) -> tensor<3x6xf64>
  %2 = onnx.Pad %x2 {mode = "reflect", pads = array<i64: 0, 1, 1, 2>} : (tensor<2x3xf64>) -> tensor<3x6xf64>
  %3 = onnx.Pad %x3 {mode = "wrap", pads = array<i64: 0, 1, 1, 2>} : (tensor<2x3xf64>) -> tensor<3x6xf64>
  %4 = onnx.Pad %x4 {mode = "constant", pads = array<i64: -1, 0, 1, -2>} : (tensor<3x4xf64>) -> tensor<3x2xf64>
  %5 = onnx.Pad %x5 {mode = "edge", pads = array<i64: 1, 0, 1, 2>} : (tensor<1x1xf64>) -> tensor<3x3xf64>
  %6 = onnx.Pad %x6 {mode = "constant", pads = array<i64: 1, 0, 1, 0>} : (tensor<0x2xf64>) -> tensor<2x2xf64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x6xf64>, tensor<3x6xf64>, tensor<3x6xf64>, tensor<3x6xf64>, tensor<3x2xf64>, tensor<3x3xf64>, tensor<2x2xf64>
}
func.func @pad_value(%x: tensor<2xf64>, %c: tensor<f64> {check.constant}) -> tensor<4xf64> {
  %0 = onnx.Pad %x, %c {mode = "constant", pads = array<i64: 1, 1>} : (tensor<2xf64>, tensor<f64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
func.func @concat(%a: tensor<2x3xf64>, %b: tensor<2x1xf64>, %c: tensor<2x0xf64>, %d: tensor<1xf64>, %e: tensor<2xf64>) -> (tensor<2x7xf64>, tensor<3xf64>) {
  %0 = onnx.Concat %a, %b, %c, %a {axis = 1 : i64} : (tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x0xf64>, tensor<2x3xf64>) -> tensor<2x7xf64>
  %1 = onnx.Concat %d, %e {axis = 0 : i64} : (tensor<1xf64>, tensor<2xf64>) -> tensor<3xf64>
  return %0, %1 : tensor<2x7xf64>, tensor<3xf64>
}
func.func @split(%x: tensor<2x6xf64>, %y: tensor<3xf64>) -> (tensor<2x1xf64>, tensor<2x0xf64>, tensor<2x5xf64>, tensor<1xf64>) {
  %0:3 = onnx.Split %x {axis = 1 : i64, split = array<i64: 1, 0, 5>} : (tensor<2x6xf64>) -> (tensor<2x1xf64>, tensor<2x0xf64>, tensor<2x5xf64>)
  %1:2 = onnx.Split %y {axis = 0 : i64, split = array<i64: 2, 1>} : (tensor<3xf64>) -> (tensor<2xf64>, tensor<1xf64>)
  return %0#0, %0#1, %0#2, %1#1 : tensor<2x1xf64>, tensor<2x0xf64>, tensor<2x5xf64>, tensor<1xf64>
}
func.func @resize(%x0: tensor<1x2x3x3xf64>, %x1: tensor<1x1x4x4xf64>, %x2: tensor<1x2x3xf64>, %x3: tensor<1x1x4x4xf64>, %x4: tensor<1x1x1xf64>) -> (tensor<1x2x5x4xf64>, tensor<1x1x2x3xf64>, tensor<1x2x6xf64>, tensor<1x1x6x3xf64>, tensor<1x1x3xf64>) {
  %0 = onnx.Resize %x0 {sizes = array<i64: 1, 2, 5, 4>, mode = "linear", coordinate_transformation_mode = "half_pixel", nearest_mode = "round_prefer_floor", cubic_coeff_a = -0.75 : f32, exclude_outside = false, extrapolation_value = 0.0 : f32, antialias = false} : (tensor<1x2x3x3xf64>) -> tensor<1x2x5x4xf64>
  %1 = onnx.Resize %x1 {sizes = array<i64: 1, 1, 2, 3>, mode = "linear", coordinate_transformation_mode = "align_corners", nearest_mode = "round_prefer_floor", cubic_coeff_a = -0.75 : f32, exclude_outside = false, extrapolation_value = 0.0 : f32, antialias = false} : (tensor<1x1x4x4xf64>) -> tensor<1x1x2x3xf64>
  %2 = onnx.Resize %x2 {sizes = array<i64: 1, 2, 6>, mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor", cubic_coeff_a = -0.75 : f32, exclude_outside = false, extrapolation_value = 0.0 : f32, antialias = false} : (tensor<1x2x3xf64>) -> tensor<1x2x6xf64>
  %3 = onnx.Resize %x3 {sizes = array<i64: 1, 1, 6, 3>, mode = "cubic", coordinate_transformation_mode = "half_pixel", nearest_mode = "round_prefer_floor", cubic_coeff_a = -0.75 : f32, exclude_outside = false, extrapolation_value = 0.0 : f32, antialias = false} : (tensor<1x1x4x4xf64>) -> tensor<1x1x6x3xf64>
  %4 = onnx.Resize %x4 {sizes = array<i64: 1, 1, 3>, mode = "linear", coordinate_transformation_mode = "half_pixel", nearest_mode = "round_prefer_floor", cubic_coeff_a = -0.75 : f32, exclude_outside = false, extrapolation_value = 0.0 : f32, antialias = false} : (tensor<1x1x1xf64>) -> tensor<1x1x3xf64>
  return %0, %1, %2, %3, %4 : tensor<1x2x5x4xf64>, tensor<1x1x2x3xf64>, tensor<1x2x6xf64>, tensor<1x1x6x3xf64>, tensor<1x1x3xf64>
}
// Points inside, beyond the edge, and in more dimensions; cubic taps reach further than linear ones.
func.func @grid_sample(%x: tensor<2x2x3x4xf64>, %g: tensor<2x2x3x2xf64> {check.range = [-1.3, 1.3]}, %v: tensor<1x1x2x3x2xf64>, %h: tensor<1x2x1x2x3xf64>, %n: tensor<2x1x2x2xf64> {check.constant}) -> (tensor<2x2x2x3xf64>, tensor<2x2x2x3xf64>, tensor<2x2x2x3xf64>, tensor<1x1x2x1x2xf64>, tensor<2x2x1x2xf64>) {
  %0 = onnx.GridSample %x, %g {align_corners = false, mode = "linear", padding_mode = "zeros"} : (tensor<2x2x3x4xf64>, tensor<2x2x3x2xf64>) -> tensor<2x2x2x3xf64>
  %1 = onnx.GridSample %x, %g {align_corners = true, mode = "cubic", padding_mode = "border"} : (tensor<2x2x3x4xf64>, tensor<2x2x3x2xf64>) -> tensor<2x2x2x3xf64>
  %2 = onnx.GridSample %x, %g {align_corners = false, mode = "linear", padding_mode = "reflection"} : (tensor<2x2x3x4xf64>, tensor<2x2x3x2xf64>) -> tensor<2x2x2x3xf64>
  %3 = onnx.GridSample %v, %h {align_corners = true, mode = "linear", padding_mode = "zeros"} : (tensor<1x1x2x3x2xf64>, tensor<1x2x1x2x3xf64>) -> tensor<1x1x2x1x2xf64>
  %4 = onnx.GridSample %x, %n {align_corners = false, mode = "nearest", padding_mode = "zeros"} : (tensor<2x2x3x4xf64>, tensor<2x1x2x2xf64>) -> tensor<2x2x1x2xf64>
  return %0, %1, %2, %3, %4 : tensor<2x2x2x3xf64>, tensor<2x2x2x3xf64>, tensor<2x2x2x3xf64>, tensor<1x1x2x1x2xf64>, tensor<2x2x1x2xf64>
}
