// RUN: tileopt %s -p canonicalize | filecheck %s

#rows = #tile.layout<regs = [], lanes = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warps = []>
#turned = #tile.layout<regs = [], lanes = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2]], warps = []>
#columns = #tile.layout<regs = [], lanes = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], warps = []>

// What does nothing goes.
// CHECK-LABEL: tile.kernel @identities
// CHECK-NEXT: %a = tile.load
// CHECK-NEXT: tile.store %a
// CHECK-NEXT: %s = tile.load
// CHECK-NEXT: tile.store %s
// CHECK-NEXT: %p = tile.load
// CHECK-NEXT: tile.store %p
// CHECK-NEXT: tile.return
tile.kernel @identities(%x: !tile.view<?x?xf32, shared>, %o: !tile.view<?x?xf32, owned>, %i: i64) {
  %a = tile.load %x[%i, %i] : !tile.view<?x?xf32, shared> -> tensor<4x8xf32>
  %b = tile.broadcast %a : tensor<4x8xf32> -> tensor<4x8xf32>
  %c = tile.reshape %b : tensor<4x8xf32> -> tensor<4x8xf32>
  %d = tile.transpose %c {permutation = array<i64: 0, 1>} : tensor<4x8xf32> -> tensor<4x8xf32>
  %e = tile.convert_layout %d : tensor<4x8xf32> -> tensor<4x8xf32>
  tile.store %e, %o[%i, %i] : tensor<4x8xf32>, !tile.view<?x?xf32, owned>

  %s = tile.load %x[%i, %i] : !tile.view<?x?xf32, shared> -> tensor<4x4xf32>
  %m = tile.stage %s : tensor<4x4xf32> -> !tile.buffer<4x4xf32>
  %n = tile.transpose_buffer %m {permutation = array<i64: 0, 1>} : !tile.buffer<4x4xf32> -> !tile.buffer<4x4xf32>
  %r = tile.reshape_buffer %n : !tile.buffer<4x4xf32> -> !tile.buffer<4x4xf32>
  %u = tile.unstage %r : !tile.buffer<4x4xf32> -> tensor<4x4xf32>
  tile.store %u, %o[%i, %i] : tensor<4x4xf32>, !tile.view<?x?xf32, owned>

  %p = tile.load %x[%i, %i] : !tile.view<?x?xf32, shared> -> tensor<4x8xf32, #rows>
  %q = tile.convert_layout %p : tensor<4x8xf32, #rows> -> tensor<4x8xf32, #columns>
  %v = tile.convert_layout %q : tensor<4x8xf32, #columns> -> tensor<4x8xf32, #rows>
  tile.store %v, %o[%i, %i] : tensor<4x8xf32, #rows>, !tile.view<?x?xf32, owned>
  tile.return
}

