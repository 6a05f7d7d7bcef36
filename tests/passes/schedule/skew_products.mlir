// RUN: tileopt %s -p split-loops,skew-products --split-input-file | filecheck %s

// A chain of two products in a consumers' loop, the first one's result masked by its columns.
// The loop is cut where the mask begins (floor of %n / 16, here as a ceiling of %n - 15); in the first part the second
// product of an iteration stands beside the next one's first product, and what it reads is narrowed when it is done.
// CHECK-LABEL: tile.kernel @chain
// CHECK:         pipe.roles
// CHECK:         arith.ceildivsi
// CHECK:         scf.if
// CHECK:           pipe.wait %keys
// CHECK-NEXT:      tile.mma
// CHECK-NOT:       arith.select
// CHECK:           arith.truncf
// CHECK:           scf.for
// CHECK:             pipe.wait %keys
// CHECK-NEXT:        tile.mma
// CHECK-NEXT:        pipe.wait %values
// CHECK-NEXT:        tile.mma
// CHECK-NEXT:        pipe.release %keys
// CHECK:             pipe.release %values
// CHECK-NEXT:        arith.truncf
// CHECK-NEXT:        scf.yield
// CHECK:           pipe.wait %values
// CHECK-NEXT:      tile.mma
// CHECK-NEXT:      pipe.release %values
// The rest as it was.
// CHECK:         scf.for
// CHECK:           arith.select
// CHECK:         } {tile.rest}
module attributes {tile.target = "sm_90a"} {
tile.kernel @chain(%n: i64, %f: f32, %h: bf16) attributes {tile.num_warps = 4 : i64} {
  %keys = pipe.channel : !pipe.channel<2, !tile.buffer<16x16xbf16>>
  %values = pipe.channel : !pipe.channel<2, !tile.buffer<16x16xbf16>>
  pipe.roles {warps = 4, consumer_registers = 216, producer_registers = 40, blocks = 2} consumers {
    %q = tile.splat %h : bf16 -> tensor<64x16xbf16>
    %zero = tile.splat %f : f32 -> tensor<64x16xf32>
    %none = tile.splat %f : f32 -> tensor<64x16xf32>
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c16 = arith.constant 16 : i64
    %r, %i = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %k = %c0) -> (tensor<64x16xf32>, i64) : i64 {
      %a = pipe.wait %keys[%k] {pending = 0} : !pipe.channel<2, !tile.buffer<16x16xbf16>> -> !tile.buffer<16x16xbf16>
      %s = tile.mma %q, %a, %zero {atom = "wgmma_m64n16k16_bf16_f32"} : tensor<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
      pipe.release %keys[%k] : !pipe.channel<2, !tile.buffer<16x16xbf16>>
      %at = arith.muli %j, %c16 : i64
      %columns = tile.arange : tensor<16xi64>
      %base = tile.splat %at : i64 -> tensor<16xi64>
      %place = arith.addi %base, %columns : tensor<16xi64>
      %row = tile.reshape %place : tensor<16xi64> -> tensor<1x16xi64>
      %all = tile.broadcast %row : tensor<1x16xi64> -> tensor<64x16xi64>
      %end = tile.splat %n : i64 -> tensor<64x16xi64>
      %inside = arith.cmpi slt, %all, %end : tensor<64x16xi64>
      %m = arith.select %inside, %s, %none : tensor<64x16xi1>, tensor<64x16xf32>
      %p = arith.truncf %m : tensor<64x16xf32> to tensor<64x16xbf16>
      %b = pipe.wait %values[%k] {pending = 0} : !pipe.channel<2, !tile.buffer<16x16xbf16>> -> !tile.buffer<16x16xbf16>
      %o = tile.mma %p, %b, %acc {atom = "wgmma_m64n16k16_bf16_f32"} : tensor<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
      pipe.release %values[%k] : !pipe.channel<2, !tile.buffer<16x16xbf16>>
      %next = arith.addi %k, %c1 : i64
      scf.yield %o, %next : tensor<64x16xf32>, i64
    }
    pipe.end_role
  } producer {
    pipe.end_role
  }
  tile.return
}
}

// -----

// Waited for late: what narrows the second product's operand stands at the beginning of the next iteration.
// CHECK-LABEL: tile.kernel @late
// CHECK:         scf.if
// CHECK-NOT:       arith.truncf
// CHECK:           scf.for
// CHECK-NEXT:        arith.truncf
// CHECK:             pipe.wait %keys
// CHECK-NEXT:        tile.mma
// CHECK-NEXT:        pipe.wait %values
// CHECK-NEXT:        tile.mma
// CHECK-NOT:         arith.truncf
// CHECK:             scf.yield
// CHECK-NEXT:      } {pipe.late}
// CHECK-NEXT:      arith.truncf
// CHECK-NEXT:      pipe.wait %values
// CHECK-NEXT:      tile.mma
module attributes {tile.target = "sm_90a"} {
tile.kernel @late(%n: i64, %f: f32, %h: bf16) attributes {tile.num_warps = 4 : i64, tile.late_waits = true} {
  %keys = pipe.channel : !pipe.channel<2, !tile.buffer<16x16xbf16>>
  %values = pipe.channel : !pipe.channel<2, !tile.buffer<16x16xbf16>>
  pipe.roles {warps = 4, consumer_registers = 216, producer_registers = 40, blocks = 2} consumers {
    %q = tile.splat %h : bf16 -> tensor<64x16xbf16>
    %zero = tile.splat %f : f32 -> tensor<64x16xf32>
    %none = tile.splat %f : f32 -> tensor<64x16xf32>
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c16 = arith.constant 16 : i64
    %r, %i = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %k = %c0) -> (tensor<64x16xf32>, i64) : i64 {
      %a = pipe.wait %keys[%k] {pending = 0} : !pipe.channel<2, !tile.buffer<16x16xbf16>> -> !tile.buffer<16x16xbf16>
      %s = tile.mma %q, %a, %zero {atom = "wgmma_m64n16k16_bf16_f32"} : tensor<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
      pipe.release %keys[%k] : !pipe.channel<2, !tile.buffer<16x16xbf16>>
      %at = arith.muli %j, %c16 : i64
      %columns = tile.arange : tensor<16xi64>
      %base = tile.splat %at : i64 -> tensor<16xi64>
      %place = arith.addi %base, %columns : tensor<16xi64>
      %row = tile.reshape %place : tensor<16xi64> -> tensor<1x16xi64>
      %all = tile.broadcast %row : tensor<1x16xi64> -> tensor<64x16xi64>
      %end = tile.splat %n : i64 -> tensor<64x16xi64>
      %inside = arith.cmpi slt, %all, %end : tensor<64x16xi64>
      %m = arith.select %inside, %s, %none : tensor<64x16xi1>, tensor<64x16xf32>
      %p = arith.truncf %m : tensor<64x16xf32> to tensor<64x16xbf16>
      %b = pipe.wait %values[%k] {pending = 0} : !pipe.channel<2, !tile.buffer<16x16xbf16>> -> !tile.buffer<16x16xbf16>
      %o = tile.mma %p, %b, %acc {atom = "wgmma_m64n16k16_bf16_f32"} : tensor<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
      pipe.release %values[%k] : !pipe.channel<2, !tile.buffer<16x16xbf16>>
      %next = arith.addi %k, %c1 : i64
      scf.yield %o, %next : tensor<64x16xf32>, i64
    }
    pipe.end_role
  } producer {
    pipe.end_role
  }
  tile.return
}
}
