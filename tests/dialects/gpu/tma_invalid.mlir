// RUN: tileopt %s --split-input-file --verify-diagnostics

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // expected-error@+1 {{offsets, array and buffer differ in rank}}
  gpu.tma_load %x[%i], %t, %b[%i] : !tile.view<?x?xbf16, shared>, !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<1xi64>
  simt.return
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // expected-error@+1 {{array and buffer differ in element type}}
  gpu.tma_load %x[%i, %i], %t, %b[%i] : !tile.view<?x?xbf16, shared>, !tile.buffer<64x64xf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<1xi64>
  simt.return
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [2, 3, 3]>>
  // expected-error@+1 {{the tile's layout in shared memory is none of the hardware's}}
  gpu.tma_load %x[%i, %i], %t, %b[%i] : !tile.view<?x?xbf16, shared>, !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [2, 3, 3]>>, !tile.buffer<1xi64>
  simt.return
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<512x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // expected-error@+1 {{a box has at most 256 elements a side}}
  gpu.tma_load %x[%i, %i], %t, %b[%i] : !tile.view<?x?xbf16, shared>, !tile.buffer<512x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<1xi64>
  simt.return
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<8x512xbf16>
  // expected-error@+1 {{a box has at most 256 elements a side}}
  gpu.tma_load %x[%i, %i], %t, %b[%i] : !tile.view<?x?xbf16, shared>, !tile.buffer<8x512xbf16>, !tile.buffer<1xi64>
  simt.return
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // expected-error@+1 {{a store to !tile.view<?x?xbf16, shared>, which is not owned}}
  gpu.tma_store %t, %x[%i, %i] : !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.view<?x?xbf16, shared>
  simt.return
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi32>
  %t = simt.alloc_shared : !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // expected-error@+1 {{barriers are a !tile.buffer<Nxi64>, not !tile.buffer<1xi32>}}
  gpu.tma_load %x[%i, %i], %t, %b[%i] : !tile.view<?x?xbf16, shared>, !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<1xi32>
  simt.return
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?x?x?x?x?xbf16, shared>, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<1x1x1x1x8x64xbf16>
  // expected-error@+1 {{the array has rank 6, the copy engine knows 1 to 5}}
  gpu.tma_load %x[%i, %i, %i, %i, %i, %i], %t, %b[%i] : !tile.view<?x?x?x?x?x?xbf16, shared>, !tile.buffer<1x1x1x1x8x64xbf16>, !tile.buffer<1xi64>
  simt.return
}

// -----

// expected-error@+1 {{pending counts groups, it is not -1}}
gpu.tma_wait {pending = -1}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) attributes {simt.cluster = array<i64: 2, 1, 1>} {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // expected-error@+1 {{parts are a power of two from 2 to 16, not 3}}
  gpu.tma_load %x[%i, %i], %t, %b[%i] {parts = 3} : !tile.view<?x?xbf16, shared>, !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<1xi64>
  simt.return
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) attributes {simt.cluster = array<i64: 2, 1, 1>} {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<24x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // expected-error@+1 {{no 2 parts of a multiple of 8 rows make !tile.buffer<24x64xbf16}}
  gpu.tma_load %x[%i, %i], %t, %b[%i] {parts = 2} : !tile.view<?x?xbf16, shared>, !tile.buffer<24x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<1xi64>
  simt.return
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 8], stride = [8, 1], regular>
simt.kernel @k(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %i: i64) {
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  %t = simt.alloc_shared : !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>
  // expected-error@+1 {{gpu.tma_load needs a kernel whose blocks come in clusters (simt.cluster)}}
  gpu.tma_load %x[%i, %i], %t, %b[%i] {parts = 2} : !tile.view<?x?xbf16, shared>, !tile.buffer<64x64xbf16, #tile.shared<order = [0, 1], swizzle = [3, 3, 3]>>, !tile.buffer<1xi64>
  simt.return
}
