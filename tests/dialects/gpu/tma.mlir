// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
#flat = #tile.contract<align = 16, unit = 0, shape = [1], stride = [1], small, regular>

// CHECK-LABEL: simt.kernel @copies
simt.kernel @copies(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %y: !tile.view<?x?xbf16, owned> {tile.contract = #rows}, %v: !tile.view<?xf32, shared> {tile.contract = #flat}, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  // A row of two panels of 128 bytes.
  %t = simt.alloc_shared : !tile.buffer<64x128xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3], panel = 64>>
  %f = simt.alloc_shared : !tile.buffer<128xf32>
  // CHECK: gpu.tma_load %x[%i, %i], %t, %b[%i] : !tile.view<?x?xbf16, shared>, !tile.buffer<64x128xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3], panel = 64>>, !tile.buffer<1xi64>
  // GENERIC: "gpu.tma_load"(%x, %i, %i, %t, %b, %i)
  gpu.tma_load %x[%i, %i], %t, %b[%i] : !tile.view<?x?xbf16, shared>, !tile.buffer<64x128xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3], panel = 64>>, !tile.buffer<1xi64>
  // CHECK-NEXT: gpu.tma_load %v[%i], %f, %b[%i] {bounds = #tile.bounds<masked [0]>}
  gpu.tma_load %v[%i], %f, %b[%i] {bounds = #tile.bounds<masked [0]>} : !tile.view<?xf32, shared>, !tile.buffer<128xf32>, !tile.buffer<1xi64>
  // CHECK-NEXT: gpu.tma_store %t, %y[%i, %i] : !tile.buffer<64x128xbf16, {{.*}}>, !tile.view<?x?xbf16, owned>
  // GENERIC: "gpu.tma_store"(%t, %y, %i, %i)
  gpu.tma_store %t, %y[%i, %i] : !tile.buffer<64x128xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3], panel = 64>>, !tile.view<?x?xbf16, owned>
  // CHECK-NEXT: gpu.tma_commit
  // GENERIC: "gpu.tma_commit"() : () -> ()
  gpu.tma_commit
  // CHECK-NEXT: gpu.tma_wait {pending = 0 : i64, read}
  // GENERIC: "gpu.tma_wait"() <{pending = 0 : i64, read}> : () -> ()
  gpu.tma_wait {pending = 0, read}
  simt.return
}

// Two blocks of a cluster copy a half each, for both.

// CHECK-LABEL: simt.kernel @halves
simt.kernel @halves(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) attributes {simt.cluster = array<i64: 2, 1, 1>} {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<64x128xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3], panel = 64>>
  // CHECK: gpu.tma_load %x[%i, %i], %t, %b[%i] {parts = 2 : i64}
  // GENERIC: "gpu.tma_load"(%x, %i, %i, %t, %b, %i) <{parts = 2 : i64}>
  gpu.tma_load %x[%i, %i], %t, %b[%i] {parts = 2} : !tile.view<?x?xbf16, shared>, !tile.buffer<64x128xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3], panel = 64>>, !tile.buffer<1xi64>
  simt.return
}
