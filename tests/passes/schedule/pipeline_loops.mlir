// RUN: tileopt %s -p pipeline-loops --split-input-file | filecheck %s

// Three slots: copies are made two iterations early, where such an iteration exists; every iteration commits.
// CHECK-LABEL: tile.kernel @sum
// CHECK:         [[C:%.*]] = pipe.channel : !pipe.channel<3, !tile.buffer<64x64xf32>>
// CHECK:         [[G0:%.*]] = arith.cmpi slt, [[I0:%.*]], %n
// CHECK-NEXT:    scf.if [[G0]] {
// CHECK-NEXT:      pipe.acquire [[C]][[[I0]]]
// CHECK-NEXT:      %o = arith.muli [[I0]], %w
// CHECK-NEXT:      pipe.copy %x[%z, %o], [[C]][[[I0]]] {vector = 4 : i64, member = 0 : i64}
// CHECK-NEXT:    }
// CHECK-NEXT:    pipe.commit [[C]][[[I0]]]
// CHECK:         pipe.commit
// CHECK-NOT:     pipe.commit
// CHECK:         scf.for %i = %z to %n step %u
// CHECK-NEXT:      [[A:%.*]] = pipe.wait [[C]][%i] {pending = 1 : i64}
// CHECK:           [[NEXT:%.*]] = arith.addi %i
// CHECK-NEXT:      [[MORE:%.*]] = arith.cmpi slt, [[NEXT]], %n
// CHECK-NEXT:      scf.if [[MORE]] {
// CHECK-NEXT:        pipe.acquire [[C]][[[NEXT]]]
// CHECK-NEXT:        arith.muli [[NEXT]], %w
// CHECK-NEXT:        pipe.copy
// CHECK-NEXT:      }
// CHECK-NEXT:      pipe.commit [[C]][[[NEXT]]]
// CHECK-NOT:       tile.load
// CHECK:           tile.unstage [[A]]
// CHECK:           pipe.release [[C]][%i]
// CHECK-NEXT:      scf.yield
module attributes {tile.target = "sm_80"} {
tile.kernel @sum(%x: !tile.view<?x?xf32, shared>, %n: i64, %f: f32) attributes {tile.num_stages = 3 : i64} {
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 64 : i64
  %zero = tile.splat %f : f32 -> tensor<64x64xf32>
  %r = scf.for %i = %z to %n step %u iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i64 {
    %o = arith.muli %i, %w : i64
    %t = tile.load %x[%z, %o] {vector = 4 : i64} : !tile.view<?x?xf32, shared> -> tensor<64x64xf32>
    %b = tile.stage %t : tensor<64x64xf32> -> !tile.buffer<64x64xf32>
    %v = tile.unstage %b : !tile.buffer<64x64xf32> -> tensor<64x64xf32>
    %s = arith.addf %acc, %v : tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.return
}
}

// -----

// A loop that writes the array it reads is left alone.
// CHECK-LABEL: tile.kernel @in_place
// CHECK-NOT:     pipe.
// CHECK:         tile.return
module attributes {tile.target = "sm_80"} {
tile.kernel @in_place(%x: !tile.view<?x?xf32, owned>, %n: i64) attributes {tile.num_stages = 3 : i64} {
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  scf.for %i = %z to %n step %u : i64 {
    %t = tile.load %x[%z, %i] : !tile.view<?x?xf32, owned> -> tensor<64x64xf32>
    %b = tile.stage %t : tensor<64x64xf32> -> !tile.buffer<64x64xf32>
    %v = tile.unstage %b : !tile.buffer<64x64xf32> -> tensor<64x64xf32>
    tile.store %v, %x[%i, %z] : tensor<64x64xf32>, !tile.view<?x?xf32, owned>
  }
  tile.return
}
}
