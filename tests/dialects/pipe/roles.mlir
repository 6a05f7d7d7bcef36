// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: tile.kernel @roles
tile.kernel @roles(%x: !tile.view<?xbf16, shared>, %i: i64, %some: i1) {
  %ring = pipe.channel : !pipe.channel<2, !tile.buffer<128xbf16>>
  // CHECK: pipe.roles {warps = 8 : i64, consumer_registers = 232 : i64, producer_registers = 40 : i64, blocks = 1 : i64} consumers {
  // GENERIC: "pipe.roles"() <{warps = 8 : i64, consumer_registers = 232 : i64, producer_registers = 40 : i64, blocks = 1 : i64}> ({
  pipe.roles {warps = 8, consumer_registers = 232, producer_registers = 40, blocks = 1} consumers {
    %t = pipe.wait %ring[%i] {pending = 0} : !pipe.channel<2, !tile.buffer<128xbf16>> -> !tile.buffer<128xbf16>
    // CHECK: pipe.release %ring[%i] where %some : !pipe.channel<2, !tile.buffer<128xbf16>>
    pipe.release %ring[%i] where %some : !pipe.channel<2, !tile.buffer<128xbf16>>
    // CHECK-NEXT: pipe.end_role
    // GENERIC: "pipe.end_role"() : () -> ()
    pipe.end_role
  // CHECK-NEXT: } producer {
  } producer {
    pipe.acquire %ring[%i] : !pipe.channel<2, !tile.buffer<128xbf16>>
    pipe.copy %x[%i], %ring[%i] {member = 0} : !tile.view<?xbf16, shared>, !pipe.channel<2, !tile.buffer<128xbf16>>
    pipe.commit %ring[%i] : !pipe.channel<2, !tile.buffer<128xbf16>>
    pipe.end_role
  }
  tile.return
}
