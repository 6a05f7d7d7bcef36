// RUN: tileopt %s -p lower-pipe --split-input-file | filecheck %s

// CHECK-LABEL: simt.kernel @ring
// CHECK:         [[R:%.*]] = simt.alloc_shared {slots = 3 : i64} : !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>
// CHECK-NEXT:    [[THREE:%.*]] = arith.constant 3 : i64
// CHECK-NEXT:    [[S:%.*]] = arith.remui %i, [[THREE]]
// CHECK-NEXT:    [[T:%.*]] = simt.slot [[R]][[[S]]]
// CHECK-NEXT:    gpu.cp_async %x[%i, %i], [[T]]
// CHECK-SAME:      vector = 4 : i64
// CHECK-NEXT:    gpu.cp_async_commit
// CHECK-NEXT:    gpu.cp_async_wait {pending = 1 : i64}
// CHECK-NEXT:    simt.slot [[R]]
// CHECK-NEXT:    simt.return
module attributes {tile.target = "sm_80"} {
simt.kernel @ring(%x: !tile.view<?x?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 1, shape = [4, 4], stride = [4, 1]>}, %i: i64) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !pipe.channel<3, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  pipe.acquire %c[%i] : !pipe.channel<3, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  pipe.copy %x[%i, %i], %c[%i] {member = 0 : i64, vector = 4 : i64} : !tile.view<?x?xf32, shared>, !pipe.channel<3, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  pipe.commit %c[%i] : !pipe.channel<3, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  %t = pipe.wait %c[%i] {pending = 1 : i64} : !pipe.channel<3, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>> -> !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>
  pipe.release %c[%i] : !pipe.channel<3, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  simt.return
}
}

// -----

// Without asynchronous copies the tile goes through registers, when and where the copy would begin.
// CHECK-LABEL: simt.kernel @plain
// CHECK:         [[R:%.*]] = simt.alloc_shared : !tile.buffer
// CHECK-NEXT:    [[V:%.*]] = simt.fragment_load %x[%i, %i]
// CHECK-NEXT:    simt.shared_store [[V]], [[R]]
// CHECK-NEXT:    simt.return
module attributes {tile.target = "sm_75"} {
simt.kernel @plain(%x: !tile.view<?x?xf32, shared>, %i: i64) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !pipe.channel<1, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  pipe.acquire %c[%i] : !pipe.channel<1, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  pipe.copy %x[%i, %i], %c[%i] {member = 0 : i64} : !tile.view<?x?xf32, shared>, !pipe.channel<1, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  pipe.commit %c[%i] : !pipe.channel<1, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  %t = pipe.wait %c[%i] {pending = 0 : i64} : !pipe.channel<1, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>> -> !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>
  pipe.release %c[%i] : !pipe.channel<1, !tile.buffer<32x32xf32, #tile.shared<order = [0, 1]>>>
  simt.return
}
}
