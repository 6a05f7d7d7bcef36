// RUN: tileopt %s -p chain-products --split-input-file | filecheck %s

// The product of an iteration runs on while the next one begins: the wait leaves one in flight, the slot released is
// that of the iteration before, if there was one; the last product is waited for, and its slot released, behind the loop.
// CHECK-LABEL: simt.kernel @chained
// CHECK:         [[ACC:%.*]], [[LAST:%.*]] = scf.for %i = {{.*}} iter_args(%acc = %zero, %n = %z)
// CHECK-NEXT:      %a, %b = pipe.wait %c[%n]
// CHECK-NEXT:      %d = gpu.wgmma %a, %b, %acc
// CHECK-NEXT:      %e = gpu.wgmma_wait %d {pending = 1 : i64}
// CHECK-NEXT:      %n1 = arith.addi %n
// CHECK-NEXT:      [[M1:%.*]] = arith.constant -1 : i64
// CHECK-NEXT:      [[BEFORE:%.*]] = arith.addi %n, [[M1]]
// CHECK-NEXT:      [[SOME:%.*]] = arith.cmpi ne, %n, %z
// CHECK-NEXT:      pipe.release %c[[[BEFORE]]] where [[SOME]]
// CHECK-NEXT:      scf.yield %e, %n1
// CHECK:         [[DONE:%.*]] = gpu.wgmma_wait [[ACC]] {pending = 0 : i64}
// CHECK:         [[FINAL:%.*]] = arith.addi [[LAST]]
// CHECK:         pipe.release %c[[[FINAL]]] where
// CHECK:         arith.truncf [[DONE]]
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
!a = !tile.buffer<64x16xbf16>
!b = !tile.buffer<16x16xbf16>
!ring = !pipe.channel<3, !a, !b>
!frag = vector<8xf32>
module attributes {tile.target = "sm_90a"} {
simt.kernel @chained(%z: i64, %trips: i64, %f: f32) attributes {simt.threads = 128 : i64} {
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
    }
    %h = arith.truncf %r : !frag to vector<8xbf16>
    pipe.end_role
  } producer {
    pipe.end_role
  }
  simt.return
}
}

// -----

// What is done with the accumulator between products needs the product: no chain.
// CHECK-LABEL: simt.kernel @faded
// CHECK:           [[D:%.*]] = gpu.wgmma
// CHECK-NEXT:      [[E:%.*]] = gpu.wgmma_wait [[D]] {pending = 0 : i64}
// CHECK-NEXT:      pipe.release %c[%n] :
// CHECK-NEXT:      arith.addf [[E]]
// CHECK-NOT:       gpu.wgmma_wait
// CHECK:           pipe.end_role
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
!a = !tile.buffer<64x16xbf16>
!b = !tile.buffer<16x16xbf16>
!ring = !pipe.channel<3, !a, !b>
!frag = vector<8xf32>
module attributes {tile.target = "sm_90a"} {
simt.kernel @faded(%z: i64, %trips: i64, %f: f32) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !ring
  pipe.roles {warps = 4, consumer_registers = 208, producer_registers = 48, blocks = 2} consumers {
    %u = arith.constant 1 : i64
    %zero = simt.splat %f : f32 -> !frag
    %r, %last = scf.for %i = %z to %trips step %u iter_args(%acc = %zero, %n = %z) -> (!frag, i64) : i64 {
      %a, %b = pipe.wait %c[%n] {pending = 0} : !ring -> !a, !b
      %d = gpu.wgmma %a, %b, %acc {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %e = gpu.wgmma_wait %d {pending = 0} : !frag -> !frag
      pipe.release %c[%n] : !ring
      %g = arith.addf %e, %e : !frag
      %n1 = arith.addi %n, %u : i64
      scf.yield %g, %n1 : !frag, i64
    }
    pipe.end_role
  } producer {
    pipe.end_role
  }
  simt.return
}
}

// -----

