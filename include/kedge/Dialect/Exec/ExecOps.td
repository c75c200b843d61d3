// One arena, buffers with offsets and lifetimes, launches and copies in order.
#ifndef KEDGE_EXEC_OPS
#define KEDGE_EXEC_OPS
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/OpBase.td"
include "kedge/Dialect/Exec/ExecAttrs.td"
include "kedge/Dialect/Exec/ExecDialect.td"
include "kedge/Dialect/Exec/ExecInterfaces.td"
include "kedge/Dialect/Train/TrainAttrs.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

defvar Exec_Bytes = ConfinedAttr<I64Attr, [IntNonNegative]>;
/// Symbols of states are looked up once a module.
defvar Exec_NamesState = DeclareOpInterfaceMethods<SymbolUserOpInterface>;

def Exec_ArenaOp : Exec_Op<"arena", []> {
  let summary = "The one allocation of the program, in bytes";
  let description = [{
    The first `persistent` bytes hold states and scalars; the rest is shared by all functions. `reservations` are bytes
    of the same memory that libraries and the driver take.
  }];
  let arguments = (ins Exec_Bytes:$bytes, Exec_Bytes:$persistent, I64Attr:$align,
    OptionalAttr<Exec_ReservationArrayAttr>:$reservations);
  let assemblyFormat = "$bytes `persistent` $persistent `align` $align attr-dict";
  let hasVerifier = 1;
}

def Exec_HostArenaOp : Exec_Op<"host_arena", []> {
  let summary = "The program's allocation of host memory for offloaded values, in bytes";
  let description = [{
    As exec.arena: states first, then what functions share. On the CPU a second mapping. Its first bytes may be in `files`
    instead, one behind the other, which take whole blocks of a disk.
  }];
  let arguments = (ins Exec_Bytes:$bytes, Exec_Bytes:$persistent, I64Attr:$align, OptionalAttr<Exec_FileArrayAttr>:$files);
  let extraClassDeclaration = [{
    /// Bytes that are in files.
    int64_t getDiskBytes();
    llvm::SmallVector<FileAttr> getListed();
  }];
  let assemblyFormat = "$bytes `persistent` $persistent `align` $align attr-dict";
  let hasVerifier = 1;
}

def Exec_FunctionOp : Exec_Op<"function", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "A schedule: buffers, then launches and copies in order";
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Train_FunctionKindAttr>:$kind);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`kind` $kind^)? $body attr-dict";
  let hasRegionVerifier = 1;
}

def Exec_BufferOp : Exec_Op<"buffer", [Exec_NamesState]> {
  let summary = "A byte range of the arena with a lifetime";
  let description = [{
    Holds one tensor from launch `first` to launch `last` inclusive (indices of this function's launches and copies;
    -1: from before the first; their number: beyond the last). `state` names the symbol of a persistent buffer,
    `bindings` what the host writes or reads there (an input, a scalar, a result, an output or a part of one). In the
    space `host` the bytes are those of the exec.host_arena; only exec.copy reads and writes them.
  }];
  let arguments = (ins StrAttr:$name, Exec_Bytes:$offset, Exec_Bytes:$size, I64Attr:$first, I64Attr:$last,
    TypeAttrOf<AnyStaticShapeTensor>:$type, OptionalAttr<FlatSymbolRefAttr>:$state,
    OptionalAttr<Train_BindingArrayAttr>:$bindings,
    DefaultValuedAttr<Exec_MemorySpace, "::kedge::exec::MemorySpace::Device">:$space);
  let results = (outs Index:$result);
  let extraClassDeclaration = [{
    llvm::SmallVector<::kedge::train::BindingAttr> bound();
    /// Whether the host reads it as the whole of an output when the function has run.
    bool holdsOutput();
    /// Whether it keeps its bytes between functions: a state, a scalar or a result.
    bool isPersistent();
    bool getHost() { return getSpace() == MemorySpace::Host; }
  }];
  let assemblyFormat = [{ $name (`in` $space^)? `at` $offset `size` $size `live` `[` $first `,` $last `]` $type
    (`state` $state^)? (`binds` $bindings^)? attr-dict }];
  let hasVerifier = 1;
}

