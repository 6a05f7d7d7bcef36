// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: tile.kernel @access
// GENERIC: "tile.kernel"() <{sym_name = "access", function_type = (!tile.view<?x128xf32, shared>, !tile.view<?x128xf32, owned>) -> ()}> ({
tile.kernel @access(%x: !tile.view<?x128xf32, shared>, %out: !tile.view<?x128xf32, owned>) {
  // CHECK-NEXT: %i = tile.bid {axis = 0 : i64}
  // GENERIC: %i = "tile.bid"() <{axis = 0 : i64}> : () -> i64
  %i = tile.bid {axis = 0}
  // CHECK-NEXT: %j = tile.bid {axis = 2 : i32}
  %j = tile.bid {axis = 2 : i32}
  // CHECK-NEXT: %n = tile.num_blocks {axis = 1 : i64}
  // GENERIC: %n = "tile.num_blocks"() <{axis = 1 : i64}> : () -> i64
  %n = tile.num_blocks {axis = 1}
  // CHECK-NEXT: %p = tile.num_blocks {axis = 0 : i64, physical}
  %p = tile.num_blocks {axis = 0, physical}
  // CHECK-NEXT: %d = tile.dim %x {axis = 0 : i64} : !tile.view<?x128xf32, shared>
  // GENERIC: %d = "tile.dim"(%x) <{axis = 0 : i64}> : (!tile.view<?x128xf32, shared>) -> i64
  %d = tile.dim %x {axis = 0} : !tile.view<?x128xf32, shared>

  // CHECK-NEXT: %a = tile.load %x[%i, %j] : !tile.view<?x128xf32, shared> -> tensor<4x128xf32>
  // GENERIC: %a = "tile.load"(%x, %i, %j) : (!tile.view<?x128xf32, shared>, i64, i64) -> tensor<4x128xf32>
  %a = tile.load %x[%i, %j] : !tile.view<?x128xf32, shared> -> tensor<4x128xf32>
  // CHECK-NEXT: %b = tile.load %out[%n, %d] {padding = 0xff800000 : f32, bounds = #tile.bounds<masked [0] "the last row block is ragged">, vector = 4 : i64} : !tile.view<?x128xf32, owned> -> tensor<4x128xf32>
  // GENERIC: %b = "tile.load"(%out, %n, %d) <{padding = 0xff800000 : f32, bounds = #tile.bounds<masked [0] "the last row block is ragged">, vector = 4 : i64}> : (!tile.view<?x128xf32, owned>, i64, i64) -> tensor<4x128xf32>
  %b = tile.load %out[%n, %d] {padding = 0xFF800000 : f32, bounds = #tile.bounds<masked [0] "the last row block is ragged">, vector = 4 : i64} : !tile.view<?x128xf32, owned> -> tensor<4x128xf32>
  // CHECK-NEXT: tile.store %a, %out[%i, %j] : tensor<4x128xf32>, !tile.view<?x128xf32, owned>
  // GENERIC: "tile.store"(%a, %out, %i, %j) : (tensor<4x128xf32>, !tile.view<?x128xf32, owned>, i64, i64) -> ()
  tile.store %a, %out[%i, %j] : tensor<4x128xf32>, !tile.view<?x128xf32, owned>
  // CHECK-NEXT: tile.store %b, %out[%n, %d] {bounds = #tile.bounds<proved []>, vector = 1 : i64} : tensor<4x128xf32>, !tile.view<?x128xf32, owned>
  // GENERIC: "tile.store"(%b, %out, %n, %d) <{bounds = #tile.bounds<proved []>, vector = 1 : i64}> : (tensor<4x128xf32>, !tile.view<?x128xf32, owned>, i64, i64) -> ()
  tile.store %b, %out[%n, %d] {bounds = #tile.bounds<proved []>, vector = 1} : tensor<4x128xf32>, !tile.view<?x128xf32, owned>
  // CHECK-NEXT: tile.return
  // GENERIC: "tile.return"() : () -> ()
  tile.return
}

// An array of rank 0 holds one element, as does a tile of rank 0.
// CHECK-LABEL: tile.kernel @rank_0
tile.kernel @rank_0(%x: !tile.view<i1, shared>, %out: !tile.view<i1, owned>) {
  // CHECK-NEXT: %a = tile.load %x[] {padding = true} : !tile.view<i1, shared> -> tensor<i1>
  // GENERIC: %a = "tile.load"(%x) <{padding = true}> : (!tile.view<i1, shared>) -> tensor<i1>
  %a = tile.load %x[] {padding = true} : !tile.view<i1, shared> -> tensor<i1>
  // CHECK-NEXT: tile.store %a, %out[] : tensor<i1>, !tile.view<i1, owned>
  tile.store %a, %out[] : tensor<i1>, !tile.view<i1, owned>
  tile.return
}

// What else stands in the attribute dictionary stays.
// CHECK-LABEL: tile.kernel @other_attributes
tile.kernel @other_attributes() attributes {note = "kept"} {
  // CHECK-NEXT: %i = tile.bid {hint, axis = 0 : i64}
  // GENERIC: %i = "tile.bid"() <{axis = 0 : i64}> {hint} : () -> i64
  %i = tile.bid {axis = 0, hint}
  // CHECK-NEXT: tile.return {last}
  tile.return {last}
}

// CHECK-LABEL: tile.kernel @atomic
tile.kernel @atomic(%out: !tile.view<?xi32, atomic>, %own: !tile.view<?xf32, owned>, %n: i32, %f: f32, %i: i64) {
  // CHECK-NEXT: tile.splat
  %x = tile.splat %n : i32 -> tensor<4xi32>
  // CHECK-NEXT: tile.splat
  %y = tile.splat %f : f32 -> tensor<4xf32>
  // CHECK-NEXT: tile.atomic_rmw %x, %out[%i] {kind = "umax"} : tensor<4xi32>, !tile.view<?xi32, atomic>
  // GENERIC: "tile.atomic_rmw"(%x, %out, %i) <{kind = "umax"}> : (tensor<4xi32>, !tile.view<?xi32, atomic>, i64) -> ()
  tile.atomic_rmw %x, %out[%i] {kind = "umax"} : tensor<4xi32>, !tile.view<?xi32, atomic>
  // CHECK-NEXT: tile.atomic_rmw %x, %out[%i] {kind = "xor", bounds = #tile.bounds<masked [0]>, vector = 2 : i64}
  tile.atomic_rmw %x, %out[%i] {kind = "xor", bounds = #tile.bounds<masked [0]>, vector = 2} : tensor<4xi32>, !tile.view<?xi32, atomic>
  // CHECK-NEXT: tile.load %own[%i] {unchecked} : !tile.view<?xf32, owned> -> tensor<4xf32>
  %z = tile.load %own[%i] {unchecked} : !tile.view<?xf32, owned> -> tensor<4xf32>
  // CHECK-NEXT: tile.load %own[%i] {vector = 4 : i64, phased} : !tile.view<?xf32, owned> -> tensor<4xf32>
  %zz = tile.load %own[%i] {vector = 4, phased} : !tile.view<?xf32, owned> -> tensor<4xf32>
  // CHECK-NEXT: tile.store %y, %own[%i] {vector = 4 : i64, phased} : tensor<4xf32>, !tile.view<?xf32, owned>
  tile.store %y, %own[%i] {vector = 4, phased} : tensor<4xf32>, !tile.view<?xf32, owned>
  // CHECK-NEXT: tile.load %own[%i] {cache = "keep"} : !tile.view<?xf32, owned> -> tensor<4xf32>
  %zk = tile.load %own[%i] {cache = "keep"} : !tile.view<?xf32, owned> -> tensor<4xf32>
  // CHECK-NEXT: tile.store %y, %own[%i] {cache = "streaming"} : tensor<4xf32>, !tile.view<?xf32, owned>
  tile.store %y, %own[%i] {cache = "streaming"} : tensor<4xf32>, !tile.view<?xf32, owned>
  // CHECK-NEXT: tile.store %y, %own[%i] {unchecked} : tensor<4xf32>, !tile.view<?xf32, owned>
  tile.store %y, %own[%i] {unchecked} : tensor<4xf32>, !tile.view<?xf32, owned>
  tile.return
}
