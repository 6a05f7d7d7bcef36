// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// Blocks that come in clusters.

// CHECK-LABEL: simt.kernel @ring
simt.kernel @ring(%i: i64, %v: f32, %c: i1) attributes {simt.cluster = array<i64: 4, 1, 1>} {
  %m = simt.alloc_shared : !tile.buffer<64xf32>
  %b = simt.alloc_shared : !tile.buffer<1xi64>
  // CHECK: gpu.cluster_arrive
  // GENERIC: "gpu.cluster_arrive"() : () -> ()
  gpu.cluster_arrive
  // CHECK: gpu.cluster_wait
  // GENERIC: "gpu.cluster_wait"() : () -> ()
  gpu.cluster_wait
  // CHECK: %w = gpu.remote_load %m[%i] of %i : !tile.buffer<64xf32> -> f32
  // GENERIC: %w = "gpu.remote_load"(%m, %i, %i) : (!tile.buffer<64xf32>, i64, i64) -> f32
  %w = gpu.remote_load %m[%i] of %i : !tile.buffer<64xf32> -> f32
  // CHECK: gpu.remote_store %v, %m[%i] of %i : f32, !tile.buffer<64xf32>
  // GENERIC: "gpu.remote_store"(%v, %m, %i, %i) : (f32, !tile.buffer<64xf32>, i64, i64) -> ()
  gpu.remote_store %v, %m[%i] of %i : f32, !tile.buffer<64xf32>
  // CHECK: gpu.remote_arrive %b[%i] of %i : !tile.buffer<1xi64>
  // GENERIC: "gpu.remote_arrive"(%b, %i, %i) : (!tile.buffer<1xi64>, i64, i64) -> ()
  gpu.remote_arrive %b[%i] of %i : !tile.buffer<1xi64>
  // CHECK-NEXT: gpu.remote_arrive %b[%i] of %i where %c {reads} : !tile.buffer<1xi64>
  // GENERIC-NEXT: "gpu.remote_arrive"(%b, %i, %i, %c) <{reads}> : (!tile.buffer<1xi64>, i64, i64, i1) -> ()
  gpu.remote_arrive %b[%i] of %i where %c {reads} : !tile.buffer<1xi64>
  simt.return
}
