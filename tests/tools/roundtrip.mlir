// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @sum(%a: i32, %b: i32) -> i32
// CHECK-NEXT: %0 = arith.addi %a, %b : i32
// CHECK-NEXT: func.return %0 : i32
// GENERIC: "func.func"() <{sym_name = "sum", function_type = (i32, i32) -> i32}> ({
// GENERIC: "arith.addi"(%a, %b) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
func.func @sum(%a: i32, %b: i32) -> i32 {
  %0 = arith.addi %a, %b : i32
  func.return %0 : i32
}
