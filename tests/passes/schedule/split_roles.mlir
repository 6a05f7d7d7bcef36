// RUN: tileopt %s -p split-roles | filecheck %s

// One role: nothing changes.
// CHECK-LABEL: tile.kernel @one_role
// CHECK:         [[C:%.*]] = pipe.channel
// CHECK-NEXT:    pipe.acquire [[C]][%i]
// CHECK-NEXT:    pipe.copy
// CHECK-NEXT:    pipe.commit
// CHECK-NEXT:    pipe.wait
// CHECK-NEXT:    pipe.release
// CHECK-NEXT:    tile.return
tile.kernel @one_role(%x: !tile.view<?xf32, shared>, %i: i64) {
  %c = pipe.channel : !pipe.channel<2, !tile.buffer<64xf32>>
  pipe.acquire %c[%i] : !pipe.channel<2, !tile.buffer<64xf32>>
  pipe.copy %x[%i], %c[%i] {member = 0 : i64} : !tile.view<?xf32, shared>, !pipe.channel<2, !tile.buffer<64xf32>>
  pipe.commit %c[%i] : !pipe.channel<2, !tile.buffer<64xf32>>
  %t = pipe.wait %c[%i] {pending = 0 : i64} : !pipe.channel<2, !tile.buffer<64xf32>> -> !tile.buffer<64xf32>
  pipe.release %c[%i] : !pipe.channel<2, !tile.buffer<64xf32>>
  tile.return
}
