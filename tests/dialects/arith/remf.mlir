// RUN: tileopt %s | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: tileopt %s -p cse,dce | filecheck %s --check-prefix=CSE

// A remainder of scalars, tiles and fragments; it has no effect, so equal ones are one and unused ones none.
// CHECK-LABEL: func.func @remainders
// CHECK-NEXT: arith.remf %x, %y : f32
// CHECK-NEXT: arith.remf %t, %t : tensor<4xbf16>
// CHECK-NEXT: arith.remf %v, %v fastmath<fast> : vector<2xf64>
// GENERIC: "arith.remf"(%x, %y) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
// CSE-LABEL: func.func @remainders
// CSE-NEXT: %a = arith.remf %x, %y : f32
// CSE-NEXT: func.return %a, %a : f32, f32
func.func @remainders(%x: f32, %y: f32, %t: tensor<4xbf16>, %v: vector<2xf64>) -> (f32, f32) {
  %a = arith.remf %x, %y : f32
  %b = arith.remf %t, %t : tensor<4xbf16>
  %c = arith.remf %v, %v fastmath<fast> : vector<2xf64>
  %d = arith.remf %x, %y : f32
  func.return %a, %d : f32, f32
}
