// RUN: tileopt %s -p infer-facts,map-tensor-cores,assign-layouts,retain-tiles | filecheck %s

// Two loops over the parts of a row, the second one backwards. A thirty-second of 163 KiB is for a block of one warp:
// five parts of 1 KiB. Iteration p's tile is taken from slot p where p is below 5 and was reached.
// CHECK-LABEL: tile.kernel @twice
// CHECK:         [[RING:%.*]] = simt.alloc_shared {slots = 5 : i64} : !tile.buffer<256xf32
// CHECK:         scf.for %i =
// CHECK:           %v = tile.load %x
// CHECK-NEXT:      [[MOST:%.*]] = arith.constant 5
// CHECK-NEXT:      [[EARLY:%.*]] = arith.cmpi ult, %i, [[MOST]]
// CHECK-NEXT:      scf.if [[EARLY]] {
// CHECK-NEXT:        [[SLOT:%.*]] = simt.slot [[RING]][%i]
// CHECK-NEXT:        tile.store_buffer %v, [[SLOT]]
// CHECK-NEXT:      }
// CHECK:         scf.for
// CHECK:           arith.cmpi ult, %p
// CHECK-NEXT:      arith.cmpi slt, %p, %n
// CHECK-NEXT:      arith.andi
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        simt.slot [[RING]][%p]
// CHECK-NEXT:        tile.load_buffer
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tile.load %x
// CHECK-NEXT:        scf.yield
// The other array is loaded once, and stays as it is.
// CHECK-NOT:       simt.slot
// CHECK:           tile.load %w
builtin.module attributes {tile.target = "sm_80"} {
  tile.kernel @twice(%x: !tile.view<?xf32, shared>, %w: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>, %n: i64) attributes {tile.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c256 = arith.constant 256 : i64
    %f = arith.constant 0.0 : f32
    %zero = tile.splat %f : f32 -> tensor<256xf32>
    %total = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (tensor<256xf32>) : i64 {
      %at = arith.muli %i, %c256 : i64
      %v = tile.load %x[%at] : !tile.view<?xf32, shared> -> tensor<256xf32>
      %s = arith.addf %t, %v : tensor<256xf32>
      scf.yield %s : tensor<256xf32>
    }
    %last = arith.subi %n, %c1 : i64
    scf.for %j = %c0 to %n step %c1 : i64 {
      %p = arith.subi %last, %j : i64
      %at = arith.muli %p, %c256 : i64
      %v = tile.load %x[%at] : !tile.view<?xf32, shared> -> tensor<256xf32>
      %w0 = tile.load %w[%at] : !tile.view<?xf32, shared> -> tensor<256xf32>
      %s = arith.mulf %total, %v : tensor<256xf32>
      %u = arith.mulf %s, %w0 : tensor<256xf32>
      tile.store %u, %o[%at] : tensor<256xf32>, !tile.view<?xf32, owned>
    }
    tile.return
  }
}
