// RUN: tileopt %s -p take-turns --split-input-file | filecheck %s

// Two warpgroups: each waits behind its wait for keys, and hands its turn on behind the last product that it begins.
// The first waits for the phase before, since it begins; the turn's number is the iteration of the channel.
// CHECK-LABEL: simt.kernel @turns
// CHECK:         [[BARS:%.*]] = simt.alloc_shared : !tile.buffer<2xi64>
// CHECK:         scf.if
// CHECK:           gpu.mbarrier_init [[BARS]]{{.*}} {count = 4 : i64}
// CHECK:           gpu.mbarrier_init [[BARS]]{{.*}} {count = 4 : i64}
// CHECK:         pipe.roles
// CHECK:           scf.for
// CHECK-NEXT:        %a, %b = pipe.wait %c[%n]
// CHECK:             [[GROUP:%.*]] = arith.divui
// CHECK:             [[FIRST:%.*]] = arith.cmpi eq, [[GROUP]]
// CHECK:             [[NEXT:%.*]] = arith.addi %n
// CHECK:             [[PHASE:%.*]] = arith.select [[FIRST]], [[NEXT]], %n
// CHECK-NEXT:        gpu.mbarrier_wait [[BARS]][[[GROUP]]], [[PHASE]]
// CHECK-NEXT:        %d = gpu.wgmma
// CHECK-NEXT:        %e = gpu.wgmma
// CHECK:             gpu.mbarrier_arrive [[BARS]][{{.*}}] where
// CHECK-NEXT:        gpu.wgmma_wait %d
// CHECK-NOT:         gpu.mbarrier
// CHECK:           }
// CHECK-NOT:       pipe.turns
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0], [64, 0]]>
!a = !tile.buffer<128x16xbf16>
!b = !tile.buffer<16x16xbf16>
!ring = !pipe.channel<3, !a, !b>
!frag = vector<8xf32>
module attributes {tile.target = "sm_90a"} {
simt.kernel @turns(%z: i64, %trips: i64, %f: f32) attributes {simt.threads = 256 : i64} {
  %c = pipe.channel : !ring
  pipe.roles {warps = 8, consumer_registers = 208, producer_registers = 48, blocks = 1} consumers {
    %u = arith.constant 1 : i64
    %zero = simt.splat %f : f32 -> !frag
    %r, %last = scf.for %i = %z to %trips step %u iter_args(%acc = %zero, %n = %z) -> (!frag, i64) : i64 {
      %a, %b = pipe.wait %c[%n] {pending = 0} : !ring -> !a, !b
      %d = gpu.wgmma %a, %b, %zero {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %e = gpu.wgmma %a, %b, %acc {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %w = gpu.wgmma_wait %d {pending = 1} : !frag -> !frag
      %x = gpu.wgmma_wait %e {pending = 0} : !frag -> !frag
      pipe.release %c[%n] : !ring
      %n1 = arith.addi %n, %u : i64
      scf.yield %x, %n1 : !frag, i64
    } {pipe.turns}
    pipe.end_role
  } producer {
    pipe.end_role
  }
  simt.return
}
}

// -----

// One warpgroup has nobody to take turns with.
// CHECK-LABEL: simt.kernel @alone
// CHECK-NOT:     gpu.mbarrier
// CHECK-NOT:     pipe.turns
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
!a = !tile.buffer<64x16xbf16>
!b = !tile.buffer<16x16xbf16>
!ring = !pipe.channel<3, !a, !b>
!frag = vector<8xf32>
module attributes {tile.target = "sm_90a"} {
simt.kernel @alone(%z: i64, %trips: i64, %f: f32) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !ring
  pipe.roles {warps = 4, consumer_registers = 208, producer_registers = 48, blocks = 2} consumers {
    %u = arith.constant 1 : i64
    %zero = simt.splat %f : f32 -> !frag
    %r, %last = scf.for %i = %z to %trips step %u iter_args(%acc = %zero, %n = %z) -> (!frag, i64) : i64 {
      %a, %b = pipe.wait %c[%n] {pending = 0} : !ring -> !a, !b
      %d = gpu.wgmma %a, %b, %acc {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %e = gpu.wgmma_wait %d {pending = 0} : !frag -> !frag
      pipe.release %c[%n] : !ring
      %n1 = arith.addi %n, %u : i64
      scf.yield %e, %n1 : !frag, i64
    } {pipe.turns}
    pipe.end_role
  } producer {
    pipe.end_role
  }
  simt.return
}
}
