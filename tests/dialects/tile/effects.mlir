// RUN: tileopt %s -p cse | filecheck %s --check-prefix=CSE
// RUN: tileopt %s -p dce | filecheck %s --check-prefix=DCE
// RUN: tileopt %s -p licm | filecheck %s --check-prefix=LICM

// A load of a read-only array is the same on both sides of a store; one of an owned array is not.
// CSE-LABEL: tile.kernel @across_a_store
// CSE-NEXT: %a = tile.load %x
// CSE-NEXT: %b = tile.load %o
// CSE-NEXT: tile.store %a
// CSE-NEXT: %d = tile.load %o
// CSE-NEXT: tile.store %a
// CSE-NEXT: tile.store %b
// CSE-NEXT: tile.store %d
// CSE-NEXT: tile.return
tile.kernel @across_a_store(%x: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>, %i: i64) {
  %a = tile.load %x[%i] : !tile.view<?xf32, shared> -> tensor<4xf32>
  %b = tile.load %o[%i] : !tile.view<?xf32, owned> -> tensor<4xf32>
  tile.store %a, %o[%i] : tensor<4xf32>, !tile.view<?xf32, owned>
  %c = tile.load %x[%i] : !tile.view<?xf32, shared> -> tensor<4xf32>
  %d = tile.load %o[%i] : !tile.view<?xf32, owned> -> tensor<4xf32>
  tile.store %c, %o[%i] : tensor<4xf32>, !tile.view<?xf32, owned>
  tile.store %b, %o[%i] : tensor<4xf32>, !tile.view<?xf32, owned>
  tile.store %d, %o[%i] : tensor<4xf32>, !tile.view<?xf32, owned>
  tile.return
}

// Loads and what follows from them go where nothing uses them. Stores and waits stay.
// DCE-LABEL: tile.kernel @unused
// DCE-NEXT: %c = tile.load %o
// DCE-NEXT: tile.store %c
// DCE-NEXT: %ring = pipe.channel
// DCE-NEXT: pipe.acquire
// DCE-NEXT: pipe.copy
// DCE-NEXT: pipe.commit
// DCE-NEXT: %t = pipe.wait
// DCE-NEXT: pipe.release
// DCE-NEXT: tile.return
tile.kernel @unused(%x: !tile.view<?xf32, shared>, %o: !tile.view<?xf32, owned>, %i: i64) {
  %a = tile.load %x[%i] : !tile.view<?xf32, shared> -> tensor<4xf32>
  %m = tile.stage %a : tensor<4xf32> -> !tile.buffer<4xf32>
  %u = tile.unstage %m : !tile.buffer<4xf32> -> tensor<4xf32>
  %b = tile.load %o[%i] : !tile.view<?xf32, owned> -> tensor<4xf32>
  %c = tile.load %o[%i] : !tile.view<?xf32, owned> -> tensor<4xf32>
  tile.store %c, %o[%i] : tensor<4xf32>, !tile.view<?xf32, owned>
  %unused = pipe.channel : !pipe.channel<2, !tile.buffer<4xf32>>
  %ring = pipe.channel : !pipe.channel<2, !tile.buffer<4xf32>>
  pipe.acquire %ring[%i] : !pipe.channel<2, !tile.buffer<4xf32>>
  pipe.copy %x[%i], %ring[%i] {member = 0} : !tile.view<?xf32, shared>, !pipe.channel<2, !tile.buffer<4xf32>>
  pipe.commit %ring[%i] : !pipe.channel<2, !tile.buffer<4xf32>>
  %t = pipe.wait %ring[%i] {pending = 0} : !pipe.channel<2, !tile.buffer<4xf32>> -> !tile.buffer<4xf32>
  %w = tile.unstage %t : !tile.buffer<4xf32> -> tensor<4xf32>
  pipe.release %ring[%i] : !pipe.channel<2, !tile.buffer<4xf32>>
  tile.return
}

// A read-only load leaves the loop, even one that stores, if it tests each axis itself. A proof about its bounds may
// hold only where the loop runs; an owned array may be written by the loop.
// LICM-LABEL: tile.kernel @in_a_loop
// LICM: %masked = tile.load
// LICM-NEXT: %open = tile.load
// LICM-NEXT: %staged = tile.stage %open
// LICM-NEXT: scf.for
// LICM-NEXT: %proved = tile.load
// LICM-NEXT: %half = tile.load
// LICM-NEXT: %checked = tile.load
// LICM-NEXT: %owned = tile.load
// LICM-NEXT: tile.unstage
tile.kernel @in_a_loop(%x: !tile.view<?x?xf32, shared>, %o: !tile.view<?x?xf32, owned>, %i: i64) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  scf.for %j = %0 to %i step %1 : i64 {
    %masked = tile.load %x[%i, %i] {bounds = #tile.bounds<masked [0, 1]>} : !tile.view<?x?xf32, shared> -> tensor<4x4xf32>
    %open = tile.load %x[%i, %i] : !tile.view<?x?xf32, shared> -> tensor<4x4xf32>
    %staged = tile.stage %open : tensor<4x4xf32> -> !tile.buffer<4x4xf32>
    %proved = tile.load %x[%i, %i] {bounds = #tile.bounds<proved []>} : !tile.view<?x?xf32, shared> -> tensor<4x4xf32>
    %half = tile.load %x[%i, %i] {bounds = #tile.bounds<masked [0]>} : !tile.view<?x?xf32, shared> -> tensor<4x4xf32>
    %checked = tile.load %x[%i, %i] {bounds = #tile.bounds<checked [0, 1]>} : !tile.view<?x?xf32, shared> -> tensor<4x4xf32>
    %owned = tile.load %o[%i, %i] : !tile.view<?x?xf32, owned> -> tensor<4x4xf32>
    %u = tile.unstage %staged : !tile.buffer<4x4xf32> -> tensor<4x4xf32>
    "test.op"(%masked, %open, %proved, %half, %checked, %owned, %u) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> ()
    tile.store %open, %o[%j, %j] : tensor<4x4xf32>, !tile.view<?x?xf32, owned>
  }
  tile.return
}
