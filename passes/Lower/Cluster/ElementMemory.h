// The one way to memory of every emitter: how elements of a type lie there, and what loads and stores them.
#pragma once
#include "passes/Lower/Cluster/ScalarOps.h"

namespace kedge::lower {

/// Elements of one type in memory. A bool is a byte there and i1 in registers, bf16 its bits in both.
/// Registers hold one element or a vector of neighbours; a mask has a lane for each of them, and lanes that
/// it leaves out are neither read nor written.
class ElementMemory {
public:
  /// What is known of the address of a vector.
  enum class Vectors {
    AlignedAsElements, ///< CPU: any element may begin one
    AlignedAsAWhole    ///< GPU: an access of up to 16 bytes begins at a multiple of its size
  };

  ElementMemory(ScalarOps &ops, mlir::Type element, Vectors vectors)
      : ops(ops), element(element), vectors(vectors) {}

  mlir::Type storedType(unsigned width = 1) const;
  unsigned bytes() const { return storedType().getIntOrFloatBitWidth() / 8; }

  /// Of the element, or vector of `width`, number `offset` from `base`, inside of one object; offsets in
  /// lanes give addresses in lanes.
  mlir::Value address(mlir::Value base, mlir::Value offset, unsigned width = 1) const;

  mlir::Value load(mlir::Value address, unsigned width = 1) const;
  /// Zeros in lanes that the mask leaves out.
  mlir::Value loadMasked(mlir::Value address, mlir::Value mask) const;
  /// One address a lane.
  mlir::Value gather(mlir::Value addresses, mlir::Value mask) const;

  void store(mlir::Value address, mlir::Value value) const;
  void storeMasked(mlir::Value address, mlir::Value value, mlir::Value mask) const;
  void scatter(mlir::Value addresses, mlir::Value value, mlir::Value mask) const;

  /// What memory has, all lanes 0.
  mlir::Value storedZeros(unsigned width) const;
  mlir::Value fromStored(mlir::Value stored) const;
  mlir::Value toStored(mlir::Value value) const;

private:
  unsigned alignmentOf(unsigned width) const;

  ScalarOps &ops;
  mlir::Type element;
  Vectors vectors;
};

/// The first `count` of `width` lanes.
mlir::Value leadingLanes(ScalarOps &ops, unsigned count, unsigned width);

} // namespace kedge::lower
