// RUN: tileopt %s -p verify-ownership | filecheck %s

// Tiles in groups of 8 rows, for the sake of the cache: the last group may have fewer.
// CHECK: tile.kernel @grouped
tile.kernel @grouped(%out: !tile.view<?x?xf32, owned> {tile.name = "out"}) {
  %pid = tile.bid {axis = 0}
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c8 = arith.constant 8 : i64
  %c63 = arith.constant 63 : i64
  %c = arith.constant 64 : i64
  %M = tile.dim %out {axis = 0} : !tile.view<?x?xf32, owned>
  %N = tile.dim %out {axis = 1} : !tile.view<?x?xf32, owned>
  %Mp = arith.addi %M, %c63 : i64
  %Np = arith.addi %N, %c63 : i64
  %tm = arith.divsi %Mp, %c : i64
  %tn = arith.divsi %Np, %c : i64
  %group = arith.muli %tn, %c8 : i64
  %isz = arith.cmpi eq, %group, %c0 : i64
  %safe = arith.select %isz, %c1, %group : i64
  %gq = arith.divsi %pid, %safe : i64
  %gid = arith.select %isz, %c0, %gq : i64
  %x = arith.remsi %pid, %safe : i64
  %first = arith.muli %gid, %c8 : i64
  %left = arith.subi %tm, %first : i64
  %size = arith.minsi %left, %c8 : i64
  %size1 = arith.addi %size, %c1 : i64
  %special = arith.cmpi ult, %size1, %c2 : i64
  %ssafe = arith.select %special, %c1, %size : i64
  %rq = arith.divsi %x, %ssafe : i64
  %rr = arith.remsi %x, %ssafe : i64
  %bits = arith.xori %rr, %ssafe : i64
  %opp = arith.cmpi slt, %bits, %c0 : i64
  %ne = arith.cmpi ne, %rr, %c0 : i64
  %wrong = arith.andi %opp, %ne : i1
  %radd = arith.addi %rr, %ssafe : i64
  %mod = arith.select %wrong, %radd, %rr : i64
  %qsub = arith.subi %rq, %c1 : i64
  %floor = arith.select %wrong, %qsub, %rq : i64
  %xs = arith.muli %x, %size : i64
  %div = arith.select %special, %xs, %floor : i64
  %row = arith.addi %first, %mod : i64
  %i = arith.muli %row, %c : i64
  %j = arith.muli %div, %c : i64
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  tile.store %z, %out[%i, %j] : tensor<64x64xf32>, !tile.view<?x?xf32, owned>
  tile.return
}
