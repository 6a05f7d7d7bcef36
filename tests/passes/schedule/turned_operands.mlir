// RUN: tileopt %s -p map-tensor-cores,place-memory --target sm_90a | filecheck %s

// The unit reads a through registers, which lie anyhow, and b with K side by side alone: b is turned on its way.
// CHECK-LABEL: tile.kernel @neither
// CHECK: %[[A:.*]] = tile.stage {{.*}} -> !tile.buffer<64x32xi8>
// CHECK: %[[B:.*]] = tile.stage {{.*}} -> !tile.buffer<32x64xi8>
// CHECK-DAG: %[[LEFT:.*]] = tile.unstage %[[A]] {{.*}} -> tensor<64x32xi8>
// CHECK-DAG: %[[READ:.*]] = tile.unstage %[[B]] {{.*}} -> tensor<32x64xi8>
// CHECK: %[[TURNED:.*]] = tile.transpose %[[READ]] {{.*}} -> tensor<64x32xi8>
// CHECK: %[[WRITTEN:.*]] = tile.stage %[[TURNED]] {{.*}} -> !tile.buffer<64x32xi8>
// CHECK: %[[RIGHT:.*]] = tile.transpose_buffer %[[WRITTEN]] {{.*}} -> !tile.buffer<32x64xi8>
// CHECK: tile.mma %[[LEFT]], %[[RIGHT]], %{{.*}} {atom = "wgmma_m64n64k32_i8_i32"}
tile.kernel @neither(
    %a: !tile.view<?x?xi8, shared> {tile.name = "a", tile.contract = #tile.contract<align = 16, unit = 0, shape = [16, 16], stride = [1, 16], regular>},
    %b: !tile.view<?x?xi8, shared> {tile.name = "b", tile.contract = #tile.contract<align = 16, unit = 1, shape = [16, 16], stride = [16, 1], regular>},
    %c: !tile.view<?x?xi32, owned> {tile.name = "c"}) {
  %zero = arith.constant 0 : i32
  %none = arith.constant 0 : i64
  %start = tile.splat %zero : i32 -> tensor<64x64xi32>
  %left = tile.load %a[%none, %none] : !tile.view<?x?xi8, shared> -> tensor<64x32xi8>
  %right = tile.load %b[%none, %none] : !tile.view<?x?xi8, shared> -> tensor<32x64xi8>
  %sum = tile.mma %left, %right, %start : tensor<64x32xi8>, tensor<32x64xi8>, tensor<64x64xi32> -> tensor<64x64xi32>
  tile.store %sum, %c[%none, %none] : tensor<64x64xi32>, !tile.view<?x?xi32, owned>
  tile.return
}

// b with K side by side stays as it is.
// CHECK-LABEL: tile.kernel @one
// CHECK: %[[A:.*]] = tile.stage {{.*}} -> !tile.buffer<64x32xi8>
// CHECK: %[[RIGHT:.*]] = tile.stage {{.*}} -> !tile.buffer<32x64xi8>
// CHECK-NOT: tile.transpose
// CHECK: %[[LEFT:.*]] = tile.unstage %[[A]]
// CHECK: tile.mma %[[LEFT]], %[[RIGHT]], %{{.*}} {atom = "wgmma_m64n64k32_i8_i32"}
tile.kernel @one(
    %a: !tile.view<?x?xi8, shared> {tile.name = "a", tile.contract = #tile.contract<align = 16, unit = 0, shape = [16, 16], stride = [1, 16], regular>},
    %b: !tile.view<?x?xi8, shared> {tile.name = "b", tile.contract = #tile.contract<align = 16, unit = 0, shape = [16, 16], stride = [1, 16], regular>},
    %c: !tile.view<?x?xi32, owned> {tile.name = "c"}) {
  %zero = arith.constant 0 : i32
  %none = arith.constant 0 : i64
  %start = tile.splat %zero : i32 -> tensor<64x64xi32>
  %left = tile.load %a[%none, %none] : !tile.view<?x?xi8, shared> -> tensor<64x32xi8>
  %right = tile.load %b[%none, %none] : !tile.view<?x?xi8, shared> -> tensor<32x64xi8>
  %sum = tile.mma %left, %right, %start : tensor<64x32xi8>, tensor<32x64xi8>, tensor<64x64xi32> -> tensor<64x64xi32>
  tile.store %sum, %c[%none, %none] : tensor<64x64xi32>, !tile.view<?x?xi32, owned>
  tile.return
}
