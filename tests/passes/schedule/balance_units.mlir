// RUN: tileopt %s -p balance-units | filecheck %s
// RUN: tileopt %s -p balance-units{eighths=1} | filecheck %s --check-prefix=GIVEN

// Beside a product of depth 64, exp2 takes twice as long as the product does: some of it becomes polynomials.
// CHECK-LABEL: tile.kernel @crowded
// CHECK:         scf.for
// CHECK:           math.exp2 {{.*}} {tile.exp2_eighths = 2 : i64, tile.exp2_degree = 5 : i64}
// CHECK:         math.exp2 %{{[a-z]+}} : tensor<64x64xf32>
// GIVEN-LABEL: tile.kernel @crowded
// GIVEN:         tile.exp2_eighths = 1 : i64, tile.exp2_degree = 5 : i64
builtin.module attributes {tile.target = "sm_90a"} {
tile.kernel @crowded(%n: i64, %f: f32, %h: bf16) attributes {tile.num_warps = 4 : i64} {
  %a = tile.splat %h : bf16 -> tensor<64x64xbf16>
  %b = tile.splat %h : bf16 -> tensor<64x64xbf16>
  %zero = tile.splat %f : f32 -> tensor<64x64xf32>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i64 {
    %s = tile.mma %a, %b, %acc {atom = "wgmma_m64n64k16_bf16_f32"} : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %t = arith.addf %e, %zero : tensor<64x64xf32>
    scf.yield %t : tensor<64x64xf32>
  }
  %after = math.exp2 %r : tensor<64x64xf32>
  tile.return
}

// Under fast math, where all that takes the result rounds to 16 bits or sums: a lower degree.
// CHECK-LABEL: tile.kernel @coarse
// CHECK:         math.exp2 {{.*}} {tile.exp2_eighths = 2 : i64, tile.exp2_degree = 3 : i64}
tile.kernel @coarse(%n: i64, %f: f32, %h: bf16) attributes {tile.num_warps = 4 : i64, tile.fast_math} {
  %a = tile.splat %h : bf16 -> tensor<64x64xbf16>
  %zero = tile.splat %f : f32 -> tensor<64x64xf32>
  %none = tile.splat %f : f32 -> tensor<64xf32>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r, %q = scf.for %j = %c0 to %n step %c1 iter_args(%p = %a, %total = %none) -> (tensor<64x64xbf16>, tensor<64xf32>) : i64 {
    %s = tile.mma %p, %a, %zero {atom = "wgmma_m64n64k16_bf16_f32"} : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %w = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xbf16>
    %sum = tile.reduce %e {kind = "sum", axis = 1} : tensor<64x64xf32> -> tensor<64xf32>
    scf.yield %w, %sum : tensor<64x64xbf16>, tensor<64xf32>
  }
  tile.return
}

// A product of depth 256 takes twice as long as exp2, which hides behind it. So it does where there is no product at all.
// CHECK-LABEL: tile.kernel @hidden
// CHECK-NOT:     exp2_eighths
tile.kernel @hidden(%n: i64, %f: f32, %h: bf16) attributes {tile.num_warps = 4 : i64} {
  %a = tile.splat %h : bf16 -> tensor<64x256xbf16>
  %b = tile.splat %h : bf16 -> tensor<256x64xbf16>
  %zero = tile.splat %f : f32 -> tensor<64x64xf32>
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i64 {
    %s = tile.mma %a, %b, %acc {atom = "wgmma_m64n64k16_bf16_f32"} : tensor<64x256xbf16>, tensor<256x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    scf.yield %e : tensor<64x64xf32>
  }
  %q = scf.for %j = %c0 to %n step %c1 iter_args(%x = %zero) -> (tensor<64x64xf32>) : i64 {
    %e = math.exp2 %x : tensor<64x64xf32>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.return
}
}
