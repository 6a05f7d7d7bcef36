// RUN: tileopt %s --target sm_100a --emit ptx --print-ir-after-all 2>&1 | filecheck %s --check-prefix=TENSOR
// RUN: tileopt %s --target sm_120a --emit ptx --print-ir-after-all 2>&1 | filecheck %s --check-prefix=WARPS

// What the passes make of attention (examples/attention.py).

// The scores of an iteration are begun beside the product with the values of the one before, and both waited for at once. The accumulator stays in
// tensor memory around the loop: it is read, faded and written back there; weights go by way of shared memory.
// TENSOR:       IR Dump After check-accesses
// TENSOR:       gpu.tcgen05_alloc {{.*}} {columns = 128 : i64}
// TENSOR:       scf.if
// TENSOR:         gpu.accumulate {{.*}} {atom = "tcgen05_m128n64k16_bf16_f32", fresh}
// TENSOR:         [[OUT:%.*]] = gpu.accumulator at {{.*}} {columns = 64 : i64, start = 0 : i64}
// TENSOR-NEXT:    gpu.accumulator_store {{.*}}, [[OUT]]
// TENSOR-NEXT:    scf.for
// TENSOR:           simt.shared_store {{.*}} !tile.buffer<128x64xbf16
// TENSOR:           [[OLD:%.*]] = gpu.accumulator_load [[OUT]]
// TENSOR-NEXT:      [[FADED:%.*]] = arith.mulf [[OLD]]
// TENSOR:           [[SCORES:%.*]] = gpu.accumulator at {{.*}} {columns = 64 : i64, start = 64 : i64}
// TENSOR-NEXT:      gpu.accumulate {{.*}}, [[SCORES]] {{.*}} fresh}
// TENSOR:           gpu.accumulator_store [[FADED]], [[OUT]]
// TENSOR-NEXT:      simt.barrier
// TENSOR-NEXT:      gpu.accumulate {{.*}}, [[OUT]] {atom = "tcgen05_m128n64k16_bf16_f32"}
// TENSOR:           gpu.tcgen05_commit
// TENSOR:           gpu.mbarrier_wait
// TENSOR-NEXT:      simt.barrier
// TENSOR-NEXT:      gpu.accumulator_load [[SCORES]]
// TENSOR-NOT:       gpu.accumulator_load
// TENSOR:           scf.yield
// TENSOR:         gpu.accumulator_load [[OUT]]
// TENSOR:       gpu.tma_load
// TENSOR:       gpu.tcgen05_dealloc {{.*}} {columns = 128 : i64}

// Weights stay in registers, where they are the next product's left operand.
// WARPS:        IR Dump After check-accesses
// WARPS:        scf.for %j =
// WARPS:          gpu.mma_sync
// WARPS:          simt.fragment_reduce {{.*}} kind = "max"
// WARPS:          %weights = math.exp2
// WARPS-NOT:      simt.shared_store
// WARPS:          gpu.mma_sync
// WARPS:          scf.yield
// WARPS:        mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

