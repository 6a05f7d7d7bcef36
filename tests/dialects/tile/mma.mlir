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

// With scales, of operands as an instruction takes them: f4e2m1fn in bytes of two values.
// CHECK-LABEL: tile.kernel @scaled
tile.kernel @scaled() {
  %a, %b, %c, %s, %t = "test.op"() : () -> (tensor<16x32xi8>, tensor<32x8xi8>, tensor<16x8xf32>, tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU>)
  // CHECK: %d = tile.mma %a, %b, %c scaled %s, %t {a_format = "f4e2m1fn", b_format = "f4e2m1fn"} : tensor<16x32xi8>, tensor<32x8xi8>, tensor<16x8xf32> scaled tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU> -> tensor<16x8xf32>
  // GENERIC: %d = "tile.mma"(%a, %b, %c, %s, %t) <{a_format = "f4e2m1fn", b_format = "f4e2m1fn"}> : (tensor<16x32xi8>, tensor<32x8xi8>, tensor<16x8xf32>, tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU>) -> tensor<16x8xf32>
  %d = tile.mma %a, %b, %c scaled %s, %t {a_format = "f4e2m1fn", b_format = "f4e2m1fn"} : tensor<16x32xi8>, tensor<32x8xi8>, tensor<16x8xf32> scaled tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU> -> tensor<16x8xf32>
  %x, %y = "test.op"() : () -> (tensor<16x32xf8E4M3FN>, tensor<32x8xf8E5M2>)
  %u, %v = "test.op"() : () -> (tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU>)
  // CHECK: tile.mma %x, %y, %d scaled %u, %v {a_format = "f8e4m3fn", b_format = "f8e5m2"}
  %e = tile.mma %x, %y, %d scaled %u, %v {a_format = "f8e4m3fn", b_format = "f8e5m2"} : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E5M2>, tensor<16x8xf32> scaled tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU> -> tensor<16x8xf32>
  tile.return
}