// Two accumulators that share a tile: two groups an iteration, and both waits leave two in flight. The slot goes back
// once.
// CHECK-LABEL: simt.kernel @two
// CHECK:           gpu.wgmma
// CHECK:           gpu.wgmma
// CHECK:           gpu.wgmma_wait {{.*}} {pending = 2 : i64}
// CHECK:           pipe.release %c[{{.*}}] where
// CHECK-NOT:       pipe.release
// CHECK:           scf.yield
// CHECK:         gpu.wgmma_wait {{.*}} {pending = 0 : i64}
// CHECK:         gpu.wgmma_wait {{.*}} {pending = 0 : i64}
// CHECK:         pipe.release %c[{{.*}}] where
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
!a = !tile.buffer<64x16xbf16>
!b = !tile.buffer<16x16xbf16>
!ring = !pipe.channel<3, !a, !b, !b>
!frag = vector<8xf32>
module attributes {tile.target = "sm_90a"} {
simt.kernel @two(%z: i64, %trips: i64, %f: f32) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !ring
  pipe.roles {warps = 4, consumer_registers = 208, producer_registers = 48, blocks = 2} consumers {
    %u = arith.constant 1 : i64
    %zero = simt.splat %f : f32 -> !frag
    %r, %s, %last = scf.for %i = %z to %trips step %u iter_args(%p = %zero, %q = %zero, %n = %z) -> (!frag, !frag, i64) : i64 {
      %a, %b, %b2 = pipe.wait %c[%n] {pending = 0} : !ring -> !a, !b, !b
      %d = gpu.wgmma %a, %b, %p {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %e = gpu.wgmma_wait %d {pending = 0} : !frag -> !frag
      %d2 = gpu.wgmma %a, %b2, %q {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %e2 = gpu.wgmma_wait %d2 {pending = 0} : !frag -> !frag
      pipe.release %c[%n] : !ring
      %n1 = arith.addi %n, %u : i64
      scf.yield %e, %e2, %n1 : !frag, !frag, i64
    }
    pipe.end_role
  } producer {
    pipe.end_role
  }
  simt.return
}
}

// -----

// A product that another kind of work follows, in a loop that is marked: waited for, and its slot released, where the
// next iteration begins, and behind the loop.
// CHECK-LABEL: simt.kernel @carried
// CHECK:         [[ACC:%.*]], [[LAST:%.*]] = scf.for %i = {{.*}} iter_args(%acc = %zero, %n = %z)
// CHECK-NEXT:      [[E:%.*]] = gpu.wgmma_wait %acc {pending = 0 : i64}
// CHECK-NEXT:      [[M1:%.*]] = arith.constant -1 : i64
// CHECK-NEXT:      [[BEFORE:%.*]] = arith.addi %n, [[M1]]
// CHECK-NEXT:      [[SOME:%.*]] = arith.cmpi ne, %n, %z
// CHECK-NEXT:      pipe.release %c[[[BEFORE]]] where [[SOME]]
// CHECK-NEXT:      [[FADED:%.*]] = arith.addf [[E]], %zero
// CHECK-NEXT:      %a, %b = pipe.wait %c[%n]
// CHECK-NEXT:      [[D:%.*]] = gpu.wgmma %a, %b, [[FADED]]
// CHECK-NEXT:      %n1 = arith.addi %n
// CHECK-NEXT:      scf.yield [[D]], %n1
// CHECK-NEXT:    }
// CHECK-NEXT:    [[DONE:%.*]] = gpu.wgmma_wait [[ACC]] {pending = 0 : i64}
// CHECK:         [[FINAL:%.*]] = arith.addi [[LAST]]
// CHECK:         pipe.release %c[[[FINAL]]] where
// CHECK:         arith.truncf [[DONE]]
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
!a = !tile.buffer<64x16xbf16>
!b = !tile.buffer<16x16xbf16>
!ring = !pipe.channel<3, !a, !b>
!frag = vector<8xf32>
module attributes {tile.target = "sm_90a"} {
simt.kernel @carried(%z: i64, %trips: i64, %f: f32) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !ring
  pipe.roles {warps = 4, consumer_registers = 208, producer_registers = 48, blocks = 2} consumers {
    %u = arith.constant 1 : i64
    %zero = simt.splat %f : f32 -> !frag
    %r, %last = scf.for %i = %z to %trips step %u iter_args(%acc = %zero, %n = %z) -> (!frag, i64) : i64 {
      %faded = arith.addf %acc, %zero : !frag
      %a, %b = pipe.wait %c[%n] {pending = 0} : !ring -> !a, !b
      %d = gpu.wgmma %a, %b, %faded {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %e = gpu.wgmma_wait %d {pending = 0} : !frag -> !frag
      pipe.release %c[%n] : !ring
      %n1 = arith.addi %n, %u : i64
      scf.yield %e, %n1 : !frag, i64
    } {pipe.late}
    %h = arith.truncf %r : !frag to vector<8xbf16>
    pipe.end_role
  } producer {
    pipe.end_role
  }
  simt.return
}
}

// -----

// A left operand in registers, made of a product that the iteration waits for: behind that wait the products of the
// iteration before have ended, and their slot goes back there. They run on into the next iteration.
// CHECK-LABEL: simt.kernel @made_of_a_product
// CHECK:         scf.for %i = %z to %trips step %u iter_args(%p = %zero, %n = %z)
// CHECK:           [[MADE:%.*]] = gpu.wgmma %a, %b, %zero
// CHECK-NEXT:      [[READY:%.*]] = gpu.wgmma_wait [[MADE]] {pending = 0 : i64}
// CHECK-NEXT:      arith.constant -1 : i64
// CHECK-NEXT:      arith.addi %n
// CHECK-NEXT:      [[ANY:%.*]] = arith.cmpi ne, %n, %z
// CHECK-NEXT:      pipe.release %c[{{.*}}] where [[ANY]]
// CHECK-NEXT:      %h = arith.truncf [[READY]]
// CHECK-NEXT:      [[ADDED:%.*]] = gpu.wgmma %h, %b, %p
// CHECK-NOT:       pipe.release
// CHECK:           gpu.wgmma_wait [[ADDED]] {pending = 2 : i64}
// CHECK:           scf.yield
// CHECK:         gpu.wgmma_wait {{.*}} {pending = 0 : i64}
// CHECK:         pipe.release %c[{{.*}}] where
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
!a = !tile.buffer<64x16xbf16>
!b = !tile.buffer<16x16xbf16>
!ring = !pipe.channel<3, !a, !b>
!frag = vector<8xf32>
!left = vector<8xbf16>
module attributes {tile.target = "sm_90a"} {
simt.kernel @made_of_a_product(%z: i64, %trips: i64, %f: f32) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !ring
  pipe.roles {warps = 4, consumer_registers = 208, producer_registers = 48, blocks = 2} consumers {
    %u = arith.constant 1 : i64
    %zero = simt.splat %f : f32 -> !frag
    %r, %last = scf.for %i = %z to %trips step %u iter_args(%p = %zero, %n = %z) -> (!frag, i64) : i64 {
      %a, %b = pipe.wait %c[%n] {pending = 0} : !ring -> !a, !b
      %s = gpu.wgmma %a, %b, %zero {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %t = gpu.wgmma_wait %s {pending = 0} : !frag -> !frag
      %h = arith.truncf %t : !frag to !left
      %d = gpu.wgmma %h, %b, %p {atom = "wgmma_m64n16k16_bf16_f32", layout_a = #acc, layout_acc = #acc} : !left, !b, !frag -> !frag
      %e = gpu.wgmma_wait %d {pending = 0} : !frag -> !frag
      pipe.release %c[%n] : !ring
      %n1 = arith.addi %n, %u : i64
      scf.yield %e, %n1 : !frag, i64
    }
    pipe.end_role
  } producer {
    pipe.end_role
  }
  simt.return
}
}

// -----

// The same with fewer registers than products of two iterations would hold: each is waited for.
// CHECK-LABEL: simt.kernel @too_few_registers
// CHECK:           gpu.wgmma_wait {{.*}} {pending = 0 : i64}
// CHECK:           [[ADDED2:%.*]] = gpu.wgmma %h, %b, %p
// CHECK:           gpu.wgmma_wait [[ADDED2]] {pending = 0 : i64}
// CHECK-NEXT:      pipe.release %c[%n] :
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
!a = !tile.buffer<64x16xbf16>
!b = !tile.buffer<16x16xbf16>
!ring = !pipe.channel<3, !a, !b>
!frag = vector<8xf32>
!left = vector<8xbf16>
module attributes {tile.target = "sm_90a"} {
simt.kernel @too_few_registers(%z: i64, %trips: i64, %f: f32) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !ring
  pipe.roles {warps = 4, consumer_registers = 64, producer_registers = 48, blocks = 2} consumers {
    %u = arith.constant 1 : i64
    %zero = simt.splat %f : f32 -> !frag
    %r, %last = scf.for %i = %z to %trips step %u iter_args(%p = %zero, %n = %z) -> (!frag, i64) : i64 {
      %a, %b = pipe.wait %c[%n] {pending = 0} : !ring -> !a, !b
      %s = gpu.wgmma %a, %b, %zero {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %t = gpu.wgmma_wait %s {pending = 0} : !frag -> !frag
      %h = arith.truncf %t : !frag to !left
      %d = gpu.wgmma %h, %b, %p {atom = "wgmma_m64n16k16_bf16_f32", layout_a = #acc, layout_acc = #acc} : !left, !b, !frag -> !frag
      %e = gpu.wgmma_wait %d {pending = 0} : !frag -> !frag
      pipe.release %c[%n] : !ring
      %n1 = arith.addi %n, %u : i64
      scf.yield %e, %n1 : !frag, i64
    }
    pipe.end_role
  } producer {
    pipe.end_role
  }
  simt.return
}
}

// -----

// A slot that one product reads goes back where the next one is waited for, not before that one begins.
// CHECK-LABEL: simt.kernel @released_later
// CHECK:           [[FIRST:%.*]] = gpu.wgmma %a
// CHECK-NEXT:      [[NEXT:%.*]] = gpu.wgmma %a2
// CHECK-NEXT:      gpu.wgmma_wait [[FIRST]] {pending = 1 : i64}
// CHECK-NEXT:      pipe.release %c[%n] :
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      gpu.wgmma_wait [[NEXT]] {pending = 0 : i64}
// CHECK-NEXT:      pipe.release %k[%n] :
// CHECK-NEXT:      arith.mulf
#acc = #tile.layout<regs = [[0, 1], [8, 0]], lanes = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warps = [[16, 0], [32, 0]]>
!a = !tile.buffer<64x16xbf16>
!b = !tile.buffer<16x16xbf16>
!ring = !pipe.channel<3, !a, !b>
!frag = vector<8xf32>
module attributes {tile.target = "sm_90a"} {
simt.kernel @released_later(%z: i64, %trips: i64, %f: f32) attributes {simt.threads = 128 : i64} {
  %c = pipe.channel : !ring
  %k = pipe.channel : !ring
  pipe.roles {warps = 4, consumer_registers = 208, producer_registers = 48, blocks = 2} consumers {
    %u = arith.constant 1 : i64
    %zero = simt.splat %f : f32 -> !frag
    %r, %last = scf.for %i = %z to %trips step %u iter_args(%p = %zero, %n = %z) -> (!frag, i64) : i64 {
      %a, %b = pipe.wait %c[%n] {pending = 0} : !ring -> !a, !b
      %a2, %b2 = pipe.wait %k[%n] {pending = 0} : !ring -> !a, !b
      %s = gpu.wgmma %a, %b, %zero {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %s1 = gpu.wgmma_wait %s {pending = 0} : !frag -> !frag
      pipe.release %c[%n] : !ring
      %t = gpu.wgmma %a2, %b2, %zero {atom = "wgmma_m64n16k16_bf16_f32", layout_acc = #acc} : !a, !b, !frag -> !frag
      %t1 = gpu.wgmma_wait %t {pending = 0} : !frag -> !frag
      pipe.release %k[%n] : !ring
      %x = arith.mulf %s1, %p : !frag
      %y = arith.mulf %t1, %x : !frag
      %n1 = arith.addi %n, %u : i64
      scf.yield %y, %n1 : !frag, i64
    }
    pipe.end_role
  } producer {
    pipe.end_role
  }
  simt.return
}
}
