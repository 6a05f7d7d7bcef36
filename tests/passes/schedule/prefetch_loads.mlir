// RUN: tileopt %s -p map-tensor-cores,assign-layouts,prefetch-loads --split-input-file | filecheck %s

// Three stages: two tiles wait, the body loads the one of two iterations later, and all of it tests its bounds.
// CHECK-LABEL: tile.kernel @sum
// CHECK:         [[A:%.*]] = tile.load {{.*}}hoisted [0, 1]
// CHECK:         [[STEP:%.*]] = arith.addi %lo, %c1
// CHECK-NEXT:    [[AT:%.*]] = arith.muli [[STEP]]
// CHECK-NEXT:    [[B:%.*]] = tile.load %x[%r, [[AT]]]
// CHECK-NEXT:    scf.for %i = %lo to %n step %c1 iter_args(%t = %zero, [[V:%.*]] = [[A]], [[W:%.*]] = [[B]])
// CHECK:           [[AHEAD:%.*]] = arith.addi %i
// CHECK-NEXT:      [[LATER:%.*]] = arith.muli [[AHEAD]]
// CHECK-NEXT:      [[NEXT:%.*]] = tile.load %x[%r, [[LATER]]] {{.*}}hoisted [0, 1]
// CHECK-NEXT:      %s = arith.addf %t, [[V]]
// CHECK-NEXT:      scf.yield %s, [[W]], [[NEXT]]
builtin.module attributes {tile.target = "sm_80"} {
  tile.kernel @sum(%x: !tile.view<?x?xf32, shared>, %o: !tile.view<?x?xf32, owned>, %lo: i64, %n: i64, %r: i64) attributes {tile.num_warps = 1 : i64, tile.num_stages = 3 : i64} {
    %c1 = arith.constant 1 : i64
    %c64 = arith.constant 64 : i64
    %f = arith.constant 0.0 : f32
    %zero = tile.splat %f : f32 -> tensor<1x64xf32>
    %total = scf.for %i = %lo to %n step %c1 iter_args(%t = %zero) -> (tensor<1x64xf32>) : i64 {
      %at = arith.muli %i, %c64 : i64
      %v = tile.load %x[%r, %at] {bounds = #tile.bounds<masked [1]>, vector = 1 : i64} : !tile.view<?x?xf32, shared> -> tensor<1x64xf32>
      %s = arith.addf %t, %v : tensor<1x64xf32>
      scf.yield %s : tensor<1x64xf32>
    }
    tile.store %total, %o[%r, %lo] {bounds = #tile.bounds<masked [0, 1]>, vector = 1 : i64} : tensor<1x64xf32>, !tile.view<?x?xf32, owned>
    tile.return
  }
}

// -----

// An array that the loop writes, offsets that follow from what was loaded, a division that may fail where no iteration
// is, and elements that move as one because their tile is inside: nothing is made early.
// CHECK-LABEL: tile.kernel @late
// CHECK:         scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0)
// CHECK-NEXT:      %a = tile.load %o[%i]
// CHECK-NEXT:      %b = tile.load %x[%k]
// CHECK-NEXT:      %q = arith.divui
// CHECK-NEXT:      %c = tile.load %x[%q]
// CHECK-NEXT:      %d = tile.load %x[%i]
builtin.module attributes {tile.target = "sm_80"} {
  tile.kernel @late(%x: !tile.view<?xi64, shared> {tile.contract = #tile.contract<align = 16, unit = 0, shape = [1], stride = [1]>}, %o: !tile.view<?xi64, owned>, %n: i64) attributes {tile.num_warps = 1 : i64, tile.num_stages = 2 : i64} {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c8 = arith.constant 8 : i64
    %end = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0) -> (i64) : i64 {
      %a = tile.load %o[%i] {bounds = #tile.bounds<masked [0]>, vector = 1 : i64} : !tile.view<?xi64, owned> -> tensor<1xi64>
      %b = tile.load %x[%k] {bounds = #tile.bounds<masked [0]>, vector = 1 : i64} : !tile.view<?xi64, shared> -> tensor<1xi64>
      %q = arith.divui %c8, %i : i64
      %c = tile.load %x[%q] {bounds = #tile.bounds<masked [0]>, vector = 1 : i64} : !tile.view<?xi64, shared> -> tensor<1xi64>
      %d = tile.load %x[%i] {bounds = #tile.bounds<proved []>, vector = 2 : i64} : !tile.view<?xi64, shared> -> tensor<2xi64>
      %m = tile.reduce %d {kind = "sum", axis = 0 : i64} : tensor<2xi64> -> tensor<i64>
      %l = tile.to_scalar %m : tensor<i64> -> i64
      %s = arith.addi %a, %b : tensor<1xi64>
      %u = arith.addi %s, %c : tensor<1xi64>
      tile.store %u, %o[%i] {bounds = #tile.bounds<masked [0]>, vector = 1 : i64} : tensor<1xi64>, !tile.view<?xi64, owned>
      scf.yield %l : i64
    }
    tile.return
  }
}
