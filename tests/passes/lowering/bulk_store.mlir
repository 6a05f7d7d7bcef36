// RUN: tileopt %s -p lower-tile-to-simt --split-input-file | filecheck %s

// Three panels of 64 columns go through two buffers. One thread hands each to the copy engine as a group of its own.
// Before the first buffer is filled again, that thread waits until it was read (one group may be under way), and the
// others wait for it. At the end all have been read. The barriers between writes and copies are insert-fences'.
// CHECK-LABEL: simt.kernel @panels
// CHECK:         [[RING:%.*]] = simt.alloc_shared {slots = 2 : i64} : !tile.buffer<64x64xbf16
// CHECK:         [[B0:%.*]] = simt.slot [[RING]]
// CHECK-NEXT:    [[P0:%.*]] = simt.fragment_select {{%.*}} {registers = array<i64: 0, 1, 2, 3,
// CHECK-NEXT:    simt.shared_store [[P0]], [[B0]]
// CHECK:         scf.if
// CHECK-NEXT:      gpu.tma_store [[B0]], %out[%z, %z]
// CHECK-NEXT:      gpu.tma_commit
// CHECK:         [[B1:%.*]] = simt.slot [[RING]]
// CHECK-NEXT:    [[P1:%.*]] = simt.fragment_select {{%.*}} {registers = array<i64: 32, 33,
// CHECK-NEXT:    simt.shared_store [[P1]], [[B1]]
// CHECK-NEXT:    [[N:%.*]] = arith.constant 64 : i64
// CHECK-NEXT:    [[AT:%.*]] = arith.addi %z, [[N]]
// CHECK:         scf.if
// CHECK-NEXT:      gpu.tma_store [[B1]], %out[%z, [[AT]]]
// CHECK-NEXT:      gpu.tma_commit
// CHECK:         [[B2:%.*]] = simt.slot [[RING]]
// CHECK:         scf.if
// CHECK-NEXT:      gpu.tma_wait {pending = 1 : i64, read}
// CHECK-NEXT:    }
// CHECK-NEXT:    simt.barrier
// CHECK:         simt.shared_store {{%.*}}, [[B2]]
// CHECK:         gpu.tma_store [[B2]]
// CHECK-NEXT:    gpu.tma_commit
// CHECK:         scf.if
// CHECK-NEXT:      gpu.tma_wait {pending = 0 : i64, read}
// CHECK-NEXT:    }
// CHECK-NEXT:    simt.return
#rows = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [16, 1], regular>
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
module attributes {tile.target = "sm_90a"} {
tile.kernel @panels(%out: !tile.view<?x?xbf16, owned> {tile.contract = #rows}, %f: bf16, %z: i64) attributes {tile.num_warps = 4 : i64} {
  %v = tile.splat %f : bf16 -> tensor<64x192xbf16, #acc>
  tile.store %v, %out[%z, %z] {bulk} : tensor<64x192xbf16, #acc>, !tile.view<?x?xbf16, owned>
  tile.return
}
}

// -----

// One panel needs one buffer. In a loop, what was stored the last time is complete before the next begins: copies may
// overtake one another, and go to one place.
// CHECK-LABEL: simt.kernel @in_a_loop
// CHECK:         scf.for
// CHECK:           [[B:%.*]] = simt.alloc_shared : !tile.buffer<64x32xf32
// CHECK:           scf.if
// CHECK-NEXT:        gpu.tma_wait {pending = 0 : i64}{{$}}
// CHECK-NEXT:      }
// CHECK-NEXT:      simt.barrier
// CHECK-NEXT:      simt.shared_store {{%.*}}, [[B]]
// CHECK:           gpu.tma_store [[B]], %out[%z, %z]
// CHECK-NEXT:      gpu.tma_commit
// CHECK:         gpu.tma_wait {pending = 0 : i64, read}
// CHECK:         simt.return
#rows = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [16, 1], regular>
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
module attributes {tile.target = "sm_90a"} {
tile.kernel @in_a_loop(%out: !tile.view<?x?xf32, owned> {tile.contract = #rows}, %f: f32, %z: i64, %n: i64) attributes {tile.num_warps = 4 : i64} {
  %u = arith.constant 1 : i64
  scf.for %i = %z to %n step %u : i64 {
    %v = tile.splat %f : f32 -> tensor<64x32xf32, #acc>
    tile.store %v, %out[%z, %z] {bulk} : tensor<64x32xf32, #acc>, !tile.view<?x?xf32, owned>
  }
  tile.return
}
}
