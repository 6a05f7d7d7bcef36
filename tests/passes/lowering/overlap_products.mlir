// RUN: tileopt %s -p overlap-products | filecheck %s

#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
#rows = #tile.layout<regs = [[0, 1], [0, 2], [0, 4]], lanes = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warps = [[16, 0], [32, 0]]>

// The copy is issued while the product runs; the barrier waits for it.
// CHECK-LABEL: simt.kernel @copy_and_barrier
// CHECK:         gpu.wgmma %
// CHECK-NEXT:    gpu.cp_async
// CHECK-NEXT:    gpu.cp_async_commit
// CHECK-NEXT:    gpu.wgmma_wait
// CHECK-NEXT:    simt.barrier
simt.kernel @copy_and_barrier(%x: !tile.view<?x?xf16, shared>, %i: i64, %z: f32) {
  %a = simt.alloc_shared : !tile.buffer<64x16xf16>
  %b = simt.alloc_shared : !tile.buffer<16x16xf16>
  %n = simt.alloc_shared : !tile.buffer<64x16xf16>
  %c = simt.splat %z : f32 -> vector<8xf32>
  %d = gpu.wgmma %a, %b, %c {atom = "w", layout_acc = #acc} : !tile.buffer<64x16xf16>, !tile.buffer<16x16xf16>, vector<8xf32> -> vector<8xf32>
  %e = gpu.wgmma_wait %d {pending = 0} : vector<8xf32> -> vector<8xf32>
  gpu.cp_async %x[%i, %i], %n {layout = #rows, vector = 8} : !tile.view<?x?xf16, shared>, !tile.buffer<64x16xf16>
  gpu.cp_async_commit
  simt.barrier
  %f = arith.addf %e, %e : vector<8xf32>
  simt.return
}

// A use inside a region stops it as well, and so does the end of the block.
// CHECK-LABEL: simt.kernel @use_in_a_region
// CHECK:         gpu.wgmma %
// CHECK-NEXT:    arith.addi
// CHECK-NEXT:    gpu.wgmma_wait
// CHECK-NEXT:    scf.if
simt.kernel @use_in_a_region(%i: i64, %p: i1, %z: f32) {
  %a = simt.alloc_shared : !tile.buffer<64x16xf16>
  %b = simt.alloc_shared : !tile.buffer<16x16xf16>
  %c = simt.splat %z : f32 -> vector<8xf32>
  %d = gpu.wgmma %a, %b, %c {atom = "w", layout_acc = #acc} : !tile.buffer<64x16xf16>, !tile.buffer<16x16xf16>, vector<8xf32> -> vector<8xf32>
  %e = gpu.wgmma_wait %d {pending = 0} : vector<8xf32> -> vector<8xf32>
  %j = arith.addi %i, %i : i64
  %g = scf.if %p -> (vector<8xf32>) {
    scf.yield %e : vector<8xf32>
  } else {
    scf.yield %c : vector<8xf32>
  }
  simt.return
}

// A product starts before copies that do not concern it, but not before the barrier.
// CHECK-LABEL: simt.kernel @hastened
// CHECK:         gpu.cp_async_wait
// CHECK-NEXT:    simt.barrier
// CHECK-NEXT:    gpu.wgmma %
// CHECK-NEXT:    scf.if
// CHECK:         gpu.cp_async_commit
// CHECK-NEXT:    gpu.wgmma_wait
// CHECK-NEXT:    arith.addf
simt.kernel @hastened(%x: !tile.view<?x?xf16, shared>, %i: i64, %p: i1, %z: f32) {
  %a = simt.alloc_shared : !tile.buffer<64x16xf16>
  %b = simt.alloc_shared : !tile.buffer<16x16xf16>
  %n = simt.alloc_shared : !tile.buffer<64x16xf16>
  %c = simt.splat %z : f32 -> vector<8xf32>
  gpu.cp_async_wait {pending = 0}
  simt.barrier
  scf.if %p {
    gpu.cp_async %x[%i, %i], %n {layout = #rows, vector = 8} : !tile.view<?x?xf16, shared>, !tile.buffer<64x16xf16>
  }
  gpu.cp_async_commit
  %d = gpu.wgmma %a, %b, %c {atom = "w", layout_acc = #acc} : !tile.buffer<64x16xf16>, !tile.buffer<16x16xf16>, vector<8xf32> -> vector<8xf32>
  %e = gpu.wgmma_wait %d {pending = 0} : vector<8xf32> -> vector<8xf32>
  %f = arith.addf %e, %e : vector<8xf32>
  simt.return
}