// What looks like nothing but moves data stays: a transpose of equal extents, a change of layout.
// CHECK-LABEL: tile.kernel @not_identities
// CHECK-NEXT: %a = tile.load
// CHECK-NEXT: %b = tile.transpose %a {permutation = array<i64: 1, 0>}
// CHECK-NEXT: tile.store %b
// CHECK-NEXT: %m = tile.stage %b
// CHECK-NEXT: %n = tile.transpose_buffer %m
// CHECK-NEXT: %u = tile.unstage %n
// CHECK-NEXT: tile.store %u
// CHECK-NEXT: %p = tile.load
// CHECK-NEXT: %q = tile.convert_layout %p
// CHECK-NEXT: tile.store %q
// CHECK-NEXT: %w = tile.stage %p
// CHECK-NEXT: %y = tile.unstage %w
// CHECK-NEXT: tile.store %y
// CHECK-NEXT: tile.return
tile.kernel @not_identities(%x: !tile.view<?x?xf32, shared>, %o: !tile.view<?x?xf32, owned>, %i: i64) {
  %a = tile.load %x[%i, %i] : !tile.view<?x?xf32, shared> -> tensor<4x4xf32>
  %b = tile.transpose %a {permutation = array<i64: 1, 0>} : tensor<4x4xf32> -> tensor<4x4xf32>
  tile.store %b, %o[%i, %i] : tensor<4x4xf32>, !tile.view<?x?xf32, owned>
  %m = tile.stage %b : tensor<4x4xf32> -> !tile.buffer<4x4xf32>
  %n = tile.transpose_buffer %m {permutation = array<i64: 1, 0>} : !tile.buffer<4x4xf32> -> !tile.buffer<4x4xf32>
  %u = tile.unstage %n : !tile.buffer<4x4xf32> -> tensor<4x4xf32>
  tile.store %u, %o[%i, %i] : tensor<4x4xf32>, !tile.view<?x?xf32, owned>
  %p = tile.load %x[%i, %i] : !tile.view<?x?xf32, shared> -> tensor<4x8xf32, #rows>
  %q = tile.convert_layout %p : tensor<4x8xf32, #rows> -> tensor<4x8xf32, #columns>
  tile.store %q, %o[%i, %i] : tensor<4x8xf32, #columns>, !tile.view<?x?xf32, owned>
  %w = tile.stage %p : tensor<4x8xf32, #rows> -> !tile.buffer<4x8xf32>
  %y = tile.unstage %w : !tile.buffer<4x8xf32> -> tensor<4x8xf32, #columns>
  tile.store %y, %o[%i, %i] : tensor<4x8xf32, #columns>, !tile.view<?x?xf32, owned>
  tile.return
}

