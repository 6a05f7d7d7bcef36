// RUN: tileopt %s -p pipeline-loops --split-input-file | filecheck %s

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [16, 1], regular>

// The copy engine can make all copies: nothing is made early, and the two tiles that one product takes share a channel.
// The kernel takes one tile of the grid after another; the channel's count goes on from each to the next. The channel
// has the stages asked for, and the loop is marked for split-roles.
// CHECK-LABEL: tile.kernel @gemm
// CHECK-SAME:    pipe.roles
// CHECK:         [[C:%.*]] = pipe.channel : !pipe.channel<3, !tile.buffer<64x16xbf16>, !tile.buffer<16x16xbf16>>
// CHECK:         tile.bid {axis = 0 : i64, physical}
// CHECK:         [[TURNS:%.*]] = scf.for {{.*}} iter_args([[BEGUN:%.*]] = {{%.*}}) -> (i64)
// CHECK:           {{%.*}}, [[DONE:%.*]] = scf.for %i = {{.*}} iter_args({{%.*}} = {{%.*}}, [[N:%.*]] = [[BEGUN]])
// CHECK-NOT:         tile.load
// CHECK:             pipe.acquire [[C]][[[N]]]
// CHECK-NEXT:        pipe.copy %x[{{.*}}], [[C]][[[N]]] {vector = 8 : i64, member = 0 : i64}
// CHECK-NEXT:        pipe.copy %y[{{.*}}], [[C]][[[N]]] {vector = 8 : i64, member = 1 : i64}
// CHECK-NEXT:        pipe.commit [[C]][[[N]]]
// CHECK-NEXT:        [[A:%.*]], [[B:%.*]] = pipe.wait [[C]][[[N]]] {pending = 0 : i64}
// CHECK-NEXT:        tile.mma [[A]], [[B]]
// CHECK-NEXT:        pipe.release [[C]][[[N]]]
// CHECK-NEXT:        [[ONE:%.*]] = arith.constant 1 : i64
// CHECK-NEXT:        [[NEXT:%.*]] = arith.addi [[N]], [[ONE]]
// CHECK-NEXT:        scf.yield {{%.*}}, [[NEXT]]
// CHECK:           tile.store
// CHECK-NEXT:      scf.yield [[DONE]] : i64
module attributes {tile.target = "sm_90a"} {
tile.kernel @gemm(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %y: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %out: !tile.view<?x?xf32, owned>, %n: i64) attributes {tile.num_warps = 4 : i64, tile.num_stages = 3 : i64} {
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 16 : i64
  %h = arith.constant 64 : i64
  %f = arith.constant 0.0 : f32
  %b = tile.bid {axis = 0 : i64}
  %row = arith.muli %b, %h : i64
  %zero = tile.splat %f : f32 -> tensor<64x16xf32>
  %r = scf.for %i = %z to %n step %u iter_args(%acc = %zero) -> (tensor<64x16xf32>) : i64 {
    %o = arith.muli %i, %w : i64
    %at = tile.load %x[%row, %o] {vector = 8 : i64} : !tile.view<?x?xbf16, shared> -> tensor<64x16xbf16>
    %as = tile.stage %at : tensor<64x16xbf16> -> !tile.buffer<64x16xbf16>
    %bt = tile.load %y[%o, %z] {vector = 8 : i64} : !tile.view<?x?xbf16, shared> -> tensor<16x16xbf16>
    %bs = tile.stage %bt : tensor<16x16xbf16> -> !tile.buffer<16x16xbf16>
    %next = tile.mma %as, %bs, %acc {atom = "wgmma_m64n16k16_bf16_f32"} : !tile.buffer<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
    scf.yield %next : tensor<64x16xf32>
  }
  tile.store %r, %out[%row, %z] : tensor<64x16xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
}

// -----

#rows = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [16, 1], regular>

// Two products take the tiles apart from one another: each tile has a channel of its own, and is handed back behind its
// own product. A branch around the loop hands on the count that it was given.
// CHECK-LABEL: tile.kernel @two_channels
// CHECK-SAME:    pipe.roles
// CHECK-DAG:     pipe.channel : !pipe.channel<2, !tile.buffer<16x16xbf16>>
// CHECK-DAG:     pipe.channel : !pipe.channel<2, !tile.buffer<16x16xbf16>>
// CHECK:         scf.for {{.*}} iter_args([[K:%.*]] = {{%.*}}) -> (i64)
// CHECK:           scf.if {{%.*}} -> (tensor<64x16xf32>, i64) {
// CHECK:             scf.for
// CHECK:               pipe.acquire [[KEYS:%[^ ]*]][
// CHECK:               pipe.wait [[KEYS]]
// CHECK:               tile.mma
// CHECK-NEXT:          pipe.release [[KEYS]]
// CHECK:               pipe.acquire [[VALUES:%[^ ]*]][
// CHECK:               pipe.wait [[VALUES]]
// CHECK:               tile.mma
// CHECK-NEXT:          pipe.release [[VALUES]]
// CHECK:           } else {
// CHECK-NEXT:        scf.yield {{%.*}}, [[K]] : tensor<64x16xf32>, i64
module attributes {tile.target = "sm_90a"} {
tile.kernel @two_channels(%x: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %y: !tile.view<?x?xbf16, shared> {tile.contract = #rows}, %g: bf16, %out: !tile.view<?x?xf32, owned>, %n: i64, %p: i1) attributes {tile.num_warps = 4 : i64, tile.num_stages = 2 : i64} {
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %f = arith.constant 0.0 : f32
  %zero = tile.splat %f : f32 -> tensor<64x16xf32>
  %q = tile.splat %g : bf16 -> tensor<64x16xbf16>
  %r = scf.if %p -> (tensor<64x16xf32>) {
    %l = scf.for %i = %z to %n step %u iter_args(%acc = %zero) -> (tensor<64x16xf32>) : i64 {
      %kt = tile.load %x[%i, %z] {vector = 8 : i64} : !tile.view<?x?xbf16, shared> -> tensor<16x16xbf16>
      %ks = tile.stage %kt : tensor<16x16xbf16> -> !tile.buffer<16x16xbf16>
      %s = tile.mma %q, %ks, %zero {atom = "wgmma_m64n16k16_bf16_f32"} : tensor<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
      %w = arith.truncf %s : tensor<64x16xf32> to tensor<64x16xbf16>
      %vt = tile.load %y[%i, %z] {vector = 8 : i64} : !tile.view<?x?xbf16, shared> -> tensor<16x16xbf16>
      %vs = tile.stage %vt : tensor<16x16xbf16> -> !tile.buffer<16x16xbf16>
      %next = tile.mma %w, %vs, %acc {atom = "wgmma_m64n16k16_bf16_f32"} : tensor<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
      scf.yield %next : tensor<64x16xf32>
    }
    scf.yield %l : tensor<64x16xf32>
  } else {
    scf.yield %zero : tensor<64x16xf32>
  }
  tile.store %r, %out[%z, %z] : tensor<64x16xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
}

// -----

#odd = #tile.contract<align = 16, unit = 1, shape = [1, 1], stride = [1, 1], regular>

// Rows that do not begin at multiples of 16 bytes are none for the copy engine: threads copy, ahead of the loop.
// CHECK-LABEL: tile.kernel @odd_rows
// CHECK-NOT:     pipe.roles
// CHECK:         pipe.copy
// CHECK:         scf.for
// CHECK-NEXT:      pipe.wait
module attributes {tile.target = "sm_90a"} {
tile.kernel @odd_rows(%x: !tile.view<?x?xbf16, shared> {tile.contract = #odd}, %g: bf16, %out: !tile.view<?x?xf32, owned>, %n: i64) attributes {tile.num_warps = 4 : i64, tile.num_stages = 2 : i64} {
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %f = arith.constant 0.0 : f32
  %zero = tile.splat %f : f32 -> tensor<64x16xf32>
  %q = tile.splat %g : bf16 -> tensor<64x16xbf16>
  %r = scf.for %i = %z to %n step %u iter_args(%acc = %zero) -> (tensor<64x16xf32>) : i64 {
    %kt = tile.load %x[%i, %z] {vector = 8 : i64} : !tile.view<?x?xbf16, shared> -> tensor<16x16xbf16>
    %ks = tile.stage %kt : tensor<16x16xbf16> -> !tile.buffer<16x16xbf16>
    %next = tile.mma %q, %ks, %acc {atom = "wgmma_m64n16k16_bf16_f32"} : tensor<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
    scf.yield %next : tensor<64x16xf32>
  }
  tile.store %r, %out[%z, %z] : tensor<64x16xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
}
