// Level 2: how a step is cut over ranks by dimensions of single tensors.
#ifndef KEDGE_MESH_PASSES
#define KEDGE_MESH_PASSES
include "passes/Base/KedgePass.td"

class MeshPass<string name> : KedgePass<name, "mlir::ModuleOp"> {
  let dependentDialects = ["kedge::KedgeDialect", "kedge::dist::DistDialect", "kedge::onnx::ONNXDialect",
                           "kedge::train::TrainDialect", "kedge::sched::SchedDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect"];
}

def PropagateShardings : MeshPass<"kedge-propagate-shardings"> {
  let summary = "Which dimension of each tensor the ranks along `tensor` cut";
  let description = [{
    Runs on level 2 with everything in it: gradients, precision, optimizer. Writes `dist.cut` on states (the dimension) and on
    ops (the loop of the op's sharding rule), which kedge-localize carries out; what has none is whole on every rank. Products
    with a parameter alternate: the columns of the weight are cut where the other operand is whole, its rows where that is cut
    along them already. From there layouts go through each op by its rule (ShardingOpInterface, or the loops of
    ClusterableOpInterface), each op by the way that sends the fewest bytes. A table of an embedding that nothing else cuts is
    cut by rows. Only blocks of equal size: a dimension that the ranks do not divide stays whole. A remark names each product
    that stays whole, with the bytes of its weight.

    `dist.annotations` on the module (what the file's device configuration says of its nodes) takes the place of that choice: states
    have the layout of the first node that names them, ops are cut along the loop that the specs of their node's tensors run along,
    and results are as its output's spec says; what nothing is said of follows from what it reads. `shard` names dimensions of
    parameters that are cut, REGEX=tensor:DIM.

    With `sequence-parallel`, `dist.scatter` on a product whose sum goes over ranks says along which rows each rank keeps its block
    of it: the outermost of the result's dimensions that the ranks divide, batch before sequence. What follows (residuals, norms,
    dropout) is computed on these rows alone, up to the next product with a weight that is cut by columns, which reads all rows.

    Example:
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
      train.state parameter @w tensor<4x6xf32>
      func.func @step(%x: tensor<8x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4x6xf32> {train.binding = #train.binding<state @w>})
          -> (tensor<8x6xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
        %y = onnx.MatMul %x, %w {kedge.place = #kedge.place<forward "", "y">} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
        return %y : tensor<8x6xf32>
      }
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<4x6xf32> {dist.cut = #dist.cut<1 over "tensor" = 2>}
    func.func @step(%x: ..., %w: ...) -> ... {
      %y = onnx.MatMul %x, %w {dist.cut = #dist.cut<1 over "tensor" = 2>, kedge.place = ...} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      return %y : tensor<8x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"states cut", "states that ranks hold a part of">,
                    Counter<"bytes saved", "of these states on a rank">, Counter<"ops cut", "ops that compute a part">,
                    Counter<"sums scattered", "sums that leave a part on each rank">,
                    Counter<"products whole", "products that each rank computes in full">];
  let options = [Option<"sequenceParallel", "sequence-parallel", "bool", "true", "residuals and norms between cut products are cut by rows">,
                 ListOption<"shard", "shard", "kedge::mesh::GivenCut", "parameters and the dimension that is cut, REGEX=tensor:DIM each">];
}

def SetExpertLoad : MeshPass<"kedge-set-expert-load"> {
  let summary = "Grouped products say how many rows each expert is likely to have";
  let description = [{
    Runs before kedge-cut-experts on functions with gradients. `load` is the file of --expert-load; the layers that it names are those
    that kedge-count-experts counts. All products of a layer get the shares of its experts as `load`, which predicted times follow;
    no number changes. Along `expert` a remark says how many times its even share the busiest rank gets, beside `capacity`. A
    file that does not fit the model is an error with its line.

    Example, of a file that holds [[1, 3, 0, 0]]: `--kedge-set-expert-load=load=test/passes/Mesh/Inputs/expert-load.json`
    ```mlir
    func.func @step(%x: tensor<6x3xf32> {train.binding = #train.binding<input "x">}, %e: tensor<6x1xi64> {train.binding = #train.binding<input "e">},
                    %w: tensor<4x3x5xf32> {train.binding = #train.binding<input "w">})
        -> (tensor<6x1x5xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
      %y = train.grouped_matmul %x, %e, %w {kedge.place = #kedge.place<forward "", "y">} : (tensor<6x3xf32>, tensor<6x1xi64>, tensor<4x3x5xf32>) -> tensor<6x1x5xf32>
      return %y : tensor<6x1x5xf32>
    }
    ```
    becomes
    ```mlir
    %y = train.grouped_matmul %x, %e, %w {kedge.place = ..., load = array<f64: 2.500000e-01, 7.500000e-01, 0.000000e+00, 0.000000e+00>} : ...
    ```
  }];
  let statistics = [Counter<"layers", "whose products have a load">];
  let options = [Option<"load", "load", "kedge::mesh::ExpertLoad", "kedge::mesh::ExpertLoad()", "file with the rows of each expert, by layer">,
                 Option<"capacity", "capacity", "double", "0", "as of kedge-cut-experts, for the remark">];
}

def CutExperts : MeshPass<"kedge-cut-experts"> {
  let summary = "Ranks along `expert` have experts of their own, and rows go to them";
  let description = [{
    Runs on functions with gradients, before these are summed. Parameters, frozen tensors and working copies [E, ...] of which every function reads
    the slices of chosen experts alone (matrices of train.grouped_matmul, rows of a gather) become those of the rank's own experts, with
    `sharding` along `expert`. A grouped product is computed on the rows that dist.dispatch brings, with `skips` for what is behind them, and
    dist.combine gives its rows back to the ranks of their tokens. What lies between two products (activations, gates, biases, and
    their gradients) is computed on these rows: by its sharding rule, no row of it depends on another. So a feed-forward sends the
    rows of its tokens and gets those of its result, and as much in the backward pass. Counts by expert are gathered first, once for
    each choice.

    Rows have room for the most that can come: those of all ranks' places, or for as many of a token as a rank has experts, where they are
    TopK's. With `capacity` X, for X times the rank's own places; a step in which more come ends with an error.

    Example:
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["expert"] = [2]>} {
      train.state parameter @w tensor<4x3x5xf32>
      func.func @eval(%x: tensor<6x3xf32> {train.binding = #train.binding<input "x">}, %e: tensor<6x1xi64> {train.binding = #train.binding<input "e">},
                      %w: tensor<4x3x5xf32> {train.binding = #train.binding<state @w>})
          -> (tensor<6x1x5xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<eval>} {
        %y = train.grouped_matmul %x, %e, %w {kedge.place = #kedge.place<forward "", "y">} : (tensor<6x3xf32>, tensor<6x1xi64>, tensor<4x3x5xf32>) -> tensor<6x1x5xf32>
        return %y : tensor<6x1x5xf32>
      }
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<2x3x5xf32> {sharding = #dist.sharding<[4, 3, 5] cut[<0 over "expert" = 2>]>}
    func.func @eval(%x: ..., %e: ..., %w: tensor<2x3x5xf32> ...) -> ... {
      ...
      %counts = dist.all_gather %own {axis = "expert", kedge.place = ..., ranks = 2 : i64} : (tensor<4xi64>) -> tensor<8xi64>
      ...
      %experts = dist.dispatch %within, %e, %counts {count = 4 : i64, kedge.place = ..., padding = 2 : i64, ranks = 2 : i64} : (tensor<6x1xi64>, tensor<6x1xi64>, tensor<8xi64>) -> tensor<12x1xi64>
      %rows = dist.dispatch %x, %e, %counts {count = 4 : i64, kedge.place = ..., ranks = 2 : i64} : (tensor<6x3xf32>, tensor<6x1xi64>, tensor<8xi64>) -> tensor<12x3xf32>
      %made = train.grouped_matmul %rows, %experts, %w {expected = 6 : i64, kedge.place = ..., skips = true} : (tensor<12x3xf32>, tensor<12x1xi64>, tensor<2x3x5xf32>) -> tensor<12x1x5xf32>
      %flat = onnx.Reshape %made {...} : (tensor<12x1x5xf32>) -> tensor<12x5xf32>
      %back = dist.combine %flat, %e, %counts {count = 4 : i64, kedge.place = ..., ranks = 2 : i64} : (tensor<12x5xf32>, tensor<6x1xi64>, tensor<8xi64>) -> tensor<6x5xf32>
      %y = onnx.Reshape %back {...} : (tensor<6x5xf32>) -> tensor<6x1x5xf32>
    ```
  }];
  let statistics = [Counter<"states cut", "states of the rank's own experts">, Counter<"bytes saved", "of these states on a rank">,
                    Counter<"dispatches", "tensors whose rows go to other ranks">];
  let options = [Option<"capacity", "capacity", "double", "0", "rows that a rank has room for, in its own places; 0: the most that can come">];
}

def CutContext : MeshPass<"kedge-cut-context"> {
  let summary = "Ranks along `context` have positions of their own";
  let description = [{
    Runs on functions with gradients, before these are summed. Inputs [rows, T, ...], where T is the number of queries of all attention, are
    cut along T: each rank has T / N positions in a row. What follows from them is computed on the rank's positions, by the op's
    PositionOpInterface, else by its sharding rule; what no input reaches (tables by position, masks) is computed for these positions,
    too. Attention reads keys and values of all ranks, which are gathered, and knows the places of the rank's queries; their
    gradients are sums over the ranks, of which each keeps its positions. Gradients of parameters stay the rank's own summands, for
    kedge-reduce-gradients; results are those of all positions. Predictions, which are outputs of all positions, each rank computes by
    itself. An op of floats that needs all positions otherwise is an
    error, except for slices and lookups.

    Example:
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["context"] = [2]>} {
      func.func @eval(%x: tensor<1x4x2x3xf32> {train.binding = #train.binding<input "x">}) -> (tensor<1x4x2x3xf32> {train.binding = #train.binding<output "y">})
          attributes {train.kind = #train.kind<eval>} {
        %y, %lse = train.attention %x, %x, %x sees(causal) {k_layout = "bthd", kedge.place = #kedge.place<forward "", "y">, o_layout = "bthd", q_layout = "bthd", scale = 1.0 : f64, v_layout = "bthd"}
            : (tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>) -> (tensor<1x4x2x3xf32>, tensor<1x2x4xf32>)
        return %y : tensor<1x4x2x3xf32>
      }
    }
    ```
    becomes
    ```mlir
    func.func @eval(%x: ...) -> ... {
      ...
      %own = dist.local_shard %parts {axis = "context", kedge.place = ..., ranks = 2 : i64} : (tensor<2x1x2x6xf32>) -> tensor<12xf32>
      %q = onnx.Reshape %own {kedge.place = ..., shape = array<i64: 1, 2, 2, 3>} : (tensor<12xf32>) -> tensor<1x2x2x3xf32>
      %numbers = onnx.Constant dense<[0, 3, 1, 2]> : tensor<4xi64>
      %places = dist.local_shard %numbers {axis = "context", kedge.place = ..., ranks = 2 : i64} : (tensor<4xi64>) -> tensor<2xi64>
      %o, %lse = train.attention %q, %x, %x places(%places) sees(causal) {...} : (tensor<1x2x2x3xf32>, tensor<1x4x2x3xf32>, tensor<1x4x2x3xf32>, tensor<2xi64>) -> (tensor<1x2x2x3xf32>, tensor<1x2x2xf32>)
      %flat = onnx.Reshape %o {kedge.place = ..., shape = array<i64: 12>} : (tensor<1x2x2x3xf32>) -> tensor<12xf32>
      %all = dist.all_gather %flat {axis = "context", kedge.place = ..., ranks = 2 : i64} : (tensor<12xf32>) -> tensor<2x1x2x6xf32>
      ...
    ```
  }];
  let statistics = [Counter<"ops cut", "ops on a rank's positions">, Counter<"gathers", "of positions of all ranks">,
                    Counter<"sums", "over the ranks, of values that are no gradients of parameters">];
}

def ShowShardingRules : MeshPass<"kedge-show-sharding-rules"> {
  let summary = "Print the sharding rule of each op";
  let description = [{
    Writes a line an op to standard error and changes nothing. Dimensions that run along one loop have one letter, a dot is a
    dimension that stays whole; `sums` are loops over which results are sums, `sections` those of several tensors in a row, each
    of which is cut by itself. `whole`: the op has no rule.

    Example:
    ```mlir
    func.func @step(%x: tensor<8x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4x6xf32> {train.binding = #train.binding<input "w">})
        -> (tensor<8x6xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
      %y = onnx.MatMul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      return %y : tensor<8x6xf32>
    }
    ```
    becomes
    ```mlir
    func.func @step(%x: ..., %w: ...) -> (tensor<8x6xf32> ...) attributes {train.kind = #train.kind<step>} {
      %y = onnx.MatMul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      return %y : tensor<8x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"ops shown", "ops with a sharding rule">];
}

def Localize : MeshPass<"kedge-localize"> {
  let summary = "Each rank along `tensor` computes its blocks";
  let description = [{
    Carries out what kedge-propagate-shardings wrote: states and values get the types of blocks, collectives along `tensor` stand
    where layouts meet: a dist.all_reduce (of large tensors a dist.reduce_scatter and a dist.all_gather) behind what sums over a
    cut loop, with `dist.scatter` a dist.reduce_scatter alone, a dist.all_gather where a whole tensor is read, a dist.local_shard,
    which sends nothing, where a block of a whole one is. Sums of 16-bit tensors are sent in f32 and rounded once. Sums that are
    only added to each other are sent as one.

    Example:
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
      train.state parameter @w tensor<4x6xf32> {dist.cut = #dist.cut<0 over "tensor" = 2>}
      func.func @step(%x: tensor<8x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4x6xf32> {train.binding = #train.binding<state @w>})
          -> (tensor<4x6xf32> {train.binding = #train.binding<state @w>}) attributes {train.kind = #train.kind<step>} {
        %y = onnx.Add %w, %w {dist.cut = #dist.cut<0 over "tensor" = 2>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
        return %y : tensor<4x6xf32>
      }
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<2x6xf32> {sharding = #dist.sharding<[4, 6] cut[<0 over "tensor" = 2>]>}
    func.func @step(%x: ..., %w: tensor<2x6xf32> ...) -> (tensor<2x6xf32> ...) attributes {train.kind = #train.kind<step>} {
      %y = onnx.Add %w, %w : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
      return %y : tensor<2x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"ops on blocks", "ops that now compute a rank's part">,
                    Counter<"sums joined", "sums over ranks in one collective">,
                    Counter<"collectives", "collectives inserted">,
                    Counter<"bytes sent", "that these collectives send">];
}

def HalveProducts : MeshPass<"kedge-halve-products"> {
  let summary = "What is sent along `tensor` for one half of the rows runs under the product of the other";
  let description = [{
    On level 2, after kedge-localize. A product whose sum over the ranks is scattered by rows is made of two halves of the rows:
    the sum of the first half is on its way while the second is multiplied. What products read together is gathered in two
    halves: the second comes while the first is multiplied. Each half has rows of every rank, so that both sums together are
    those that the rank had before; with several outer rows (sequences of a batch) halves go along these. No sum has another
    order, so no bit changes, and no more bytes are sent, but for readers in another part of the step (gradients of weights),
    which gather the whole where they are, as kedge-gather-again would have it. `when` is "auto": where the halves, with what is
    copied for them, are predicted to be done earlier on `device`; "on": wherever it can be; "off".

    Example: `--kedge-halve-products=when=on`
    ```mlir
    func.func @predict(%x: tensor<4x2xf32> {train.binding = #train.binding<input "x">}, %w: tensor<2x3xf32> {train.binding = #train.binding<input "w">})
        -> (tensor<6xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<predict>} {
      %y = onnx.MatMul %x, %w {kedge.place = #kedge.place<forward "", "y">} : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
      %part = dist.reduce_scatter %y {axis = "tensor", kedge.place = #kedge.place<forward "", "y">, ranks = 2 : i64} : (tensor<4x3xf32>) -> tensor<6xf32>
      return %part : tensor<6xf32>
    }
    ```
    becomes
    ```mlir
    func.func @predict(%x: ..., %w: ...) -> (...) attributes {train.kind = #train.kind<predict>} {
      %rows = onnx.Reshape %x ... : (tensor<4x2xf32>) -> tensor<2x2x2xf32>
      %halves:2 = onnx.Split %rows ... : (tensor<2x2x2xf32>) -> (tensor<2x1x2xf32>, tensor<2x1x2xf32>)
      %first = onnx.MatMul %halves#0, %w ... : (tensor<2x1x2xf32>, tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %sent = dist.reduce_scatter %first ... : (tensor<2x1x3xf32>) -> tensor<3xf32>
      %second = onnx.MatMul %halves#1, %w ... : (tensor<2x1x2xf32>, tensor<2x3xf32>) -> tensor<2x1x3xf32>
      %next = dist.reduce_scatter %second ... : (tensor<2x1x3xf32>) -> tensor<3xf32>
      %part = onnx.Concat %sent, %next ... : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
      return %part : tensor<6xf32>
    }
    ```
  }];
  let statistics = [Counter<"sums halved", "products whose sum overlaps the other half">,
                    Counter<"gathers halved", "products whose gather overlaps the other half">];
  let options = [Option<"when", "when", "kedge::mesh::Overlap", "kedge::mesh::Overlap::Auto", "auto, on or off">,
                 Option<"device", "device", "std::string", "\"\"", "name or file, for auto; empty: this machine">];
}

def SumOnce : MeshPass<"kedge-sum-once"> {
  let summary = "Micro-batches add up each rank's own part of a gradient; the sum along `tensor` is made once";
  let description = [{
    After kedge-localize, with micro-batches. Gradients of what every rank along `tensor` has whole (norms, biases of row-wise
    products) are sums over the ranks, which each micro-batch would send. Here the accumulator takes the rank's own summand, and
    the function of the update sums it over the ranks before anything reads it. Where ranks along `data` have parts of the
    accumulator, these parts are summed. Accumulators of 16 bits, which would round each summand, are left as they are, and so are
    sums whose order is fixed (--same-bits).

    Example:
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
      train.state accumulator @b tensor<4xf32>
      func.func @micro(%x: tensor<4xf32> {train.binding = #train.binding<input "x">}, %n: tensor<i64> {train.binding = #train.binding<scalar "micro">},
          %b: tensor<4xf32> {train.binding = #train.binding<state @b>}) -> (tensor<4xf32> {train.binding = #train.binding<state @b>})
          attributes {train.kind = #train.kind<micro>} {
        %g = dist.all_reduce %x {axis = "tensor", kedge.place = #kedge.place<backward "", "y">, kind = "sum", ranks = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
        %a = train.accumulate %b, %g, %n {kedge.place = #kedge.place<backward "", "y">} : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
        return %a : tensor<4xf32>
      }
      func.func @update(%b: tensor<4xf32> {train.binding = #train.binding<state @b>}) -> (tensor<4xf32> {train.binding = #train.binding<output "g">})
          attributes {train.kind = #train.kind<update>} {
        %y = onnx.Neg %b {kedge.place = #kedge.place<update "", "y">} : (tensor<4xf32>) -> tensor<4xf32>
        return %y : tensor<4xf32>
      }
    }
    ```
    becomes
    ```mlir
    func.func @micro(%x: ..., %n: ..., %b: ...) -> (...) attributes {train.kind = #train.kind<micro>} {
      %a = train.accumulate %b, %x, %n ... : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
      return %a : tensor<4xf32>
    }
    func.func @update(%c: ...) -> (...) attributes {train.kind = #train.kind<update>} {
      %g = dist.all_reduce %c {axis = "tensor", ...} : (tensor<4xf32>) -> tensor<4xf32>
      %y = onnx.Neg %g ... : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
  }];
  let statistics = [Counter<"gradients", "gradients that are summed after the last micro-batch">];
}

def ShowLayouts : MeshPass<"kedge-show-layouts"> {
  let summary = "Print the values of a step with their layout over the mesh";
  let description = [{
    Writes to standard error and changes nothing. After kedge-propagate-shardings: of each state and result the dimension that the
    ranks along an axis cut, or that it is whole; a product along a cut loop is whole after a sum over the ranks. After
    kedge-localize: of each state the part that a rank has; results have the types of a rank. The lines that are no comments are IR.

    Example:
    ```mlir
    module attributes {dist.mesh = #dist.mesh<["tensor"] = [2]>} {
      train.state parameter @w tensor<4x6xf32> {dist.cut = #dist.cut<1 over "tensor" = 2>}
      func.func @step(%x: tensor<8x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4x6xf32> {train.binding = #train.binding<state @w>})
          -> (tensor<8x6xf32> {train.binding = #train.binding<output "y">}) attributes {train.kind = #train.kind<step>} {
        %y = onnx.MatMul %x, %w {dist.cut = #dist.cut<1 over "tensor" = 2>} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
        return %y : tensor<8x6xf32>
      }
    }
    ```
    becomes
    ```mlir
    train.state parameter @w tensor<4x6xf32> {dist.cut = #dist.cut<1 over "tensor" = 2>}
    func.func @step(%x: ..., %w: ...) -> ... {
      %y = onnx.MatMul %x, %w {dist.cut = #dist.cut<1 over "tensor" = 2>} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
      return %y : tensor<8x6xf32>
    }
    ```
  }];
  let statistics = [Counter<"values shown", "values with a layout">,
                    Counter<"values cut", "values that ranks hold a part of">];
}

def JoinParts : MeshPass<"kedge-join-parts"> {
  let summary = "One @micro for all parts of a rank's rows, whose sums over rows are trees over the parts";
  let description = [{
    Runs behind differentiation on a module with `dist.parts`. The module `@part` has the same functions for the rows of one part;
    it goes. An op none of whose rows depends on another is one op on all rows: products with a weight pack it once. What sums
    over rows is computed part by part, by the ops of `@part`, and gradients are added as a balanced tree: each part's numbers
    are those of a rank that has its rows alone. A gradient that is a product of f32 over the rows is one train.sum_products. A
    product with a weight whose result is larger than `largest`, and what follows from it, is made part by part, one after the
    other. Where the two functions are not the same ops on other sizes nothing changes; else the module gets `dist.joined`.

    Example:
    ```mlir
    module attributes {dist.parts = 2 : i64} {
      train.state parameter @w tensor<2x3xf32>
      func.func @micro(%x: tensor<4x2xf32> {train.binding = #train.binding<input "x">}, %dy: tensor<4x3xf32> {train.binding = #train.binding<input "dy">})
          -> (tensor<2x3xf32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<micro>} {
        %dw = onnx.MatMul %x, %dy {kedge.place = #kedge.place<backward "", "y">, transA = true} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
        return %dw : tensor<2x3xf32>
      }
      module @part {
        train.state parameter @w tensor<2x3xf32>
        func.func @micro(%x: tensor<2x2xf32> {train.binding = #train.binding<input "x">}, %dy: tensor<2x3xf32> {train.binding = #train.binding<input "dy">})
            -> (tensor<2x3xf32> {train.binding = #train.binding<gradient @w>}) attributes {train.kind = #train.kind<micro>} {
          %dw = onnx.MatMul %x, %dy {kedge.place = #kedge.place<backward "", "y">, transA = true} : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          return %dw : tensor<2x3xf32>
        }
      }
    }
    ```
    becomes
    ```mlir
    module attributes {dist.joined, dist.parts = 2 : i64} {
      train.state parameter @w tensor<2x3xf32>
      func.func @micro(%x: tensor<4x2xf32> ..., %dy: tensor<4x3xf32> ...) -> (tensor<2x3xf32> ...) attributes {train.kind = #train.kind<micro>} {
        %dw = train.sum_products %x, %dy {kedge.place = ..., parts = 2 : i64, transA = true} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
        return %dw : tensor<2x3xf32>
      }
    }
    ```
  }];
  let statistics = [Counter<"ops joined", "ops that compute all parts at once">,
                    Counter<"ops apart", "ops that stay one a part">,
                    Counter<"sums in products", "sums of parts that a product does">];
  let options = [Option<"largest", "largest", "int64_t", "134217728", "bytes of a product with a weight that has all rows at once">];
}

def ChunkFeedForward : MeshPass<"kedge-chunk-feed-forward"> {
  let summary = "Compute the wide values of feed-forwards for a few rows at a time";
  let description = [{
    A product whose result is wider than its rows and has more than `max-bytes`, what is computed of it (activations, gates, their
    gradients) and the products that make it narrow again run once for each chunk of rows, by the sharding rule of each op
    (ShardingOpInterface, or the loops of ClusterableOpInterface). So no wide value exists as a whole where it is recomputed for
    the backward pass. Rows run along the outermost dimension that has more than one element: batch before sequence. What leaves
    narrow is joined. Gradients of weights are summed over the chunks by the products, in fp32 where they have 16 bits, which
    changes the order of these sums; all other values keep their bits. The chunk size follows from shapes, never from a budget.
    Nothing is changed where an op needs all rows at once, or asks where it is (dropout). At most 64 chunks, of whole rows.

    Example: `--kedge-chunk-feed-forward=max-bytes=128`
    ```mlir
    module {
      func.func @predict(%x: tensor<4x4xf32> {train.binding = #train.binding<input "x">}, %w: tensor<4x16xf32> {train.binding = #train.binding<input "w">},
          %v: tensor<16x4xf32> {train.binding = #train.binding<input "v">}) -> (tensor<4x4xf32> {train.binding = #train.binding<output "y">})
          attributes {train.kind = #train.kind<predict>} {
        %wide = onnx.MatMul %x, %w {kedge.place = #kedge.place<forward "", "up">} : (tensor<4x4xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
        %gate = onnx.Relu %wide {kedge.place = #kedge.place<forward "", "relu">} : (tensor<4x16xf32>) -> tensor<4x16xf32>
        %y = onnx.MatMul %gate, %v {kedge.place = #kedge.place<forward "", "down">} : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
        return %y : tensor<4x4xf32>
      }
    }
    ```
    becomes
    ```mlir
    module {
      func.func @predict(%x: ..., %w: ..., %v: ...) -> ... {
        %x0 = onnx.Slice %x {ends = array<i64: 2, 4>, kedge.place = ..., starts = array<i64: 0, 0>, ...
        %wide0 = onnx.MatMul %x0, %w {kedge.place = ..., train.chunk = 0 : i64} : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
        %gate0 = onnx.Relu %wide0 {kedge.place = ..., train.chunk = 0 : i64} : (tensor<2x16xf32>) -> tensor<2x16xf32>
        %y0 = onnx.MatMul %gate0, %v {kedge.place = ..., train.chunk = 0 : i64} : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
        %x1 = onnx.Slice %x {ends = array<i64: 4, 4>, kedge.place = ..., starts = array<i64: 2, 0>, ...
        %wide1 = onnx.MatMul %x1, %w {kedge.place = ..., train.chunk = 1 : i64} : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
        %gate1 = onnx.Relu %wide1 {kedge.place = ..., train.chunk = 1 : i64} : (tensor<2x16xf32>) -> tensor<2x16xf32>
        %y1 = onnx.MatMul %gate1, %v {kedge.place = ..., train.chunk = 1 : i64} : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
        %y = onnx.Concat %y0, %y1 {axis = 0 : i64, kedge.place = ...} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
        return %y : tensor<4x4xf32>
      }
    }
    ```
  }];
  let statistics = [Counter<"regions", "feed-forwards computed in chunks">,
                    Counter<"chunks", "chunks of rows of all regions">];
  let options = [Option<"maxBytes", "max-bytes", "int64_t", "0", "of a chunk of a wide value; 0: never">];
}
#endif
