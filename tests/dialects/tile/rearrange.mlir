// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: tile.kernel @rearrange
tile.kernel @rearrange(%s: f32) {
  // CHECK-NEXT: %a = tile.splat %s : f32 -> tensor<4x1xf32>
  // GENERIC: %a = "tile.splat"(%s) : (f32) -> tensor<4x1xf32>
  %a = tile.splat %s : f32 -> tensor<4x1xf32>
  // CHECK-NEXT: %n = tile.arange : tensor<96xi32>
  // GENERIC: %n = "tile.arange"() : () -> tensor<96xi32>
  %n = tile.arange : tensor<96xi32>
  // CHECK-NEXT: %b = tile.broadcast %a : tensor<4x1xf32> -> tensor<4x6xf32>
  // GENERIC: %b = "tile.broadcast"(%a) : (tensor<4x1xf32>) -> tensor<4x6xf32>
  %b = tile.broadcast %a : tensor<4x1xf32> -> tensor<4x6xf32>
  // CHECK-NEXT: %c = tile.reshape %b : tensor<4x6xf32> -> tensor<2x3x4xf32>
  // GENERIC: %c = "tile.reshape"(%b) : (tensor<4x6xf32>) -> tensor<2x3x4xf32>
  %c = tile.reshape %b : tensor<4x6xf32> -> tensor<2x3x4xf32>
  // CHECK-NEXT: %t = tile.transpose %c {permutation = array<i64: 2, 0, 1>} : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  // GENERIC: %t = "tile.transpose"(%c) <{permutation = array<i64: 2, 0, 1>}> : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %t = tile.transpose %c {permutation = array<i64: 2, 0, 1>} : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  // CHECK-NEXT: %r = tile.reduce %t {kind = "sum", axis = 2 : i64} : tensor<4x2x3xf32> -> tensor<4x2xf32>
  // GENERIC: %r = "tile.reduce"(%t) <{kind = "sum", axis = 2 : i64}> : (tensor<4x2x3xf32>) -> tensor<4x2xf32>
  %r = tile.reduce %t {kind = "sum", axis = 2} : tensor<4x2x3xf32> -> tensor<4x2xf32>
  // CHECK-NEXT: %p = tile.reshape %a : tensor<4x1xf32> -> tensor<4xf32>
  %p = tile.reshape %a : tensor<4x1xf32> -> tensor<4xf32>
  // CHECK-NEXT: %q = tile.reduce %p {kind = "max", axis = 0 : i64} : tensor<4xf32> -> tensor<f32>
  %q = tile.reduce %p {kind = "max", axis = 0} : tensor<4xf32> -> tensor<f32>
  // CHECK-NEXT: %e = tile.to_scalar %q : tensor<f32> -> f32
  // GENERIC: %e = "tile.to_scalar"(%q) : (tensor<f32>) -> f32
  %e = tile.to_scalar %q : tensor<f32> -> f32
  tile.return
}

// Every kind, on integers.
// CHECK-LABEL: tile.kernel @kinds
tile.kernel @kinds(%s: i32) {
  // CHECK-NEXT: tile.splat
  %a = tile.splat %s : i32 -> tensor<8xi32>
  // CHECK-NEXT: kind = "sum"
  %0 = tile.reduce %a {kind = "sum", axis = 0} : tensor<8xi32> -> tensor<i32>
  // CHECK-NEXT: kind = "prod"
  %1 = tile.reduce %a {kind = "prod", axis = 0} : tensor<8xi32> -> tensor<i32>
  // CHECK-NEXT: kind = "max"
  %2 = tile.reduce %a {kind = "max", axis = 0} : tensor<8xi32> -> tensor<i32>
  // CHECK-NEXT: kind = "min"
  %3 = tile.reduce %a {kind = "min", axis = 0} : tensor<8xi32> -> tensor<i32>
  // CHECK-NEXT: kind = "umax"
  %4 = tile.reduce %a {kind = "umax", axis = 0} : tensor<8xi32> -> tensor<i32>
  // CHECK-NEXT: kind = "umin"
  %5 = tile.reduce %a {kind = "umin", axis = 0} : tensor<8xi32> -> tensor<i32>
  // CHECK-NEXT: kind = "and"
  %6 = tile.reduce %a {kind = "and", axis = 0} : tensor<8xi32> -> tensor<i32>
  // CHECK-NEXT: kind = "or"
  %7 = tile.reduce %a {kind = "or", axis = 0} : tensor<8xi32> -> tensor<i32>
  // CHECK-NEXT: kind = "xor"
  %8 = tile.reduce %a {kind = "xor", axis = 0} : tensor<8xi32> -> tensor<i32>
  tile.return
}