// A splat passes through all that rearranges.
// CHECK-LABEL: tile.kernel @splats
// CHECK-NEXT: %[[SPLAT:.*]] = tile.splat %s : f32 -> tensor<8x4xf32>
// CHECK-NEXT: tile.store %[[SPLAT]]
// CHECK-NEXT: %[[LAID:.*]] = tile.splat %s : f32 -> tensor<4x8xf32, #tile.layout<regs = [], lanes = {{\[\[}}1, 0], {{.*}}>>
// CHECK-NEXT: tile.store %[[LAID]]
// CHECK-NEXT: tile.return
tile.kernel @splats(%o: !tile.view<?x?xf32, owned>, %s: f32, %i: i64) {
  %a = tile.splat %s : f32 -> tensor<4xf32>
  %b = tile.reshape %a : tensor<4xf32> -> tensor<4x1xf32>
  %c = tile.broadcast %b : tensor<4x1xf32> -> tensor<4x8xf32>
  %d = tile.transpose %c {permutation = array<i64: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  tile.store %d, %o[%i, %i] : tensor<8x4xf32>, !tile.view<?x?xf32, owned>
  %e = tile.splat %s : f32 -> tensor<4x8xf32, #rows>
  %f = tile.convert_layout %e : tensor<4x8xf32, #rows> -> tensor<4x8xf32, #columns>
  tile.store %f, %o[%i, %i] : tensor<4x8xf32, #columns>, !tile.view<?x?xf32, owned>
  tile.return
}

// Two in a row are one: element (i, j, k) of the result is element (k, i, j) of what was loaded.
// CHECK-LABEL: tile.kernel @merged
// CHECK-NEXT: %a = tile.load
// CHECK-NEXT: %[[T:.*]] = tile.transpose %a {permutation = array<i64: 1, 2, 0>} : tensor<2x4x8xf32> -> tensor<4x8x2xf32>
// CHECK-NEXT: tile.store %[[T]]
// CHECK-NEXT: %b = tile.load
// CHECK-NEXT: %[[B:.*]] = tile.broadcast %b : tensor<1x1x2xf32> -> tensor<4x8x2xf32>
// CHECK-NEXT: tile.store %[[B]]
// CHECK-NEXT: %c = tile.load
// CHECK-NEXT: %[[R:.*]] = tile.reshape %c : tensor<2x4x8xf32> -> tensor<8x4x2xf32>
// CHECK-NEXT: tile.store %[[R]]
// CHECK-NEXT: tile.return
tile.kernel @merged(%x: !tile.view<?x?x?xf32, shared>, %o: !tile.view<?x?x?xf32, owned>, %i: i64) {
  %a = tile.load %x[%i, %i, %i] : !tile.view<?x?x?xf32, shared> -> tensor<2x4x8xf32>
  %d = tile.transpose %a {permutation = array<i64: 2, 1, 0>} : tensor<2x4x8xf32> -> tensor<8x4x2xf32>
  %e = tile.transpose %d {permutation = array<i64: 1, 0, 2>} : tensor<8x4x2xf32> -> tensor<4x8x2xf32>
  tile.store %e, %o[%i, %i, %i] : tensor<4x8x2xf32>, !tile.view<?x?x?xf32, owned>
  %b = tile.load %x[%i, %i, %i] : !tile.view<?x?x?xf32, shared> -> tensor<1x1x2xf32>
  %f = tile.broadcast %b : tensor<1x1x2xf32> -> tensor<4x1x2xf32>
  %g = tile.broadcast %f : tensor<4x1x2xf32> -> tensor<4x8x2xf32>
  tile.store %g, %o[%i, %i, %i] : tensor<4x8x2xf32>, !tile.view<?x?x?xf32, owned>
  %c = tile.load %x[%i, %i, %i] : !tile.view<?x?x?xf32, shared> -> tensor<2x4x8xf32>
  %h = tile.reshape %c : tensor<2x4x8xf32> -> tensor<64xf32>
  %j = tile.reshape %h : tensor<64xf32> -> tensor<8x4x2xf32>
  tile.store %j, %o[%i, %i, %i] : tensor<8x4x2xf32>, !tile.view<?x?x?xf32, owned>
  tile.return
}

// Once layouts are assigned, each op is what was chosen: only conversions merge.
// CHECK-LABEL: tile.kernel @assigned
// CHECK-NEXT: %a = tile.load
// CHECK-NEXT: %d = tile.transpose %a
// CHECK-NEXT: %e = tile.transpose %d
// CHECK-NEXT: tile.store %e
// CHECK-NEXT: tile.return
tile.kernel @assigned(%x: !tile.view<?x?xf32, shared>, %o: !tile.view<?x?xf32, owned>, %i: i64) {
  %a = tile.load %x[%i, %i] : !tile.view<?x?xf32, shared> -> tensor<4x8xf32, #rows>
  %d = tile.transpose %a {permutation = array<i64: 1, 0>} : tensor<4x8xf32, #rows> -> tensor<8x4xf32, #turned>
  %e = tile.transpose %d {permutation = array<i64: 1, 0>} : tensor<8x4xf32, #turned> -> tensor<4x8xf32, #rows>
  tile.store %e, %o[%i, %i] : tensor<4x8xf32, #rows>, !tile.view<?x?xf32, owned>
  tile.return
}

// A static extent is a constant.
// CHECK-LABEL: tile.kernel @extents
// CHECK-NEXT: %[[M:.*]] = tile.dim %x {axis = 0 : i64}
// CHECK-NEXT: %[[N:.*]] = arith.constant 128 : i64
// CHECK-NEXT: tile.load %x[%[[M]], %[[N]]]
tile.kernel @extents(%x: !tile.view<?x128xf32, shared>, %o: !tile.view<?x128xf32, owned>) {
  %m = tile.dim %x {axis = 0} : !tile.view<?x128xf32, shared>
  %n = tile.dim %x {axis = 1} : !tile.view<?x128xf32, shared>
  %a = tile.load %x[%m, %n] : !tile.view<?x128xf32, shared> -> tensor<4x4xf32>
  tile.store %a, %o[%m, %n] : tensor<4x4xf32>, !tile.view<?x128xf32, owned>
  tile.return
}
