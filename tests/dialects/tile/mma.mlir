// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: tile.kernel @from_registers
tile.kernel @from_registers(%s: bf16, %z: f32) {
  // CHECK-NEXT: tile.splat
  %a = tile.splat %s : bf16 -> tensor<64x96xbf16>
  // CHECK-NEXT: tile.splat
  %b = tile.splat %s : bf16 -> tensor<96x32xbf16>
  // CHECK-NEXT: tile.splat
  %c = tile.splat %z : f32 -> tensor<64x32xf32>
  // CHECK-NEXT: %d = tile.mma %a, %b, %c : tensor<64x96xbf16>, tensor<96x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
  // GENERIC: %d = "tile.mma"(%a, %b, %c) : (tensor<64x96xbf16>, tensor<96x32xbf16>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %d = tile.mma %a, %b, %c : tensor<64x96xbf16>, tensor<96x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
  // CHECK-NEXT: %e = tile.mma %a, %b, %d {atom = "mma.m16n8k16.bf16"} : tensor<64x96xbf16>, tensor<96x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
  // GENERIC: %e = "tile.mma"(%a, %b, %d) <{atom = "mma.m16n8k16.bf16"}> : (tensor<64x96xbf16>, tensor<96x32xbf16>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %e = tile.mma %a, %b, %d {atom = "mma.m16n8k16.bf16"} : tensor<64x96xbf16>, tensor<96x32xbf16>, tensor<64x32xf32> -> tensor<64x32xf32>
  tile.return
}

// Products of f32 are exact to f32 unless they say otherwise.
// CHECK-LABEL: tile.kernel @less_precise
tile.kernel @less_precise(%s: f32) {
  // CHECK-NEXT: tile.splat
  %a = tile.splat %s : f32 -> tensor<32x32xf32>
  // CHECK-NEXT: %b = tile.mma %a, %a, %a {precision = "tf32"} : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  // GENERIC: %b = "tile.mma"(%a, %a, %a) <{precision = "tf32"}> : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %b = tile.mma %a, %a, %a {precision = "tf32"} : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  tile.return
}

// Operands may lie in shared memory; integers accumulate in integers.
// CHECK-LABEL: tile.kernel @from_shared_memory
tile.kernel @from_shared_memory(%s: i8, %z: i32) {
  // CHECK-NEXT: tile.splat
  %x = tile.splat %s : i8 -> tensor<32x16xi8>
  // CHECK-NEXT: %a = tile.stage %x : tensor<32x16xi8> -> !tile.buffer<32x16xi8>
  // GENERIC: %a = "tile.stage"(%x) : (tensor<32x16xi8>) -> !tile.buffer<32x16xi8>
  %a = tile.stage %x : tensor<32x16xi8> -> !tile.buffer<32x16xi8>
  // CHECK-NEXT: %b = tile.transpose_buffer %a {permutation = array<i32: 1, 0>} : !tile.buffer<32x16xi8> -> !tile.buffer<16x32xi8>
  // GENERIC: %b = "tile.transpose_buffer"(%a) <{permutation = array<i32: 1, 0>}> : (!tile.buffer<32x16xi8>) -> !tile.buffer<16x32xi8>
  %b = tile.transpose_buffer %a {permutation = array<i32: 1, 0>} : !tile.buffer<32x16xi8> -> !tile.buffer<16x32xi8>
  // CHECK-NEXT: tile.splat
  %c = tile.splat %z : i32 -> tensor<32x32xi32>
  // CHECK-NEXT: %d = tile.mma %a, %b, %c : !tile.buffer<32x16xi8>, !tile.buffer<16x32xi8>, tensor<32x32xi32> -> tensor<32x32xi32>
  // GENERIC: %d = "tile.mma"(%a, %b, %c) : (!tile.buffer<32x16xi8>, !tile.buffer<16x32xi8>, tensor<32x32xi32>) -> tensor<32x32xi32>
  %d = tile.mma %a, %b, %c : !tile.buffer<32x16xi8>, !tile.buffer<16x32xi8>, tensor<32x32xi32> -> tensor<32x32xi32>
  // CHECK-NEXT: %e = tile.mma %x, %b, %d : tensor<32x16xi8>, !tile.buffer<16x32xi8>, tensor<32x32xi32> -> tensor<32x32xi32>
  %e = tile.mma %x, %b, %d : tensor<32x16xi8>, !tile.buffer<16x32xi8>, tensor<32x32xi32> -> tensor<32x32xi32>
  // CHECK-NEXT: %f = tile.mma %x, %b, %d {unsigned} : tensor<32x16xi8>, !tile.buffer<16x32xi8>, tensor<32x32xi32> -> tensor<32x32xi32>
  // GENERIC: %f = "tile.mma"(%x, %b, %d) <{unsigned}> : (tensor<32x16xi8>, !tile.buffer<16x32xi8>, tensor<32x32xi32>) -> tensor<32x32xi32>
  %f = tile.mma %x, %b, %d {unsigned} : tensor<32x16xi8>, !tile.buffer<16x32xi8>, tensor<32x32xi32> -> tensor<32x32xi32>
  // CHECK-NEXT: %v = tile.reshape_buffer %a : !tile.buffer<32x16xi8> -> !tile.buffer<1x32x16xi8>
  // GENERIC: %v = "tile.reshape_buffer"(%a) : (!tile.buffer<32x16xi8>) -> !tile.buffer<1x32x16xi8>
  %v = tile.reshape_buffer %a : !tile.buffer<32x16xi8> -> !tile.buffer<1x32x16xi8>
  // CHECK-NEXT: %u = tile.unstage %v : !tile.buffer<1x32x16xi8> -> tensor<1x32x16xi8>
  // GENERIC: %u = "tile.unstage"(%v) : (!tile.buffer<1x32x16xi8>) -> tensor<1x32x16xi8>
  %u = tile.unstage %v : !tile.buffer<1x32x16xi8> -> tensor<1x32x16xi8>
  tile.return
}
