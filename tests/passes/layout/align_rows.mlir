// RUN: tileopt %s -p align-rows | filecheck %s

// A row's tile is shifted by what its row begins beyond 16 bytes, where both arrays leave room in the tile; the weights
// with it, but they are no row of the same number, and go one by one.
// CHECK-LABEL: tile.kernel @norm
// CHECK:         [[P:%.*]] = simt.phase %x[%i, %c0] {bytes = 16 : i64}
// CHECK-NEXT:    [[D:%.*]] = tile.dim %x {axis = 1 : i64}
// CHECK-NEXT:    [[N:%.*]] = arith.constant 1024
// CHECK-NEXT:    [[ROOM:%.*]] = arith.subi [[N]], [[D]]
// CHECK-NEXT:    [[FITS:%.*]] = arith.cmpi sle, [[P]], [[ROOM]]
// CHECK-NEXT:    [[Z:%.*]] = arith.constant 0
// CHECK-NEXT:    arith.select [[FITS]], [[P]], [[Z]]
// CHECK:         tile.dim %o {axis = 1 : i64}
// CHECK:         tile.dim %w {axis = 0 : i64}
// CHECK:         [[SHIFT:%.*]] = arith.select
// CHECK-NEXT:    [[ZERO:%.*]] = arith.constant 0
// CHECK-NEXT:    [[S:%.*]] = arith.subi [[ZERO]], [[SHIFT]]
// CHECK-NEXT:    %v = tile.load %x[%i, [[S]]] {{.*}}masked [0, 1]>, vector = 4 : i64, phased}
// CHECK-NEXT:    %u = tile.load %w{{\[}}[[S]]] {{.*}}masked [0]>, vector = 1 : i64}
// CHECK:         tile.store %{{.*}}, %o[%i, [[S]]] {{.*}}masked [0, 1]>, vector = 4 : i64, phased}
builtin.module attributes {tile.target = "sm_80"} {
  tile.kernel @norm(%x: !tile.view<?x?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [1, 1]>}, %w: !tile.view<?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 0, shape = [1], stride = [1]>}, %o: !tile.view<?x?xf32, owned> {tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [1, 1]>}) {
    %i = tile.bid {axis = 0}
    %c0 = arith.constant 0 : i64
    %v = tile.load %x[%i, %c0] {bounds = #tile.bounds<hoisted [0, 1]>, vector = 1 : i64} : !tile.view<?x?xf32, shared> -> tensor<1x1024xf32>
    %u = tile.load %w[%c0] {bounds = #tile.bounds<hoisted [0]>, vector = 4 : i64} : !tile.view<?xf32, shared> -> tensor<1024xf32>
    %m = tile.reduce %v {kind = "max", axis = 1 : i64} : tensor<1x1024xf32> -> tensor<1xf32>
    %m1 = tile.reshape %m : tensor<1xf32> -> tensor<1x1xf32>
    %mb = tile.broadcast %m1 : tensor<1x1xf32> -> tensor<1x1024xf32>
    %u1 = tile.reshape %u : tensor<1024xf32> -> tensor<1x1024xf32>
    %d = arith.subf %v, %mb : tensor<1x1024xf32>
    %e = arith.mulf %d, %u1 : tensor<1x1024xf32>
    tile.store %e, %o[%i, %c0] {bounds = #tile.bounds<hoisted [0, 1]>, vector = 1 : i64} : tensor<1x1024xf32>, !tile.view<?x?xf32, owned>
    tile.return
  }
}
