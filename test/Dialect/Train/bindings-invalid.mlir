// RUN: kedge-opt %s --split-input-file --verify-diagnostics

// What an argument or result is outside the function, in the forms that hold.
train.state parameter @w tensor<4xf32>
func.func @good(%w: tensor<4xf32> {train.binding = #train.binding<state @w>},
                %x: tensor<2xf32> {train.binding = #train.binding<input "x">},
                %lr: tensor<f32> {train.binding = #train.binding<scalar "lr">}, %free: tensor<f32>)
    -> (tensor<4xf32> {train.binding = #train.binding<state @w>},
        tensor<4xf32> {train.binding = #train.binding<gradient @w>},
        tensor<f32> {train.binding = #train.binding<result "loss_sum">},
        tensor<f32> {train.binding = #train.binding<algorithm_output "loss">},
        tensor<2xf32> {train.binding = #train.binding<output "y" part 0 of tensor<4xf32>>},
        tensor<2xf32> {train.binding = #train.binding<output "y" part 2 of tensor<4xf32>>}) {
  return %w, %w, %lr, %lr, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error @+1 {{argument 1 is bound to @v, which is no train.state of the module}}
func.func @unknown(%x: tensor<4xf32>, %v: tensor<4xf32> {train.binding = #train.binding<state @v>}) {
  return
}

// -----

// expected-note @+1 {{the state is of type 'tensor<4xf32>'}}
train.state parameter @w tensor<4xf32>
// expected-error @+1 {{result 0 is bound to @w and of type 'tensor<2xf32>'}}
func.func @type(%x: tensor<2xf32>) -> (tensor<2xf32> {train.binding = #train.binding<gradient @w>}) {
  return %x : tensor<2xf32>
}

// -----

train.state parameter @w tensor<4xf32>
// expected-error @+1 {{argument 1 is bound to #train.binding<state @w>, as argument 0 is}}
func.func @twice(%a: tensor<4xf32> {train.binding = #train.binding<state @w>},
                 %b: tensor<4xf32> {train.binding = #train.binding<state @w>}) {
  return
}

// -----

// expected-error @+1 {{result 1 is bound to #train.binding<result "loss_sum">, as result 0 is}}
func.func @results(%x: tensor<f32>) -> (tensor<f32> {train.binding = #train.binding<result "loss_sum">},
                                        tensor<f32> {train.binding = #train.binding<result "loss_sum">}) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{argument 0 is bound as output, which no argument can be}}
func.func @kind(%x: tensor<f32> {train.binding = #train.binding<output "y">}) {
  return
}

// -----

// expected-error @+1 {{result 0 is bound as scalar, which no result can be}}
func.func @kind(%x: tensor<f32>) -> (tensor<f32> {train.binding = #train.binding<scalar "lr">}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{argument 0 has 'train.input', which the train dialect does not know; expected 'train.binding'}}
func.func @name(%x: tensor<f32> {train.input = "x"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has 'train.binding' = "x", expected a #train.binding}}
func.func @form(%x: tensor<f32> {train.binding = "x"}) {
  return
}

// -----

// expected-error @+1 {{state names "w", expected the symbol of a train.state}}
func.func @symbol(%x: tensor<f32> {train.binding = #train.binding<state "w">}) {
  return
}

// -----

// expected-error @+1 {{input names @x, expected a string}}
func.func @string(%x: tensor<f32> {train.binding = #train.binding<input @x>}) {
  return
}

// -----

// expected-error @+1 {{only outputs have parts, found one of kind input}}
func.func @part(%x: tensor<2xf32> {train.binding = #train.binding<input "x" part 0 of tensor<4xf32>>}) {
  return
}

// -----

// expected-error @+1 {{a part has a first element that is not negative, and the type of the whole tensor}}
func.func @first(%x: tensor<2xf32>) -> (tensor<2xf32> {train.binding = #train.binding<output "x" part -1 of tensor<4xf32>>}) {
  return %x : tensor<2xf32>
}

// -----

// expected-error @+1 {{is of type 'tensor<?x4xf32>', expected numbers of a static shape}}
train.state parameter @w tensor<?x4xf32>

// -----

// expected-error @+1 {{cannot be held: it has more than 2^44 elements}}
train.state parameter @w tensor<4294967296x4294967296xf32>

// -----

// expected-error @+1 {{is read from #train.weight<"model.onnx"[8, + -16]>: a place in a file is not negative}}
train.state parameter @w tensor<4xf32> from #train.weight<"model.onnx"[8, + -16]>
