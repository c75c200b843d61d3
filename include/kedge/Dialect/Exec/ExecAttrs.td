#ifndef KEDGE_EXEC_ATTRS
#define KEDGE_EXEC_ATTRS
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "kedge/Dialect/Exec/ExecDialect.td"

def Exec_MemorySpace : I32EnumAttr<"MemorySpace", "which of the program's allocations", [
  I32EnumAttrCase<"Device", 0, "device">,
  I32EnumAttrCase<"Host", 1, "host">
]> { let cppNamespace = "::kedge::exec"; }

def Exec_ReservationAttr : AttrDef<Exec_Dialect, "Reservation"> {
  let mnemonic = "reservation";
  let summary = "Bytes that others than the program take of the device's memory, and how they are known";
  let parameters = (ins StringRefParameter<"who takes them">:$name, "int64_t":$bytes,
    StringRefParameter<"where the number comes from">:$source);
  let assemblyFormat = "`<` $name `,` $bytes `,` $source `>`";
}
def Exec_FileAttr : AttrDef<Exec_Dialect, "File"> {
  let mnemonic = "file";
  let summary = "Bytes of host memory that a file of the program's own in a directory holds";
  let parameters = (ins StringRefParameter<"where it is made">:$directory, "int64_t":$bytes);
  let assemblyFormat = "`<` $directory `,` $bytes `>`";
}
def Exec_FileArrayAttr : TypedArrayAttrBase<Exec_FileAttr, "files">;

def Exec_ReservationArrayAttr : TypedArrayAttrBase<Exec_ReservationAttr, "reservations">;
#endif
