// RUN: tileopt %s -p lower-accumulators --verify-diagnostics

#l = #tile.layout<regs = [[0, 1], [0, 2], [0, 4], [0, 8]], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[32, 0], [64, 0]]>
!f = vector<256xf32>

module attributes {tile.target = "sm_100a"} {
// expected-error@+1 {{kernel 'full' needs 768 columns of tensor memory, sm_100a has 512}}
simt.kernel @full(%w: f32) attributes {simt.threads = 128 : i64} {
  %v = simt.splat %w : f32 -> !f
  // expected-note@+1 {{256 columns for an accumulator}}
  %d = gpu.accumulator {columns = 256}
  // expected-note@+1 {{256 columns for an accumulator}}
  %e = gpu.accumulator {columns = 256}
  // expected-note@+1 {{256 columns for an accumulator}}
  %g = gpu.accumulator {columns = 256}
  gpu.accumulator_store %v, %d {layout = #l, shape = array<i64: 128, 256>} : !f
  gpu.accumulator_store %v, %e {layout = #l, shape = array<i64: 128, 256>} : !f
  gpu.accumulator_store %v, %g {layout = #l, shape = array<i64: 128, 256>} : !f
  %h = gpu.accumulator_load %d {layout = #l, shape = array<i64: 128, 256>} : !f
  %k = gpu.accumulator_load %e {layout = #l, shape = array<i64: 128, 256>} : !f
  %m = gpu.accumulator_load %g {layout = #l, shape = array<i64: 128, 256>} : !f
  simt.return
}
}
