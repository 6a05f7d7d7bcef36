// RUN: tileopt %s -p swap-products --target sm_90a | filecheck %s
// RUN: tileopt %s -p swap-products,swap-products --target sm_90a | filecheck %s
// RUN: tileopt %s -p swap-products --target sm_80 | filecheck %s --check-prefix OLD

// Sixteen rows are too few for a warpgroup's unit, sixteen columns are not. What the loop carries is turned outside it.
// CHECK-LABEL: tile.kernel @few_rows
// CHECK: %[[ZERO:.*]] = tile.splat {{.*}} -> tensor<64x16xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]]) -> (tensor<64x16xf32>)
// CHECK: %[[A:.*]] = tile.load
// CHECK: %[[B:.*]] = tile.load
// CHECK-DAG: %[[BT:.*]] = tile.transpose %[[B]] {{.*}} -> tensor<64x32xbf16>
// CHECK-DAG: %[[AT:.*]] = tile.transpose %[[A]] {{.*}} -> tensor<32x16xbf16>
// CHECK: %[[NEXT:.*]] = tile.mma %[[BT]], %[[AT]], %[[ACC]] : {{.*}} -> tensor<64x16xf32>
// CHECK: scf.yield %[[NEXT]] : tensor<64x16xf32>
// CHECK: %[[BACK:.*]] = tile.transpose %[[SUM]] {{.*}} -> tensor<16x64xf32>
// CHECK: tile.store %[[BACK]]
// OLD-LABEL: tile.kernel @few_rows
// OLD-NOT: tile.transpose
tile.kernel @few_rows(
    %a: !tile.view<?x?xbf16, shared> {tile.name = "a"},
    %b: !tile.view<?x?xbf16, shared> {tile.name = "b"},
    %c: !tile.view<?x?xf32, owned> {tile.name = "c"}) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %start = tile.splat %zero : f32 -> tensor<16x64xf32>
  %sum = scf.for %k = %none to %four step %one iter_args(%acc = %start) -> (tensor<16x64xf32>) : i64 {
    %left = tile.load %a[%none, %k] : !tile.view<?x?xbf16, shared> -> tensor<16x32xbf16>
    %right = tile.load %b[%k, %none] : !tile.view<?x?xbf16, shared> -> tensor<32x64xbf16>
    %next = tile.mma %left, %right, %acc : tensor<16x32xbf16>, tensor<32x64xbf16>, tensor<16x64xf32> -> tensor<16x64xf32>
    scf.yield %next : tensor<16x64xf32>
  }
  tile.store %sum, %c[%none, %none] : tensor<16x64xf32>, !tile.view<?x?xf32, owned>
  tile.return
}

// N side by side is what the unit reads as the left operand only.
// CHECK-LABEL: tile.kernel @n_major
// CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} {precision = "tf32"} : tensor<128x32xf32>, tensor<32x64xf32>, tensor<128x64xf32>
tile.kernel @n_major(
    %a: !tile.view<?x?xf32, shared> {tile.name = "a"},
    %b: !tile.view<?x?xf32, shared> {tile.name = "b"},
    %c: !tile.view<?x?xf32, owned> {tile.name = "c"}) {
  %none = arith.constant 0 : i64
  %start = tile.load %c[%none, %none] : !tile.view<?x?xf32, owned> -> tensor<64x128xf32>
  %left = tile.load %a[%none, %none] : !tile.view<?x?xf32, shared> -> tensor<64x32xf32>
  %right = tile.load %b[%none, %none] : !tile.view<?x?xf32, shared> -> tensor<32x128xf32>
  %next = tile.mma %left, %right, %start {precision = "tf32"} : tensor<64x32xf32>, tensor<32x128xf32>, tensor<64x128xf32> -> tensor<64x128xf32>
  tile.store %next, %c[%none, %none] : tensor<64x128xf32>, !tile.view<?x?xf32, owned>
  tile.return
}

// What takes rows of the sum in each iteration keeps the product as it stands; so does a product that fits as it is.
// CHECK-LABEL: tile.kernel @stays
// CHECK-NOT: tile.transpose
// CHECK: tile.return
tile.kernel @stays(
    %a: !tile.view<?x?xbf16, shared> {tile.name = "a"},
    %b: !tile.view<?x?xbf16, shared> {tile.name = "b"},
    %c: !tile.view<?x?xf32, owned> {tile.name = "c"}) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %start = tile.splat %zero : f32 -> tensor<16x64xf32>
  %wide = tile.splat %zero : f32 -> tensor<64x64xf32>
  %sum, %other = scf.for %k = %none to %four step %one iter_args(%acc = %start, %big = %wide) -> (tensor<16x64xf32>, tensor<64x64xf32>) : i64 {
    %left = tile.load %a[%none, %k] : !tile.view<?x?xbf16, shared> -> tensor<16x32xbf16>
    %right = tile.load %b[%k, %none] : !tile.view<?x?xbf16, shared> -> tensor<32x64xbf16>
    %tall = tile.load %a[%none, %k] : !tile.view<?x?xbf16, shared> -> tensor<64x32xbf16>
    %next = tile.mma %left, %right, %acc : tensor<16x32xbf16>, tensor<32x64xbf16>, tensor<16x64xf32> -> tensor<16x64xf32>
    %doubled = arith.addf %next, %next : tensor<16x64xf32>
    %more = tile.mma %tall, %right, %big : tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %doubled, %more : tensor<16x64xf32>, tensor<64x64xf32>
  }
  tile.store %sum, %c[%none, %none] : tensor<16x64xf32>, !tile.view<?x?xf32, owned>
  tile.return
}

// A right operand that is computed would go through shared memory; the left one's registers are read as they are.
// CHECK-LABEL: tile.kernel @computed
// CHECK: %[[B:.*]] = arith.negf
// CHECK-DAG: %[[BT:.*]] = tile.transpose %[[B]] {{.*}} -> tensor<128x32xbf16>
// CHECK: tile.mma %[[BT]], %{{.*}}, %{{.*}} : tensor<128x32xbf16>, tensor<32x64xbf16>, tensor<128x64xf32>
// CHECK: %[[A2:.*]] = arith.negf
// CHECK-NOT: tile.transpose
// CHECK: tile.mma %[[A2]], %{{.*}}, %{{.*}} : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xf32>
tile.kernel @computed(
    %a: !tile.view<?x?xbf16, shared> {tile.name = "a"},
    %b: !tile.view<?x?xbf16, shared> {tile.name = "b"},
    %c: !tile.view<?x?xf32, owned> {tile.name = "c"}, %d: !tile.view<?x?xf32, owned> {tile.name = "d"}) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i64
  %start = tile.splat %zero : f32 -> tensor<64x128xf32>
  %left = tile.load %a[%none, %none] : !tile.view<?x?xbf16, shared> -> tensor<64x32xbf16>
  %right = tile.load %b[%none, %none] : !tile.view<?x?xbf16, shared> -> tensor<32x128xbf16>
  %turned = arith.negf %right : tensor<32x128xbf16>
  %next = tile.mma %left, %turned, %start : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
  tile.store %next, %c[%none, %none] : tensor<64x128xf32>, !tile.view<?x?xf32, owned>
  %other = arith.negf %left : tensor<64x32xbf16>
  %again = tile.mma %other, %turned, %start : tensor<64x32xbf16>, tensor<32x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
  tile.store %again, %d[%none, %none] : tensor<64x128xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
