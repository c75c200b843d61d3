#ifndef KEDGE_TUNE_ATTRS
#define KEDGE_TUNE_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "kedge/Dialect/Tune/TuneDialect.td"

class Tune_Enum<string name, string text, list<I32EnumAttrCase> cases> : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::kedge::tune";
  let genSpecializedAttr = 0;
}

def Tune_Distribution : Tune_Enum<"Distribution", "what random values are drawn from", [
  I32EnumAttrCase<"Uniform", 0, "uniform">, I32EnumAttrCase<"Normal", 1, "normal">]>;

def Tune_RandomAttr : AttrDef<Tune_Dialect, "Random"> {
  let mnemonic = "random";
  let summary = "Values drawn by Philox when a run starts";
  let description = [{
    Uniform in [-amount, amount), or normal with the standard deviation `amount`; keyed by the run's seed and the state's name.
  }];
  let parameters = (ins EnumParameter<Tune_Distribution>:$kind, "::mlir::FloatAttr":$amount);
  let assemblyFormat = "`<` $kind $amount `>`";
}

def Tune_Factor : Tune_Enum<"Factor", "which tensor of an adapter", [
  I32EnumAttrCase<"A", 0, "A">, I32EnumAttrCase<"B", 1, "B">, I32EnumAttrCase<"Magnitude", 2, "magnitude">,
  I32EnumAttrCase<"EmbeddingA", 3, "embedding_A">, I32EnumAttrCase<"EmbeddingB", 4, "embedding_B">, I32EnumAttrCase<"Tokens", 5, "tokens">,
  I32EnumAttrCase<"OutputScale", 6, "output_scale">, I32EnumAttrCase<"InputScale", 7, "input_scale">]>;
def Tune_Decomposition : Tune_Enum<"Decomposition", "what an adapter begins as a part of", [
  I32EnumAttrCase<"Pissa", 0, "pissa">, I32EnumAttrCase<"Olora", 1, "olora">]>;

def Tune_AdapterAttr : AttrDef<Tune_Dialect, "Adapter"> {
  let mnemonic = "adapter";
  let summary = "Says of a state which factor of a low-rank adapter it is";
  let description = [{
    The frozen weight `base` acts as base + scale B A, with A [r, in] and B [out, r]; with a magnitude m [out] (DoRA) each of its rows
    has the norm m. `transposed`: the base lies as [in, out]; a table that rows are looked up in lies so, with rows for inputs. `path` names
    the module in a folder of adapters. `from`: A and B begin as a part of the base, by its singular values (PiSSA) or by its QR
    decomposition (OLoRA), and the base as the rest.

    `tokens` [n, dim] stand in the place of these `rows` of a table. An `output_scale` [out, 1] multiplies what the module gives, and so
    its `bias`; an `input_scale` [1, in] what it takes (IA3).
  }];
  let parameters = (ins EnumParameter<Tune_Factor>:$factor, "::mlir::FlatSymbolRefAttr":$base, "::mlir::FloatAttr":$scale,
    "::mlir::BoolAttr":$transposed, StringRefParameter<"module">:$path, OptionalParameter<"std::optional<::kedge::tune::Decomposition>">:$from,
    OptionalParameter<"::mlir::FlatSymbolRefAttr">:$bias, OptionalArrayRefParameter<"int64_t">:$rows);
  let assemblyFormat = [{
    `<` $factor `of` $base `scale` $scale `transposed` $transposed `path` $path (`from` $from^)? (`bias` $bias^)? (`rows` `[` $rows^ `]`)? `>`
  }];
}

def Tune_Format : Tune_Enum<"Format", "how few bits hold a weight", [
  I32EnumAttrCase<"NF4", 0, "nf4">, I32EnumAttrCase<"FP4", 1, "fp4">, I32EnumAttrCase<"Int8", 2, "int8">,
  I32EnumAttrCase<"UInt2", 3, "uint2">, I32EnumAttrCase<"UInt4", 4, "uint4">, I32EnumAttrCase<"UInt8", 5, "uint8">,
  I32EnumAttrCase<"Int4", 6, "int4">]>;
def Tune_FormatAttr : EnumAttr<Tune_Dialect, Tune_Format, "format"> { let assemblyFormat = "`<` $value `>`"; }

def Tune_Part : Tune_Enum<"Part", "which part of a weight in few bits", [
  I32EnumAttrCase<"Codes", 0, "codes">, I32EnumAttrCase<"Absmax", 1, "absmax">,
  I32EnumAttrCase<"AbsmaxCodes", 2, "absmax_codes">, I32EnumAttrCase<"NestedAbsmax", 3, "nested_absmax">,
  I32EnumAttrCase<"Offset", 4, "offset">, I32EnumAttrCase<"ZeroPoints", 5, "zero_points">]>;

