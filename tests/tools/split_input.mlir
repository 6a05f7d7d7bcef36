// RUN: not tileopt %s --split-input-file 2>&1 | filecheck %s
// Each part is a file of its own: the same symbols do not clash, and an error in one does not end the others.

// CHECK: split_input.mlir:14:8: error[verify/arith.addi]
func.func @f() {
  func.return
}

// -----

func.func @f() {
  %0 = arith.constant 1 : i32
  // The error is in the middle part.
  %1 = "arith.addi"(%0) : (i32) -> i32
  func.return
}

// -----

func.func @f() {
  func.return
}
// CHECK: func.func @f
// CHECK: // -----
// CHECK: func.func @f