builtin.module {
  tile.kernel @attention(%q: !tile.view<?x?x?xbf16, shared> {tile.name = "q", tile.contract = #tile.contract<align = 16, unit = 2, shape = [1, 16, 16], stride = [16, 16, 1], regular>}, %k: !tile.view<?x?x?xbf16, shared> {tile.name = "k", tile.contract = #tile.contract<align = 16, unit = 2, shape = [1, 16, 16], stride = [16, 16, 1], regular>}, %v: !tile.view<?x?x?xbf16, shared> {tile.name = "v", tile.contract = #tile.contract<align = 16, unit = 2, shape = [1, 16, 16], stride = [16, 16, 1], regular>}, %out: !tile.view<?x?x?xbf16, owned> {tile.name = "out", tile.contract = #tile.contract<align = 16, unit = 2, shape = [1, 16, 16], stride = [16, 16, 1], regular>}, %scale: f32 {tile.name = "scale"}) attributes {tile.fma = true} {
    %0 = arith.constant 128 : i64
    %1 = arith.constant 0 : i64
    %2 = arith.constant 0xff800000 : f32
    %3 = arith.constant 0.000000e+00 : f32
    %4 = arith.constant 63 : i64
    %5 = arith.constant 64 : i64
    %6 = arith.constant 1 : i64
    %7 = arith.constant 1.000000e+00 : f32
    %i = tile.bid {axis = 0 : i64}
    %head = tile.bid {axis = 1 : i64}
    %length = tile.dim %k {axis = 1 : i64} : !tile.view<?x?x?xbf16, shared>
    %8 = arith.muli %i, %0 : i64
    %9 = tile.load %q[%head, %8, %1] : !tile.view<?x?x?xbf16, shared> -> tensor<1x128x64xbf16>
    %queries = tile.reshape %9 : tensor<1x128x64xbf16> -> tensor<128x64xbf16>
    %top = tile.splat %2 : f32 -> tensor<128xf32>
    %total = tile.splat %3 : f32 -> tensor<128xf32>
    %acc = tile.splat %3 : f32 -> tensor<128x64xf32>
    %10 = arith.addi %length, %4 : i64
    %last = arith.divsi %10, %5 : i64
    %top_1, %total_1, %acc_1 = scf.for %j = %1 to %last step %6 iter_args(%top_2 = %top, %total_2 = %total, %acc_2 = %acc) -> (tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>) : i64 {
      %11 = arith.muli %j, %5 : i64
      %12 = tile.load %k[%head, %11, %1] : !tile.view<?x?x?xbf16, shared> -> tensor<1x64x64xbf16>
      %keys = tile.reshape %12 : tensor<1x64x64xbf16> -> tensor<64x64xbf16>
      %13 = tile.transpose %keys {permutation = array<i64: 1, 0>} : tensor<64x64xbf16> -> tensor<64x64xbf16>
      %14 = tile.splat %3 : f32 -> tensor<128x64xf32>
      %scores = tile.mma %queries, %13, %14 : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
      %15 = arith.muli %j, %5 : i64
      %16 = tile.arange : tensor<64xi64>
      %17 = tile.splat %15 : i64 -> tensor<64xi64>
      %columns = arith.addi %17, %16 : tensor<64xi64>
      %18 = tile.reshape %columns : tensor<64xi64> -> tensor<1x64xi64>
      %19 = tile.splat %length : i64 -> tensor<1x64xi64>
      %20 = arith.cmpi slt, %18, %19 : tensor<1x64xi64>
      %21 = tile.splat %2 : f32 -> tensor<128x64xf32>
      %22 = tile.broadcast %20 : tensor<1x64xi1> -> tensor<128x64xi1>
      %scores_1 = arith.select %22, %scores, %21 : tensor<128x64xi1>, tensor<128x64xf32>
      %23 = tile.reduce %scores_1 {kind = "max", axis = 1 : i64} : tensor<128x64xf32> -> tensor<128xf32>
      %new_top = arith.maximumf %top_2, %23 : tensor<128xf32>
      %24 = tile.splat %scale : f32 -> tensor<128x64xf32>
      %25 = arith.mulf %scores_1, %24 : tensor<128x64xf32>
      %26 = tile.splat %scale : f32 -> tensor<128xf32>
      %27 = arith.mulf %new_top, %26 : tensor<128xf32>
      %28 = tile.reshape %27 : tensor<128xf32> -> tensor<128x1xf32>
      %29 = tile.broadcast %28 : tensor<128x1xf32> -> tensor<128x64xf32>
      %30 = arith.subf %25, %29 : tensor<128x64xf32>
      %weights = math.exp2 %30 : tensor<128x64xf32>
      %31 = arith.subf %top_2, %new_top : tensor<128xf32>
      %32 = tile.splat %scale : f32 -> tensor<128xf32>
      %33 = arith.mulf %31, %32 : tensor<128xf32>
      %fade = math.exp2 %33 : tensor<128xf32>
      %34 = arith.mulf %total_2, %fade : tensor<128xf32>
      %35 = tile.reduce %weights {kind = "sum", axis = 1 : i64} : tensor<128x64xf32> -> tensor<128xf32>
      %total_3 = arith.addf %34, %35 : tensor<128xf32>
      %36 = arith.muli %j, %5 : i64
      %37 = tile.load %v[%head, %36, %1] : !tile.view<?x?x?xbf16, shared> -> tensor<1x64x64xbf16>
      %values = tile.reshape %37 : tensor<1x64x64xbf16> -> tensor<64x64xbf16>
      %38 = arith.truncf %weights : tensor<128x64xf32> to tensor<128x64xbf16>
      %39 = tile.reshape %fade : tensor<128xf32> -> tensor<128x1xf32>
      %40 = tile.broadcast %39 : tensor<128x1xf32> -> tensor<128x64xf32>
      %41 = arith.mulf %acc_2, %40 : tensor<128x64xf32>
      %acc_3 = tile.mma %38, %values, %41 : tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32> -> tensor<128x64xf32>
      scf.yield %new_top, %total_3, %acc_3 : tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>
    }
    %42 = tile.splat %7 : f32 -> tensor<128xf32>
    %43 = arith.divf %42, %total_1 : tensor<128xf32>
    %44 = tile.reshape %43 : tensor<128xf32> -> tensor<128x1xf32>
    %45 = tile.broadcast %44 : tensor<128x1xf32> -> tensor<128x64xf32>
    %46 = arith.mulf %acc_1, %45 : tensor<128x64xf32>
    %47 = arith.truncf %46 : tensor<128x64xf32> to tensor<128x64xbf16>
    %48 = tile.reshape %47 : tensor<128x64xbf16> -> tensor<1x128x64xbf16>
    %49 = arith.muli %i, %0 : i64
    tile.store %48, %out[%head, %49, %1] : tensor<1x128x64xbf16>, !tile.view<?x?x?xbf16, owned>
    tile.return
  }
}
