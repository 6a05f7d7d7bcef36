// RUN: tileopt %s -p map-tensor-cores,assign-layouts,bound-registers --split-input-file | filecheck %s

// Two tiles of 28 registers at once, of 64 that 1024 threads leave to each: two blocks of 512 threads shall fit.
// CHECK-LABEL: tile.kernel @two
// CHECK-SAME:    simt.min_blocks = 2
builtin.module attributes {tile.target = "sm_90a"} {
  tile.kernel @two(%x: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>) attributes {tile.num_warps = 16 : i64} {
    %c0 = arith.constant 0 : i64
    %a = tile.load %x[%c0] {vector = 4 : i64} : !tile.view<?xf32, shared> -> tensor<14336xf32>
    %b = tile.load %x[%c0] {vector = 4 : i64} : !tile.view<?xf32, shared> -> tensor<14336xf32>
    %s = arith.addf %a, %b : tensor<14336xf32>
    tile.store %s, %o[%c0] {vector = 4 : i64} : tensor<14336xf32>, !tile.view<?xf32, owned>
    tile.return
  }
}

// -----

// The same in a loop that carries one of them beside a third: too much, nothing is said.
// CHECK-LABEL: tile.kernel @three
// CHECK-NOT:     simt.min_blocks
// CHECK:         tile.load
builtin.module attributes {tile.target = "sm_90a"} {
  tile.kernel @three(%x: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>, %n: i64) attributes {tile.num_warps = 16 : i64} {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %a = tile.load %x[%c0] {vector = 4 : i64} : !tile.view<?xf32, shared> -> tensor<14336xf32>
    %t = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a) -> (tensor<14336xf32>) : i64 {
      %b = tile.load %x[%i] {vector = 4 : i64} : !tile.view<?xf32, shared> -> tensor<14336xf32>
      %c = arith.mulf %b, %a : tensor<14336xf32>
      %v = arith.addf %u, %c : tensor<14336xf32>
      scf.yield %v : tensor<14336xf32>
    }
    tile.store %t, %o[%c0] {vector = 4 : i64} : tensor<14336xf32>, !tile.view<?xf32, owned>
    tile.return
  }
}

// -----

// What the author asks for, as far as there are threads; few registers are left alone.
// CHECK-LABEL: tile.kernel @asked
// CHECK-SAME:    simt.min_blocks = 3
// CHECK-LABEL: tile.kernel @asked_too_much
// CHECK-SAME:    simt.min_blocks = 4
// CHECK-LABEL: tile.kernel @small
// CHECK-NOT:     simt.min_blocks
// CHECK:         tile.load
builtin.module attributes {tile.target = "sm_90a"} {
  tile.kernel @asked(%x: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>) attributes {tile.num_warps = 16 : i64, tile.occupancy = 3 : i64} {
    tile.return
  }
  tile.kernel @asked_too_much(%x: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>) attributes {tile.num_warps = 16 : i64, tile.occupancy = 9 : i64} {
    tile.return
  }
  tile.kernel @small(%x: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>) attributes {tile.num_warps = 4 : i64} {
    %c0 = arith.constant 0 : i64
    %a = tile.load %x[%c0] {vector = 4 : i64} : !tile.view<?xf32, shared> -> tensor<3072xf32>
    tile.store %a, %o[%c0] {vector = 4 : i64} : tensor<3072xf32>, !tile.view<?xf32, owned>
    tile.return
  }
}
