// RUN: tileopt %s | tileopt | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | tileopt - | filecheck %s
// RUN: tileopt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: tile.kernel @ring
tile.kernel @ring(%x: !tile.view<?x?xbf16, shared>, %y: !tile.view<?xf32, shared>, %i: i64) {
  // CHECK-NEXT: %ring = pipe.channel : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // GENERIC: %ring = "pipe.channel"() : () -> !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  %ring = pipe.channel : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // CHECK-NEXT: pipe.acquire %ring[%i] : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // GENERIC: "pipe.acquire"(%ring, %i) : (!pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>, i64) -> ()
  pipe.acquire %ring[%i] : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // CHECK-NEXT: pipe.copy %x[%i, %i], %ring[%i] {member = 0 : i64} : !tile.view<?x?xbf16, shared>, !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // GENERIC: "pipe.copy"(%x, %i, %i, %ring, %i) <{member = 0 : i64}> : (!tile.view<?x?xbf16, shared>, i64, i64, !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>, i64) -> ()
  pipe.copy %x[%i, %i], %ring[%i] {member = 0} : !tile.view<?x?xbf16, shared>, !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // CHECK-NEXT: pipe.copy %y[%i], %ring[%i] {member = 1 : i64, padding = -1.000000e+00 : f32, bounds = #tile.bounds<masked [0]>, vector = 4 : i64} : !tile.view<?xf32, shared>, !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // GENERIC: "pipe.copy"(%y, %i, %ring, %i) <{member = 1 : i64, padding = -1.000000e+00 : f32, bounds = #tile.bounds<masked [0]>, vector = 4 : i64}> :
  pipe.copy %y[%i], %ring[%i] {member = 1, padding = -1.0 : f32, bounds = #tile.bounds<masked [0]>, vector = 4} : !tile.view<?xf32, shared>, !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // CHECK-NEXT: pipe.copy %x[%i, %i], %ring[%i] {member = 0 : i64, parts = 2 : i64}
  // GENERIC: "pipe.copy"(%x, %i, %i, %ring, %i) <{member = 0 : i64, parts = 2 : i64}>
  pipe.copy %x[%i, %i], %ring[%i] {member = 0, parts = 2} : !tile.view<?x?xbf16, shared>, !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // CHECK-NEXT: pipe.commit %ring[%i] : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // GENERIC: "pipe.commit"(%ring, %i) :
  pipe.commit %ring[%i] : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // CHECK-NEXT: %a, %b = pipe.wait %ring[%i] {pending = 1 : i64} : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>> -> !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>
  // GENERIC: %a, %b = "pipe.wait"(%ring, %i) <{pending = 1 : i64}> : (!pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>, i64) -> (!tile.buffer<128x32xbf16>, !tile.buffer<128xf32>)
  %a, %b = pipe.wait %ring[%i] {pending = 1} : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>> -> !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>
  // CHECK-NEXT: pipe.release %ring[%i] : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  // GENERIC: "pipe.release"(%ring, %i) :
  pipe.release %ring[%i] : !pipe.channel<3, !tile.buffer<128x32xbf16>, !tile.buffer<128xf32>>
  tile.return
}
