// RUN: tileopt %s -p pipeline-loops,split-roles | filecheck %s

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [16, 1], regular>

// A loop whose end lies in an array that nobody writes: each role goes through it for itself, and reads what it needs.
// CHECK-LABEL: tile.kernel @listed
// CHECK:         pipe.roles
// CHECK:           scf.while ({{%.*}} = {{%.*}}, [[K:%.*]] = %z, [[N:%.*]] = {{%.*}}) : (tensor<64x16xf32>, i64, i64)
// CHECK:             scf.condition
// CHECK:             pipe.wait
// CHECK:             tile.mma
// CHECK:             pipe.release
// CHECK:             tile.load %list
// CHECK:           tile.store
// CHECK:         } producer {
// CHECK:           scf.while ({{%.*}} = {{%.*}}, {{%.*}} = {{%.*}}) : (i64, i64) -> (i64, i64) {
// CHECK:             scf.condition
// CHECK:             pipe.acquire
// CHECK-NEXT:        pipe.copy %x
// CHECK-NEXT:        pipe.copy %y
// CHECK-NEXT:        pipe.commit
// CHECK-NOT:         tile.mma
// CHECK:             tile.load %list
// CHECK:             scf.yield {{%.*}}, {{%.*}} : i64, i64
module attributes {tile.target = "sm_90a"} {
tile.kernel @listed(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %y: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %list: !tile.view<?xi64, shared>, %out: !tile.view<?x?xf32, owned>) attributes {tile.num_warps = 4 : i64} {
  %z = arith.constant 0 : i64
  %w = arith.constant 16 : i64
  %h = arith.constant 64 : i64
  %f = arith.constant 0.0 : f32
  %b = tile.bid {axis = 0 : i64}
  %row = arith.muli %b, %h : i64
  %zero = tile.splat %f : f32 -> tensor<64x16xf32>
  %r, %e = scf.while (%acc = %zero, %k = %z) : (tensor<64x16xf32>, i64) -> (tensor<64x16xf32>, i64) {
    %more = arith.cmpi sge, %k, %z : i64
    scf.condition(%more) %acc, %k : tensor<64x16xf32>, i64
  } do {
  ^bb0(%acc: tensor<64x16xf32>, %k: i64):
    %o = arith.muli %k, %w : i64
    %at = tile.load %x[%row, %o] {vector = 8 : i64} : !tile.view<?x?xbf16, shared> -> tensor<64x16xbf16>
    %as = tile.stage %at : tensor<64x16xbf16> -> !tile.buffer<64x16xbf16>
    %bt = tile.load %y[%o, %z] {vector = 8 : i64} : !tile.view<?x?xbf16, shared> -> tensor<16x16xbf16>
    %bs = tile.stage %bt : tensor<16x16xbf16> -> !tile.buffer<16x16xbf16>
    %next = tile.mma %as, %bs, %acc {atom = "wgmma_m64n16k16_bf16_f32"} : !tile.buffer<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
    %t = tile.load %list[%k] : !tile.view<?xi64, shared> -> tensor<1xi64>
    %l = tile.to_scalar %t : tensor<1xi64> -> i64
    scf.yield %next, %l : tensor<64x16xf32>, i64
  }
  tile.store %r, %out[%row, %z] : tensor<64x16xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
}
