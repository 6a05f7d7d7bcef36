// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// Blocks that step by less than they are long.
simt.kernel @short_step(%out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 2, 1, 1>} {
  // expected-note@+1 {{bid(0) is taken here}}
  %b = simt.block_id {axis = 0}
  %t = simt.thread_idx {axis = 0}
  %i = arith.addi %b, %t : i64
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/overlapping-stores]: thread 1 of block 0 and thread 0 of block 1 both write out[1]}}
  simt.element_store %z, %out[%i] {witness} : f32, !tile.view<?xf32, owned>
  simt.return
}
