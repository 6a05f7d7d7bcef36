// RUN: tileopt %s -p allocate-onchip --split-input-file --verify-diagnostics | filecheck %s

#rows = #tile.layout<regs = [[0, 1]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = []>

// Small tiles lie side by side: to share bytes might cost a barrier.
// CHECK-LABEL: simt.kernel @small
// CHECK-SAME:    simt.shared_bytes = 512 : i64
// CHECK:         simt.alloc_shared {offset = 0 : i64}
// CHECK:         simt.alloc_shared {offset = 256 : i64}
module attributes {tile.target = "sm_80"} {
simt.kernel @small(%f: f32) attributes {simt.threads = 32 : i64} {
  %v = simt.splat %f : f32 -> vector<2xf32>
  %a = simt.alloc_shared : !tile.buffer<8x8xf32>
  simt.shared_store %v, %a {layout = #rows} : vector<2xf32>, !tile.buffer<8x8xf32>
  %b = simt.alloc_shared : !tile.buffer<8x8xf32>
  simt.shared_store %v, %b {layout = #rows} : vector<2xf32>, !tile.buffer<8x8xf32>
  simt.return
}
}

// -----

#l = #tile.layout<regs = [[0, 1], [0, 2]], lanes = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warps = [[2, 0], [4, 0]]>

// A ring that is dead when the last tile is written: they share.
// CHECK-LABEL: simt.kernel @share
// CHECK-SAME:    simt.shared_bytes = 98304 : i64
// CHECK:         simt.alloc_shared {slots = 3 : i64, offset = 0 : i64} : !tile.buffer<128x64xf32>
// CHECK:         simt.alloc_shared {offset = 0 : i64} : !tile.buffer<128x64xf32>
module attributes {tile.target = "sm_80"} {
simt.kernel @share(%f: f32, %i: i64) attributes {simt.threads = 128 : i64} {
  %v = simt.splat %f : f32 -> vector<64xf32>
  %r = simt.alloc_shared {slots = 3 : i64} : !tile.buffer<128x64xf32>
  %s = simt.slot %r[%i] : !tile.buffer<128x64xf32> -> !tile.buffer<128x64xf32>
  simt.shared_store %v, %s {layout = #l} : vector<64xf32>, !tile.buffer<128x64xf32>
  %b = simt.alloc_shared : !tile.buffer<128x64xf32>
  simt.shared_store %v, %b {layout = #l} : vector<64xf32>, !tile.buffer<128x64xf32>
  simt.return
}
}

// -----

#l = #tile.layout<regs = [[0, 1], [0, 2]], lanes = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warps = [[2, 0], [4, 0]]>

module attributes {tile.target = "sm_80"} {
// expected-error @below {{needs 229376 bytes of shared memory}}
simt.kernel @large(%f: f32, %i: i64) attributes {simt.threads = 128 : i64} {
  %v = simt.splat %f : f32 -> vector<64xf32>
  // expected-note @below {{229376 bytes for a tile of 128x64xf32, 7 stages}}
  %r = simt.alloc_shared {slots = 7 : i64} : !tile.buffer<128x64xf32>
  %s = simt.slot %r[%i] : !tile.buffer<128x64xf32> -> !tile.buffer<128x64xf32>
  simt.shared_store %v, %s {layout = #l} : vector<64xf32>, !tile.buffer<128x64xf32>
  simt.return
}
}
