// RUN: tileopt %s --target sm_90a -p 'infer-facts,elide-bounds,map-tensor-cores,place-memory,assign-layouts,fold-layouts' | filecheck %s

// Without an axis a map takes the layout that its tiles have for other reasons.
// CHECK-LABEL: tile.kernel @elements
// CHECK:         %a = tile.load %x[%z, %z] {{.*}} -> tensor<16x64xf32, [[L:#tile.layout<.*>]]>
// CHECK-NEXT:    %b = tile.map_simt %a : tensor<16x64xf32, [[L]]> -> tensor<16x64xf32, [[L]]> {
// CHECK-NOT:     tile.convert_layout
// CHECK:         tile.return
tile.kernel @elements(%x: !tile.view<?x?xf32, shared>, %o: !tile.view<?x?xf32, owned>) attributes {tile.num_warps = 4 : i64} {
  %z = arith.constant 0 : i64
  %a = tile.load %x[%z, %z] : !tile.view<?x?xf32, shared> -> tensor<16x64xf32>
  %b = tile.map_simt %a : tensor<16x64xf32> -> tensor<16x64xf32> {
  ^bb0(%e: f32):
    %f = arith.mulf %e, %e : f32
    tile.map_yield %f : f32
  }
  tile.store %b, %o[%z, %z] : tensor<16x64xf32>, !tile.view<?x?xf32, owned>
  tile.return
}

// With one, lanes lie along it, whatever is on either side.
// CHECK-LABEL: tile.kernel @lanes
// CHECK:         {{.*}} = tile.map_simt {{.*}} {axis = 0 : i64} : tensor<48x64xf32, #tile.layout<regs = [], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[0, 1], [0, 2]]>> -> tensor<48x64xf32, #tile.layout<regs = [], lanes = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warps = [[0, 1], [0, 2]]>> {
// CHECK:         {{.*}} = tile.convert_layout
// CHECK:         {{.*}} = tile.mma
tile.kernel @lanes(%s: f32, %o: !tile.view<?x?xf32, owned>) attributes {tile.num_warps = 4 : i64} {
  %z = arith.constant 0 : i64
  %w = tile.splat %s : f32 -> tensor<48x64xf32>
  %g = arith.truncf %s : f32 to f16
  %m = tile.splat %g : f16 -> tensor<64x8xf16>
  %b = tile.map_simt %w {axis = 0} : tensor<48x64xf32> -> tensor<48x64xf32> {
  ^bb0(%e: f32):
    %f = simt.warp_reduce %e {kind = "sum"} : f32 -> f32
    tile.map_yield %f : f32
  }
  %h = arith.truncf %b : tensor<48x64xf32> to tensor<48x64xf16>
  %c = tile.splat %s : f32 -> tensor<48x8xf32>
  %d = tile.mma %h, %m, %c : tensor<48x64xf16>, tensor<64x8xf16>, tensor<48x8xf32> -> tensor<48x8xf32>
  tile.store %d, %o[%z, %z] : tensor<48x8xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
