// Clusters, library calls and views.
#ifndef KEDGE_SCHED_OPS
#define KEDGE_SCHED_OPS
include "kedge/Dialect/ONNX/OnnxBase.td"
include "kedge/Dialect/Sched/SchedAttrs.td"

class Sched_Op<string mnemonic, list<Trait> traits = []> : Op<Sched_Dialect, mnemonic, traits>;

def Sched_Scalar : AnyTypeOf<[AnyFloat, AnySignlessInteger], "scalar of a cluster's body: a float or a signless integer">;
def Sched_InBody : PredOpTrait<"it is in the body of a sched.cluster",
  CPred<"::llvm::isa_and_nonnull<::kedge::sched::ClusterOp>($_op.getParentOp())">>;

def Sched_ClusterOp : Sched_Op<"cluster", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "A loop nest that becomes one generated kernel";
  let description = [{
    Iterates over `domain`; `reduced` lists the dims that `sched.reduce` reduces. `input_maps` and
    `output_maps` take domain indices to each tensor's indices. The body's arguments are the inputs'
    scalars (16-bit floats unchanged: the body widens them); it yields the outputs' scalars. All
    integers are signless, bool is i1. An output whose map names no reduced dim is written once per reduction, any
    other once per point, and one that yields a `sched.sum` once for each of its elements. The order of reductions depends on
    domain and body only.
    A launch that is computed again has a number of its own (`clone`), so that it is not merged with the first, and
    `recomputed` says why. The same holds for library calls and fetches.

    ```mlir
    %y = sched.cluster domain [8, 768] reduced [1] (%x)
           maps [affine_map<(r, c) -> (r, c)>] -> [affine_map<(r, c) -> (r)>] {
      ^bb0(%v: f32):
        %s = sched.reduce add %v : f32
        sched.yield %s : f32
    } : (tensor<8x768xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Variadic<ONNX_Tensor>:$inputs, DenseI64ArrayAttr:$domain, DenseI64ArrayAttr:$reduced,
    AffineMapArrayAttr:$input_maps, AffineMapArrayAttr:$output_maps, OptionalAttr<I64Attr>:$clone,
    OptionalAttr<StrAttr>:$recomputed);
  let results = (outs Variadic<ONNX_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ `domain` $domain `reduced` $reduced `(` $inputs `)` `maps` $input_maps `->` $output_maps
    $body attr-dict `:` functional-type($inputs, $outputs) }];
  let hasVerifier = 1;
}

def Sched_YieldOp : Sched_Op<"yield", [Pure, Terminator, Sched_InBody]> {
  let arguments = (ins Variadic<Sched_Scalar>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Sched_ReduceOp : Sched_Op<"reduce", [Pure, SameOperandsAndResultType, Sched_InBody]> {
  let summary = "Reduces a scalar over the cluster's reduced dims";
  let description = [{ max and min propagate NaN; of no element: the reduction's identity. }];
  let arguments = (ins Sched_ReductionKind:$kind, Sched_Scalar:$input);
  let results = (outs Sched_Scalar:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
}

def Sched_SumOp : Sched_Op<"sum", [Pure, SameOperandsAndResultType, Sched_InBody]> {
  let summary = "Adds a scalar up over the points that an output's map takes to one element";
  let description = [{
    Only the yield reads it. The output's map names all reduced dims; it leaves out other dims, or takes blocks of one
    together: `(r, c) -> (r floordiv 32, c)` is a sum for each 32 rows and each column, while `sched.reduce` reduces along
    `c`. Kernels of GPUs compute it, those of CPUs do not.
  }];
  let arguments = (ins AnyTypeOf<[F32, F64]>:$input);
  let results = (outs AnyTypeOf<[F32, F64]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Sched_IndexOp : Sched_Op<"index", [Pure, Sched_InBody, PredOpTrait<"dim is one of the domain",
    CPred<"int64_t($dim) >= 0 && int64_t($dim) < int64_t(::llvm::cast<::kedge::sched::ClusterOp>($_op.getParentOp()).getDomain().size())">>]> {
  let summary = "The current index of a domain dim";
  let arguments = (ins I64Attr:$dim);
  let results = (outs I64:$result);
  let assemblyFormat = "$dim attr-dict";
}

def Sched_RandomOp : Sched_Op<"random", [Pure, Sched_InBody]> {
  let summary = "Uniform in [0, 1): Philox keyed by (seed, op), counted by (step, row, element)";
  let description = [{ Equal to the bit to runtime/format/Philox.h, so that recomputation, resume and any number of
    ranks draw the same numbers. }];
  let arguments = (ins I64:$seed, I64:$step, I64:$row, I64:$element, I64Attr:$op_id);
  let results = (outs F32:$result);
  let assemblyFormat = "$op_id `(` $seed `,` $step `,` $row `,` $element `)` attr-dict";
}

def Sched_LibraryOp : Sched_Op<"library", [Pure]> {
  let summary = "A call of a runtime kernel by name";
  let description = [{
    `attrs` goes to the kernel as JSON; see runtime/calls/LibraryKernel.h. All ranks run their `collective` calls in the
    same order; such a call may run at the same time as launches that compute.
  }];
  let arguments = (ins StrAttr:$kernel, Variadic<ONNX_Tensor>:$inputs, DictionaryAttr:$attrs,
    OptionalAttr<I64Attr>:$clone, UnitAttr:$collective, OptionalAttr<StrAttr>:$recomputed);
  let results = (outs Variadic<ONNX_Tensor>:$outputs);
  let extraClassDeclaration = [{
    /// Whether the op that became this call is an OpT.
    template <typename OpT> bool calls() { return OpT::getOperationName() == getKernel(); }
    template <typename... OpTs> bool callsAny() { return (calls<OpTs>() || ...); }
    /// What the op says of its calls; null where it says nothing.
    ::kedge::LibraryCallOpInterface::Concept *callFacts() {
      return ::mlir::OperationName(getKernel(), getContext()).getInterface<::kedge::LibraryCallOpInterface>();
    }
  }];
  let assemblyFormat = "custom<Callee>($kernel) `(` $inputs `)` $attrs attr-dict `:` functional-type($inputs, $outputs)";
}

def Sched_OffloadOp : Sched_Op<"offload", [Pure, SameOperandsAndResultType]> {
  let summary = "A value copied to host memory, where launches cannot read it";
  let description = [{
    Only `sched.fetch` and the return, as the new value of a state that lives there, read the result. States whose
    `train.state` has the attribute `sched.host` live there: functions take and return them as values in host memory.
    `disk`: that memory is a file (`sched.disk` on the state).

    ```mlir
    %kept = sched.offload %x {offloaded = "frees 48.06 MiB from launch 151 to 1169"} : tensor<8x768xf32>
    %again = sched.fetch %kept : tensor<8x768xf32>
    ```
  }];
  let arguments = (ins ONNX_Tensor:$input, OptionalAttr<StrAttr>:$offloaded, UnitAttr:$disk);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sched_FetchOp : Sched_Op<"fetch", [Pure, SameOperandsAndResultType]> {
  let summary = "A value in host memory, copied into the arena that launches work on";
  let arguments = (ins ONNX_Tensor:$input, OptionalAttr<I64Attr>:$clone, OptionalAttr<StrAttr>:$offloaded,
    OptionalAttr<StrAttr>:$recomputed, UnitAttr:$disk);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sched_ViewOp : Sched_Op<"view", [Pure, PredOpTrait<"both shapes take the same bytes", CPred<
    "::kedge::sched::bytesOf($_op.getOperand(0).getType()) == ::kedge::sched::bytesOf($_op.getResult(0).getType())">>]> {
  let summary = "The same bytes under another shape";
  let arguments = (ins ONNX_Tensor:$input);
  let results = (outs ONNX_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
}
#endif
