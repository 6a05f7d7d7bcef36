// RUN: tileopt %s --target sm_90a --emit ptx --print-ir-after-all 2>&1 | filecheck %s --check-prefix=HOPPER
// RUN: tileopt %s --target sm_100a --emit ptx --print-ir-after-all 2>&1 | filecheck %s --check-prefix=TENSOR
// RUN: tileopt %s --target sm_120a --emit ptx --print-ir-after-all 2>&1 | filecheck %s --check-prefix=WARPS

// What the passes of each target make of a loop with a product (examples/matmul.py).

// A producer, and consumers whose product of an iteration runs on while the next one begins.
// HOPPER:       IR Dump After check-accesses
// HOPPER:       gpu.setmaxnreg {{{.*}}direction = 1 : i64}
// HOPPER:       scf.for %k =
// HOPPER:         gpu.mbarrier_wait
// HOPPER:         gpu.wgmma {{.*}} {atom = "wgmma_m64n64k16_bf16_f32"
// HOPPER:         gpu.wgmma_wait {{.*}} {pending = 1 : i64}
// HOPPER:         gpu.mbarrier_arrive
// HOPPER:         scf.yield
// HOPPER:       gpu.wgmma_wait {{.*}} {pending = 0 : i64}
// HOPPER:       gpu.tma_store
// HOPPER:       gpu.setmaxnreg {{{.*}}direction = -1 : i64}
// HOPPER:       gpu.tma_load
// HOPPER:       wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16

// The block takes columns of tensor memory. One thread waits for a slot, multiplies and has the unit give the slot back;
// the others meet it behind the loop, where all read their rows.
// TENSOR:       IR Dump After check-accesses
// TENSOR:       gpu.tcgen05_alloc [[TOLD:%.*]][{{.*}}] {columns = 64 : i64}
// TENSOR:       simt.barrier
// TENSOR:       [[BASE:%.*]] = simt.element_load [[TOLD]]
// TENSOR:       gpu.setmaxnreg {{{.*}}direction = 1 : i64}
// TENSOR:       [[ACC:%.*]] = gpu.accumulator at [[BASE]] {columns = 64 : i64, start = 0 : i64}
// TENSOR-NEXT:  gpu.accumulator_store {{.*}}, [[ACC]]
// TENSOR-NEXT:  simt.barrier {proxy, id = 1 : i64, threads = 256 : i64}
// TENSOR-NEXT:  scf.for %k = {{.*}} -> (i64)
// TENSOR-NOT:     simt.barrier
// TENSOR:         scf.if
// TENSOR-NEXT:      gpu.mbarrier_wait
// TENSOR:         gpu.accumulate {{.*}}, [[ACC]] {atom = "tcgen05_m128n64k16_bf16_f32"}
// TENSOR:         scf.if
// TENSOR-NEXT:      gpu.tcgen05_commit
// TENSOR:         scf.yield
// TENSOR:       gpu.tcgen05_commit
// TENSOR:       gpu.mbarrier_wait
// TENSOR-NEXT:  simt.barrier
// TENSOR-NEXT:  gpu.accumulator_load [[ACC]]
// TENSOR:       gpu.tma_store
// TENSOR:       gpu.setmaxnreg {{{.*}}direction = -1 : i64}
// TENSOR:       gpu.tma_load
// TENSOR:       gpu.tcgen05_dealloc {{.*}} {columns = 64 : i64}
// TENSOR:       tcgen05.mma.cta_group::1.kind::f16
// TENSOR:       tcgen05.mma.cta_group::1.kind::f16
// TENSOR-NOT:   tcgen05.mma.cta_group
// TENSOR:       tcgen05.ld.sync.aligned.32x32b.x16.b32

// A producer; each warp reads fragments, gives the slot back and multiplies.
// WARPS:        IR Dump After check-accesses
// WARPS:        scf.for %k =
// WARPS:          gpu.mbarrier_wait
// WARPS:          gpu.ldmatrix
// WARPS:          gpu.ldmatrix
// WARPS:          gpu.mma_sync {{.*}} {atom = "mma_m16n8k16_bf16_f32"
// WARPS:          scf.yield
// WARPS:        gpu.tma_store
// WARPS:        gpu.tma_load
// WARPS:        mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

builtin.module {
  tile.kernel @matmul(%a: !tile.view<?x?xbf16, shared> {tile.name = "a", tile.contract = #tile.contract<align = 16, unit = 1, shape = [16, 16], stride = [16, 1], regular>}, %b: !tile.view<?x?xbf16, shared> {tile.name = "b", tile.contract = #tile.contract<align = 16, unit = 1, shape = [16, 16], stride = [16, 1], regular>}, %out: !tile.view<?x?xbf16, owned> {tile.name = "out", tile.contract = #tile.contract<align = 16, unit = 1, shape = [16, 16], stride = [16, 1], regular>}) attributes {tile.fma = true} {
    %0 = arith.constant 0.000000e+00 : f32
    %1 = arith.constant 31 : i64
    %2 = arith.constant 32 : i64
    %3 = arith.constant 128 : i64
    %4 = arith.constant 64 : i64
    %5 = arith.constant 0 : i64
    %6 = arith.constant 1 : i64
    %i = tile.bid {axis = 0 : i64}
    %j = tile.bid {axis = 1 : i64}
    %acc = tile.splat %0 : f32 -> tensor<128x64xf32>
    %7 = tile.dim %a {axis = 1 : i64} : !tile.view<?x?xbf16, shared>
    %8 = arith.addi %7, %1 : i64
    %9 = arith.divsi %8, %2 : i64
    %acc_1 = scf.for %k = %5 to %9 step %6 iter_args(%acc_2 = %acc) -> (tensor<128x64xf32>) : i64 {
      %10 = arith.muli %i, %3 : i64
      %11 = arith.muli %k, %2 : i64
      %12 = tile.load %a[%10, %11] : !tile.view<?x?xbf16, shared> -> tensor<128x32xbf16>
      %13 = arith.muli %k, %2 : i64
      %14 = arith.muli %j, %4 : i64
      %15 = tile.load %b[%13, %14] : !tile.view<?x?xbf16, shared> -> tensor<32x64xbf16>
      %acc_3 = tile.mma %12, %15, %acc_2 : tensor<128x32xbf16>, tensor<32x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
      scf.yield %acc_3 : tensor<128x64xf32>
    }
    %16 = arith.truncf %acc_1 : tensor<128x64xf32> to tensor<128x64xbf16>
    %17 = arith.muli %i, %3 : i64
    %18 = arith.muli %j, %4 : i64
    tile.store %16, %out[%17, %18] : tensor<128x64xbf16>, !tile.view<?x?xbf16, owned>
    tile.return
  }
}
