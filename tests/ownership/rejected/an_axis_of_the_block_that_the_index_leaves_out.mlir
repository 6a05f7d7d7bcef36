// RUN: tileopt %s -p verify-ownership --verify-diagnostics

// An axis of the block that the index leaves out.
simt.kernel @second_axis(%out: !tile.view<?xf32, owned> {tile.name = "out"}) attributes {simt.block = array<i64: 4, 4, 1>} {
  %t = simt.thread_idx {axis = 0}
  %z = arith.constant 0.0 : f32
  // expected-error@+1 {{[ownership/overlapping-stores]: thread (0, 0) of block 0 and thread (0, 1) of block 0 both write out[0]}}
  simt.element_store %z, %out[%t] : f32, !tile.view<?xf32, owned>
  simt.return
}
