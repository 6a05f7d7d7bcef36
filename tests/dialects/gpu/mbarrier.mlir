// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: simt.kernel @meet
simt.kernel @meet(%i: i64, %one: i1) {
  %b = simt.alloc_shared : !tile.buffer<4xi64>
  // CHECK: gpu.mbarrier_init %b[%i] {count = 2 : i64} : !tile.buffer<4xi64>
  // GENERIC: "gpu.mbarrier_init"(%b, %i) <{count = 2 : i64}> : (!tile.buffer<4xi64>, i64) -> ()
  gpu.mbarrier_init %b[%i] {count = 2} : !tile.buffer<4xi64>
  // CHECK-NEXT: gpu.mbarrier_fence
  // GENERIC: "gpu.mbarrier_fence"() : () -> ()
  gpu.mbarrier_fence
  // CHECK-NEXT: simt.barrier {id = 1 : i64, threads = 64 : i64}
  // GENERIC: "simt.barrier"() <{id = 1 : i64, threads = 64 : i64}> : () -> ()
  simt.barrier {id = 1, threads = 64}
  // CHECK-NEXT: gpu.mbarrier_arrive %b[%i] : !tile.buffer<4xi64>
  gpu.mbarrier_arrive %b[%i] : !tile.buffer<4xi64>
  // CHECK-NEXT: gpu.mbarrier_arrive %b[%i] where %one : !tile.buffer<4xi64>
  gpu.mbarrier_arrive %b[%i] where %one : !tile.buffer<4xi64>
  // CHECK-NEXT: gpu.mbarrier_arrive %b[%i] {expect = 4096 : i64} : !tile.buffer<4xi64>
  // GENERIC: "gpu.mbarrier_arrive"(%b, %i) <{expect = 4096 : i64}> : (!tile.buffer<4xi64>, i64) -> ()
  gpu.mbarrier_arrive %b[%i] {expect = 4096} : !tile.buffer<4xi64>
  // CHECK-NEXT: gpu.mbarrier_wait %b[%i], %i : !tile.buffer<4xi64>
  // GENERIC: "gpu.mbarrier_wait"(%b, %i, %i) : (!tile.buffer<4xi64>, i64, i64) -> ()
  gpu.mbarrier_wait %b[%i], %i : !tile.buffer<4xi64>
  // CHECK-NEXT: %e = gpu.mbarrier_try_wait %b[%i], %i : !tile.buffer<4xi64>
  // GENERIC: %e = "gpu.mbarrier_try_wait"(%b, %i, %i) : (!tile.buffer<4xi64>, i64, i64) -> i1
  %e = gpu.mbarrier_try_wait %b[%i], %i : !tile.buffer<4xi64>
  // CHECK-NEXT: gpu.mbarrier_inval %b[%i] : !tile.buffer<4xi64>
  // GENERIC: "gpu.mbarrier_inval"(%b, %i) : (!tile.buffer<4xi64>, i64) -> ()
  gpu.mbarrier_inval %b[%i] : !tile.buffer<4xi64>
  // CHECK-NEXT: gpu.setmaxnreg {registers = 240 : i64, direction = 1 : i64}
  // GENERIC: "gpu.setmaxnreg"() <{registers = 240 : i64, direction = 1 : i64}> : () -> ()
  gpu.setmaxnreg {registers = 240, direction = 1}
  simt.return
}
