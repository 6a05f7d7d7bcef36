// RUN: tileopt %s -p insert-fences | filecheck %s

// In a role only its 128 threads meet, at a barrier of the hardware's own. What they write is for the copy engine, so
// the barrier between the write and the copy orders units past the threads too. The barrier before the roles is all
// threads'. The producer, which runs beside, meets nobody: its barriers are in memory.
// CHECK-LABEL: simt.kernel @roles
// CHECK:         gpu.mbarrier_fence
// CHECK-NEXT:    }
// CHECK-NEXT:    simt.barrier {proxy}{{$}}
// CHECK:         scf.if %consumer {
// CHECK-NOT:       simt.barrier
// CHECK:           simt.shared_store
// CHECK-NEXT:      simt.barrier {proxy, id = 1 : i64, threads = 128 : i64}
// CHECK-NEXT:      scf.if %first {
// CHECK-NEXT:        gpu.tma_store
// CHECK:           gpu.tma_wait
// CHECK-NEXT:      }
// CHECK-NEXT:      simt.barrier {proxy, id = 1 : i64, threads = 128 : i64}
// CHECK-NEXT:      simt.shared_store
// CHECK-NOT:       simt.barrier
// CHECK:         } else {
// CHECK-NEXT:      gpu.mbarrier_wait
// CHECK-NEXT:      gpu.mbarrier_arrive
// CHECK-NEXT:      gpu.tma_load
// CHECK-NEXT:    }{simt.role = 128 : i64}
// CHECK-NEXT:    simt.return
!tile = !tile.buffer<64x32xf32, #tile.shared<order = [0, 1], swizzle = [3, 2, 3]>>
#rows = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [16, 1], regular>
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
module attributes {tile.target = "sm_90a"} {
simt.kernel @roles(%x: !tile.view<?x?xf32, shared> {tile.contract = #rows}, %out: !tile.view<?x?xf32, owned> {tile.contract = #rows}, %f: f32, %z: i64, %first: i1, %consumer: i1) attributes {simt.threads = 256 : i64} {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile
  %p = simt.alloc_shared : !tile
  scf.if %first {
    gpu.mbarrier_init %b[%z] {count = 1} : !tile.buffer<1xi64>
    gpu.mbarrier_fence
  }
  simt.barrier
  scf.if %consumer {
    %v = simt.splat %f : f32 -> vector<16xf32>
    gpu.mbarrier_wait %b[%z], %z : !tile.buffer<1xi64>
    simt.shared_store %v, %p {layout = #acc} : vector<16xf32>, !tile
    scf.if %first {
      gpu.tma_store %p, %out[%z, %z] : !tile, !tile.view<?x?xf32, owned>
      gpu.tma_commit
    }
    scf.if %first {
      gpu.tma_wait {pending = 0, read}
    }
    simt.barrier
    simt.shared_store %v, %p {layout = #acc} : vector<16xf32>, !tile
  } else {
    gpu.mbarrier_wait %b[%z], %z : !tile.buffer<1xi64>
    gpu.mbarrier_arrive %b[%z] {expect = 8192} : !tile.buffer<1xi64>
    gpu.tma_load %x[%z, %z], %t, %b[%z] : !tile.view<?x?xf32, shared>, !tile, !tile.buffer<1xi64>
  } {simt.role = 128 : i64}
  simt.return
}
}
