// RUN: tileopt %s -p cse | filecheck %s --check-prefix=CSE
// RUN: tileopt %s -p licm | filecheck %s --check-prefix=LICM

#l = #tile.layout<regs = [], lanes = [[1], [2], [4], [8], [16]], warps = []>

// Memory of one's own is never merged; shared memory is read again after a barrier; a read-only array is not.
// CSE-LABEL: simt.kernel @memory
// CSE-NEXT: %m = simt.alloc_shared
// CSE-NEXT: %n = simt.alloc_shared
// CSE-NEXT: %a = simt.fragment_load %x
// CSE-NEXT: simt.shared_store %a, %m
// CSE-NEXT: simt.barrier
// CSE-NEXT: %b = simt.shared_load %m
// CSE-NEXT: simt.barrier
// CSE-NEXT: %d = simt.shared_load %m
// CSE-NEXT: "test.op"(%m, %n, %a, %a, %b, %b, %d)
simt.kernel @memory(%x: !tile.view<?xf32, shared>, %i: i64) {
  %m = simt.alloc_shared : !tile.buffer<32xf32>
  %n = simt.alloc_shared : !tile.buffer<32xf32>
  %a = simt.fragment_load %x[%i] {layout = #l, shape = array<i64: 32>} : !tile.view<?xf32, shared> -> vector<1xf32>
  simt.shared_store %a, %m {layout = #l} : vector<1xf32>, !tile.buffer<32xf32>
  simt.barrier
  %b = simt.shared_load %m {layout = #l} : !tile.buffer<32xf32> -> vector<1xf32>
  %c = simt.shared_load %m {layout = #l} : !tile.buffer<32xf32> -> vector<1xf32>
  simt.barrier
  %d = simt.shared_load %m {layout = #l} : !tile.buffer<32xf32> -> vector<1xf32>
  %e = simt.fragment_load %x[%i] {layout = #l, shape = array<i64: 32>} : !tile.view<?xf32, shared> -> vector<1xf32>
  "test.op"(%m, %n, %a, %e, %b, %c, %d) : (!tile.buffer<32xf32>, !tile.buffer<32xf32>, vector<1xf32>, vector<1xf32>, vector<1xf32>, vector<1xf32>, vector<1xf32>) -> ()
  simt.return
}

// Where lanes meet stays inside the loop that they run together; arithmetic on ids does not.
// LICM-LABEL: simt.kernel @loop
// LICM: %t = simt.thread_id
// LICM-NEXT: %a = simt.fragment_load
// LICM-NEXT: scf.for
// LICM-NEXT: %s = simt.shuffle_xor
// LICM-NEXT: simt.barrier
simt.kernel @loop(%x: !tile.view<?xf32, shared>, %i: i64) {
  %0 = arith.constant 0 : i64
  %1 = arith.constant 1 : i64
  scf.for %j = %0 to %i step %1 : i64 {
    %t = simt.thread_id
    %a = simt.fragment_load %x[%i] {layout = #l, shape = array<i64: 32>} : !tile.view<?xf32, shared> -> vector<1xf32>
    %s = simt.shuffle_xor %a {mask = 1} : vector<1xf32> -> vector<1xf32>
    simt.barrier
    "test.op"(%t, %s) : (i32, vector<1xf32>) -> ()
  }
  simt.return
}