def Tune_EncodingAttr : AttrDef<Tune_Dialect, "Encoding"> {
  let mnemonic = "encoding";
  let summary = "Says of a state which part of a weight in few bits it is";
  let description = [{
    The weight is of the type `whole`; its values, of which the state's `init` tells the place, are encoded as they are read.
    Formats of ONNX (uint2, uint4, uint8, int4) are codes in the file already, in blocks along one axis, each with a scale
    (its absmax here) and maybe a zero point; where none has one, it is `zero`. So are nf4 and fp4 with a `block`: codes
    of the flattened weight in blocks of that many elements, as MatMulBnb4 of com.microsoft has them.
    `double`: the largest magnitudes of blocks are in 8 bits, too.
  }];
  let parameters = (ins EnumParameter<Tune_Format>:$format, EnumParameter<Tune_Part>:$part, "::mlir::Type":$whole,
    "::mlir::BoolAttr":$doubled, OptionalParameter<"::mlir::IntegerAttr">:$zero, OptionalParameter<"::mlir::IntegerAttr">:$block);
  let assemblyFormat = "`<` $format $part `of` $whole `double` $doubled (`zero` $zero^)? (`block` $block^)? `>`";
  let extraClassDeclaration = [{
    /// Whether the codes are in the model's file as they are here.
    bool isInFile() const;
  }];
}

def Tune_ResizedAttr : AttrDef<Tune_Dialect, "Resized"> {
  let mnemonic = "resized";
  let summary = "Says of a state that its file has another number of slices along one axis";
  let description = [{
    The file's tensor has `before` slices along `axis`. Where the state has more, the others begin as the mean of all of the
    file's; where it has fewer, the file's last ones are left out (--resize-vocab).
  }];
  let parameters = (ins "int64_t":$axis, "int64_t":$before);
  let assemblyFormat = "`<` $axis `from` $before `>`";
  let extraClassDeclaration = [{
    /// The type that the file's tensor has.
    ::mlir::RankedTensorType inFile(::mlir::RankedTensorType type) const;
  }];
}

def Tune_FakeQuantizedAttr : AttrDef<Tune_Dialect, "FakeQuantized"> {
  let mnemonic = "fake_quantized";
  let summary = "Says of a weight how it is rounded while it trains, as the deployed model will hold it";
  let description = [{
    `format` (int8, uint8 or int4) has one scale for each block of `block` elements along `axis`; without a block, for each index of
    `axis`; without an axis, one for all. `min` and `max` are the states with the range of what the weight is multiplied with,
    which is rounded to `input`; without them it is not rounded. `learned` is the parameter that is added to the scale of that range.
    `sums`: sums of two values read the rounded input, too; `out_min` and `out_max` are the range of what the product gives, where such a
    sum reads that rounded.
  }];
  let parameters = (ins EnumParameter<Tune_Format>:$format, OptionalParameter<"::mlir::IntegerAttr">:$axis,
    OptionalParameter<"::mlir::IntegerAttr">:$block, OptionalParameter<"::mlir::FlatSymbolRefAttr">:$min,
    OptionalParameter<"::mlir::FlatSymbolRefAttr">:$max, OptionalParameter<"::mlir::FlatSymbolRefAttr">:$learned,
    OptionalParameter<"::mlir::UnitAttr">:$sums, OptionalParameter<"::mlir::FlatSymbolRefAttr">:$out_min, OptionalParameter<"::mlir::FlatSymbolRefAttr">:$out_max,
    EnumParameter<Tune_Format>:$input);
  let assemblyFormat = [{ `<` $format (`axis` $axis^)? (`block` $block^)? (`range` $min^ $max)? (`learned` $learned^)?
    (`sums` $sums^)? (`output` $out_min^ $out_max)? `input` $input `>` }];
}

def Tune_FoldedNormAttr : AttrDef<Tune_Dialect, "FoldedNorm"> {
  let mnemonic = "folded_norm";
  let summary = "Says of a convolution's weight which BatchNormalization is multiplied into it before it is rounded";
  let description = [{
    The deployed weight is the rounded product of the weight and scale / sqrt(variance + epsilon), and its bias is
    bias + (product_bias - mean) scale / sqrt(variance + epsilon); a factor of 0 counts as 1. `product_bias` is that of the convolution.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$scale, "::mlir::FlatSymbolRefAttr":$bias, "::mlir::FlatSymbolRefAttr":$mean,
    "::mlir::FlatSymbolRefAttr":$variance, OptionalParameter<"::mlir::FlatSymbolRefAttr">:$product_bias, "::mlir::FloatAttr":$epsilon);
  let assemblyFormat = [{ `<` `scale` $scale `bias` $bias `mean` $mean `variance` $variance (`product_bias` $product_bias^)?
    `epsilon` $epsilon `>` }];
}
#endif
