// RUN: tileopt %s -p split-roles --split-input-file | filecheck %s

// A loop of products: the producer keeps the loop, the addresses and its own count of iterations, and nothing else; the
// consumers lose the addresses, and keep the accumulator.
// CHECK-LABEL: tile.kernel @gemm
// CHECK-NOT:     pipe.roles,
// CHECK:         [[C:%.*]] = pipe.channel
// CHECK-NEXT:    pipe.roles {warps = 4 : i64
// CHECK-SAME:      consumers {
// CHECK-NOT:       arith.muli
// CHECK:           [[ACC:%.*]] = tile.splat
// CHECK:           scf.for %i = {{.*}} iter_args([[A:%.*]] = [[ACC]], [[N:%.*]] = {{%.*}}) -> (tensor<64x16xf32>, i64)
// CHECK-NEXT:        {{%.*}}, {{%.*}} = pipe.wait [[C]][[[N]]]
// CHECK-NEXT:        tile.mma
// CHECK-NEXT:        pipe.release [[C]][[[N]]]
// CHECK-NEXT:        arith.addi [[N]]
// CHECK-NEXT:        scf.yield
// CHECK:           tile.store
// CHECK:           pipe.end_role
// CHECK-NEXT:    } producer {
// CHECK-NOT:       tile.splat
// CHECK:           scf.for [[I:%.*]] = {{.*}} iter_args([[M:%.*]] = {{%.*}}) -> (i64)
// CHECK-NEXT:        [[O:%.*]] = arith.muli [[I]]
// CHECK-NEXT:        pipe.acquire [[C]][[[M]]]
// CHECK-NEXT:        pipe.copy %x[{{%.*}}, [[O]]], [[C]][[[M]]]
// CHECK-NEXT:        pipe.copy %y[[[O]], {{%.*}}], [[C]][[[M]]]
// CHECK-NEXT:        pipe.commit [[C]][[[M]]]
// CHECK-NEXT:        arith.addi [[M]]
// CHECK-NEXT:        scf.yield {{%.*}} : i64
// CHECK-NOT:       tile.store
// CHECK:           pipe.end_role
// CHECK-NEXT:    }
// CHECK-NEXT:    tile.return
!ring = !pipe.channel<3, !tile.buffer<64x16xbf16>, !tile.buffer<16x16xbf16>>
module attributes {tile.target = "sm_90a"} {
tile.kernel @gemm(%x: !tile.view<?x?xbf16, shared>, %y: !tile.view<?x?xbf16, shared>, %out: !tile.view<?x?xf32, owned>, %n: i64) attributes {pipe.roles, tile.num_warps = 4 : i64} {
  %c = pipe.channel : !ring
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %w = arith.constant 16 : i64
  %f = arith.constant 0.0 : f32
  %zero = tile.splat %f : f32 -> tensor<64x16xf32>
  %r, %last = scf.for %i = %z to %n step %u iter_args(%acc = %zero, %k = %z) -> (tensor<64x16xf32>, i64) : i64 {
    %o = arith.muli %i, %w : i64
    pipe.acquire %c[%k] : !ring
    pipe.copy %x[%z, %o], %c[%k] {member = 0 : i64} : !tile.view<?x?xbf16, shared>, !ring
    pipe.copy %y[%o, %z], %c[%k] {member = 1 : i64} : !tile.view<?x?xbf16, shared>, !ring
    pipe.commit %c[%k] : !ring
    %a, %b = pipe.wait %c[%k] {pending = 0 : i64} : !ring -> !tile.buffer<64x16xbf16>, !tile.buffer<16x16xbf16>
    %next = tile.mma %a, %b, %acc {atom = "wgmma_m64n16k16_bf16_f32"} : !tile.buffer<64x16xbf16>, !tile.buffer<16x16xbf16>, tensor<64x16xf32> -> tensor<64x16xf32>
    pipe.release %c[%k] : !ring
    %k1 = arith.addi %k, %u : i64
    scf.yield %next, %k1 : tensor<64x16xf32>, i64
  }
  tile.store %r, %out[%z, %z] : tensor<64x16xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
}

// -----

// A nest with a branch: the producer goes the same way, and the count of the channel goes through the branch and around
// both loops; what else they carry (%sum) is the consumers' alone.
// CHECK-LABEL: tile.kernel @nest
// CHECK:         } producer {
// CHECK:           scf.for %j{{.*}} iter_args([[K:%.*]] = {{%.*}}) -> (i64)
// CHECK-NEXT:        [[Q:%.*]] = arith.cmpi slt, %j{{.*}}, %m
// CHECK-NEXT:        [[B:%.*]] = scf.if [[Q]] -> (i64) {
// CHECK-NEXT:          [[L:%.*]] = scf.for %i{{.*}} iter_args([[N:%.*]] = [[K]]) -> (i64)
// CHECK-NEXT:            pipe.acquire {{%.*}}[[[N]]]
// CHECK-NEXT:            pipe.copy %x[%i{{.*}}, %j
// CHECK-NEXT:            pipe.commit
// CHECK-NEXT:            arith.addi [[N]]
// CHECK-NEXT:            scf.yield
// CHECK-NEXT:          }
// CHECK-NEXT:          scf.yield [[L]] : i64
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield [[K]] : i64
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.yield [[B]] : i64
// CHECK-NEXT:      }
// CHECK-NEXT:      pipe.end_role
!ring = !pipe.channel<2, !tile.buffer<64x16xbf16>>
module attributes {tile.target = "sm_90a"} {
tile.kernel @nest(%x: !tile.view<?x?xbf16, shared>, %out: !tile.view<?x?xf32, owned>, %n: i64, %m: i64) attributes {pipe.roles, tile.num_warps = 4 : i64} {
  %c = pipe.channel : !ring
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %s, %last = scf.for %j = %z to %n step %u iter_args(%sum = %z, %k = %z) -> (i64, i64) : i64 {
    %q = arith.cmpi slt, %j, %m : i64
    %b = scf.if %q -> (i64) {
      %l = scf.for %i = %z to %n step %u iter_args(%p = %k) -> (i64) : i64 {
        pipe.acquire %c[%p] : !ring
        pipe.copy %x[%i, %j], %c[%p] {member = 0 : i64} : !tile.view<?x?xbf16, shared>, !ring
        pipe.commit %c[%p] : !ring
        %t = pipe.wait %c[%p] {pending = 0 : i64} : !ring -> !tile.buffer<64x16xbf16>
        pipe.release %c[%p] : !ring
        %p1 = arith.addi %p, %u : i64
        scf.yield %p1 : i64
      }
      scf.yield %l : i64
    } else {
      scf.yield %k : i64
    }
    %more = arith.addi %sum, %j : i64
    scf.yield %more, %b : i64, i64
  }
  %g = arith.sitofp %s : i64 to f32
  %v = tile.splat %g : f32 -> tensor<64x16xf32>
  tile.store %v, %out[%z, %z] : tensor<64x16xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
}

// -----

// Two channels, as of keys and values: the producer fills them in turn; the consumers hand keys back before they wait
// for values.
// CHECK-LABEL: tile.kernel @attention
// CHECK:         [[KEYS:%.*]] = pipe.channel
// CHECK-NEXT:    [[VALUES:%.*]] = pipe.channel
// CHECK:         consumers {
// CHECK:           pipe.wait [[KEYS]]
// CHECK:           pipe.release [[KEYS]]
// CHECK:           arith.truncf
// CHECK:           pipe.wait [[VALUES]]
// CHECK:           pipe.release [[VALUES]]
// CHECK:         } producer {
// CHECK-NOT:       arith.truncf
// CHECK:           scf.for
// CHECK-NEXT:        pipe.acquire [[KEYS]]
// CHECK-NEXT:        pipe.copy %x
// CHECK-NEXT:        pipe.commit [[KEYS]]
// CHECK-NEXT:        pipe.acquire [[VALUES]]
// CHECK-NEXT:        pipe.copy %y
// CHECK-NEXT:        pipe.commit [[VALUES]]
// CHECK-NEXT:        arith.constant
// CHECK-NEXT:        arith.addi
// CHECK-NEXT:        scf.yield
!ring = !pipe.channel<2, !tile.buffer<16x16xbf16>>
!tall = tensor<64x16xf32>
!half = tensor<64x16xbf16>
module attributes {tile.target = "sm_90a"} {
tile.kernel @attention(%x: !tile.view<?x?xbf16, shared>, %y: !tile.view<?x?xbf16, shared>, %out: !tile.view<?x?xf32, owned>, %q: !tile.view<?x?xbf16, shared>, %n: i64) attributes {pipe.roles, tile.num_warps = 4 : i64} {
  %kc = pipe.channel : !ring
  %vc = pipe.channel : !ring
  %z = arith.constant 0 : i64
  %u = arith.constant 1 : i64
  %f = arith.constant 0.0 : f32
  %zero = tile.splat %f : f32 -> !tall
  %queries = tile.load %q[%z, %z] : !tile.view<?x?xbf16, shared> -> !half
  %r, %last = scf.for %i = %z to %n step %u iter_args(%acc = %zero, %k = %z) -> (!tall, i64) : i64 {
    pipe.acquire %kc[%k] : !ring
    pipe.copy %x[%i, %z], %kc[%k] {member = 0 : i64} : !tile.view<?x?xbf16, shared>, !ring
    pipe.commit %kc[%k] : !ring
    %a = pipe.wait %kc[%k] {pending = 0 : i64} : !ring -> !tile.buffer<16x16xbf16>
    %s = tile.mma %queries, %a, %zero {atom = "wgmma_m64n16k16_bf16_f32"} : !half, !tile.buffer<16x16xbf16>, !tall -> !tall
    pipe.release %kc[%k] : !ring
    %p = arith.truncf %s : !tall to !half
    pipe.acquire %vc[%k] : !ring
    pipe.copy %y[%i, %z], %vc[%k] {member = 0 : i64} : !tile.view<?x?xbf16, shared>, !ring
    pipe.commit %vc[%k] : !ring
    %b = pipe.wait %vc[%k] {pending = 0 : i64} : !ring -> !tile.buffer<16x16xbf16>
    %next = tile.mma %p, %b, %acc {atom = "wgmma_m64n16k16_bf16_f32"} : !half, !tile.buffer<16x16xbf16>, !tall -> !tall
    pipe.release %vc[%k] : !ring
    %one = arith.constant 1 : i64
    %k1 = arith.addi %k, %one : i64
    scf.yield %next, %k1 : !tall, i64
  }
  tile.store %r, %out[%z, %z] : !tall, !tile.view<?x?xf32, owned>
  tile.return
}
}
