// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: simt.kernel @tells
simt.kernel @tells(%x: f64, %n: i32, %c: i1) {
  // CHECK-NEXT: %t = simt.clock
  // GENERIC: %t = "simt.clock"() : () -> i64
  %t = simt.clock
  // CHECK-NEXT: simt.printf {format = "100 %%"}
  // GENERIC: "simt.printf"() <{format = "100 %%"}> : () -> ()
  simt.printf {format = "100 %%"}
  // CHECK-NEXT: simt.printf %x, %n, %t {format = "%-8.3f %c %llx", once} : f64, i32, i64
  // GENERIC: "simt.printf"(%x, %n, %t) <{format = "%-8.3f %c %llx", once}> : (f64, i32, i64) -> ()
  simt.printf %x, %n, %t {format = "%-8.3f %c %llx", once} : f64, i32, i64
  // CHECK-NEXT: simt.assert %c {message = "n is even"}
  // GENERIC: "simt.assert"(%c) <{message = "n is even"}> : (i1) -> ()
  simt.assert %c {message = "n is even"}
  // CHECK-NEXT: simt.return
  // GENERIC: "simt.return"() : () -> ()
  simt.return
}

// CHECK-LABEL: simt.kernel @knows
simt.kernel @knows() {
  // CHECK-NEXT: %w = simt.constant {value = dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>, array = "W"} : !tile.view<2x2xf32, shared>
  // GENERIC: %w = "simt.constant"() <{value = dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>, array = "W"}> : () -> !tile.view<2x2xf32, shared>
  %w = simt.constant {value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>, array = "W"} : !tile.view<2x2xf32, shared>
  // CHECK-NEXT: %b = simt.constant {value = dense<true> : tensor<3xi1>, array = "B"} : !tile.view<3xi1, shared>
  // GENERIC: %b = "simt.constant"() <{value = dense<true> : tensor<3xi1>, array = "B"}> : () -> !tile.view<3xi1, shared>
  %b = simt.constant {value = dense<true> : tensor<3xi1>, array = "B"} : !tile.view<3xi1, shared>
  // CHECK-NEXT: simt.return
  // GENERIC: "simt.return"() : () -> ()
  simt.return
}
