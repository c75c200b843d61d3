// One arena, buffers with offsets and lifetimes, launches in order.
#ifndef KEDGE_EXEC_OPS
#define KEDGE_EXEC_OPS
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/OpBase.td"
include "kedge/Dialect/Exec/ExecDialect.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

def Exec_ArenaOp : Exec_Op<"arena", []> {
  let summary = "The one allocation of the program, in bytes";
  let description = [{ The first `persistent` bytes hold state and scalars; the rest is shared by all functions. }];
  let arguments = (ins I64Attr:$bytes, I64Attr:$persistent, I64Attr:$align);
  let assemblyFormat = "$bytes `persistent` $persistent `align` $align attr-dict";
}

def Exec_HostArenaOp : Exec_Op<"host_arena", []> {
  let summary = "The program's allocation of host memory, in bytes: what is offloaded lies there";
  let description = [{ As exec.arena: states first, then what functions share. On the CPU a second mapping. }];
  let arguments = (ins I64Attr:$bytes, I64Attr:$persistent, I64Attr:$align);
  let assemblyFormat = "$bytes `persistent` $persistent `align` $align attr-dict";
}

def Exec_FunctionOp : Exec_Op<"function", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "A schedule: buffers, then launches in order";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $body attr-dict";
}

def Exec_BufferOp : Exec_Op<"buffer", []> {
  let summary = "A byte range of the arena with a lifetime";
  let description = [{
    Holds one tensor from launch `first` to launch `last` inclusive (indices of this function's launches;
    -1: from before the first; the number of launches: beyond the last). `state` names the symbol of a
    persistent buffer, `binding` what the host writes or reads ("input:x", "scalar:lr", "result:loss_sum",
    "output:logits"). With `host` the bytes are those of the exec.host_arena; only launches of the library kernel
    `copy` read and write them.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$offset, I64Attr:$size, I64Attr:$first, I64Attr:$last, TypeAttr:$type,
    OptionalAttr<FlatSymbolRefAttr>:$state, OptionalAttr<StrArrayAttr>:$bindings, UnitAttr:$host);
  let results = (outs Index:$result);
  let assemblyFormat = "$name (`host` $host^)? `at` $offset `size` $size `live` `[` $first `,` $last `]` $type (`state` $state^)? (`binds` $bindings^)? attr-dict";
}

def Exec_GradientOp : Exec_Op<"gradient", []> {
  let summary = "Where a parameter's gradient is whole: in `buffer`, after launch `after` (-1: at the start)";
  let arguments = (ins FlatSymbolRefAttr:$parameter, Index:$buffer, I64Attr:$after, TypeAttr:$type);
  let assemblyFormat = "$parameter $buffer `after` $after $type attr-dict";
}

def Exec_LaunchOp : Exec_Op<"launch", [AttrSizedOperandSegments]> {
  let summary = "One kernel over declared buffers";
  let description = [{
    `kernel` is a generated function (run as slices of [0, iterations)) or, with `library`, the name of a
    runtime kernel with its `attrs`. Every byte that the kernel touches is in `reads`, `writes` or
    `workspace`.

    Launches of one `stream` run one after the other, in this order; 0 computes, 1 copies from host memory, 2 copies to
    it. A launch starts when the launches that record the events of `waits` are done, whatever their streams; an event is
    recorded by one earlier launch of the function (`records`: this launch does when it is done). Before a function
    starts everything is done, and it has ended when all of its streams have. Running launches one by one in this order
    is always right: that is what a runtime without streams does.
  }];
  let arguments = (ins StrAttr:$kernel, Variadic<Index>:$reads, Variadic<Index>:$writes, Optional<Index>:$workspace,
    I64Attr:$iterations, I64Attr:$grain, I64Attr:$stream, TypeArrayAttr:$read_types, TypeArrayAttr:$write_types,
    UnitAttr:$library, OptionalAttr<DictionaryAttr>:$attrs, OptionalAttr<DenseI64ArrayAttr>:$waits, OptionalAttr<I64Attr>:$records);
  let assemblyFormat = [{ (`library` $library^)? $kernel `reads` `(` $reads `)` `writes` `(` $writes `)`
    (`workspace` $workspace^)? `iterations` $iterations `grain` $grain `stream` $stream (`waits` $waits^)? (`records` $records^)?
    `types` $read_types `->` $write_types (`with` $attrs^)? attr-dict }];
}
#endif
