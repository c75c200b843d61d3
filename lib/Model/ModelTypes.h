// Element types, tensors and attributes of an ONNX file, as plain structs without
// protobuf classes. Values refer to the memory-mapped file, so no weight is copied.
#pragma once
#include "runtime/format/ResizedTensor.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::model {

class MappedFile;
struct Graph;

/// ONNX's TensorProto.DataType numbers.
enum class ElementType : uint8_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26
};
/// "float32", "int64", "bfloat16", ...
std::string_view dtypeName(ElementType);
/// Bits of one element (4 for int4); 0 for String and Undefined.
unsigned dtypeBits(ElementType);
/// float16, bfloat16, float32, float64. False for 8- and 4-bit floats, which can be stored but not computed
/// with.
bool isFloat(ElementType);
bool isInteger(ElementType); // signed and unsigned, without bool

using Metadata = std::map<std::string, std::string>;

/// Contiguous little-endian elements, decoded. `keepAlive` owns the file or the decoded copy.
struct Bytes {
  const uint8_t *data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> keepAlive;
};

/// Which part a tensor is of a matrix in few bits, that DequantizeLinear or MatMulBnb4 reads in blocks;
/// Other: of one that is not known.
struct FewBits {
  enum class Part { Codes, Scales, ZeroPoints, Other } part = Part::Codes;
  std::string codes;                         ///< name of the tensor with the codes
  ElementType type = ElementType::Undefined; ///< theirs
  std::vector<int64_t> whole;                ///< shape of the matrix
  int64_t zero = 0;                          ///< the zero point of all blocks, where none is given
  enum class Table : uint8_t { None, FP4, NF4 } table = Table::None; ///< that codes of bitsandbytes index
  int64_t block = 0; ///< of such codes: elements of the flattened matrix that share a scale
  bool operator==(const FewBits &) const = default;
};

/// A constant or weight.
struct Tensor {
  enum class Storage {
    Inline,  // contiguous little-endian bytes in the model file (raw_data, or float_data and the like packed)
    Encoded, // varint-coded field of the model file (int32_data, int64_data, ...): only bytes() can read it
    External, // bytes in another file beside the model
    Owned     // made by the compiler: `owned` or `strings` has the values
  };
  std::string name;
  ElementType dtype = ElementType::Undefined;
  std::vector<int64_t> dims;
  Storage storage = Storage::Owned;
  std::string path;    // file that has the bytes (model file or external file, resolved); empty if Owned
  uint64_t offset = 0; // Inline, External: first byte of the elements in `path`
  uint64_t length = 0; // Inline, External, Owned: bytes of the elements
  std::string externalLocation;     // External: location as written in the model
  std::vector<std::string> strings; // elements when dtype is String
  std::string doc;
  Metadata metadata;
  uint64_t place = 0;             // byte place of the TensorProto in the model file; 0 when not from a file
  uint64_t placeLength = 0;       // its bytes
  std::optional<FewBits> fewBits; // set by markFewBits()
  /// The elements in `path` are those of a tensor with other dims: of floats, Inline or External.
  std::optional<rt::Resized> resized;

  int64_t numElements() const;
  uint64_t byteSize() const; // numElements at dtypeBits, rounded up to bytes
  /// Maps external files on first use. Throws kedge::Error for String tensors, missing or short files.
  Bytes bytes() const;
  /// As bytes(), without what `resized` says.
  Bytes bytesInFile() const;
  /// All elements converted (bool, any integer, any 16-, 32-, 64-bit float). Throws if the type does not fit.
  std::vector<int64_t> ints() const;
  std::vector<double> floats() const;
  /// True when the tensor has one element (any rank).
  bool isScalarLike() const { return numElements() == 1; }
  std::string describe() const; // "tensor 'w' (float32[2x3])"

  static Tensor make(std::string name, ElementType, std::vector<int64_t> dims, std::vector<uint8_t> bytes);
  static Tensor makeInts(std::string name, std::vector<int64_t> dims, const std::vector<int64_t> &values);
  static Tensor makeFloats(std::string name, std::vector<int64_t> dims, const std::vector<float> &values);

  std::shared_ptr<const std::vector<uint8_t>> owned;
  std::shared_ptr<const MappedFile> file; // the model file for Inline and Encoded
};

/// One attribute of a node. Exactly the member of `kind` is meaningful.
struct Attribute {
  enum class Kind : uint8_t {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11,
    SparseTensors = 12,
    TypeProto = 13,
    TypeProtos = 14
  };
  std::string name;
  Kind kind = Kind::Undefined;
  int64_t i = 0;
  float f = 0;
  std::string s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  std::vector<std::shared_ptr<Tensor>> tensors; // Tensor: one element
  std::vector<std::shared_ptr<Graph>> graphs;   // Graph: one element
  std::string refAttrName;                      // inside function bodies only; gone after inlining
  std::string doc;

  static Attribute makeInt(std::string name, int64_t);
  static Attribute makeFloat(std::string name, float);
  static Attribute makeString(std::string name, std::string);
  static Attribute makeInts(std::string name, std::vector<int64_t>);
  static Attribute makeFloats(std::string name, std::vector<float>);
  static Attribute makeTensor(std::string name, Tensor);
};
std::string_view attributeKindName(Attribute::Kind);

} // namespace kedge::model