def Exec_GradientOp : Exec_Op<"gradient", [Exec_NamesState]> {
  let summary = "A parameter's gradient is complete in `buffer` after launch `after` (-1: at the start)";
  let arguments = (ins FlatSymbolRefAttr:$parameter, Index:$buffer, I64Attr:$after, TypeAttr:$type);
  let assemblyFormat = "$parameter $buffer `after` $after $type attr-dict";
  let hasVerifier = 1;
}

def Exec_LaunchOp : Exec_Op<"launch", [AttrSizedOperandSegments, Exec_LaunchInterface]> {
  let summary = "One kernel over declared buffers";
  let description = [{
    `kernel` is a generated function (run as slices of [0, iterations)) or, with `library`, the name of a
    runtime kernel with its `attrs`. Every byte that the kernel touches is in `reads`, `writes` or
    `workspace`.

    Launches and copies of one `stream` run one after the other, in the order of this function. Stream 0 computes, 1 copies
    from host memory, 2 copies to it, 3 runs collectives, 4 sends and receives. A launch with `records` records that event when it is done. A
    launch with `waits` starts when all of these events are recorded; each of them belongs to an earlier launch of the
    function, on any stream. All work is done before a function starts, and a function ends when all of its streams have
    ended. A runtime without streams runs the launches one by one in this order, with the same results.

    `recomputed` says why a launch runs again. On a GPU, `kernels` are what it launches, in order, and `flat` is the
    function and the number of elements of a launch that may join others.
  }];
  let arguments = (ins StrAttr:$kernel, Variadic<Index>:$reads, Variadic<Index>:$writes, Optional<Index>:$workspace,
    Exec_Bytes:$iterations, ConfinedAttr<I64Attr, [IntPositive]>:$grain, ConfinedAttr<I64Attr, [IntNonNegative]>:$stream,
    TypeArrayAttr:$read_types, TypeArrayAttr:$write_types,
    UnitAttr:$library, OptionalAttr<DictionaryAttr>:$attrs, OptionalAttr<DenseI64ArrayAttr>:$waits,
    OptionalAttr<I64Attr>:$records, OptionalAttr<StrAttr>:$recomputed,
    OptionalAttr<DictArrayAttr>:$kernels, OptionalAttr<DictionaryAttr>:$flat, UnitAttr:$collective);
  let extraClassDeclaration = [{
    ::mlir::Value getScratch() { return getWorkspace(); }
    /// Whether it calls the runtime kernel of an OpT.
    template <typename OpT> bool calls() { return getLibrary() && OpT::getOperationName() == getKernel(); }
  }];
  let assemblyFormat = [{ (`library` $library^)? $kernel `reads` `(` $reads `)` `writes` `(` $writes `)`
    (`workspace` $workspace^)? `iterations` $iterations `grain` $grain `stream` $stream (`waits` $waits^)? (`records` $records^)?
    `types` $read_types `->` $write_types (`with` $attrs^)? attr-dict }];
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_Op<"copy", [Exec_LaunchInterface]> {
  let summary = "A tensor copied from the arena to host memory, or back";
  let description = [{ Takes its turn, its stream and its events as exec.launch does. `offloaded` says why it is made. }];
  let arguments = (ins Index:$source, Index:$destination, ConfinedAttr<I64Attr, [IntNonNegative]>:$stream,
    OptionalAttr<DenseI64ArrayAttr>:$waits, OptionalAttr<I64Attr>:$records, TypeAttrOf<AnyStaticShapeTensor>:$type,
    OptionalAttr<StrAttr>:$offloaded);
  let extraClassDeclaration = [{
    ::llvm::StringRef getKernel() { return "copy"; }
    ::mlir::OperandRange getReads() { return getODSOperands(0); }
    ::mlir::OperandRange getWrites() { return getODSOperands(1); }
    ::mlir::Value getScratch() { return {}; }
    BufferOp from() { return getSource().getDefiningOp<BufferOp>(); }
    BufferOp to() { return getDestination().getDefiningOp<BufferOp>(); }
    /// Whether it copies from host memory.
    bool fetches() { return from().getHost(); }
  }];
  let assemblyFormat = [{ $source `to` $destination `stream` $stream (`waits` $waits^)? (`records` $records^)? $type
    attr-dict }];
  let hasVerifier = 1;
}
#endif
