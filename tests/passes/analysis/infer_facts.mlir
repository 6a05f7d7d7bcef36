// RUN: tileopt %s -p infer-facts --target cpu --split-input-file | filecheck %s

// CHECK-LABEL: tile.kernel @aligned
// CHECK: tile.load %x[%o] {vector = 8 : i64}
tile.kernel @aligned(%x: !tile.view<?xbf16, shared> {tile.contract = #tile.contract<align = 16, unit = 0, shape = [16], stride = [1]>}) {
  %b = tile.bid {axis = 0}
  %c = arith.constant 64 : i64
  %o = arith.muli %b, %c : i64
  %t = tile.load %x[%o] : !tile.view<?xbf16, shared> -> tensor<64xbf16>
  tile.return
}

// -----

// The base address is a multiple of 4 bytes only.
// CHECK-LABEL: tile.kernel @base
// CHECK: vector = 2
tile.kernel @base(%x: !tile.view<?xbf16, shared> {tile.contract = #tile.contract<align = 4, unit = 0, shape = [16], stride = [1]>}) {
  %c0 = arith.constant 0 : i64
  %t = tile.load %x[%c0] : !tile.view<?xbf16, shared> -> tensor<64xbf16>
  tile.return
}

// -----

// The extent is a multiple of 2: the last group of 4 might be half outside.
// CHECK-LABEL: tile.kernel @extent
// CHECK: vector = 2
tile.kernel @extent(%x: !tile.view<?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 0, shape = [2], stride = [1]>}) {
  %c0 = arith.constant 0 : i64
  %t = tile.load %x[%c0] : !tile.view<?xf32, shared> -> tensor<64xf32>
  tile.return
}

// -----

// The tile is inside: the extent does not matter.
// CHECK-LABEL: tile.kernel @inside
// CHECK: vector = 4
tile.kernel @inside(%x: !tile.view<67xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 0, shape = [1], stride = [1]>}) {
  %c0 = arith.constant 0 : i64
  %t = tile.load %x[%c0] : !tile.view<67xf32, shared> -> tensor<64xf32>
  tile.return
}

// -----

// Rows begin at multiples of 2 elements, but for a tile of one row at an even row.
// CHECK-LABEL: tile.kernel @strides
// CHECK: vector = 2
// CHECK: vector = 4
tile.kernel @strides(%x: !tile.view<?x?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 16], stride = [2, 1]>}) {
  %b = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %even = arith.muli %b, %c2 : i64
  %t = tile.load %x[%b, %c0] : !tile.view<?x?xf32, shared> -> tensor<8x16xf32>
  %u = tile.load %x[%even, %c0] : !tile.view<?x?xf32, shared> -> tensor<1x16xf32>
  tile.return
}

// -----

// No unit stride, no contract, and an odd offset.
// CHECK-LABEL: tile.kernel @nothing
// CHECK: vector = 1
// CHECK: vector = 1
// CHECK: vector = 1
tile.kernel @nothing(%x: !tile.view<?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = -1, shape = [16], stride = [2]>}, %y: !tile.view<?xf32, shared>, %z: !tile.view<?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 0, shape = [16], stride = [1]>}) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %t = tile.load %x[%c0] : !tile.view<?xf32, shared> -> tensor<16xf32>
  %u = tile.load %y[%c0] : !tile.view<?xf32, shared> -> tensor<16xf32>
  %v = tile.load %z[%c1] : !tile.view<?xf32, shared> -> tensor<16xf32>
  tile.return
}

// -----

// A copy is aligned where index times stride is, on each axis of the array, and the last index in the buffer.
// CHECK-LABEL: simt.kernel @copies
// CHECK: gpu.cp_async_elements %m[%i, %four], %x[%i, %four] {count = 4 : i64, aligned}
// CHECK: gpu.cp_async_elements %m[%i, %four], %x[%i, %four] {count = 2 : i64, aligned}
// CHECK: gpu.cp_async_elements %m[%i, %four], %x[%i, %i] {count = 4 : i64} :
// CHECK: gpu.cp_async_elements %m[%i, %i], %x[%i, %four] {count = 4 : i64} :
// CHECK: gpu.cp_async_elements %m[%i, %i], %x[%i, %i] {count = 1 : i64, aligned}
// CHECK: gpu.cp_async_elements %m[%i, %four], %y[%i, %four] {count = 4 : i64} :
// CHECK: gpu.cp_async_elements %m[%i, %four], %y[%four, %four] {count = 4 : i64, aligned}
// CHECK: gpu.cp_async_elements %m[%i, %four], %z[%i, %four] {count = 4 : i64} :
simt.kernel @copies(%x: !tile.view<?x?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [4, 1]>}, %y: !tile.view<?x?xf32, shared> {tile.contract = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [1, 1]>}, %z: !tile.view<?x?xf32, shared> {tile.contract = #tile.contract<align = 8, unit = 1, shape = [1, 1], stride = [4, 1]>}) attributes {simt.block = array<i64: 32, 1, 1>} {
  %m = simt.alloc_shared : !tile.buffer<128x128xf32>
  %c4 = arith.constant 4 : i64
  %i = simt.thread_idx {axis = 0}
  %four = arith.muli %i, %c4 : i64
  gpu.cp_async_elements %m[%i, %four], %x[%i, %four] {count = 4} : !tile.buffer<128x128xf32>, !tile.view<?x?xf32, shared>
  gpu.cp_async_elements %m[%i, %four], %x[%i, %four] {count = 2} : !tile.buffer<128x128xf32>, !tile.view<?x?xf32, shared>
  gpu.cp_async_elements %m[%i, %four], %x[%i, %i] {count = 4} : !tile.buffer<128x128xf32>, !tile.view<?x?xf32, shared>
  gpu.cp_async_elements %m[%i, %i], %x[%i, %four] {count = 4} : !tile.buffer<128x128xf32>, !tile.view<?x?xf32, shared>
  gpu.cp_async_elements %m[%i, %i], %x[%i, %i] {count = 1} : !tile.buffer<128x128xf32>, !tile.view<?x?xf32, shared>
  gpu.cp_async_elements %m[%i, %four], %y[%i, %four] {count = 4} : !tile.buffer<128x128xf32>, !tile.view<?x?xf32, shared>
  gpu.cp_async_elements %m[%i, %four], %y[%four, %four] {count = 4} : !tile.buffer<128x128xf32>, !tile.view<?x?xf32, shared>
  gpu.cp_async_elements %m[%i, %four], %z[%i, %four] {count = 4} : !tile.buffer<128x128xf32>, !tile.view<?x?xf32, shared>
  simt.return
}
